"""Scenario 12: noise and load while nothing happens.

Elsewhere: millions of log lines a day, renewal loops without a pause, and tens of thousands of
leaked leases.

P9: standing by costs nothing; a session costs one renewal per interval, however much it holds.
"""
import pytest

from conftest import wait_until
from field import SLACK_S, engine, full, pause, resource, store  # noqa: F401

@pytest.fixture
def ttl_s(engine):
    """A new connection to a busy server is not to be too slow for one attempt, a sixth of it."""
    return 0.9 if engine.embedded else 2.4


def crowd(cli, resource, ttl_s):
    members = [cli.start("lead", "--ttl", f"{ttl_s * 1000:.0f}ms", "--as", f"m{i}", "job", "--",
                         *resource.worker(f"m{i}")) for i in range(5)]
    cli.wait_for_waiters("job", 4)
    return members


def lines(process):
    return len(process.err.lines)


def test_idle_it_says_nothing_and_renews_once_per_interval(cli, resource, engine, ttl_s):
    members = crowd(cli, resource, ttl_s)
    before = [lines(m) for m in members]
    assert sum(before) <= 10
    idle_s = full(3.4 * ttl_s, 900)
    counts = engine.renewals(idle_s)
    assert [lines(m) for m in members] == before
    expected = idle_s / (ttl_s / 3)
    assert len(counts) == 5
    for count in counts:
        assert expected * 0.7 - 1 <= count <= expected + 2
    assert cli.status("job")["job"]["grants"] == 1


def test_an_outage_is_said_once_and_its_end_once(cli, resource, engine, ttl_s):
    members = crowd(cli, resource, ttl_s)
    first = cli.holders("job")[0]["as"]
    leader = members[int(first[1:])]
    standbys = [m for m in members if m is not leader]
    before = [lines(m) for m in members]
    with engine.hanging():
        for m in standbys:
            m.err.wait_for("going on trying")
        pause(full(3 * ttl_s, 600))
    for m in standbys:
        m.err.wait_for("answers again")
    wait_until(lambda: len(cli.holders("job")) == 1, "a leader")
    for m, n in zip(members, before):
        assert lines(m) - n <= 8, m.err.lines
    assert all(m.running for m in members)
    leader.err.wait_for(lambda line: "doubt" in line)


def test_reconnecting_leaves_nothing_behind(cli, engine):
    assert cli.run("lock", "job", "--", "true").code == 0
    sessions, files = engine.sessions(), engine.files()
    ttl = "600ms" if engine.embedded else "3s"  # a new connection is not to be too slow for it
    for _ in range(full(50 if engine.embedded else 20, 1000)):
        assert cli.run("lock", "--ttl", ttl, "job", "--", "true").err == ""
    assert engine.sessions() <= sessions + 1
    assert engine.files() <= files + 1


@pytest.mark.embedded  # elsewhere sessions are dead after their TTL, and tidied up after a day
def test_crashing_again_and_again_leaves_nothing_in_the_end(cli, engine):
    for _ in range(full(30, 300)):
        holder, _ = cli.hold("job")
        holder.send(9)
        holder.wait()
    cli.hold("other")
    # Every 61st new session tidies up.
    for _ in range(70):
        assert cli.run("lock", "job", "--", "true").code == 0
    assert engine.sessions() <= 4
    assert engine.files() <= 4


@pytest.mark.embedded  # as above
@pytest.mark.parametrize("odd", [False, True], ids=["even", "odd"])
def test_who_died_in_names_that_nobody_asks_for_leaves_nothing_in_the_end(cli, engine, odd):
    """A session and its token take two numbers of one sequence: how often it is tidied up must not
    hang on where the sequence was."""
    if odd:
        assert cli.run("lease", "take", "--ttl", "1m", "once").code == 0
    for i in range(8):
        holder, _ = cli.hold(f"job{i}")
        holder.send(9)
        holder.wait()
    for _ in range(70):  # every 61st new session tidies up
        assert cli.run("lock", "last", "--", "true").code == 0
    assert engine.sessions() <= 1
    assert engine.files() <= 1


def test_an_ordinary_end_during_a_renewal_warns_of_nothing(cli, engine, ttl_s):
    length_s = 0.5 if engine.embedded else ttl_s
    for i in range(full(8, 100)):
        done = cli.run("lock", "--ttl", f"{length_s * 1000:.0f}ms", "job", "--", "sleep",
                       f"{length_s * (0.28 + i * 0.016):.3f}")
        assert (done.code, done.err) == (0, "")
