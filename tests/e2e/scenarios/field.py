"""What the field failures share: the stores that they run on, and a guarded resource.

Each scenario runs on every store of STORES; a new store inherits them all.  What means something
on an embedded store only is marked with `embedded`, and does not exist elsewhere.

Overlap is judged by the resource: each write to it is a datagram into one queue, whose order is
the order of the writes.  It is never judged by comparing the times of two logs.

Counts and times are shortened, so that all scenarios together take a few minutes; TENURE_FULL=1
runs them at full length.
"""
import atexit
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

import pytest

import etcd
from conftest import BINARY, LIMIT_S, ROOT, Cli, Running, mounted, pause  # noqa: F401
from conftest import wait_until
from relay import Relay

sys.path.insert(0, str(ROOT / "tests/store"))
import postgres_server  # noqa: E402

TOOLS = pathlib.Path(os.environ.get("TENURE_TOOLS", BINARY.parents[2] / "tests/e2e/tools"))
FULL = os.environ.get("TENURE_FULL") == "1"
NOTICE_S = 1.0  # the safety net of a waiter that heard nothing (src/core/timing.h)
SLACK_S = 2.0  # what a busy machine may add to a time that is measured

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts, namespaces, users")

LISTENING = "ASAN_OPTIONS" not in os.environ or "build-asan" not in str(BINARY)
shimmed = pytest.mark.skipif(not LISTENING, reason="a sanitizer wants to be loaded first")


def full(short, long):
    """A count or a time: the short one, or the long one with TENURE_FULL=1."""
    return long if FULL else short


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


# ---- stores ------------------------------------------------------------------------------------


class SqliteStore:
    """The embedded store: a file, and a gate that every writer passes."""

    name = "sqlite"
    embedded = True
    patience = 1  # leases are this much longer, since a busy server takes its time to renew one
    tells_ends = True  # of sessions that ended while nobody looked
    lease_late_s = 0  # how much longer a lease may stand for who has not watched it

    def __init__(self, directory):
        self.path = pathlib.Path(directory) / "tenure.db"
        self.gate = pathlib.Path(f"{self.path}-gate")
        self.live = pathlib.Path(f"{self.path}-live")
        self.url = f"sqlite:{self.path}"

    @contextlib.contextmanager
    def hanging(self):
        """Requests get no answer: somebody is inside the gate and does not leave."""
        with subprocess.Popen([str(TOOLS / "gatekeeper"), str(self.gate)], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
            assert keeper.stdout.readline() == "inside\n"
            yield
            keeper.stdin.close()

    def crowd(self):
        """The next session is written to the database at once, as in a crowd of young ones."""
        subprocess.run([str(TOOLS / "gatekeeper"), str(self.gate), "full"], check=True)

    @contextlib.contextmanager
    def refused(self):
        """Requests fail at once: the file is not where it was."""
        away = self.path.with_suffix(".away")
        self.path.rename(away)
        try:
            yield
        finally:
            away.rename(self.path)

    def _ask(self, question):
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as db:
            return db.execute(question).fetchall()

    def renewals(self, seconds):
        """How often each session is renewed in a time: [count]."""
        seen = {}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for session, expires in self._ask("SELECT id, expires FROM session"):
                seen.setdefault(session, set()).add(expires)
            time.sleep(0.01)
        return [len(expiries) - 1 for expiries in seen.values()]

    def sessions(self):
        """How many sessions the store keeps, dead ones included."""
        return self._ask("SELECT count(*) FROM session")[0][0]

    def damage(self):
        """What is wrong with the file: nothing, if all is well."""
        return [row[0] for row in self._ask("PRAGMA integrity_check") if row[0] != "ok"]

    def files(self):
        return len(list(self.live.iterdir()))


class PostgresStore:
    """A schema of its own in a server that all tests of this run share."""

    name = "postgres"
    embedded = False
    patience = 3
    tells_ends = True
    lease_late_s = 0
    _server = None
    _count = 0

    def __init__(self, directory):
        if not postgres_server.available():
            pytest.skip("PostgreSQL is not installed")
        self.server = self.running()
        PostgresStore._count += 1
        self.schema = f"field_{PostgresStore._count}"
        self.url = self.server.url("tenure", f"&schema={self.schema}")
        subprocess.run([str(BINARY), "store", "init", "--store", self.url], check=True,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def running(cls):
        if not cls._server:
            directory = tempfile.mkdtemp(prefix="tenure-pg-")
            os.chmod(directory, 0o755)
            cls._server = postgres_server.Server(f"{directory}/server")
            cls._server.start()
            cls._server.sql("CREATE DATABASE tenure")
            atexit.register(shutil.rmtree, directory)
            atexit.register(cls._server.stop, signal.SIGQUIT)
        return cls._server

    def ask(self, question):
        """Rows of text; {} is the schema."""
        answer = self.server.sql(question.format(self.schema), "tenure")
        return [row.split("|") for row in answer.splitlines()]

    @contextlib.contextmanager
    def hanging(self):
        """Requests get no answer: nothing of the server runs."""
        self.server.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def refused(self):
        """Requests fail at once: nobody listens."""
        with self.server.absent():
            yield

    def renewals(self, seconds):
        """How often each session is renewed in a time: [count]."""
        before = dict(self.ask("SELECT id, beat FROM {}.session"))
        pause(seconds)
        after = dict(self.ask("SELECT id, beat FROM {}.session"))
        return [int(after[i]) - int(before[i]) for i in after if i in before]

    def sessions(self):
        """How many sessions the store keeps, dead ones included."""
        return int(self.ask("SELECT count(*) FROM {}.session")[0][0])

    def damage(self):
        return []

    def files(self):
        return 0


RENEWED = "etcd_debugging_lease_renewed_total"  # by requests, one for each renewal


class EtcdStore:
    """A prefix of its own in a cluster of one that all tests of this run share, behind a relay that
    can be told to refuse.  Its leases may be as short as 1 s; etcd's own default is 2 s."""

    name = "etcd"
    embedded = False
    patience = 3
    tells_ends = False
    lease_late_s = 3
    _cluster = _relay = None
    _count = 0

    def __init__(self, directory):
        if not etcd.available():
            pytest.skip("etcd is not installed")
        self.cluster, self.relay = self.running()
        EtcdStore._count += 1
        self.prefix = f"field_{EtcdStore._count}"
        self.url = f"etcd://127.0.0.1:{self.relay.port}/{self.prefix}"

    @classmethod
    def running(cls):
        if not cls._cluster:
            directory = tempfile.mkdtemp(prefix="tenure-etcd-")
            atexit.register(shutil.rmtree, directory)
            cls._cluster = etcd.Cluster(directory, 1, [
                "--heartbeat-interval", "60", "--election-timeout", "600", "--unsafe-no-fsync"])
            cls._cluster.start()
            atexit.register(cls._cluster.stop)
            member = cls._cluster.members[0]
            cls._relay = Relay((cls._cluster.address, member.client))
            atexit.register(cls._relay.close)
        return cls._cluster, cls._relay

    @contextlib.contextmanager
    def hanging(self):
        """Requests get no answer: the server does not run."""
        self.cluster.members[0].process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.cluster.members[0].process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def refused(self):
        """Requests fail at once: nobody listens."""
        with self.relay.absent():
            yield

    def _keys(self):
        answer = self.cluster.etcdctl("get", "--prefix", "--keys-only", f"{self.prefix}/session/")
        return [key.split("/")[2:] for key in answer.split()]

    def renewals(self, seconds):
        """How often each session is renewed in a time: [count]; etcd counts for all of them."""
        count, before = len({key[0] for key in self._keys()}), self.cluster.counter(RENEWED)
        pause(seconds)
        return [(self.cluster.counter(RENEWED) - before) / count] * count

    def sessions(self):
        """How many sessions the store keeps, dead ones included."""
        return len({key[0] for key in self._keys()})

    def damage(self):
        return []

    def files(self):
        return 0


STORES = {"sqlite": SqliteStore, "postgres": PostgresStore, "etcd": EtcdStore}


@pytest.fixture
def engine(request, tmp_path):
    """The store of the test: how to reach it, and how to make trouble there.  Which ones a test
    runs on is in pytest_generate_tests()."""
    return STORES[request.param](tmp_path)


@pytest.fixture
def store(engine):
    return engine.url


# ---- the guarded resource ----------------------------------------------------------------------


class Mark(NamedTuple):
    number: int  # in the order of the writes
    who: str
    token: int
    pid: int
    what: str
    at: float  # for lengths of time, never for order


class Resource:
    """Takes the writes of `worker` programs, one after the other."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="resource-")  # a socket's path must be short
        self.path = f"{self.directory}/socket"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        os.chmod(self.directory, 0o755)
        os.chmod(self.path, 0o666)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.marks = []
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while not self._ended:
            who, token, pid, what = self._socket.recv(1024).decode().split(" ", 3)
            with self._changed:
                number = len(self.marks) + 1
                self.marks.append(Mark(number, who, int(token), int(pid), what, now()))
                self._changed.notify_all()

    def worker(self, who, **options):
        """The command line of a worker."""
        return [str(TOOLS / "worker"), self.path, who, *(f"{k}={v}" for k, v in options.items())]

    def wait_for(self, who, what="mark", after=0, limit=LIMIT_S):
        """The first such mark with a number above `after`."""
        end = time.monotonic() + limit
        seen = after
        with self._changed:
            while True:
                for mark in self.marks[seen:]:
                    if mark.who == who and mark.what == what:
                        return mark
                seen = max(seen, len(self.marks))
                left = end - time.monotonic()
                assert left > 0, f"no {what} of {who} within {limit} s: {self.marks[-20:]}"
                self._changed.wait(left)

    def of(self, who, what=None):
        return [m for m in list(self.marks) if m.who == who and what in (None, m.what)]

    def overlaps(self):
        """Writes under a token that came after a write under a higher one."""
        highest, found = 0, []
        for mark in list(self.marks):
            if mark.token < highest:
                found.append(mark)
            highest = max(highest, mark.token)
        return found

    def tokens(self):
        """The tokens that wrote, in the order of their first writes."""
        return list(dict.fromkeys(m.token for m in list(self.marks)))

    def close(self):
        self._ended = True
        with contextlib.suppress(OSError), \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(b"end 0 0 end", self.path)
        shutil.rmtree(self.directory, ignore_errors=True)


@pytest.fixture
def resource():
    made = Resource()
    yield made
    made.close()


# ---- processes ---------------------------------------------------------------------------------


class Library:
    """A program that uses libtenure, one command at a time."""

    def __init__(self, env):
        self.child = subprocess.Popen([str(TOOLS / "library")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env=env)
        self.pid = self.child.pid

    def say(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()

    def hear(self):
        """(code, text)"""
        code, _, text = self.child.stdout.readline().strip().partition(" ")
        return int(code), text

    def do(self, *words):
        self.say(*words)
        return self.hear()

    def number(self, *words):
        """The number that a command answers, which must have worked."""
        code, text = self.do(*words)
        assert code >= 0, text
        return int(text)

    def end(self):
        self.child.send_signal(signal.SIGCONT)
        self.child.kill()
        self.child.wait(LIMIT_S)
        self.child.stdin.close()
        self.child.stdout.close()


@pytest.fixture
def library(cli):
    """Starts library programs."""
    made = []

    def start():
        made.append(Library(cli.env))
        return made[-1]

    yield start
    for program in made:
        program.end()


def is_quick(attempt, limit_s=SLACK_S / 2, times=4):
    """attempt(n) measures a time.  What a busy machine delays is late now and then, and what is
    wrong each time: one of them has to be quick."""
    took = []
    while not took or took[-1] >= limit_s:
        assert len(took) < times, f"it took {took} s"
        took.append(attempt(len(took)))


def parent_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def state_of(pid):
    """The state letter of a process, or "" when it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def freeze(*pids):
    """Stops processes, and waits until none of them runs any more."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        wait_until(lambda: state_of(pid) in ("T", "Z", ""), f"the stop of {pid}")


def thaw(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def freeze_outside(cli, *pids):
    """The same, but not inside the gate of an embedded store, where who is stopped keeps everybody
    out (docs/stores.md): that is a test of its own."""
    freeze(*pids)
    while "which is stopped" in cli.run("status").err:
        thaw(*pids)
        freeze(*pids)
