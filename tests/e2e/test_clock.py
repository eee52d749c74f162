"""No step of a wall clock causes a take-over or blocks one (P11).

tests/clock/wall.c moves the wall clock of the processes under it, and of nobody else.
"""
import os
import signal
import time

import pytest
from conftest import ROOT, wait_until

WALL = ROOT / os.environ.get("BUILD", "build") / "tests/clock/wall.so"
DAY = 86400
STEPS = (DAY, -2 * DAY, 3650 * DAY, 0)  # seconds
TTL_S = 0.5


@pytest.fixture
def wall(tmp_path):
    """Moves the wall clock: wall(DAY); wall.env belongs to the processes that see it."""
    path = tmp_path / "wall"

    def step(seconds):
        fresh = tmp_path / "wall.new"
        fresh.write_text(f"{seconds}\n")
        fresh.rename(path)  # never half written

    step(0)
    step.env = {"LD_PRELOAD": str(WALL), "WALL_OFFSET": str(path)}
    return step


def watch_for(seconds, check):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check()


@pytest.mark.parametrize("who", ["holder", "waiter", "both"])
def test_steps_of_the_wall_clock_take_no_lock_away(cli, wall, who):
    def env(role):
        return wall.env if who in (role, "both") else {}

    ttl = f"{int(TTL_S * 1000)}ms"
    holder = cli.start("lock", "--as", "a", "--ttl", ttl, "job", env=env("holder"))
    token = int(holder.out.wait_for(str.isdigit))
    waiter = cli.start("lock", "--as", "b", "--ttl", ttl, "job", env=env("waiter"))
    cli.wait_for_waiters("job", 1)

    def unchanged():
        assert [(h["as"], h["token"]) for h in cli.holders("job")] == [("a", token)]
        assert [w["as"] for w in cli.waiting("job")] == ["b"]

    for offset in STEPS:
        wall(offset)
        watch_for(2 * TTL_S, unchanged)
    holder.send(signal.SIGKILL)
    assert int(waiter.out.wait_for(str.isdigit)) > token


@pytest.mark.parametrize("offset", STEPS)
def test_steps_of_the_wall_clock_keep_no_lock_beyond_its_lease(cli, wall, offset):
    holder = cli.start("lock", "--as", "a", "--ttl", "500ms", "job", env=wall.env)
    holder.out.wait_for(str.isdigit)
    holder.send(signal.SIGSTOP)
    wall(offset)
    started = time.monotonic()
    waiter = cli.start("lock", "--as", "b", "job", env=wall.env)
    waiter.out.wait_for(str.isdigit)
    assert time.monotonic() - started < 10


def test_a_step_shows_in_the_history_and_nowhere_else(cli, wall):
    assert cli.run("lock", "job", "--", "true", env=wall.env).code == 0
    wall(3650 * DAY)
    assert cli.run("lock", "job", "--", "true", env=wall.env).code == 0
    later, earlier = cli.history("job")
    assert int(later["from"][:4]) - int(earlier["from"][:4]) in (9, 10)  # years
    assert later["held_ms"] < 60_000 and 0 <= later["gap_ms"] < 60_000


@pytest.mark.parametrize("offset", [DAY, -2 * DAY])
def test_a_lease_ends_by_the_time_that_passed(cli, wall, offset):
    taken = cli.run("lease", "take", "job", "--ttl", "1500ms", "--as", "a", env=wall.env)
    assert taken.code == 0
    wall(offset)
    refused = cli.run("lease", "take", "job", "--ttl", "1s", "--as", "b", env=wall.env)
    assert refused.code == 80, "a step forward ended it"
    wait_until(lambda: cli.run("lease", "take", "job", "--ttl", "1s", "--as", "b",
                               env=wall.env).code == 0, "the end of the lease", 10)
