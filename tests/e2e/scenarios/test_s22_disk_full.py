"""Scenario 22: the disk is full.

Elsewhere a store that can be read and not written looks healthy to everyone.  An embedded store
has no quota of its own; the file system has one.

P3: the holder keeps a provable tenure or ends in time.  P6: the error says what it is.
"""
import errno

import pytest

from conftest import DENIED, LOST, wait_until
from field import (SLACK_S, SqliteStore, as_root, full, mounted, now, pause,  # noqa: F401
                   resource)

pytestmark = [as_root, pytest.mark.embedded]
TTL_S = 1.2


@pytest.fixture
def engine(tmp_path):
    """A store on a file system of a few megabytes."""
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as place:
        yield SqliteStore(place)


@pytest.fixture
def store(engine):
    return engine.url


def fill(engine):
    """Takes all the room there is; returns the file."""
    ballast = engine.path.parent / "ballast"
    with open(ballast, "ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as e:
                assert e.errno == errno.ENOSPC
    return ballast


def test_no_space_is_said_and_who_is_refused_does_not_get_in(cli, engine, resource):
    assert cli.run("lock", "job", "--", "true").code == 0
    ballast = fill(engine)
    refused = 0
    for i in range(160):  # as long as memory and log have room, it may go on
        done = cli.run("lock", "-n", f"job{i}", "--", *resource.worker(f"C{i}", **{"for": 1}))
        if done.code != 0:
            assert done.code == DENIED and "no space" in done.err
            assert resource.of(f"C{i}") == []
            refused += 1
        else:
            assert resource.of(f"C{i}")
    assert refused > 0
    ballast.unlink()
    assert cli.run("lock", "-n", "job", "--", "true").code == 0  # at once, without a clean-up
    assert engine.damage() == []


def test_a_holder_goes_on_or_ends_in_time_and_all_continue_afterwards(cli, engine, resource):
    h = cli.start("lead", "--ttl", f"{TTL_S * 1000:.0f}ms", "--as", "H", "job", "--",
                  *resource.worker("H"))
    resource.wait_for("H")
    c = cli.start("lead", "--ttl", f"{TTL_S * 1000:.0f}ms", "--as", "C", "job", "--",
                  *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    ballast = fill(engine)
    pause(full(3, 10) * TTL_S)
    at_work = len(resource.marks)
    ballast.unlink()
    began = now()
    wait_until(lambda: len(resource.marks) > at_work, "work after the outage")
    assert now() - began < 2 * TTL_S + SLACK_S
    assert h.running and c.running  # no restart of the tool
    assert resource.overlaps() == []
    wait_until(lambda: len(cli.holders("job")) == 1 and len(cli.waiting("job")) == 1, "both")
    assert engine.damage() == []


def test_a_store_cannot_be_made_on_a_full_disk_and_can_be_afterwards(cli, engine):
    ballast = fill(engine)
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == DENIED and "no space" in done.err.lower(), done.err
    ballast.unlink()
    assert cli.run("lock", "-n", "job", "--", "true").code == 0


def test_a_lock_that_ran_into_the_full_disk_does_not_say_that_all_went_well(cli, engine, resource):
    h = cli.start("lock", "--ttl", "600ms", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    ballast = fill(engine)
    before = len(resource.marks)
    pause(full(2, 10))
    if not h.running:
        assert h.wait() == LOST
        assert "no space" in h.err.text()
    else:  # it renewed all the time: in place, without needing room
        resource.wait_for("H", after=before)
        h.end()
    ballast.unlink()
