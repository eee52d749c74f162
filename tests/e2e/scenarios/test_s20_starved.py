"""Scenario 20: a starved process.

Elsewhere renewals share a scheduler, a rate limiter or a loop with the work, and come too late.

P3: the loss is announced before the lease ends, never after.  A pause costs the role when it lasts
until `stop` (docs/timing.md), counted from the last renewal: 0.74 TTL, or 0.89 TTL with the
shortest --grace; so one of 0.4, or 0.55, never does, and one above the TTL always.
"""
import contextlib
import os
import pathlib
import time

import pytest

from conftest import LOST
from field import (NOTICE_S, SLACK_S, as_root, engine, freeze, freeze_outside,  # noqa: F401
                   full, library, now, parent_of, pause, resource, store, thaw)

TTL_S = 1.5
CPU = pathlib.Path("/sys/fs/cgroup/cpu")
RUN_S = full(4, 1800)


@contextlib.contextmanager
def tenth_of_a_processor():
    """A control group whose members share a tenth of one processor: a function that moves one."""
    group = CPU / f"tenure-test-{os.getpid()}"
    if not (CPU / "cpu.cfs_quota_us").exists() and not (CPU / "cpu.shares").exists():
        pytest.skip("no cpu controller of control groups v1 here")
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("20000")
        (group / "cpu.cfs_quota_us").write_text("2000")
        yield lambda pid: (group / "cgroup.procs").write_text(str(pid))
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (CPU / "cgroup.procs").write_text(pid)
        end = time.monotonic() + 10
        while group.exists() and time.monotonic() < end:
            with contextlib.suppress(OSError):
                group.rmdir()


@as_root
def test_ten_busy_threads_beside_it_on_a_tenth_of_a_processor(cli, resource):
    with tenth_of_a_processor() as move:
        h = cli.start("lock", "--ttl", f"{TTL_S * 1000:.0f}ms", "job", "--",
                      *resource.worker("H", busy=10))
        first = resource.wait_for("H")
        for pid in (h.pid, parent_of(first.pid), first.pid):
            move(pid)
        c = cli.start("lock", "--ttl", "2s", "job", "--", *resource.worker("C"))
        cli.wait_for_waiters("job", 1)
        end = now() + RUN_S
        while now() < end and h.running:
            pause(0.1)
        if h.running:  # it kept its pace
            assert {m.who for m in resource.marks} == {"H"}
        else:  # or it ended in time, and said so
            assert h.wait() == LOST
            assert "lost" in h.err.text() or "not renewed in time" in h.err.text()
        assert resource.overlaps() == []
        c.end()
        h.end()


@as_root
def test_ten_busy_threads_in_the_same_program(library, engine, cli):
    with tenth_of_a_processor() as move:
        program = library()
        assert program.do("open", engine.url, int(TTL_S * 1000), "h", "pump")[0] == 0
        token = program.number("acquire", "job", 5000)
        move(program.pid)
        assert program.do("busy", 10)[0] == 0
        c, taken = cli.start("lock", "--ttl", "2s", "job"), None
        end = now() + RUN_S
        while now() < end:
            standing, _ = program.do("check")
            holders = [h["token"] for h in cli.holders("job") if h["state"] != "dead"]
            taken = [t for t in holders if t != token]
            if taken:
                assert program.do("check")[0] < 0  # it knew before the other one got it
                break
            assert standing in (1, 2, -20)
        c.end()
        program.end()


@pytest.mark.parametrize("round_", range(full(1, 20)))
@pytest.mark.parametrize("part, grace", [(0.3, []), (0.45, ["--grace", "150ms"])])
def test_a_pause_below_the_lease_costs_nothing(cli, resource, part, grace, round_):
    h = cli.start("lock", "--ttl", f"{TTL_S * 1000:.0f}ms", *grace, "job", "--",
                  *resource.worker("H"))
    first = resource.wait_for("H")
    cli.start("lock", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    everybody = (h.pid, parent_of(first.pid), first.pid)
    freeze(*everybody)
    pause(part * TTL_S)  # and up to ttl/3 since the last renewal
    thaw(*everybody)
    resource.wait_for("H", after=len(resource.marks) + 5)
    assert h.running
    assert {m.who for m in resource.marks} == {"H"}


@pytest.mark.parametrize("round_", range(full(2, 20)))
def test_a_pause_above_the_lease_costs_the_role_and_it_is_the_first_thing_known(
        cli, resource, round_):
    h = cli.start("lock", "--ttl", f"{TTL_S * 1000:.0f}ms", "job", "--",
                  *resource.worker("H", every=2))
    first = resource.wait_for("H")
    cli.start("lock", "job", "--", *resource.worker("C", every=2))
    cli.wait_for_waiters("job", 1)
    everybody = (h.pid, parent_of(first.pid), first.pid)
    freeze_outside(cli, *everybody)
    taken = resource.wait_for("C", limit=TTL_S + NOTICE_S + SLACK_S)
    thaw(h.pid, parent_of(first.pid))  # the command itself stays stopped until it is ended
    assert h.wait() == LOST
    assert resource.overlaps() == [] and taken.token > first.token


def test_the_library_knows_of_the_loss_before_anything_else(library, engine, cli):
    program = library()
    assert program.do("open", engine.url, 500 * engine.patience, "h")[0] == 0
    token = program.number("acquire", "job", 0)
    freeze_outside(cli, program.pid)
    assert cli.run("lock", "-w", "10", "job", "--", "true").code == 0
    program.say("check")
    thaw(program.pid)
    assert program.hear()[0] == -20
    assert program.do("release")[0] == -20
    assert cli.history("job")[0]["token"] > token
