"""Ledgers to guard, one class for each kind of database, which the tests of guards use alike.

A ledger has the tables `invoice (id, total)` and `other (x)`.  A writer is a process that knows
nothing of tenure but how its kind of database is shown a token: it can be stopped anywhere.
"""
import json
import os
import signal
import sqlite3
import subprocess

import pytest

from conftest import BINARY, LIMIT_S

NAME = "billing/invoices"
PYTHON = "/usr/bin/python3"  # Debian's: it has psycopg2


class Writer:
    """A process with a token and a connection of its own, which does as it is told."""

    def __init__(self, program, arguments, env):
        self.process = subprocess.Popen(
            [PYTHON, "-c", program, *map(str, arguments)], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env})

    def tell(self, sql):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()

    def hear(self):
        """"done", the rows, or the kind of the error and its first line."""
        return self.process.stdout.readline().strip()

    def run(self, sql):
        self.tell(sql)
        return self.hear()

    def send(self, signo):
        self.process.send_signal(signo)  # does nothing when it has ended

    def end(self):
        self.send(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()


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
    PROGRAM = """
import sqlite3, sys
path, name, token = sys.argv[1:]
db = sqlite3.connect(path, timeout=30, isolation_level=None)
db.execute(f'CREATE TEMP TABLE tenure_token ("{name}" DEFAULT {token})')
for line in sys.stdin:
    try:
        print(db.execute(line).fetchall() or "done", flush=True)
    except sqlite3.Error as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""
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
        return Writer(self.PROGRAM, [self.path, name, token], {})

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


class PostgresLedger(Ledger):
    PROGRAM = """
import os, sys
import psycopg2
db = psycopg2.connect(sys.argv[1])
db.autocommit = True
cursor = db.cursor()
for line in sys.stdin:
    try:
        cursor.execute(line)
        print(cursor.fetchall() if cursor.description else "done", flush=True)
    except psycopg2.Error as error:
        print(f"{error.pgcode}: {str(error).splitlines()[0]}", flush=True)
"""
    REFUSAL = "TNG0"
    begin = "BEGIN"

    def __init__(self, server, database, role="postgres"):
        super().__init__()
        self.server, self.database = server, database
        server.sql(f"CREATE DATABASE {database} STRATEGY FILE_COPY")  # the quicker one
        self.target = server.url(database)
        self.elsewhere = server.url("none")
        self.sql("CREATE TABLE invoice (id serial PRIMARY KEY, total integer);"
                 "CREATE TABLE other (x integer)")

    def end(self):
        super().end()
        self.server.hang_up(self.database)

    def sql(self, text, user="postgres"):
        return self.server.sql(text, self.database, user)

    @staticmethod
    def options(token, name=NAME):
        return {"PGOPTIONS": f"-c tenure.token={name}={token}"}

    def start(self, token, name):
        return Writer(self.PROGRAM, [self.target], self.options(token, name))

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
