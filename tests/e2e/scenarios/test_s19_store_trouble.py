"""Scenario 19: store trouble, short and long.

Elsewhere single missed updates stop databases, and every recovery starts a race.  An embedded
store has no members to kill; it hangs when somebody is stopped inside its gate, and refuses when
its file is taken away.  A server hangs when it is stopped, and refuses when nobody listens.

P3, P4: above one lease the work ends in time.  Below, nothing changes as long as a renewal gets
through before `stop`, 0.74 TTL after the last one (docs/timing.md): always for 0.4 TTL.
"""
import pytest

from conftest import wait_until
from field import SLACK_S, engine, full, now, pause, resource, store  # noqa: F401

TTL_S = 1.2
ROUNDS = full(1, 20)


def stand(cli, resource, who, ttl_s=TTL_S, name="job"):
    """One member for each letter."""
    return [cli.start("lead", "--ttl", f"{ttl_s * 1000:.0f}ms", "--as", one, name, "--",
                      *resource.worker(one)) for one in who]


@pytest.fixture
def three(cli, resource):
    members = stand(cli, resource, "ABD")
    cli.wait_for_waiters("job", 2)
    return members


def leader_of(cli):
    return cli.holders("job")[0]["as"]


@pytest.mark.parametrize("how", ["hanging", "refused"])
@pytest.mark.parametrize("part", [0.15, 0.25])
def test_below_one_lease_nothing_changes(cli, resource, engine, three, how, part):
    who = leader_of(cli)
    first = resource.wait_for(who)
    for _ in range(ROUNDS):
        with getattr(engine, how)():
            pause(part * TTL_S)
        resource.wait_for(who, after=len(resource.marks))
        pause(TTL_S / 2)
    assert resource.tokens() == [first.token]
    assert cli.status("job")["job"]["grants"] == 1
    assert all(m.running for m in three)


@pytest.mark.parametrize("how", ["hanging", "refused"])
def test_a_little_below_one_lease_there_is_one_change_at_most(cli, resource, engine, how):
    """The others have longer leases: so none of them is lost by it, and the change is the last."""
    for n in range(ROUNDS):
        name, who = f"job{n}", f"A{n}"
        members = stand(cli, resource, [who], name=name)
        resource.wait_for(who)
        members += stand(cli, resource, [f"B{n}", f"D{n}"], 3 * TTL_S, name)
        cli.wait_for_waiters(name, 2)
        with getattr(engine, how)():
            pause(0.7 * TTL_S)
        after = len(resource.marks)
        wait_until(lambda: [m for m in resource.marks[after:] if m.what == "mark"], "work")
        pause(TTL_S)
        assert cli.status(name)[name]["grants"] <= 2
        assert all(m.running for m in members)
        for member in members:
            member.end()
    assert resource.overlaps() == []


@pytest.mark.parametrize("how", ["hanging", "refused"])
def test_above_it_the_work_ends_in_time_and_one_leads_afterwards(cli, resource, engine, three, how):
    for _ in range(ROUNDS):
        who = leader_of(cli)
        before = resource.wait_for(who, after=len(resource.marks)).token
        grants = cli.status("job")["job"]["grants"]
        with getattr(engine, how)():
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
