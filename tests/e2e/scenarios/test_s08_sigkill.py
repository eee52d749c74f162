"""Scenario 8: SIGKILL of the wrapper only.

KILL cannot be forwarded, and parent-death signals reach only the first generation and have a race
at the start: elsewhere the command and its children go on beside their successors.

P7: the death of a process frees its claims at kernel speed.  P12: the tree is gone first.
"""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import BINARY, LIMIT_S, wait_until
from field import (NOTICE_S, SLACK_S, as_root, engine, full, now, resource,  # noqa: F401
                   store)


@pytest.mark.parametrize("round_", range(full(4, 50)))
def test_command_and_grandchild_are_gone_before_the_next_one_starts(cli, resource, round_):
    h = cli.start("lock", "--ttl", "10s", "job", "--",
                  *resource.worker("H", child=1, daemon=1, deaf=1, every=2))
    for who in ("H", "H.child", "H.daemon"):
        resource.wait_for(who)
    cli.start("lock", "--ttl", "10s", "job", "--", *resource.worker("C", every=2))
    cli.wait_for_waiters("job", 1)

    began = now()
    h.send(signal.SIGKILL)
    started = resource.wait_for("C")
    assert started.at - began < 1  # not the TTL of 10 s
    resource.wait_for("C", after=len(resource.marks) + 50)
    assert resource.overlaps() == []
    for who in ("H", "H.child", "H.daemon"):
        pid = resource.of(who)[0].pid
        assert not pathlib.Path(f"/proc/{pid}").exists()


def test_killed_in_its_first_moments_it_leaves_nobody_at_work(cli, resource):
    for i in range(full(20, 200)):
        child = subprocess.Popen([str(BINARY), "lock", "--ttl", "10s", "job", "--",
                                  *resource.worker(f"H{i}", every=2, child=1)], env=cli.env,
                                 cwd=cli.directory, stderr=subprocess.DEVNULL)
        end = time.monotonic_ns() + i * 300_000  # from 0 to 6 ms after the start
        while time.monotonic_ns() < end:
            pass
        child.kill()
        child.wait(LIMIT_S)
        done = cli.run("lock", "-w", "5", "job", "--", *resource.worker("C", **{"for": 10}))
        assert done.code == 0, done.err
    assert resource.overlaps() == []


@as_root
@pytest.mark.embedded
def test_a_container_that_is_killed_whole_frees_its_claims_at_once(cli, resource):
    """Another PID namespace, whose processes have numbers that others have here."""
    h = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
                          str(BINARY), "lock", "--ttl", "10s", "job", "--",
                          *resource.worker("H", child=1, every=2)], env=cli.env,
                         cwd=cli.directory, start_new_session=True)
    try:
        resource.wait_for("H")
        cli.start("lock", "--ttl", "10s", "job", "--", *resource.worker("C", every=2))
        cli.wait_for_waiters("job", 1)
        began = now()
        h.kill()  # its child, the first process there, dies with it, and so do all
        assert resource.wait_for("C").at - began < 1
        resource.wait_for("C", after=len(resource.marks) + 50)
        assert resource.overlaps() == []
    finally:
        h.kill()
        h.wait(LIMIT_S)


def test_a_killed_waiter_is_passed_over(cli, resource, engine):
    h, _ = cli.hold("job")
    w = cli.start("lock", "--ttl", "3s", "job", "--", *resource.worker("W"))
    cli.wait_for_waiters("job", 1)
    cli.start("lock", "--ttl", "10s", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 2)
    w.send(signal.SIGKILL)
    wait_until(lambda: not w.running, "the end of the waiter")
    began = now()
    h.send(signal.SIGTERM)
    # Nobody stands by a waiter: where the store cannot see its end, its session expires.
    limit = 1 if engine.embedded else 3 + NOTICE_S + 2 * SLACK_S
    assert resource.wait_for("C").at - began < limit
    assert resource.of("W") == []


def test_a_killed_command_ends_its_tenure_with_its_code(cli, resource):
    h = cli.start("lock", "--ttl", "10s", "job", "--", *resource.worker("H", child=1))
    pid = resource.wait_for("H").pid
    resource.wait_for("H.child")
    cli.start("lock", "--ttl", "10s", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    os.kill(pid, signal.SIGKILL)
    resource.wait_for("C")
    assert h.wait() == 128 + signal.SIGKILL
    assert resource.overlaps() == []
