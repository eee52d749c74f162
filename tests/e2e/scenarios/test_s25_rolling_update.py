"""Scenario 25: a rolling update.

Elsewhere readiness is tied to leadership and blocks the update for ever, and the order of restarts
multiplies the elections.

P8: waiters are served by priority, then in order.  A standby is ready when it is in line.
"""
import pytest

from conftest import wait_until
from field import SLACK_S, engine, full, resource, store  # noqa: F401

ROLLS = full(2, 5)


def replica(cli, resource, name, priority):
    process = cli.start("lead", "--ttl", "2s", "--priority", str(priority), "--as", name, "job",
                        "--", *resource.worker(name))
    return process


def is_ready(cli, name):
    """What a script waits for: the replica leads, or stands by."""
    job = cli.status("job").get("job", {"holders": [], "waiting": []})
    return name in [t["as"] for t in job["holders"] + job["waiting"]]


def wait_ready(cli, name):
    wait_until(lambda: is_ready(cli, name), f"readiness of {name}")


def gap_between(resource, token):
    """Seconds without a write before the first one under this token."""
    marks = resource.marks
    first = next(i for i, m in enumerate(marks) if m.token == token)
    return marks[first].at - marks[first - 1].at


@pytest.mark.parametrize("hand_over", [False, True], ids=["restart", "hand-over"])
def test_the_update_always_ends_with_few_changes_of_leader(cli, resource, hand_over):
    members = {}
    for i in range(3):
        members[f"v0-{i}"] = replica(cli, resource, f"v0-{i}", 0)
        wait_ready(cli, f"v0-{i}")
    resource.wait_for("v0-0")
    for roll in range(1, ROLLS + 1):
        before = cli.status("job")["job"]["grants"]
        for i in range(3):
            old, new = f"v{roll - 1}-{i}", f"v{roll}-{i}"
            members[new] = replica(cli, resource, new, roll)  # a newer version goes first
            wait_ready(cli, new)
            if hand_over and cli.holders("job")[0]["as"] == old:
                done = cli.run("transfer", "job", "--to", new)
                assert done.code == 0, done.err
            stopped = members.pop(old)
            stopped.send(15)
            stopped.wait()
        changes = cli.status("job")["job"]["grants"] - before
        assert changes <= (1 if hand_over else 2)
    tokens = resource.tokens()
    assert all(gap_between(resource, token) < 1 + SLACK_S for token in tokens[1:])
    assert resource.overlaps() == []
    assert all(m.running for m in members.values())


def test_a_single_replica_with_surge_is_updated_too(cli, resource):
    old = replica(cli, resource, "v0", 0)
    resource.wait_for("v0")
    for roll in range(1, ROLLS + 1):
        new = replica(cli, resource, f"v{roll}", roll)
        wait_ready(cli, f"v{roll}")  # it is ready although it does not lead
        old.send(15)
        old.wait()
        resource.wait_for(f"v{roll}")
        old = new
    assert cli.status("job")["job"]["grants"] == ROLLS + 1
    assert resource.overlaps() == []
