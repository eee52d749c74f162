"""The disk of the store's server is frozen: who reads it gets answers, who writes waits for ever.

Elsewhere such a server looks healthy, since it takes connections and answers to pings, and what was
asked of it happens minutes later, when the disk comes back.  It is a file system on a loop device
here, and fsfreeze(8).

P3: who holds stops in time, and nobody else starts meanwhile.  P2: what was asked and given up is
not done afterwards.  One frozen member of three costs nobody anything until it thaws.
"""
import contextlib
import pathlib
import shutil
import signal
import subprocess

import pytest

import etcd
from conftest import LOST, UNREACHABLE, UNSURE, mounted, wait_until
from field import SLACK_S, as_root, now, pause, resource  # noqa: F401
from postgres import postgres_server

pytestmark = as_root
TTL_S = 3.0
TTL = ["--ttl", f"{TTL_S * 1000:.0f}ms"]


class Disk:
    def __init__(self, path):
        self.path = path

    @contextlib.contextmanager
    def frozen(self):
        subprocess.run(["fsfreeze", "--freeze", str(self.path)], check=True)
        try:
            yield
        finally:  # else nobody could end who waits for it
            subprocess.run(["fsfreeze", "--unfreeze", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path):
    for program in "fsfreeze", "mkfs.ext4", "losetup":
        if not shutil.which(program):
            pytest.skip(f"needs {program}")
    if subprocess.run(["losetup", "--find"], capture_output=True).returncode != 0:
        pytest.skip("needs a loop device")
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(400 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    place = pathlib.Path("/tmp") / f"tenure-disk-{tmp_path.name}"
    with mounted(place, "-o", "loop", str(image)) as path:
        path.chmod(0o755)
        yield Disk(path)
    place.rmdir()
    image.unlink()


@contextlib.contextmanager
def postgres_on(disk):
    if not postgres_server.available():
        pytest.skip("PostgreSQL is not installed")
    server = postgres_server.Server(disk.path / "server", ["fsync=on"])
    server.start()
    try:
        yield server.url("postgres")
    finally:
        server.stop()


@contextlib.contextmanager
def etcd_on(disk, members=1):
    """One member on that disk, which leads; the others are elsewhere."""
    with etcd.running_cluster(members, before=lambda c: c.members[0].move(disk.path)) as cluster:
        cluster.let_lead(cluster.members[0])
        yield cluster.url("test")


STORES = {"postgres": postgres_on, "etcd": etcd_on}


@pytest.fixture(params=list(STORES))
def store(request, disk):
    with STORES[request.param](disk) as url:
        yield url


def stand(cli, resource, who):
    return cli.start("lead", *TTL, "--as", who, "job", "--", *resource.worker(who))


def test_who_holds_stops_in_time_and_nobody_starts_until_it_thaws(cli, disk, resource, store):
    cli.run("store", "init")
    members = [stand(cli, resource, "H")]
    first = resource.wait_for("H")
    members.append(stand(cli, resource, "C"))
    cli.wait_for_waiters("job", 1)
    with disk.frozen():
        began = now()
        late = cli.start("lock", "-n", *TTL, "late", "--", "true")
        ended = resource.wait_for("H", "end", after=len(resource.marks) - 1)
        assert ended.at - began < TTL_S
        assert late.wait() in (UNREACHABLE, UNSURE)
        pause(max(0, 2.5 * TTL_S - (now() - began)))
        assert resource.marks[-1].number == ended.number
    began = now()
    mark = wait_until(lambda: [m for m in resource.marks[ended.number:] if m.what == "mark"],
                      "a leader afterwards")[0]
    assert mark.at - began < 2 * TTL_S + SLACK_S
    assert mark.token > first.token
    assert resource.overlaps() == [] and all(m.running for m in members)
    assert cli.run("lock", "-w", "2s", *TTL, "late", "--", "true").code == 0


def test_one_frozen_member_of_three_costs_nobody_anything_until_it_thaws(command, disk):
    """When it does, etcd before 3.4.31 may revoke all leases (docs/stores.md): that is told."""
    with etcd_on(disk, 3) as url:
        cli = command(url)
        holder, token = cli.hold("job", "--ttl", "8s")
        waiter = cli.start("lock", "--ttl", "6s", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
        cli.wait_for_waiters("job", 1)
        with disk.frozen():
            wait_until(lambda: cli.run("lock", "other", "--", "true").code == 0,
                       "the next leader of the three")
            pause(10)  # longer than the holder's TTL
            assert holder.running and cli.holders("job")[0]["token"] == token
        holder.send(signal.SIGTERM)
        assert holder.wait() in (0, LOST) and waiter.wait() in (0, LOST)
        assert cli.lock_once() > token
