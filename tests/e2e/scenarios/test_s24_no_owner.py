"""Scenario 24, the half about locks: a night without an owner.

Elsewhere an unknown history is taken for a missed run, and what was missed disables what is due.

P1, P6: what is not known is not guessed; the first start, restarts and a long outage of all owners
are told apart.
"""
import pytest

from field import SLACK_S, engine, full, now, pause, resource, store  # noqa: F401

NIGHT_S = full(1.5, 3 * 3600)


def test_the_first_start_ever_knows_of_no_gap(cli, resource):
    h = cli.start("lead", "--as", "H", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    h.send(15)
    h.wait()
    first = cli.history("job")[-1]
    assert first["gap_ms"] is None  # unknown, neither 0 nor "since for ever"
    assert cli.status("job")["job"]["grants"] == 1


def test_ten_restarts_are_ten_tenures_with_their_gaps(cli, resource):
    for i in range(10):
        h = cli.start("lead", "--as", f"H{i}", "job", "--", *resource.worker(f"H{i}"))
        resource.wait_for(f"H{i}")
        h.send(9 if i % 2 else 15)
        h.wait()
    last = cli.start("lead", "job", "--", *resource.worker("last"))  # finds the last one dead
    resource.wait_for("last")
    last.send(15)
    last.wait()
    past = cli.history("job")[1:]
    tokens = [p["token"] for p in past]
    assert tokens == sorted(tokens, reverse=True) and len(tokens) == 10
    assert [p["as"] for p in past] == [f"H{i}" for i in reversed(range(10))]
    assert all(p["gap_ms"] is not None and p["gap_ms"] < 60_000 for p in past[:-1])


def test_after_a_night_the_first_one_leads_at_once_and_the_gap_is_on_record(cli, resource, engine):
    h = cli.start("lead", "--ttl", "600ms", "job", "--", *resource.worker("H"))
    token = resource.wait_for("H").token
    h.send(9)
    h.wait()
    pause(NIGHT_S)
    began = now()
    c = cli.start("lead", "--ttl", "600ms", "job", "--", *resource.worker("C"))
    taken = resource.wait_for("C")
    assert taken.at - began < SLACK_S and taken.token > token
    c.send(15)
    c.wait()
    after, before = cli.history("job")
    assert before["token"] == token and before["cause"] in ("died", "expired")
    # Nobody noticed the death; it was at the latest when its lease ended.
    least = NIGHT_S - 0.7 if engine.tells_ends else 0
    assert least <= after["gap_ms"] / 1000 <= NIGHT_S + SLACK_S
    assert resource.overlaps() == []


def test_a_lease_that_ended_in_the_night_is_neither_held_nor_revived(cli, engine):
    token = int(cli.run("lease", "take", "--ttl", "500ms", "--as", "H", "job").out)
    pause(NIGHT_S + engine.lease_late_s)
    assert cli.run("lease", "renew", "job", "--ttl", "500ms", "--token", token).code != 0
    again = int(cli.run("lease", "take", "--ttl", "500ms", "--as", "C", "job").out)
    assert again > token
    past = cli.history("job")[-1]
    assert (past["token"], past["cause"]) == (token, "expired")
