"""Ledgers to guard, one class for each kind of database, which the tests of guards use alike.

A ledger has the tables `invoice (id, total)` and `other (x)`.  A writer is a process that knows
nothing of tenure but how its kind of database is shown a token: it can be stopped anywhere.
"""
import collections
import contextlib
import itertools
import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess

import pytest

from conftest import BINARY, LIMIT_S
from postgres import postgres_server

NAME = "billing/invoices"
FORK = multiprocessing.get_context("fork")  # to import it all anew takes longer than the test


class Writer:
    """A process with a token and a connection of its own, which does as it is told.  In it
    connect() makes what a line of SQL is given to."""

    def __init__(self, connect, **env):
        self._line, theirs = FORK.Pipe()
        self._process = FORK.Process(target=self._serve, args=(theirs, connect, env))
        self._process.start()
        theirs.close()

    @staticmethod
    def _serve(line, connect, env):
        os.environ.update(env)
        execute = connect()
        for sql in iter(line.recv, None):
            line.send(str(execute(sql)))

    def tell(self, sql):
        self._line.send(sql)

    def hear(self):
        """"done", the rows, or the kind of the error and its first line."""
        return self._line.recv()

    def run(self, sql):
        self.tell(sql)
        return self.hear()

    def send(self, signo):
        if self._process.is_alive():
            os.kill(self._process.pid, signo)

    def kill(self):
        self.send(signal.SIGKILL)
        self._process.join(LIMIT_S)

    def end(self):
        self.send(signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):
            self.tell(None)
        self._process.join(LIMIT_S)
        assert not self._process.is_alive(), "a writer does not end"
        self._line.close()


class Ledger:
    """What all kinds have in common; a kind adds target, begin, start(), shell() and query()."""

    def __init__(self):
        self.writers = []

    def writer(self, token, name=NAME):
        self.writers.append(self.start(token, name))
        return self.writers[-1]

    def end(self):
        for writer in self.writers:
            writer.end()

    def guard(self, verb, *options):
        return tenure("guard", verb, self.target, *options)

    def install(self, *options, table="invoice", name=NAME):
        return self.guard("install", "--name", name, "--table", table, *options)

    def announce(self, token, name=NAME):
        return self.guard("announce", "--name", name, "--token", token)

    def check(self):
        """The objects that `guard check --json` prints."""
        done = self.guard("check", "--json")
        assert done.returncode in (0, 1), done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def mark(self, name=NAME):
        return next(guard["mark"] for guard in self.check() if guard["guard"] == name)

    def count(self, table="invoice"):
        return self.query(f"SELECT count(*) FROM {table}")


class SqliteLedger(Ledger):
    REFUSAL = "IntegrityError"
    begin = "BEGIN IMMEDIATE"

    def __init__(self, directory, mode):
        super().__init__()
        self.path = directory / "ledger.db"
        self.target = f"sqlite:{self.path}"
        self.elsewhere = f"sqlite:{directory}/none.db"
        with sqlite3.connect(self.path) as db:
            db.execute(f"PRAGMA journal_mode = {mode}")
            db.execute("CREATE TABLE invoice (id INTEGER PRIMARY KEY, total INTEGER)")
            db.execute("CREATE TABLE other (x)")

    def start(self, token, name):
        def connect():
            db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            db.execute(f'CREATE TEMP TABLE tenure_token ("{name}" DEFAULT {token})')

            def execute(sql):
                try:
                    return db.execute(sql).fetchall() or "done"
                except sqlite3.Error as error:
                    return f"{type(error).__name__}: {error}"
            return execute

        return Writer(connect)

    def shell(self, script, token=None):
        if token is not None:
            script = f'CREATE TEMP TABLE tenure_token ("{NAME}" DEFAULT {token});' + script
        return subprocess.run(["sqlite3", "-batch", "-bail", str(self.path)], input=script,
                              text=True, capture_output=True, timeout=LIMIT_S)

    def query(self, sql):
        with sqlite3.connect(self.path) as db:
            return db.execute(sql).fetchone()[0]

    def replace_table(self):
        """As migrations do it."""
        with sqlite3.connect(self.path) as db:
            db.executescript("CREATE TABLE copy (id INTEGER PRIMARY KEY, total INTEGER);"
                             "INSERT INTO copy SELECT * FROM invoice; DROP TABLE invoice;"
                             "ALTER TABLE copy RENAME TO invoice;")

    def dump(self):
        """All that is in it but the rows of the tables."""
        with sqlite3.connect(self.path) as db:
            return list(db.iterdump())

    def presents(self, token="$TENURE_TOKEN"):
        """A shell command that writes under `tenure lock`."""
        return (f"sqlite3 -batch -bail {self.path} 'CREATE TEMP TABLE tenure_token "
                f"(\"{NAME}\" DEFAULT '{token}'); INSERT INTO invoice VALUES (7, 7)'")


# All that a test may have left in a database but its name.
EMPTY = """SET lock_timeout = '10s';
DO $$ DECLARE schema name; BEGIN
    FOR schema IN SELECT nspname FROM pg_namespace
            WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', schema);
    END LOOP;
END $$;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC;
ALTER DATABASE {} RESET ALL"""


class PostgresLedger(Ledger):
    REFUSAL = "TNG0"
    begin = "BEGIN"
    _numbers = itertools.count()
    _left = collections.defaultdict(list)  # by server: databases that were made empty again

    def __init__(self, server):
        super().__init__()
        self.server = server
        self.database = self._new(server)
        self.target = server.url(self.database)
        self.elsewhere = server.url("none")
        self.sql("CREATE TABLE invoice (id serial PRIMARY KEY, total integer);"
                 "CREATE TABLE other (x integer)")

    @classmethod
    def _new(cls, server):
        """An empty one.  To make one, and a connection to it, is more work than most tests are."""
        if cls._left[server]:
            return cls._left[server].pop()
        name = f"ledger{next(cls._numbers)}"
        server.sql(f"CREATE DATABASE {name} STRATEGY FILE_COPY")  # the quicker one
        return name

    def end(self):
        super().end()
        try:
            self.sql(EMPTY.format(self.database))
            self._left[self.server].append(self.database)
        except postgres_server.psycopg2.Error:  # then it is not used again
            self.server.hang_up(self.database)

    def sql(self, text, user="postgres"):
        return self.server.sql(text, self.database, user)

    @staticmethod
    def options(token, name=NAME):
        return {"PGOPTIONS": f"-c tenure.token={name}={token}"}

    def start(self, token, name):
        def connect():
            db = postgres_server.psycopg2.connect(self.target)
            db.autocommit = True
            cursor = db.cursor()

            def execute(sql):
                try:
                    cursor.execute(sql)
                    return cursor.fetchall() if cursor.description else "done"
                except postgres_server.psycopg2.Error as error:
                    return f"{error.pgcode}: {str(error).splitlines()[0]}"
            return execute

        return Writer(connect, **self.options(token, name))

    def shell(self, script, token=None):
        env = {**os.environ, **(self.options(token) if token is not None else {})}
        return subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", self.target],
                              input=script, text=True, capture_output=True, timeout=LIMIT_S,
                              env=env)

    def query(self, sql):
        return int(self.sql(sql))

    def replace_table(self):
        self.sql("CREATE TABLE copy (LIKE invoice INCLUDING ALL);"
                 "INSERT INTO copy SELECT * FROM invoice; DROP TABLE invoice CASCADE;"
                 "ALTER TABLE copy RENAME TO invoice")

    def dump(self):
        done = subprocess.run(["pg_dump", "--schema-only", self.target], text=True, check=True,
                              capture_output=True, timeout=LIMIT_S)
        return [line for line in done.stdout.splitlines()
                if not line.startswith(("\\restrict", "\\unrestrict"))]

    def presents(self):
        return f"psql -X -q '{self.target}' -c 'INSERT INTO invoice VALUES (7, 7)'"


def tenure(*arguments, store=None, env=None):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("TENURE_")}, **(env or {})}
    if store:
        env["TENURE_STORE"] = f"sqlite:{store}"
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                          env=env, timeout=LIMIT_S, stdin=subprocess.DEVNULL)


@pytest.fixture
def guarded(ledger):
    """The test's own fixture `ledger`, with its table under the guard."""
    done = ledger.install()
    assert done.returncode == 0, done.stderr
    return ledger
