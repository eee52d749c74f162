"""What the tests of the supervisor share: a driver in hand, and a tree whose end can be seen.

The end of a process is judged by its pidfd, never by its name or number; the end of a whole tree
by the end of file of a pipe that every process of it has open.
"""
import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / os.environ.get("BUILD", "build") / "tests/supervisor"
DRIVER = str(PROGRAMS / "supervisor-driver")
VICTIM = str(PROGRAMS / "supervisor-victim")
LONG = 20.0  # a generous limit in seconds; nothing waits for it to pass


def boottime_ms():
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


class Run:
    """One run of the driver."""

    def __init__(self, tmp_path, args, command, **popen):
        self.path = Path(tmp_path) / f"report-{time.monotonic_ns()}"
        self.path.touch()
        pass_fds = popen.pop("pass_fds", ())
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        self.began = boottime_ms()
        self.process = subprocess.Popen(
            [DRIVER, "--report", str(self.path), *args, "--", *command],
            pass_fds=pass_fds, **popen)
        self.pid = self.process.pid

    def events(self):
        """[(ms, name, {key: value})] so far."""
        found = []
        for line in self.path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                at, name, *pairs = line.split()
                found.append((int(at), name, dict(pair.split("=", 1) for pair in pairs)))
        return found

    def wait_event(self, name):
        """Waits until the event was reported; returns (ms, values)."""
        limit = time.monotonic() + LONG
        while time.monotonic() < limit:
            for at, event, values in self.events():
                if event == name:
                    return at, values
            time.sleep(0.002)
        raise AssertionError(f"no event {name!r}: {self.events()}")

    def guardian(self):
        """The process id of the guardian: the command's parent."""
        command = int(self.wait_event("started")[1]["pid"])
        return int(stat_fields(command)[1])

    def wait(self):
        self.process.wait(timeout=LONG)
        return self.process.returncode


def stat_fields(pid):
    """state, ppid, ... of /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def children_of(parent):
    """[(pid, name)] of all children, zombies too."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, fields = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue  # it has ended
            if int(fields.split()[1]) == parent:
                found.append((int(entry.name), head.partition("(")[2]))
    return found


class Tree:
    """The processes that announce themselves on a pipe."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.pids = []
        self.fds = []
        self.text = b""

    def close_writer(self):
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def read(self):
        """Reads what was announced; True at the end of file: nobody has the pipe any more."""
        while True:
            try:
                chunk = os.read(self.reader, 65536)
            except BlockingIOError:
                return False
            if not chunk:
                return True
            self.text += chunk
            *lines, self.text = self.text.split(b"\n")
            for line in lines:
                self.pids.append(int(line))
                try:
                    self.fds.append(os.pidfd_open(int(line)))
                except ProcessLookupError:
                    pass  # it has ended and was reaped

    def wait_count(self, count):
        limit = time.monotonic() + LONG
        while len(self.pids) < count:
            left = limit - time.monotonic()
            assert left > 0, f"{len(self.pids)} of {count} processes"
            select.select([self.reader], [], [], left)
            self.read()

    def alive(self):
        """How many of the announced processes have not ended."""
        self.read()
        poll = select.poll()
        for fd in self.fds:
            poll.register(fd, select.POLLIN)
        return len(self.fds) - len(poll.poll(0)) if self.fds else 0

    def wait_gone(self):
        """Waits for the end of file; returns when it was seen, in ms of CLOCK_BOOTTIME."""
        self.close_writer()
        limit = time.monotonic() + LONG
        while True:
            left = limit - time.monotonic()
            assert left > 0, f"{self.alive()} processes are alive"
            select.select([self.reader], [], [], left)
            if self.read():
                return boottime_ms()

    def close(self):
        self.close_writer()
        os.close(self.reader)
        for fd in self.fds:
            try:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.close(fd)


@pytest.fixture
def tree():
    made = Tree()
    yield made
    made.close()


@pytest.fixture(params=["group", "walk"])
def ways(request):
    """Both ways of ending a tree: with a control group, and by the walk alone."""
    return [] if request.param == "group" else ["--no-group"]


def own_group():
    """Where control groups of this process would be made, or None."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::/"):
            for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
                if (Path(mount) / "cgroup.controllers").exists():
                    return Path(mount + line[3:])
    return None


def check_no_group(pids):
    """No control group is left of these drivers."""
    group = own_group()
    limit = time.monotonic() + LONG  # a guardian whose supervisor was killed may be at it
    while group and (ours := [g for pid in pids for g in group.glob(f"tenure-{pid}-*")]):
        assert time.monotonic() < limit, ours
        time.sleep(0.002)


@pytest.fixture
def run(tmp_path):
    made = []

    def start(args, command, **popen):
        made.append(Run(tmp_path, args, command, **popen))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            if stream:
                stream.close()
    check_no_group([one.pid for one in made])


@pytest.fixture
def victim(run, tree):
    """Starts a victim under the driver; its tree is `tree`."""

    def start(args, steps, **popen):
        made = run(args, [VICTIM, str(tree.writer), steps], pass_fds=(tree.writer,), **popen)
        tree.close_writer()
        return made

    return start
