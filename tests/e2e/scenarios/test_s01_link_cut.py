"""Scenario 1: only the link to the store is cut, and nothing else will stop the holder.

Elsewhere the holder goes on writing next to its successor, and re-creates its entry when the
link returns.  An embedded store has no link that could be cut for one process alone; the same
happens when the supervisor, which renews, is stopped and the command is not.

P3: the holder is stopped no later than its deadline.  P4: what is lost stays lost.  P12: nothing
of the command's tree is alive after the deadline.
"""
import pytest

from conftest import LOST
from field import engine, freeze_outside, full, resource, store, thaw  # noqa: F401


@pytest.fixture
def ttl(engine):
    return ["--ttl", f"{800 * engine.patience}ms"]


@pytest.mark.parametrize("round_", range(full(3, 20)))
def test_a_holder_that_cannot_renew_is_stopped_before_its_successor_starts(cli, resource, ttl,
                                                                           round_):
    holder = cli.start("lock", *ttl, "job", "--", *resource.worker("H", child=1))
    first = resource.wait_for("H")
    waiter = cli.start("lock", *ttl, "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)

    freeze_outside(cli, holder.pid)
    taken_over = resource.wait_for("C")
    thaw(holder.pid)

    assert holder.wait() == LOST
    assert "is lost" in holder.err.text() or "lost job" in holder.err.text()
    assert taken_over.token > first.token
    resource.wait_for("C", after=len(resource.marks))  # C goes on after the link is back
    assert resource.overlaps() == []
    assert [h["token"] for h in cli.holders("job")] == [taken_over.token]
    assert waiter.running


def test_a_leader_whose_link_returns_stands_again_behind_the_others(cli, resource, ttl):
    leader = cli.start("lead", *ttl, "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    cli.start("lead", *ttl, "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)

    freeze_outside(cli, leader.pid)
    taken_over = resource.wait_for("C")
    thaw(leader.pid)

    leader.err.wait_for(lambda line: "lost" in line)
    cli.wait_for_waiters("job", 1)  # it stands for election again, and only waits
    assert [h["token"] for h in cli.holders("job")] == [taken_over.token]
    assert resource.overlaps() == []
