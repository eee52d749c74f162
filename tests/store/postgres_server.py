"""A PostgreSQL server for tests, started in a directory of its own."""
import contextlib
import fcntl
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import time

try:
    import psycopg2
except ImportError:  # then no server can be started here
    psycopg2 = None

LIMIT_S = 60
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def programs():
    """Where initdb and postgres are, the newest version first; None without them."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"),
                   key=lambda p: int(p.split("/")[4].split(".")[0]), reverse=True)
    found += [os.path.dirname(p) for p in [shutil.which("initdb")] if p]
    return next((p for p in found if os.path.exists(f"{p}/postgres")), None)


def shown(value):
    """A value as PostgreSQL writes it."""
    if value is None:
        return ""
    return "ft"[value] if isinstance(value, bool) else str(value)


def rows_of(link, text):
    """What statements answer on a connection: a|b for each row of the last."""
    link.autocommit = True
    with link.cursor() as cursor:
        cursor.execute(text)
        rows = cursor.fetchall() if cursor.description else []
    return "\n".join("|".join(map(shown, row)) for row in rows)


def copy_folder(source, target):
    """With owners and modes, which shutil would leave out."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


class Server:
    """A server that is started, stopped, and started again.  It does not sync: what the tests
    check does not hang on it."""

    def __init__(self, directory, settings=(), port=None):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self.settings = list(settings)
        self.port = port or 5432
        self.listen = "127.0.0.1" if port else ""
        self.process = None
        self._links = {}  # by (database, user)
        # It refuses to run as root.
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] \
            if os.geteuid() == 0 else []
        self.directory.mkdir(exist_ok=True)
        self.data.mkdir(mode=0o700)
        if self.user:
            shutil.chown(self.directory, "postgres", "postgres")
            shutil.chown(self.data, "postgres", "postgres")
        self._make()

    def _make(self):
        """initdb takes longer than most tests: whoever starts many servers has a directory in
        TENURE_PG_TEMPLATE, where the first leaves what it made for the others to copy."""
        shelf = os.environ.get("TENURE_PG_TEMPLATE")
        if not shelf:
            self._initdb()
            return
        template = pathlib.Path(shelf) / "data"
        with open(f"{shelf}/lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not template.exists():
                self._initdb()
                copy_folder(self.data, f"{template}.new")
                os.rename(f"{template}.new", template)
                return
        self.data.rmdir()
        copy_folder(template, self.data)

    def _initdb(self):
        self._run("initdb", "-A", "trust", "-N", "-U", "postgres", "-D", str(self.data),
                  "--no-locale", "-E", "UTF8", "--wal-segsize=1")

    def move(self, host, address):
        """It is to run behind these words, on another host, and to listen at that address."""
        self.user = [*host, *self.user]
        self.listen = address
        with open(self.data / "pg_hba.conf", "a", encoding="ascii") as rules:
            rules.write("host all all all trust\n")

    def _run(self, program, *arguments):
        subprocess.run([*self.user, f"{programs()}/{program}", *arguments], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/")

    def connect(self, database, user="postgres", port=None):
        return psycopg2.connect(host=str(self.directory), port=port or self.port, user=user,
                                dbname=database)

    def sql(self, text, database="postgres", user="postgres"):
        """What statements answer, as text.  The connection is kept, and each time as good as new:
        one more process of the server is most of the work."""
        known = self._links.pop((database, user), None)
        link = known or self.connect(database, user)
        try:
            answer = rows_of(link, text)
            rows_of(link, "DISCARD ALL")
        except psycopg2.Error:
            ended = known and known.closed
            link.close()
            if ended:  # meanwhile, by whatever the test does to the server
                return self.sql(text, database, user)
            raise
        self._links[database, user] = link
        return answer

    def hang_up(self, database=None):
        """Closes what sql() has kept."""
        for key in [key for key in self._links if database in (None, key[0])]:
            self._links.pop(key).close()

    def start(self, environment=None):
        settings = ["fsync=off", "full_page_writes=off", "max_connections=200",
                    f"listen_addresses={self.listen}", f"port={self.port}", *self.settings]
        command = [*self.user, f"{programs()}/postgres", "-D", str(self.data), "-k",
                   str(self.directory)]
        for setting in settings:
            command += ["-c", setting]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/",
                                            stdin=subprocess.DEVNULL, start_new_session=True,
                                            env={**os.environ, **(environment or {})})
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                self.sql("SELECT 1")
                return
            except psycopg2.OperationalError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"the server does not start:\n{self.log.read_text()}")
                time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        """SIGINT ends what runs; SIGQUIT is a crash."""
        self.hang_up()
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(LIMIT_S)
        self.process = None

    def save(self, to):
        """Stops it for a copy of all its files."""
        self.stop()
        copy_folder(self.data, to)
        self.start()

    def put_back(self, saved):
        """It crashes, and goes on with that copy."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.data)
        copy_folder(saved, self.data)
        self.start()

    def _children(self, of_clients=False):
        """Its processes; or those that serve clients on this machine."""
        found = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(stat.read_text().rsplit(")", 1)[1].split()[1]) != self.process.pid:
                    continue
                if not of_clients or b"[local]" in stat.with_name("cmdline").read_bytes():
                    found.append(int(stat.parent.name))
            except (OSError, IndexError):
                continue  # it ended meanwhile
        return found

    @staticmethod
    def _send(pids, signo):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signo)

    def signal(self, signo):
        """To all its processes: the backends lead process groups of their own."""
        self._send([self.process.pid, *self._children()], signo)

    @contextlib.contextmanager
    def absent(self):
        """It ends all connections and takes no new ones, as if it were not there."""
        path = self.directory / f".s.PGSQL.{self.port}"
        away = path.with_name("away")
        self.hang_up()
        path.rename(away)
        try:
            self._send(self._children(of_clients=True), signal.SIGTERM)
            yield
        finally:
            away.rename(path)

    def url(self, database, more="", port=None):
        port = port or self.port
        return f"postgres://postgres@/{database}?host={self.directory}&port={port}{more}"


class Standby(Server):
    """A standby of another server, which replays what it commits, asynchronously."""

    def __init__(self, directory, primary):
        self.primary = primary
        super().__init__(directory, primary.settings)

    def _make(self):
        self._run("pg_basebackup", "-U", "postgres", "-h", str(self.primary.directory), "-p",
                  str(self.primary.port), "-D", str(self.data), "-R", "-c", "fast", "-X", "stream")

    def promote(self):
        self.sql("SELECT pg_promote()")


class Recovered(Server):
    """What an operator makes of a base backup of another server: a recovery that ends where the
    backup does."""

    def __init__(self, directory, other):
        self.other = other
        super().__init__(directory, [*other.settings, "restore_command=false"])

    def _make(self):
        self._run("pg_basebackup", "-U", "postgres", "-h", str(self.other.directory), "-p",
                  str(self.other.port), "-D", str(self.data), "-c", "fast", "-X", "stream")
        (self.data / "recovery.signal").touch()


class Pooler:
    """A PgBouncer in transaction mode in front of a server, with so many connections to it."""

    def __init__(self, server, database, size=8):
        self.server = server
        self.port = 6432
        ini = server.directory / "pgbouncer.ini"
        ini.write_text(f"""[databases]
{database} = host={server.directory} port={server.port} dbname={database} user=postgres
[pgbouncer]
pool_mode = transaction
listen_addr =
listen_port = {self.port}
unix_socket_dir = {server.directory}
auth_type = any
max_client_conn = 500
default_pool_size = {size}
""")
        ini.chmod(0o644)
        with open(server.directory / "pgbouncer.log", "wb") as log:
            self.process = subprocess.Popen([*server.user, shutil.which("pgbouncer", path=PATH),
                                             "-q", str(ini)], stdin=subprocess.DEVNULL, cwd="/",
                                            stdout=log, stderr=log)
        self.socket = server.directory / f".s.PGSQL.{self.port}"
        end = time.monotonic() + LIMIT_S
        while not self.socket.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit("the pooler does not start; see " + str(ini.with_suffix(".log")))
            time.sleep(0.02)

    def sql(self, text, database):
        """What statements answer that take this way; the connection is not kept."""
        with contextlib.closing(self.server.connect(database, port=self.port)) as link:
            return rows_of(link, text)

    def stop(self):
        self.process.kill()
        self.process.wait(LIMIT_S)
        self.socket.unlink(missing_ok=True)


def available(pooler=False):
    """Whether a server can be started here."""
    if pooler and not shutil.which("pgbouncer", path=PATH):
        return False
    return bool(programs() and psycopg2) and (os.geteuid() != 0 or bool(shutil.which("setpriv")))
