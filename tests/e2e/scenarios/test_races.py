"""Races on demand: each that matters, in both orders.

One process is held at a named point of the code (src/os/point.h), between two steps that another
one may come between; then it is let go, or killed there.
"""
import os
import signal
import sqlite3
import sys

import pytest

from conftest import BINARY, LOST, UNREACHABLE, Running
from field import (NOTICE_S, SLACK_S, engine, full, is_quick, now, parent_of,  # noqa: F401
                   resource, store)
from points import held_cli, point, points_binary  # noqa: F401

pytestmark = pytest.mark.embedded
TTL = ["--ttl", "800ms"]


def waiter(cli, resource):
    process = cli.start("lock", *TTL, "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    return process


# ---- between look and listen --------------------------------------------------------------------


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["released", "died"])
@pytest.mark.parametrize("listens_first", [False, True], ids=["gap", "after"])
def test_a_release_between_look_and_listen_is_noticed(cli, held_cli, point, resource, end,
                                                      listens_first):
    def hand_over_s(n):
        holder, _ = cli.hold(f"job{n}", "--ttl", "10s")
        gap = point("look-listen").arm()
        held_cli(gap, "lock", "--ttl", "10s", f"job{n}", "--", *resource.worker(f"W{n}"))
        gap.wait_reached()
        if listens_first:
            gap.let_go()
        holder.send(end)
        holder.wait()
        began = now()
        gap.let_go()
        return resource.wait_for(f"W{n}").at - began

    if listens_first:
        is_quick(hand_over_s)
    else:
        assert hand_over_s(0) < NOTICE_S + SLACK_S


# ---- between grant and reply --------------------------------------------------------------------


def test_a_grant_whose_reply_comes_in_time_is_used(cli, held_cli, point, resource):
    gap = point("ring-reply").arm()
    held_cli(gap, "lock", *TTL, "job", "--", *resource.worker("H"))
    gap.wait_reached()
    token = cli.holders("job")[0]["token"]  # the store has granted it
    assert resource.marks == []
    gap.let_go()
    assert resource.wait_for("H").token == token


def test_a_grant_whose_reply_comes_too_late_is_never_believed(cli, held_cli, point, resource):
    gap = point("ring-reply").arm()
    h = held_cli(gap, "lock", *TTL, "job", "--", *resource.worker("H"))
    gap.wait_reached()
    token = cli.holders("job")[0]["token"]
    waiter(cli, resource)
    taken = resource.wait_for("C")  # after the TTL of the one that does not know yet
    assert taken.token > token
    gap.let_go()
    cli.wait_for_waiters("job", 1)  # it stands in line anew
    assert resource.of("H") == [] and h.running
    assert resource.overlaps() == []


def test_who_dies_between_grant_and_reply_leaves_nothing(cli, held_cli, point, resource):
    gap = point("ring-reply").arm()
    h = held_cli(gap, "lock", "--ttl", "10s", "job", "--", *resource.worker("H"))
    gap.wait_reached()
    waiter(cli, resource)
    began = now()
    h.send(signal.SIGKILL)
    assert resource.wait_for("C").at - began < SLACK_S
    assert resource.of("H") == []


# ---- between commit and ring --------------------------------------------------------------------


@pytest.mark.parametrize("killed", [False, True], ids=["let-go", "killed"])
def test_a_grant_that_was_not_rung_is_found_all_the_same(cli, held_cli, point, resource, killed):
    gap = point("commit-ring")
    h = held_cli(gap, "lock", "--ttl", "10s", "job")
    h.out.wait_for(lambda line: line.isdigit())
    waiter(cli, resource)
    gap.arm()
    h.send(signal.SIGTERM)  # its release grants to C, and C does not hear of it
    gap.wait_reached()
    began = now()
    if killed:
        h.send(signal.SIGKILL)
    assert resource.wait_for("C").at - began < NOTICE_S + SLACK_S
    gap.let_go()
    assert h.wait() == (128 + signal.SIGKILL if killed else 0)
    assert resource.overlaps() == []


# ---- between kill and release -------------------------------------------------------------------


def test_nobody_gets_in_between_the_end_of_the_tree_and_the_release(cli, held_cli, point, resource):
    gap = point("kill-release").arm()
    h = held_cli(gap, "lock", "--ttl", "10s", "job", "--", *resource.worker("H", **{"for": 100}))
    resource.wait_for("H", "begin")
    waiter(cli, resource)
    gap.wait_reached()
    assert resource.of("H", "end") and resource.of("C") == []
    gap.let_go()
    resource.wait_for("C")
    assert h.wait() == 0 and resource.overlaps() == []


@pytest.mark.parametrize("code", [0, 7])
def test_a_signal_after_the_end_of_the_work_changes_nothing(cli, held_cli, point, code):
    gap = point("kill-release").arm()
    h = held_cli(gap, "lock", "job", "--", "sh", "-c", f"exit {code}")
    gap.wait_reached()
    h.send(signal.SIGTERM)
    gap.let_go()
    assert h.wait() == code
    assert cli.holders("job") == []


def test_a_release_that_comes_after_the_next_grant_touches_nothing(cli, held_cli, point, resource):
    gap = point("kill-release").arm()
    h = held_cli(gap, "lock", *TTL, "job", "--", *resource.worker("H", **{"for": 100}))
    resource.wait_for("H", "begin")
    waiter(cli, resource)
    gap.wait_reached()
    taken = resource.wait_for("C")  # it was not given back, and ended by the clock
    gap.let_go()
    assert h.wait() == LOST
    assert [t["token"] for t in cli.holders("job")] == [taken.token]
    resource.wait_for("C", after=len(resource.marks))
    assert resource.overlaps() == []


@pytest.mark.parametrize("killed", [False, True], ids=["let-go", "killed"])
def test_the_guardian_keeps_the_lifeline_until_it_is_done(cli, held_cli, point, resource, killed):
    gap = point("tree-gone").arm()
    h = held_cli(gap, "lock", "--ttl", "30s", "job", "--", *resource.worker("H", child=1))
    guardian = parent_of(resource.wait_for("H").pid)
    waiter(cli, resource)
    h.send(signal.SIGKILL)
    gap.wait_reached()
    assert resource.of("C") == []
    if killed:
            os.kill(guardian, signal.SIGKILL)
    began = now()
    gap.let_go()
    assert resource.wait_for("C").at - began < SLACK_S
    assert resource.overlaps() == []


# ---- between expiry and renewal -----------------------------------------------------------------


def test_a_renewal_that_is_sent_late_but_in_time_keeps_the_tenure(cli, held_cli, point, resource):
    gap = point("send-renew").arm()
    h = held_cli(gap, "lock", "--ttl", "6s", "job", "--", *resource.worker("H"))
    gap.wait_reached()
    waiter(cli, resource)
    gap.let_go()
    resource.wait_for("H", after=len(resource.marks) + 20)
    assert h.running and resource.of("C") == []


def test_a_renewal_that_is_sent_after_the_expiry_is_refused(cli, held_cli, point, resource):
    gap = point("send-renew").arm()
    h = held_cli(gap, "lock", *TTL, "job", "--", *resource.worker("H"))
    gap.wait_reached()
    waiter(cli, resource)
    taken = resource.wait_for("C")
    gap.let_go()
    assert h.wait() == LOST
    assert [t["token"] for t in cli.holders("job")] == [taken.token]
    assert resource.overlaps() == []


# ---- in the gate --------------------------------------------------------------------------------


def test_who_stops_inside_the_gate_is_named_and_nothing_is_lost(cli, held_cli, point, resource):
    gap = point("gate")
    h = held_cli(gap, "lock", "--ttl", "30s", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    gap.arm()
    h.send(signal.SIGTERM)
    gap.wait_reached()
    done = cli.run("lock", "-n", "--ttl", "600ms", "other", "--", "true")
    assert done.code == UNREACHABLE
    assert f"process {h.pid} (tenure)" in done.err
    gap.let_go()
    h.wait()
    assert cli.run("lock", "-n", "other", "--", "true").code == 0


@pytest.mark.parametrize("where", ["gate", "line-turn", "rows-kept"])
@pytest.mark.parametrize("round_", range(full(1, 50)))
def test_who_dies_inside_the_gate_lets_the_others_in(cli, held_cli, point, engine, resource, where,
                                                     round_):
    """Before it writes; with its record written, and not yet the one that counts; with its rows
    committed, and not yet noted."""
    gap = point(where)
    h = held_cli(gap, "lock", "--ttl", "30s", "job", "--", *resource.worker("H"))
    token = resource.wait_for("H").token
    gap.arm()
    h.send(signal.SIGTERM)
    gap.wait_reached()
    h.send(signal.SIGKILL)
    began = now()
    done = cli.run("lock", "-w", "10", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    assert done.code == 0 and int(done.out) > token, done.err
    assert now() - began < SLACK_S
    assert engine.damage() == []


@pytest.mark.parametrize("killed", [False, True], ids=["let-go", "killed"])
def test_a_lifeline_without_a_session_is_nobodys(cli, held_cli, point, engine, resource, killed):
    assert cli.run("lock", "job", "--", "true").code == 0
    files = engine.files()
    gap = point("fifo-row").arm()
    h = held_cli(gap, "lock", "job", "--", *resource.worker("H", **{"for": 50}))
    gap.wait_reached()
    if killed:
        h.send(signal.SIGKILL)
    gap.let_go()
    assert h.wait() == (128 + signal.SIGKILL if killed else 0)
    assert bool(resource.of("H")) is not killed
    for _ in range(70):  # every 64th session tidies up
        assert cli.run("lock", "job", "--", "true").code == 0
    assert engine.files() <= files + 1


# ---- between check and write --------------------------------------------------------------------

WRITER = """
import os, sqlite3, subprocess, sys
binary, fifo, ledger = sys.argv[1:]
db = sqlite3.connect(ledger, timeout=5)
db.execute(f'CREATE TEMP TABLE tenure_token ("job" DEFAULT {int(os.environ["TENURE_TOKEN"])})')
assert subprocess.run([binary, "check"]).returncode == 0
print("checked", flush=True)
if fifo != "-":
    open(fifo).read()  # any pause may be here
try:
    with db:
        db.execute("INSERT INTO invoice VALUES (?)", (os.environ["TENURE_TOKEN"],))
    print("written", flush=True)
except sqlite3.Error as e:
    print("refused", e, flush=True)
"""


@pytest.fixture
def ledger(cli):
    path = cli.directory / "ledger.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE invoice (token INTEGER)")
    db.close()
    done = cli.run("guard", "install", f"sqlite:{path}", "--name", "job", "--table", "invoice")
    assert done.code == 0, done.err
    return path


def write(cli, ledger, fifo):
    return ["--guard", f"sqlite:{ledger}", "job", "--", sys.executable, "-c", WRITER, str(BINARY),
            str(fifo), str(ledger)]


def rows(ledger):
    with sqlite3.connect(ledger) as db:
        found = [row[0] for row in db.execute("SELECT token FROM invoice")]
    db.close()
    return found


@pytest.mark.parametrize("stale", [True, False], ids=["successor-first", "write-first"])
def test_a_write_after_the_check_is_judged_where_it_lands(cli, ledger, stale):
    """The command survives as one does that nobody can end: it is outside of the tree."""
    fifo = cli.directory / "pause"
    os.mkfifo(fifo)
    h, token = cli.hold("job", "--ttl", "10s")
    assert cli.run("guard", "announce", f"sqlite:{ledger}", "--name", "job",
                   "--token", token).code == 0
    ticket = cli.holders("job")[0]["ticket"]
    late = Running([sys.executable, "-c", WRITER, str(BINARY), str(fifo), str(ledger)],
                   cwd=cli.directory, env={**cli.env, "TENURE_TOKEN": str(token),
                                           "TENURE_TICKET": ticket, "TENURE_NAME": "job"})
    late.out.wait_for("checked")
    if stale:
        h.send(signal.SIGKILL)
        assert cli.run("lock", *write(cli, ledger, "-")).code == 0
    with open(fifo, "w"):
        pass
    late.out.wait_for("refused" if stale else "written")
    late.wait()
    if stale:
        assert "stale" in late.out.text() and token not in rows(ledger)
    else:
        h.send(signal.SIGKILL)
        assert cli.run("lock", *write(cli, ledger, "-")).code == 0
        assert token in rows(ledger)
    assert len(rows(ledger)) == (1 if stale else 2)
    assert rows(ledger) == sorted(rows(ledger))
