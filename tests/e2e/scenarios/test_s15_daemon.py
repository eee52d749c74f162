"""Scenario 15: a daemon is born inside the critical section.

Elsewhere it inherits the lock's descriptor, and keeps the lock for ever after its owner has gone.

The rule here: what the command leaves behind is ended with the tenure, and that is said.
P12: nothing of the tree is alive when the tenure is given back.
"""
import pathlib

from field import SLACK_S, engine, now, resource, store  # noqa: F401


def test_it_ends_with_the_tenure_and_the_second_run_starts_at_once(cli, resource):
    done = cli.run("lock", "--ttl", "2s", "job", "--",
                   *resource.worker("H", daemon=1, **{"for": 200}))
    assert done.code == 0
    assert "left 1 process behind" in done.err  # it says so
    daemon = resource.of("H.daemon")
    assert daemon, "the daemon ran"
    assert not pathlib.Path(f"/proc/{daemon[0].pid}").exists()
    began = now()
    assert cli.run("lock", "-n", "job", "--", *resource.worker("C", **{"for": 50})).code == 0
    assert now() - began < SLACK_S
    assert resource.overlaps() == []


def test_one_that_does_not_want_to_end_does_not_keep_the_lock(cli, resource):
    done = cli.run("lock", "--ttl", "2s", "job", "--",
                   *resource.worker("H", daemon=1, deaf=1, **{"for": 200}))
    assert done.code == 0
    assert cli.run("lock", "-n", "job", "--", *resource.worker("C", **{"for": 50})).code == 0
    assert resource.overlaps() == []
    assert not pathlib.Path(f"/proc/{resource.of('H.daemon')[0].pid}").exists()


def test_the_second_run_waits_as_long_as_the_daemon_lives(cli, resource):
    h = cli.start("lock", "--ttl", "2s", "job", "--",
                  *resource.worker("H", daemon=1, cleanup=300, **{"for": 100}))
    resource.wait_for("H.daemon")
    assert cli.run("lock", "job", "--", *resource.worker("C", **{"for": 50})).code == 0
    gone = resource.wait_for("H.daemon", "end")
    assert gone.number < resource.wait_for("C", "begin").number
    assert h.wait() == 0


def test_neither_command_nor_daemon_inherits_a_descriptor_of_ours(cli, resource):
    cli.run("lock", "job", "--", *resource.worker("H", daemon=1, child=1, **{"for": 200}))
    for who in ("H", "H.child", "H.daemon"):
        listed = [m.what for m in resource.of(who) if m.what.startswith("fds-")]
        assert listed == ["fds-0,1,2,"], who
