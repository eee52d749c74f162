"""Scenario 4: a renewal is accepted and never answered.

Elsewhere the one stalled call uses up the whole deadline, and restarts services by the dozen.

P3: loss is announced before the lease ends, counted from the sending of the last success.
"""
from conftest import LOST
from field import SLACK_S, engine, full, now, pause, resource, store  # noqa: F401

TTL_S = 1.2


def held(cli, resource):
    holder = cli.start("lock", "--ttl", f"{TTL_S * 1000:.0f}ms", "-v", "job", "--",
                       *resource.worker("H"))
    resource.wait_for("H")
    return holder


def test_one_silent_attempt_costs_nothing(cli, resource, engine):
    holder = held(cli, resource)
    for _ in range(full(4, 20)):
        with engine.hanging():
            pause(TTL_S / 6)  # as long as one attempt may take
        resource.wait_for("H", after=len(resource.marks))
        pause(TTL_S / 3)
    assert holder.running
    assert resource.of("H", "signal-15") == []
    assert "lost" not in " ".join(holder.err.lines)


def test_when_every_attempt_is_silent_the_work_ends_before_the_lease(cli, resource, engine):
    holder = held(cli, resource)
    with engine.hanging():
        began = now()
        stopped = resource.wait_for("H", "signal-15")
        resource.wait_for("H", "end")
        assert holder.wait() == LOST
        # The last success was sent before the silence, so the end is at most one TTL after.
        assert now() - began < TTL_S + SLACK_S
        assert stopped.at - began < TTL_S
    said = holder.err.text()
    assert "in doubt" in said and "stopping" in said
