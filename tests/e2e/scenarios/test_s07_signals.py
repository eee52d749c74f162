"""Scenario 7: signals to the wrapper, while it holds and while it waits.

Elsewhere wrappers leave children behind on TERM and QUIT, and ignore every signal while they
wait.

P2: a waiter that gave up leaves nothing.  P12: released only after the tree is gone.
"""
import signal

import pytest

from conftest import wait_until
from field import engine, full, now, resource, store  # noqa: F401

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
CLEANUP_MS = full(700, 3000)


@pytest.mark.parametrize("signo", SIGNALS, ids=lambda s: s.name)
def test_while_holding_the_command_gets_it_and_its_time_to_clean_up(cli, resource, signo):
    h = cli.start("lock", "--ttl", "600ms", "job", "--",
                  *resource.worker("H", cleanup=CLEANUP_MS, code=3))
    resource.wait_for("H")
    cli.start("lock", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)

    h.send(signo)
    received = resource.wait_for("H", f"signal-{signo.value}")
    ended = resource.wait_for("H", "end")
    started = resource.wait_for("C", "begin")

    assert ended.at - received.at >= CLEANUP_MS / 1000 * 0.95  # longer than the TTL: it is renewed
    assert ended.number < started.number
    assert h.wait() == 3  # the command's own code
    assert len(resource.of("H", f"signal-{signo.value}")) == 1
    assert resource.overlaps() == []


def assert_ends_waiting(cli, waiter, signo):
    """A signal ends the wait, and nothing is left of it."""
    cli.wait_for_waiters("job", 1)
    began = now()
    waiter.send(signo)
    assert waiter.wait() == 128 + signo
    assert now() - began < 1
    assert cli.waiting("job") == []


@pytest.mark.parametrize("signo", SIGNALS, ids=lambda s: s.name)
@pytest.mark.parametrize("command", [["true"], None], ids=["command", "no-command"])
def test_while_waiting_it_ends_within_a_second_and_leaves_nothing(cli, signo, command):
    cli.hold("job")
    w = cli.start("lock", "job", *(["--", *command] if command else []))
    assert_ends_waiting(cli, w, signo)


@pytest.mark.parametrize("signo", SIGNALS, ids=lambda s: s.name)
def test_a_candidate_that_waits_ends_on_a_signal_too(cli, resource, signo):
    cli.start("lead", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    w = cli.start("lead", "job", "--", "true")
    assert_ends_waiting(cli, w, signo)


def test_a_signal_in_the_first_moments_is_obeyed_too(cli, resource):
    for _ in range(full(10, 100)):
        w = cli.start("lock", "job", "--", *resource.worker("H"))
        w.send(signal.SIGTERM)
        assert w.wait() in (128 + signal.SIGTERM, 0)
        wait_until(lambda: cli.holders("job") == [] and cli.waiting("job") == [], "an empty queue")
