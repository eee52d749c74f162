"""Scenario 23: a restart inside the tick's minute, and a job longer than its interval.

There are no schedules yet; what runs jobs today is cron with `tenure lock -n`, and a lease for
each tick.  Elsewhere nobody remembers which ticks were fired, and rules against overlap are
forgotten when the owner changes.

P1, P2, P7.  The owner that keeps the schedule itself, and records what it skipped, waits for
`tenure cron`.
"""
import subprocess
import sys

from conftest import BINARY, LIMIT_S, REFUSED
from field import engine, full, resource, store  # noqa: F401

# What cron would start on each node at each tick: the lease of a tick is taken once, for longer
# than anybody restarts within it.
TICK = """
"$0" lease take --ttl 1h "tick/$1" >/dev/null || exit 75
echo "$2 runs $1"
"""


def tick(cli, minute, node):
    return subprocess.run(["sh", "-c", TICK, str(BINARY), minute, node], env=cli.env, check=False,
                          cwd=cli.directory, capture_output=True, text=True, timeout=LIMIT_S)


def test_a_tick_runs_once_however_often_its_nodes_are_restarted_within_it(cli):
    for minute in ("12:00", "13:00"):
        ran = []
        for restart in range(full(3, 20)):
            nodes = [subprocess.Popen(["sh", "-c", TICK, str(BINARY), minute, f"n{i}.{restart}"],
                                      env=cli.env, cwd=cli.directory, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True) for i in range(4)]
            for node in nodes:
                out, _ = node.communicate(timeout=LIMIT_S)
                assert node.returncode == (0 if out else 75)
                ran += out.splitlines()
        assert len(ran) == 1, ran
        assert tick(cli, minute, "late").returncode == 75


def test_a_long_job_is_not_started_again_while_it_runs(cli, resource, engine):
    """Ticks come while it runs, its node restarts, a node that has nothing to do with it crashes:
    it runs once, until it ends, and then the next tick gets in."""
    ttl = ["--ttl", f"{600 * engine.patience}ms"]
    job = ["lock", "-n", *ttl, "job", "--"]
    h = cli.start(*job, *resource.worker("long"))
    first = resource.wait_for("long")
    for i in range(full(5, 50)):
        bystander, _ = cli.hold(f"other{i}")
        resource.wait_for("long", after=len(resource.marks) + 5)
        assert cli.run(*job, *resource.worker(f"tick{i}", **{"for": 1})).code == REFUSED
        bystander.send(9)
        bystander.wait()
    assert resource.tokens() == [first.token]
    h.send(9)  # the owner changes in the middle of its job: the tree goes with it
    h.wait()
    taken = cli.start("lock", *ttl, "job", "--", *resource.worker("next"))
    resource.wait_for("next")
    resource.wait_for("next", after=len(resource.marks) + 20)
    assert cli.run(*job, sys.executable, "-c", "").code == REFUSED  # under the new owner, too
    assert resource.overlaps() == []
    taken.end()


def test_what_was_skipped_is_not_lost_from_sight(cli, resource):
    holder, token = cli.hold("job")
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == REFUSED and str(token) in done.err
    holder.end()
