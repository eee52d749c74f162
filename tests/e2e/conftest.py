"""What the tests of real processes share.

The binary is $TENURE_BIN, else the one in build/.  Each test has a directory, a store and an
environment of its own, and every process that it started is gone when it ends.

A test waits for events with a generous limit (LIMIT_S); it never sleeps to let something
happen.  `cli.run()` is for commands that end by themselves, `cli.start()` for those that go on:
their output is read by threads, so that a full pipe never stops a process that is under test.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import pytest

from supervised import own_group

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("TENURE_BIN", ROOT / "build/src/cli/tenure")).resolve()
LIMIT_S = 30

USAGE, REFUSED, LOST, UNREACHABLE, DENIED, INTERNAL, UNSURE = 64, 80, 81, 82, 83, 84, 85


def wait_until(condition, what="it", limit=LIMIT_S):
    """Waits until condition() is true; returns what it returned.  Rests for longer than it looks,
    since to look may be to start a process, and others have tests to run."""
    end = time.monotonic() + limit
    while True:
        begun = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"{what} did not happen within {limit} s")
        time.sleep(min(max(3 * (now - begun), 0.005), 0.4))


def pause(seconds):
    """Lets time pass where time itself is what is tested."""
    time.sleep(seconds)


@contextlib.contextmanager
def mounted(path, *args):
    """A file system for a while."""
    pathlib.Path(path).mkdir(exist_ok=True)
    subprocess.run(["mount", *args, str(path)], check=True)
    try:
        yield pathlib.Path(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


class Stream:
    """The lines of a pipe, as they come."""

    def __init__(self, pipe):
        self.lines = []
        self.closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                with self._changed:
                    self.lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def wait_for(self, text, limit=LIMIT_S, start=0):
        """The first line from number `start` on that contains text (or satisfies it)."""
        matches = text if callable(text) else lambda line: text in line
        end = time.monotonic() + limit
        with self._changed:
            while True:
                for line in self.lines[start:]:
                    if matches(line):
                        return line
                start = len(self.lines)
                left = end - time.monotonic()
                assert left > 0 and not self.closed, f"no line with {text!r} in {self.lines}"
                self._changed.wait(left)

    def text(self):
        """All of it, once the pipe is closed."""
        self._thread.join(LIMIT_S)
        return "\n".join(self.lines)


class Running:
    """A process that goes on."""

    def __init__(self, argv, **options):
        self.child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, errors="replace",
                                      **options)
        self.pid = self.child.pid
        self.out = Stream(self.child.stdout)
        self.err = Stream(self.child.stderr)

    def send(self, signo):
        os.kill(self.pid, signo)

    def wait(self, limit=LIMIT_S):
        """The exit code, as a shell sees it."""
        code = self.child.wait(limit)
        return 128 - code if code < 0 else code

    @property
    def running(self):
        return self.child.poll() is None

    def end(self):
        if self.running:
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        self.child.wait(LIMIT_S)


class Marked:
    """The processes of one test: they have its mark in their environments, whoever started them."""

    def __init__(self):
        self.mark = f"TEST_MARK={uuid.uuid4().hex}"

    def pids(self):
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if self.mark.encode() in self._read(pid, "environ")]

    @staticmethod
    def _read(pid, what):
        try:
            with open(f"/proc/{pid}/{what}", "rb", buffering=0) as file:
                return file.read()
        except OSError:  # gone, or another user's
            return b""

    def _words(self, pid):
        return self._read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()

    def end(self):
        """When those that the test started are dead, the others end by themselves; but what the
        test has stopped has to go on for it: a stopped guardian ends nothing."""
        def gone():
            left = self.pids()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            return not left

        try:
            wait_until(gone, "the end of all processes")
        except AssertionError:
            left = {pid: self._words(pid) for pid in self.pids()}
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"left behind by the test: {left}") from None


def remove_groups(pids):
    """Removes the control groups that supervisors left whose guardians were killed, too.  Fails
    when somebody lives in one."""
    top = own_group()
    for pid in pids if top else ():
        for group in top.glob(f"tenure-{pid}-*"):
            for nested in sorted(group.rglob("tenure-*"), reverse=True):
                nested.rmdir()
            group.rmdir()


class Result:
    def __init__(self, done):
        self.code = 128 - done.returncode if done.returncode < 0 else done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def objects(self):
        """The JSON lines that were printed."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """Runs `tenure` with the test's store and environment, on this host, or behind words that
    bring a command to another one (hosts.py)."""

    def __init__(self, directory, store, host=()):
        self.directory = directory
        self.program = [*host, str(BINARY)]
        self.store = store
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_")}
        self.env["TENURE_STORE"] = store
        self.env["HOME"] = str(directory)
        self.env.pop("XDG_STATE_HOME", None)
        self._marked = Marked()
        self.env.update([self._marked.mark.split("=")])
        self._running = []

    def run(self, *args, env=None, limit=LIMIT_S, stdin="", **options):
        done = subprocess.run([*self.program, *map(str, args)], env={**self.env, **(env or {})},
                              cwd=self.directory, input=stdin, capture_output=True, text=True,
                              errors="replace", timeout=limit, **options)
        return Result(done)

    def start(self, *args, env=None, **options):
        process = Running([*self.program, *map(str, args)], env={**self.env, **(env or {})},
                          cwd=self.directory, **options)
        self._running.append(process)
        return process

    def status(self, name=None):
        """{name: object} of `status --json --all`."""
        done = self.run("status", "--json", "--all", *([name] if name else []))
        if done.code == UNREACHABLE and "no such store" in done.err:
            return {}  # nobody has made it yet
        assert done.code == 0, done.err
        return {o["name"]: o for o in done.objects}

    def history(self, name):
        done = self.run("history", "--json", name)
        assert done.code == 0, done.err
        return done.objects

    def holders(self, name):
        return self.status(name).get(name, {}).get("holders", [])

    def waiting(self, name):
        return self.status(name).get(name, {}).get("waiting", [])

    def hold(self, name, *options):
        """Starts `lock NAME` without a command and waits until it holds: (process, token)."""
        process = self.start("lock", *options, name)
        return process, int(process.out.wait_for(lambda line: line.isdigit()))

    def lock_once(self, name="job"):
        """The token of a lock that is taken and given back."""
        done = self.run("lock", name, "--", "sh", "-c", "echo $TENURE_TOKEN")
        assert done.code == 0, done.err
        return int(done.out)

    def wait_for_waiters(self, name, count):
        return wait_until(lambda: len(self.waiting(name)) == count and self.waiting(name),
                          f"{count} waiting for {name}")

    def end(self):
        for process in self._running:
            process.end()
        self._marked.end()
        remove_groups([process.pid for process in self._running])


@pytest.fixture
def store(tmp_path):
    """The URL of a store that does not exist yet."""
    return f"sqlite:{tmp_path}/tenure.db"


@pytest.fixture
def cli(tmp_path, store):
    program = Cli(tmp_path, store)
    yield program
    program.end()


def pytest_generate_tests(metafunc):
    """A scenario runs on each store that it means something on (scenarios/field.py)."""
    if "engine" in metafunc.fixturenames:
        stores = sys.modules["field"].STORES
        embedded = metafunc.definition.get_closest_marker("embedded")
        fitting = [name for name in stores if stores[name].embedded or not embedded]
        metafunc.parametrize("engine", fitting, indirect=True)


@pytest.fixture
def binary_for_all():
    """A copy of `tenure` that every user can run: the tree may be where only its owner gets to."""
    with tempfile.TemporaryDirectory(prefix="tenure-") as folder:
        os.chmod(folder, 0o755)
        yield shutil.copy(BINARY, folder)


@pytest.fixture
def command(tmp_path):
    """command(url) -> cli, for tests that have several stores, or one by several ways."""
    made = []

    def make(url):
        made.append(Cli(tmp_path, url))
        return made[-1]

    yield make
    for one in made:
        one.end()


def pytest_configure(config):
    config.addinivalue_line("markers", "embedded: means something on an embedded store only")
