"""The stores that the soak runs on, what befalls their servers meanwhile, and what the crowd must
have left of itself there when it is gone."""
import os
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / part)
                for part in ("e2e", "store")]
import postgres_server  # noqa: E402
from programs import load_program  # noqa: E402

with_etcd = load_program(pathlib.Path(__file__).resolve().parent.parent / "store/with_etcd")
ALIVE_MAX = 1  # sessions: the witness's, when it was killed with all the others


def expired_by(store):
    """When whoever was killed just now has long expired."""
    return time.monotonic() + 3 * max(store.ttls_ms) / 1000


class SqliteStore:
    """A file.  Nothing serves it that could be troubled."""

    ttls_ms = (1000, 2000)
    last_runs = 70  # every 61st new session tidies up

    def __init__(self, folder, _random):
        self.path = folder / "tenure.db"
        self.url = f"sqlite:{self.path}"

    def trouble(self):
        return None

    def mend(self):
        pass

    def check(self):
        """(what is wrong, what was left behind)"""
        db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        sessions = db.execute("SELECT count(*) FROM session").fetchone()[0]
        damage = db.execute("PRAGMA integrity_check").fetchone()[0]
        db.close()
        files = len(list(pathlib.Path(f"{self.path}-live").iterdir()))
        return ([f"the store is damaged: {damage}"] if damage != "ok" else [],
                [f"{n} {what}" for n, what in ((sessions, "sessions"), (files, "lifeline files"))
                 if n > ALIVE_MAX])

    def close(self):
        pass


class ServedStore:
    """Servers that are stopped for a while, or killed and started again, now and then."""

    ttls_ms = (2000, 4000)  # a server that is started again takes its time
    last_runs = 1
    every_s = 8

    def __init__(self, random):
        self.random = random
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="soak-server-"))
        os.chmod(self.folder, 0o755)  # the server is not root
        self.next = time.monotonic() + self.every_s
        self.stopped = self.thaw_at = None

    def trouble(self):
        """Troubles a server when it is time to; says what it did, or None."""
        if self.stopped is not None and time.monotonic() >= self.thaw_at:
            self.mend()
        if self.stopped is not None or time.monotonic() < self.next:
            return None
        self.next = time.monotonic() + self.every_s
        victim = self.random.choice(self.servers())
        if self.random.random() < 0.3:
            self.restart(victim)
            return "restart server"
        self.stopped = victim
        self.thaw_at = time.monotonic() + self.random.choice([0.1, 0.5, 1.5, 4])
        self.signal(victim, signal.SIGSTOP)
        return "stop server"

    def mend(self):
        if self.stopped is not None:
            self.signal(self.stopped, signal.SIGCONT)
        self.stopped = None

    def check(self):
        """(what is wrong, what was left behind).  Who was killed lives for the rest of a TTL."""
        end = expired_by(self)
        while self.alive() > ALIVE_MAX and time.monotonic() < end:
            time.sleep(0.1)
        return [], [f"{self.alive()} sessions that live"] if self.alive() > ALIVE_MAX else []

    def close(self):
        self.mend()
        self.end()
        shutil.rmtree(self.folder)


class PostgresStore(ServedStore):
    def __init__(self, _folder, random):
        super().__init__(random)
        self.server = postgres_server.Server(self.folder / "server")
        self.server.start()
        self.url = self.server.url("postgres")

    def servers(self):
        return [self.server]

    def restart(self, server):
        server.stop(signal.SIGQUIT)
        server.start()

    def signal(self, server, signo):
        server.signal(signo)

    def alive(self):
        """Connections count, too: nobody is there any more who could use one."""
        return int(self.server.sql(
            "SELECT (SELECT count(*) FROM tenure.session WHERE NOT dead AND expires > "
            "extract(epoch FROM clock_timestamp()) * 1000) + (SELECT count(*) FROM "
            "pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())"))

    def end(self):
        self.server.stop(signal.SIGQUIT)


class EtcdStore(ServedStore):
    members = 1

    def __init__(self, _folder, random):
        super().__init__(random)
        self.cluster = with_etcd.Cluster(self.folder, self.members, ["--unsafe-no-fsync"])
        self.cluster.start()
        self.url = self.cluster.url("soak")

    def servers(self):
        return self.cluster.members

    def restart(self, member):
        member.stop()
        member.start()

    def signal(self, member, signo):
        member.process.send_signal(signo)

    def alive(self):
        keys = self.cluster.etcdctl("get", "--prefix", "--keys-only", "soak/session/").split()
        return len([key for key in keys if not key.endswith("/left")])

    def mend(self):
        super().mend()
        self.cluster.wait()

    def end(self):
        self.cluster.stop()


class EtcdOfThreeStore(EtcdStore):
    members = 3


STORES = {"sqlite": SqliteStore, "postgres": PostgresStore, "etcd": EtcdStore,
          "etcd3": EtcdOfThreeStore}
