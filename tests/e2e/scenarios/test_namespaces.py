"""Processes that share a store and no numbers: PID namespaces, and a number that is used again.

Elsewhere a holder is known by its process id: in another container the same number is somebody
else, and after a while it is somebody else here, too.  Then a dead holder lives for ever, or a
living one is taken for dead.

P2: only the living are served.  P7: death frees at once, and nothing else does.
"""
import contextlib
import subprocess

import pytest

from conftest import BINARY, LIMIT_S, REFUSED, wait_until
from field import as_root, engine, now, resource, store  # noqa: F401

pytestmark = [as_root, pytest.mark.embedded]
TTL = "30s"  # whoever is in within a second did not wait for it


class Container:
    """A PID namespace, with a command as its process 1."""

    def __init__(self, cli, *command):
        self.child = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *command], env=cli.env,
            cwd=cli.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self):
        return self.child.stdout.readline().strip()

    def kill(self):
        """As a whole, at once: what its first process was dies with it."""
        self.child.kill()

    def close(self):
        self.kill()
        self.child.wait(LIMIT_S)
        self.child.stdin.close()
        self.child.stdout.close()


@pytest.fixture
def container(cli):
    with contextlib.ExitStack() as made:
        def start(*command):
            one = Container(cli, *command)
            made.callback(one.close)
            return one
        yield start


def locking(resource, who):
    return [str(BINARY), "lock", "--ttl", TTL, "job", "--", *resource.worker(who)]


def test_holders_and_waiters_that_are_all_process_1_are_not_mixed_up(cli, container, resource):
    h = container(*locking(resource, "H"))
    resource.wait_for("H")
    doomed = container(*locking(resource, "D"))
    cli.wait_for_waiters("job", 1)
    container(*locking(resource, "W"))
    cli.wait_for_waiters("job", 2)
    doomed.kill()  # a process 1 dies, but not the one that holds, nor the one that waits
    resource.wait_for("H", after=len(resource.marks) + 20)
    assert cli.run("lock", "-n", "job", "--", "true").code == REFUSED
    began = now()
    h.kill()
    assert resource.wait_for("W").at - began < 1
    resource.wait_for("W", after=len(resource.marks) + 20)
    assert resource.of("D") == [] and resource.overlaps() == []


REUSED = """
"$0" lock --ttl 30s job -- sleep 1000 & holder=$!
until "$0" status job --json | grep -q '"state":"held"'; do sleep 0.01; done
echo $holder; read go
kill -9 $holder; wait $holder
while :; do
    echo $((holder - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 1000 & test $! = $holder && break
done
echo $!; read end
"""


def test_a_number_that_is_used_again_keeps_no_dead_holder_alive(cli, container, resource):
    """In the namespace in which the number means something: who looks from there is not fooled."""
    h = container("sh", "-c", REUSED, str(BINARY))
    number = h.line()
    assert number.isdigit()
    cli.start("lock", "--ttl", TTL, "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    began = now()
    print("go", file=h.child.stdin, flush=True)
    assert h.line() == number  # now a stranger has it
    assert resource.wait_for("C").at - began < 2
    inside = subprocess.run(
        ["nsenter", "--target", str(first_process_of(h)), "--pid", "--mount", str(BINARY), "lock",
         "-n", "job", "--", "true"], env=cli.env, check=False, timeout=LIMIT_S, cwd=cli.directory,
        capture_output=True, text=True)
    assert inside.returncode == REFUSED and "held by" in inside.stderr, inside.stderr
    assert [x["token"] for x in cli.holders("job")] == [resource.marks[-1].token]


def first_process_of(box):
    children = f"/proc/{box.child.pid}/task/{box.child.pid}/children"
    with open(children, encoding="ascii") as file:
        return int(file.read().split()[0])


def test_from_another_namespace_a_holder_is_seen_evicted_and_followed(cli, container, resource):
    container(*locking(resource, "H"))
    first = resource.wait_for("H")
    assert [(h["token"], h["state"]) for h in cli.holders("job")] == [(first.token, "held")]
    began = now()
    done = cli.run("evict", "job", "--token", first.token, "--reason", "test")
    assert done.code == 0, done.err
    wait_until(lambda: not cli.holders("job"), "the end of the evicted")
    assert now() - began < 20  # it heard of it, and did not wait for its ttl
    assert cli.run("lock", "-n", "job", "--", "true").code == 0
