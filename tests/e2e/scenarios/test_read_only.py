"""The file system of the store becomes read-only under its users, as ext4 does after an error.

What can be read and not written looks healthy elsewhere: a holder goes on that cannot renew, and a
newcomer that cannot write its entry gets in.

P3: the holder ends in time.  P6: the error says what it is, and nobody is granted anything.
"""
import contextlib
import os
import pathlib
import subprocess

import pytest

from conftest import DENIED, UNREACHABLE, wait_until
from field import SLACK_S, SqliteStore, as_root, mounted, now, resource  # noqa: F401

pytestmark = [as_root, pytest.mark.embedded]
TTL_S = 1.2


class Disk:
    """A small ext4 in a file, mounted as people mount it."""

    def __init__(self, directory):
        self.image, self.place = directory / "image", directory / "disk"
        with open(self.image, "wb") as file:
            file.truncate(16 << 20)
        subprocess.run(["mkfs.ext4", "-q", str(self.image)], check=True)

    @contextlib.contextmanager
    def mounted(self):
        with mounted(self.place, "-o", "loop,errors=remount-ro", str(self.image)):
            yield self.place

    def fail(self):
        """An error of the file system: it is read-only from now on, whoever has it open, and what
        it had not written is gone.  So what the tests compare later is written first."""
        os.sync()
        source = subprocess.run(["findmnt", "-no", "SOURCE", str(self.place)], check=True,
                                capture_output=True, text=True).stdout.strip()
        device = pathlib.Path(source).name
        pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("a test")
        with pytest.raises(OSError):
            (self.place / "probe").touch()


@pytest.fixture
def disk(tmp_path):
    try:
        made = Disk(tmp_path)
        with made.mounted():
            yield made
    except (subprocess.CalledProcessError, FileNotFoundError) as e:
        pytest.skip(f"no ext4 on a loop device here: {e}")


@pytest.fixture
def store(disk):
    return SqliteStore(disk.place).url


def test_a_holder_ends_in_time_and_nobody_gets_in(cli, disk, resource):
    ttl = f"{TTL_S * 1000:.0f}ms"
    h = cli.start("lead", "--ttl", ttl, "--as", "H", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    c = cli.start("lead", "--ttl", ttl, "--as", "C", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    disk.fail()
    began = now()
    h.err.wait_for("in doubt")
    h.err.wait_for("I/O error")
    wait_until(lambda: now() - began > 2 * TTL_S + SLACK_S, "two leases")
    assert max(m.at for m in resource.marks) - began < TTL_S + SLACK_S
    assert resource.of("C") == []  # its grant cannot be written
    assert h.running and c.running  # they wait for better times, and say so
    assert resource.overlaps() == []
    for process in (h, c):
        process.end()


def test_what_cannot_be_written_is_refused_and_said(cli, disk, resource):
    assert cli.run("lock", "job", "--", "true").code == 0
    disk.fail()
    done = cli.run("lock", "-n", "job", "--", *resource.worker("C", **{"for": 1}))
    assert done.code == DENIED and str(disk.place) in done.err, done.err
    assert resource.marks == []
    taken = cli.run("lease", "take", "--ttl", "1m", "job2")
    assert taken.code == DENIED and taken.out == ""


def test_after_the_repair_all_is_as_it_was(cli, disk, tmp_path):
    first = int(cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out)
    disk.fail()
    assert cli.run("lock", "-n", "job", "--", "true").code in (DENIED, UNREACHABLE)
    subprocess.run(["umount", str(disk.place)], check=True)
    subprocess.run(["e2fsck", "-fy", str(disk.image)], check=False, stdout=subprocess.DEVNULL)
    subprocess.run(["mount", "-o", "loop", str(disk.image), str(disk.place)], check=True)
    again = cli.run("lock", "-n", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    assert again.code == 0 and int(again.out) > first, again.err
    assert SqliteStore(disk.place).damage() == []
