"""Scenario 2: a candidate is back with a new session while its old entry is still to be seen.

Elsewhere it takes the old, doomed entry for its own, leads by it, and leads together with the
next one when the entry disappears.

P1: a new tenure has a new token.  P2: only a live ticket is granted.  P4: lost is final.
"""
import pytest

from conftest import wait_until
from field import (NOTICE_S, SLACK_S, engine, freeze, freeze_outside, full, now,  # noqa: F401
                   resource, store, thaw)

TTL_S = 0.6


def living(cli):
    return [h for h in cli.holders("job") if h["state"] != "dead"]


@pytest.mark.parametrize("round_", range(full(3, 200)))
def test_who_returns_leads_by_a_new_entry_or_not_at_all(cli, resource, round_):
    options = ["--ttl", f"{TTL_S * 1000:.0f}ms"]
    a = cli.start("lead", *options, "--as", "a", "job", "--", *resource.worker("A"))
    first = resource.wait_for("A")
    old = cli.holders("job")[0]["ticket"]
    b = cli.start("lead", *options, "--as", "b", "job", "--", *resource.worker("B"))
    cli.wait_for_waiters("job", 1)

    freeze_outside(cli, a.pid, b.pid)
    # Both expire; both return with new sessions while the entries of the old ones are still there.
    wait_until(lambda: not living(cli), "the end of the old session")
    began = now()
    thaw(a.pid, b.pid)
    leader = wait_until(lambda: [h for h in living(cli) if h["ticket"] != old],
                        "a leader of a new session")[0]
    assert now() - began < TTL_S + NOTICE_S + SLACK_S
    assert leader["token"] > first.token
    resource.wait_for(leader["as"].upper(), after=len(resource.marks))
    assert len(cli.holders("job")) == 1
    assert resource.overlaps() == []


def test_bounced_twice_it_leads_at_most_once(cli, resource):
    a = cli.start("lead", "--ttl", "500ms", "job", "--", *resource.worker("A"))
    resource.wait_for("A")
    for _ in range(full(5, 50)):
        before = len(resource.marks)
        freeze_outside(cli, a.pid)
        wait_until(lambda: not living(cli), "the end")
        thaw(a.pid)
        freeze(a.pid)  # bounced again before it did anything, or in the middle of it
        thaw(a.pid)
        resource.wait_for("A", "begin", after=before)
        assert len(cli.holders("job")) == 1
    assert resource.overlaps() == []
    tokens = resource.tokens()
    assert tokens == sorted(tokens)
