"""Scenario 11: candidates with different lease lengths.

Elsewhere contenders judge the holder by their own, shorter setting.

P3: what counts is the lease that the holder has, as the store knows it.
"""
import pytest

from conftest import wait_until
from field import (NOTICE_S, SLACK_S, engine, freeze_outside, full, now,  # noqa: F401
                   parent_of, pause, resource, store)

LONG_S, SHORT_S = full(3.0, 60), full(1.2, 5)


def candidate(cli, resource, who, ttl_s):
    return cli.start("lead", "--ttl", f"{ttl_s * 1000:.0f}ms", "--as", who, "job", "--",
                     *resource.worker(who))


@pytest.mark.parametrize("ttls", [(LONG_S, SHORT_S), (SHORT_S, LONG_S)],
                         ids=["long-leads", "short-leads"])
def test_the_leaders_own_lease_counts(cli, resource, ttls):
    leader = candidate(cli, resource, "A", ttls[0])
    first = resource.wait_for("A")
    candidate(cli, resource, "B", ttls[1])
    cli.wait_for_waiters("job", 1)

    pause(full(LONG_S * 1.5, 600))  # nobody takes over from a healthy leader
    assert {m.who for m in resource.marks} == {"A"}
    job = cli.status("job")["job"]
    assert job["holders"][0]["ttl_ms"] == int(ttls[0] * 1000)  # mixed settings are to be seen
    assert job["waiting"][0]["ttl_ms"] == int(ttls[1] * 1000)

    guardian = parent_of(first.pid)
    freeze_outside(cli, leader.pid, guardian, first.pid)  # as if its machine were gone
    began = now()
    taken = resource.wait_for("B", limit=LONG_S + 30)
    waited = taken.at - began
    assert ttls[0] / 2 - 0.2 < waited < ttls[0] + NOTICE_S + SLACK_S
    assert taken.token > first.token


def test_a_killed_leader_is_followed_at_once_whatever_the_leases_are(cli, resource):
    leader = candidate(cli, resource, "A", 60)
    resource.wait_for("A")
    candidate(cli, resource, "B", SHORT_S)
    cli.wait_for_waiters("job", 1)
    began = now()
    leader.send(9)
    assert resource.wait_for("B").at - began < SLACK_S
    assert resource.overlaps() == []
    wait_until(lambda: [h["as"] for h in cli.holders("job")] == ["B"], "B in the record")
