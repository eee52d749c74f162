"""Scenario 19: store trouble, short and long.

Elsewhere single missed updates stop databases, and every recovery starts a race.  An embedded
store has no members to kill; it hangs when somebody is stopped inside its gate, and refuses when
its file is taken away.

P3, P4: above one lease the work ends in time.  Below, nothing changes as long as a renewal gets
through before `stop`, 0.74 TTL after the last one (docs/timing.md): always for 0.4 TTL.
"""
import contextlib

import pytest

from conftest import wait_until
from field import SLACK_S, engine, full, now, pause, resource, store  # noqa: F401

TTL_S = 1.2
ROUNDS = full(1, 20)


@contextlib.contextmanager
def trouble(engine, how):
    if how == "refused" and not engine.embedded:
        pytest.skip("to restart a server takes longer: test_store_postgres.py has that")
    with getattr(engine, how)():
        yield


@pytest.fixture
def three(cli, resource):
    members = [cli.start("lead", "--ttl", f"{TTL_S * 1000:.0f}ms", "--as", who, "job", "--",
                         *resource.worker(who)) for who in "ABD"]
    cli.wait_for_waiters("job", 2)
    return members


def leader_of(cli):
    return cli.holders("job")[0]["as"]


@pytest.mark.parametrize("how", ["hanging", "refused"])
@pytest.mark.parametrize("part", [0.15, 0.3])
def test_below_one_lease_nothing_changes(cli, resource, engine, three, how, part):
    who = leader_of(cli)
    first = resource.wait_for(who)
    for _ in range(ROUNDS):
        with trouble(engine, how):
            pause(part * TTL_S)
        resource.wait_for(who, after=len(resource.marks))
        pause(TTL_S / 2)
    assert resource.tokens() == [first.token]
    assert cli.status("job")["job"]["grants"] == 1
    assert all(m.running for m in three)


@pytest.mark.parametrize("how", ["hanging", "refused"])
def test_a_little_below_one_lease_there_is_one_change_at_most(cli, resource, engine, three, how):
    resource.wait_for(leader_of(cli))
    for _ in range(ROUNDS):
        grants = cli.status("job")["job"]["grants"]
        with trouble(engine, how):
            pause(0.7 * TTL_S)
        after = len(resource.marks)
        wait_until(lambda: [m for m in resource.marks[after:] if m.what == "mark"], "work")
        pause(TTL_S)
        assert cli.status("job")["job"]["grants"] <= grants + 1
    assert resource.overlaps() == []
    assert all(m.running for m in three)


@pytest.mark.parametrize("how", ["hanging", "refused"])
def test_above_it_the_work_ends_in_time_and_one_leads_afterwards(cli, resource, engine, three, how):
    for _ in range(ROUNDS):
        who = leader_of(cli)
        before = resource.wait_for(who, after=len(resource.marks)).token
        grants = cli.status("job")["job"]["grants"]
        with trouble(engine, how):
            began = now()
            ended = resource.wait_for(who, "end", after=len(resource.marks) - 1)
            assert ended.at - began < TTL_S  # before the store may give it to another
            pause(max(0, 3 * TTL_S - (now() - began)))
            assert resource.marks[-1].number == ended.number  # nobody works meanwhile
        began = now()
        mark = wait_until(lambda: [m for m in resource.marks[ended.number:] if m.what == "mark"],
                          "a leader afterwards")[0]
        assert mark.at - began < 2 * TTL_S + SLACK_S
        assert mark.token > before
        pause(TTL_S)
        assert cli.status("job")["job"]["grants"] <= grants + 1  # no race after the recovery
    assert resource.overlaps() == []
    assert all(m.running for m in three)
