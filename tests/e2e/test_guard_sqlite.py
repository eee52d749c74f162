"""The SQLite guard from outside: real shells, real processes, every order that matters (P10).

What one connection sees is in tests/guards/sqlite.c.
"""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENURE = os.environ.get("TENURE_BIN", str(ROOT / "build/src/cli/tenure"))
NAME = "billing/invoices"
LIMIT_S = 60

# A writer that does as it is told, one command in a line: a process that can be paused anywhere.
WRITER = """
import sqlite3, sys
path, token = sys.argv[1:]
db = sqlite3.connect(path, timeout=30, isolation_level=None)
db.execute(f'CREATE TEMP TABLE tenure_token ("billing/invoices" DEFAULT {token})')
for line in sys.stdin:
    try:
        db.execute(line)
        print("done", flush=True)
    except sqlite3.Error as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""


class Writer:
    """A process with a token and a connection of its own."""

    def __init__(self, ledger, token):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, ledger, str(token)], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, sql):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()

    def hear(self):
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


@pytest.fixture(params=["wal", "delete"])
def ledger(request, tmp_path):
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA journal_mode = {request.param}")
        db.execute("CREATE TABLE invoice (id INTEGER PRIMARY KEY, total INTEGER)")
        db.execute("CREATE TABLE other (x)")
    return path


@pytest.fixture
def guarded(ledger):
    assert install(ledger).returncode == 0
    return ledger


@pytest.fixture
def writer():
    writers = []

    def start(ledger, token):
        writers.append(Writer(ledger, token))
        return writers[-1]

    yield start
    for w in writers:
        w.end()


def tenure(*arguments, store=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_")}
    if store:
        env["TENURE_STORE"] = f"sqlite:{store}"
    return subprocess.run([TENURE, *map(str, arguments)], capture_output=True, text=True, env=env,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL)


def guard(verb, ledger, *options):
    return tenure("guard", verb, f"sqlite:{ledger}", *options)


def install(ledger, *options, table="invoice", name=NAME):
    return guard("install", ledger, "--name", name, "--table", table, *options)


def announce(ledger, token, name=NAME):
    return guard("announce", ledger, "--name", name, "--token", token)


def shell(ledger, script, token=None):
    env = {**os.environ, "TENURE_TOKEN": str(token)}
    return subprocess.run(["sqlite3", "-batch", "-bail", str(ledger)], input=script, text=True,
                          capture_output=True, env=env, timeout=LIMIT_S)


def mark(ledger):
    with sqlite3.connect(ledger) as db:
        return db.execute("SELECT mark FROM tenure_guard").fetchone()[0]


def count(ledger):
    with sqlite3.connect(ledger) as db:
        return db.execute("SELECT count(*) FROM invoice").fetchone()[0]


# ---- programs that know nothing of tenure ---------------------------------------------------


def test_the_shell_is_refused_without_a_token_and_let_in_with_one(guarded):
    done = shell(guarded, "INSERT INTO invoice VALUES (1, 1);")
    assert done.returncode != 0 and "tenure: missing token" in done.stderr
    done = shell(guarded, f'CREATE TEMP TABLE tenure_token ("{NAME}" DEFAULT 42);'
                          "INSERT INTO invoice VALUES (1, 1);")
    assert done.returncode == 0, done.stderr
    assert (count(guarded), mark(guarded)) == (1, 42)


def test_a_refused_script_ends_at_the_refusal(guarded):
    assert announce(guarded, 42).returncode == 0
    done = shell(guarded, f'CREATE TEMP TABLE tenure_token ("{NAME}" DEFAULT 41);'
                          "BEGIN; INSERT INTO other VALUES (1);"
                          "INSERT INTO invoice VALUES (1, 1); COMMIT;")
    assert done.returncode != 0 and "tenure: stale token" in done.stderr
    with sqlite3.connect(guarded) as db:
        assert db.execute("SELECT count(*) FROM other").fetchone() == (0,)


def test_python_sees_an_integrity_error_with_the_words(guarded, writer):
    assert announce(guarded, 42).returncode == 0
    assert writer(guarded, 41).run("INSERT INTO invoice VALUES (1, 1)").startswith(
        "IntegrityError: tenure: stale token for guard billing/invoices")


# ---- every order at the boundary -------------------------------------------------------------


def test_a_writer_paused_in_its_transaction_commits_before_the_announcement(guarded, writer):
    old = writer(guarded, 42)
    assert old.run("BEGIN IMMEDIATE") == "done"
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    old.send(signal.SIGSTOP)
    refused = announce(guarded, 43)
    assert refused.returncode == 82, refused.stderr  # nothing happened: the successor must wait
    assert "transaction" in refused.stderr
    old.send(signal.SIGCONT)
    assert old.run("COMMIT") == "done"
    assert announce(guarded, 43).returncode == 0
    assert "tenure: stale" in old.run("INSERT INTO invoice VALUES (2, 2)")
    assert (count(guarded), mark(guarded)) == (1, 43)


def test_a_writer_killed_in_its_transaction_leaves_nothing(guarded, writer):
    old = writer(guarded, 42)
    assert old.run("BEGIN IMMEDIATE") == "done"
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    old.process.kill()
    old.process.wait(LIMIT_S)
    assert announce(guarded, 41).returncode == 0, "the mark of the lost transaction is gone, too"
    assert (count(guarded), mark(guarded)) == (0, 41)


def test_a_writer_that_wakes_up_after_the_announcement_is_refused(guarded, writer):
    old = writer(guarded, 42)
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    old.send(signal.SIGSTOP)
    old.tell("INSERT INTO invoice VALUES (2, 2)")
    assert announce(guarded, 43).returncode == 0
    old.send(signal.SIGCONT)
    assert "tenure: stale" in old.hear()
    assert count(guarded) == 1


def test_a_transaction_that_writes_elsewhere_holds_the_announcement_up(guarded, writer):
    old = writer(guarded, 42)
    assert old.run("BEGIN") == "done"
    assert old.run("INSERT INTO other VALUES (1)") == "done"  # not guarded, but it holds the lock
    assert announce(guarded, 43).returncode == 82
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    assert old.run("COMMIT") == "done"
    assert announce(guarded, 43).returncode == 0
    assert old.run("BEGIN") == "done"
    assert "tenure: stale" in old.run("INSERT INTO invoice VALUES (2, 2)")


@pytest.mark.parametrize("order", [(42, 43), (43, 42)])
def test_of_two_first_writers_the_older_never_writes_after_the_newer(guarded, writer, order):
    first, second = (writer(guarded, token) for token in order)
    assert first.run("BEGIN IMMEDIATE") == "done"
    second.tell("INSERT INTO invoice VALUES (2, 2)")  # waits for the first
    assert first.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    assert first.run("COMMIT") == "done"
    answer = second.hear()
    if order == (42, 43):
        assert answer == "done"
    else:
        assert "tenure: stale" in answer
    assert mark(guarded) == 43


def test_writers_under_one_token_do_not_refuse_each_other(guarded, writer):
    crowd = [writer(guarded, 42) for _ in range(4)]
    for _ in range(10):
        for w in crowd:
            w.tell("INSERT INTO invoice(total) VALUES (1)")
        assert [w.hear() for w in crowd] == ["done"] * 4
    assert count(guarded) == 40


def test_a_savepoint_that_is_rolled_back_takes_the_mark_along(guarded, writer):
    new = writer(guarded, 43)
    for sql in ("BEGIN", "SAVEPOINT a", "INSERT INTO invoice VALUES (1, 1)", "ROLLBACK TO a",
                "COMMIT"):
        assert new.run(sql) == "done"
    assert mark(guarded) == 0
    assert writer(guarded, 42).run("INSERT INTO invoice VALUES (1, 1)") == "done"


def test_install_against_a_running_writer_misses_no_write(ledger, writer):
    old = writer(ledger, 41)
    assert old.run("BEGIN IMMEDIATE") == "done"
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    assert install(ledger).returncode == 82  # it waits for the transaction, and gives up
    assert old.run("COMMIT") == "done"
    assert install(ledger).returncode == 0
    assert announce(ledger, 42).returncode == 0
    assert "tenure: stale" in old.run("INSERT INTO invoice VALUES (2, 2)")


def test_strict_tells_newer_from_stale(ledger, writer):
    assert install(ledger, "--strict").returncode == 0
    new = writer(ledger, 43)
    assert "tenure: newer" in new.run("INSERT INTO invoice VALUES (1, 1)")
    assert announce(ledger, 43).returncode == 0
    assert new.run("INSERT INTO invoice VALUES (1, 1)") == "done"


# ---- the command -----------------------------------------------------------------------------


def test_an_announcement_moves_up_and_never_down(guarded):
    assert announce(guarded, 42).returncode == 0
    assert announce(guarded, 42).returncode == 0
    done = announce(guarded, 41)
    assert done.returncode == 80 and "stale" in done.stderr and "42" in done.stderr
    assert mark(guarded) == 42


@pytest.mark.parametrize("token", ["0", "-1", "abc", "1e3", "", "9223372036854775808",
                                   "18446744073709551616"])
def test_a_token_that_is_none_is_refused(guarded, token):
    done = announce(guarded, token)
    assert done.returncode == 64 and "--token" in done.stderr
    assert mark(guarded) == 0


def test_bad_targets_and_tables_are_refused_and_nothing_is_installed(ledger, tmp_path):
    before = ledger.read_bytes()
    for arguments, code in [
        (("install", f"sqllite:{ledger}", "--name", NAME, "--table", "invoice"), 64),
        (("install", "sqlite:", "--name", NAME, "--table", "invoice"), 64),
        (("install", f"sqlite:{tmp_path}/none.db", "--name", NAME, "--table", "invoice"), 82),
        (("install", f"sqlite:{TENURE}", "--name", NAME, "--table", "invoice"), 83),
        (("install", f"sqlite:{ledger}", "--name", NAME, "--table", "nothing"), 64),
        (("install", f"sqlite:{ledger}", "--name", "a//b", "--table", "invoice"), 64),
        (("install", f"sqlite:{ledger}", "--name", NAME), 64),
        (("announce", f"sqlite:{ledger}", "--name", NAME, "--token", "1"), 64),
        (("check", f"sqlite:{ledger}", "--name", NAME), 64),
        (("remove", f"sqlite:{ledger}", "--name", NAME), 64),
    ]:
        done = tenure("guard", *arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert done.stderr.startswith("tenure: ") and done.stdout == ""
    assert not (tmp_path / "none.db").exists()
    assert ledger.read_bytes() == before


def test_two_guards_on_one_table_are_refused(guarded):
    done = install(guarded, name="billing/other")
    assert done.returncode == 80 and NAME in done.stderr


def test_check_tells_an_intact_guard_from_one_that_a_migration_lost(guarded):
    assert announce(guarded, 42).returncode == 0
    done = guard("check", guarded, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "guard": NAME, "mark": 42, "strict": False, "warning": None,
        "tables": [{"table": "invoice", "state": "intact", "moved_to": None}]}
    with sqlite3.connect(guarded) as db:
        db.executescript("CREATE TABLE copy (id INTEGER PRIMARY KEY, total INTEGER);"
                         "INSERT INTO copy SELECT * FROM invoice; DROP TABLE invoice;"
                         "ALTER TABLE copy RENAME TO invoice;")
    done = guard("check", guarded)
    assert done.returncode == 1 and "unprotected" in done.stdout
    assert install(guarded).returncode == 0
    assert guard("check", guarded).returncode == 0
    assert mark(guarded) == 42


def test_check_says_when_a_mark_is_higher_than_any_token_of_the_store(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    held = tenure("lock", "--guard", f"sqlite:{guarded}", NAME, "--", "true", store=store)
    assert held.returncode == 0, held.stderr
    done = guard("check", guarded, "--store", f"sqlite:{store}")
    assert done.returncode == 0, done.stderr
    assert announce(guarded, mark(guarded) + 1000).returncode == 0
    done = guard("check", guarded, "--store", f"sqlite:{store}")
    assert done.returncode == 1 and "higher than" in done.stderr


def test_remove_leaves_nothing(ledger):
    with sqlite3.connect(ledger) as db:
        before = list(db.iterdump())
    assert install(ledger).returncode == 0
    assert install(ledger, table="other").returncode == 0
    assert guard("remove", ledger, "--name", NAME).returncode == 0
    with sqlite3.connect(ledger) as db:
        assert list(db.iterdump()) == before


def test_lock_announces_its_token_before_the_command_starts(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    done = tenure("lock", "--guard", f"sqlite:{guarded}", NAME, "--", "sh", "-c",
                  f'sqlite3 {guarded} "SELECT mark = $TENURE_TOKEN FROM tenure_guard"',
                  store=store)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_when_the_announcement_fails_the_command_is_not_started(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    assert announce(guarded, 2**62).returncode == 0  # higher than any token of a new store
    done = tenure("lock", "--guard", f"sqlite:{guarded}", NAME, "--", "touch",
                  tmp_path / "started", store=store)
    assert done.returncode != 0 and "stale" in done.stderr
    assert not (tmp_path / "started").exists()
    again = tenure("lock", "-n", NAME, "--", "true", store=store)
    assert again.returncode == 0, "the tenure was not given back"
