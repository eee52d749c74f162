"""Scenario 4: a renewal is accepted and never answered.

Elsewhere the one stalled call uses up the whole deadline, and restarts services by the dozen.

P3: loss is announced before the lease ends, counted from the sending of the last success.
"""
import pytest

from conftest import LOST
from field import SLACK_S, engine, full, now, pause, resource, store  # noqa: F401


@pytest.fixture
def ttl_s(engine):
    return 1.2 * engine.patience


def held(cli, resource, ttl_s):
    holder = cli.start("lock", "--ttl", f"{ttl_s * 1000:.0f}ms", "-v", "job", "--",
                       *resource.worker("H"))
    resource.wait_for("H")
    return holder


def test_one_silent_attempt_costs_nothing(cli, resource, engine, ttl_s):
    holder = held(cli, resource, ttl_s)
    for _ in range(full(4, 20)):
        with engine.hanging():
            pause(ttl_s / 6)  # as long as one attempt may take
        resource.wait_for("H", after=len(resource.marks))
        pause(ttl_s / 3)
    assert holder.running
    assert resource.of("H", "signal-15") == []
    assert "lost" not in " ".join(holder.err.lines)


def test_when_every_attempt_is_silent_the_work_ends_before_the_lease(cli, resource, engine, ttl_s):
    holder = held(cli, resource, ttl_s)
    with engine.hanging():
        began = now()
        stopped = resource.wait_for("H", "signal-15")
        resource.wait_for("H", "end")
        assert holder.wait() == LOST
        # The last success was sent before the silence, so the end is at most one TTL after.
        assert now() - began < ttl_s + SLACK_S
        assert stopped.at - began < ttl_s
    said = holder.err.text()
    assert "in doubt" in said and "stopping" in said and "not renewed in time" in said
