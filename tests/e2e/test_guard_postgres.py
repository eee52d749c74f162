"""What is true of the PostgreSQL guard alone: many writers at a time, a mark that belongs to no
transaction, roles, partitions, poolers (P10)."""
import json
import signal
import subprocess

import pytest

from conftest import BINARY, LIMIT_S, wait_until
from ledgers import NAME, PostgresLedger, guarded, tenure  # noqa: F401
from postgres import running_server

INSERT = "INSERT INTO invoice VALUES (1, 1)"
SECOND = "INSERT INTO invoice VALUES (2, 2)"


@pytest.fixture(scope="module")
def server():
    with running_server("max_prepared_transactions=5", "wal_writer_delay=10s") as running:
        yield running


@pytest.fixture
def ledger(server):
    made = PostgresLedger(server)
    yield made
    made.end()


def waits_for_lock(ledger):
    """Until somebody waits for the lock of a guard."""
    wait_until(lambda: ledger.query("SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                                    "locktype = 'advisory'") > 0, "the wait")


# ---- every interleaving of two sessions ------------------------------------------------------


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_snapshot_from_before_the_announcement_lets_nobody_in(guarded, level):
    old = guarded.writer(42)
    assert old.run(INSERT) == "done"
    assert old.run(f"BEGIN ISOLATION LEVEL {level}") == "done"
    assert old.run("SELECT count(*) FROM invoice") == "[(1,)]"
    assert guarded.announce(43).returncode == 0, "who has not written is not waited for"
    assert old.run(SECOND).startswith("TNG01")
    assert old.run("ROLLBACK") == "done"
    assert guarded.count() == 1


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_an_announcement_waits_for_who_has_written(guarded, level):
    old = guarded.writer(42)
    assert old.run(f"BEGIN ISOLATION LEVEL {level}") == "done"
    assert old.run(INSERT) == "done"
    refused = guarded.announce(43)
    assert refused.returncode == 82 and "process" in refused.stderr, refused.stderr
    assert old.run(SECOND) == "done", "an announcement that gave up has changed nothing"
    assert old.run("COMMIT") == "done"
    assert guarded.announce(43).returncode == 0
    assert old.run("UPDATE invoice SET total = 7").startswith("TNG01")


def test_who_comes_while_an_announcement_waits_is_refused_behind_it(guarded):
    old, late = guarded.writer(42), guarded.writer(42)
    assert old.run("BEGIN") == "done" and old.run(INSERT) == "done"
    new = guarded.writer(43)
    new.tell("INSERT INTO invoice VALUES (3, 3)")  # raises the mark as an announcement does
    waits_for_lock(guarded)
    late.tell(SECOND)
    wait_until(lambda: guarded.query("SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                                     "locktype = 'advisory'") == 2, "both wait")
    assert old.run("COMMIT") == "done"
    assert new.hear() == "done"
    assert late.hear().startswith("TNG01")


def test_the_second_first_writer_waits_for_the_first(guarded):
    old, new = guarded.writer(42), guarded.writer(43)
    assert old.run("BEGIN") == "done" and old.run(INSERT) == "done"
    new.tell(SECOND)
    waits_for_lock(guarded)
    assert old.run("INSERT INTO invoice VALUES (3, 3)") == "done", "its transaction goes on"
    assert old.run("COMMIT") == "done"
    assert new.hear() == "done"
    assert old.run("DELETE FROM invoice").startswith("TNG01")


def test_the_newer_first_writer_locks_the_older_out_at_once(guarded):
    old, new = guarded.writer(42), guarded.writer(43)
    assert new.run("BEGIN") == "done" and new.run(INSERT) == "done"
    assert old.run(SECOND).startswith("TNG01"), "it does not wait for the other's end"
    assert new.run("ROLLBACK") == "done"
    assert old.run(SECOND).startswith("TNG01"), "who showed 43 exists, committed or not"
    assert guarded.mark() == 43


def test_open_transactions_under_one_token_do_not_wait_for_each_other(guarded):
    crowd = [guarded.writer(42) for _ in range(3)]
    for n, writer in enumerate(crowd):  # the first one raises the mark
        assert writer.run("BEGIN") == "done"
        assert writer.run(f"INSERT INTO invoice VALUES ({n}, 1)") == "done"
    assert guarded.announce(42).returncode == 0, "the mark itself is announced without waiting"
    for writer in reversed(crowd):
        assert writer.run("COMMIT") == "done"
    assert guarded.count() == 3


def test_no_lock_outlives_the_transaction(guarded):
    writer = guarded.writer(42)
    assert writer.run("BEGIN") == "done" and writer.run(INSERT) == "done"
    assert writer.run("COMMIT") == "done"
    assert guarded.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0


def test_a_savepoint_that_is_rolled_back_lets_the_announcement_through(guarded):
    old = guarded.writer(42)
    for sql in ("BEGIN", "SAVEPOINT a", INSERT, "ROLLBACK TO a"):
        assert old.run(sql) == "done"
    assert guarded.announce(43).returncode == 0
    assert old.run(SECOND).startswith("TNG01")
    assert old.run("COMMIT") == "done" and guarded.count() == 0


def test_a_savepoint_that_is_released_holds_the_announcement_up(guarded):
    old = guarded.writer(42)
    for sql in ("BEGIN", "SAVEPOINT a", INSERT, "RELEASE a"):
        assert old.run(sql) == "done"
    assert guarded.announce(43).returncode == 82
    assert old.run("COMMIT") == "done"
    assert guarded.announce(43).returncode == 0


def test_a_refusal_within_a_savepoint_leaves_the_transaction_to_the_program(guarded):
    assert guarded.announce(43).returncode == 0
    old = guarded.writer(42)
    for sql in ("BEGIN", "INSERT INTO other VALUES (1)", "SAVEPOINT a"):
        assert old.run(sql) == "done"
    assert old.run(INSERT).startswith("TNG01")
    assert old.run("ROLLBACK TO a") == "done" and old.run("COMMIT") == "done"
    assert (guarded.count(), guarded.count("other")) == (0, 1)


def test_a_prepared_transaction_holds_the_announcement_up_over_a_restart(guarded, server):
    old = guarded.writer(42)
    for sql in ("BEGIN", INSERT, "PREPARE TRANSACTION 'half'"):
        assert old.run(sql) == "done"
    refused = guarded.announce(43)
    assert refused.returncode == 82 and "a prepared transaction" in refused.stderr
    server.stop(signal.SIGQUIT)
    server.start()
    assert guarded.announce(43).returncode == 82
    guarded.sql("COMMIT PREPARED 'half'")
    assert guarded.announce(43).returncode == 0
    assert (guarded.count(), guarded.mark()) == (1, 43)


def test_an_announced_mark_survives_a_crash_also_where_commits_do_not(guarded, server):
    guarded.sql(f"ALTER DATABASE {guarded.database} SET synchronous_commit = off")
    assert guarded.announce(43).returncode == 0
    server.stop(signal.SIGQUIT)
    server.start()
    assert guarded.mark() == 43
    assert guarded.writer(42).run(INSERT).startswith("TNG01")


def test_install_waits_for_a_writer_of_any_isolation_level_and_misses_no_later_write(ledger):
    old = ledger.writer(41)
    assert old.run("BEGIN ISOLATION LEVEL REPEATABLE READ") == "done"
    assert old.run("SELECT count(*) FROM other") == "[(0,)]"  # a snapshot without the guard
    assert ledger.install().returncode == 0
    assert ledger.announce(42).returncode == 0
    assert old.run(INSERT).startswith("TNG01")


# ---- every way to write ----------------------------------------------------------------------

WAYS = {
    "copy": "COPY invoice FROM PROGRAM 'printf \"5\\t5\\n\"'",
    "truncate": "TRUNCATE invoice",
    "truncate-cascade": "TRUNCATE customer CASCADE",
    "merge": "MERGE INTO invoice AS i USING (VALUES (1)) AS v(id) ON i.id = v.id "
             "WHEN MATCHED THEN UPDATE SET total = 7",
    "with": "WITH gone AS (DELETE FROM invoice RETURNING id) SELECT count(*) FROM gone",
    "returning": "INSERT INTO invoice VALUES (2, 2) RETURNING id",
    "view": "UPDATE looks SET total = 7",
    "cascade": "DELETE FROM customer",
    "key-update": "UPDATE customer SET id = 2",
    "function": "SELECT pay()",
    "prepared": "EXECUTE pay",
    "cursor": "DO $$ DECLARE c CURSOR FOR SELECT * FROM invoice FOR UPDATE; r record; BEGIN "
              "OPEN c; FETCH c INTO r; UPDATE invoice SET total = 7 WHERE CURRENT OF c; END $$",
    "from": "UPDATE invoice SET total = 7 FROM customer",
    "nothing": "DELETE FROM invoice WHERE false",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_stale_token_is_refused_in_every_way_to_write(ledger, way):
    ledger.sql("CREATE TABLE customer (id integer PRIMARY KEY); INSERT INTO customer VALUES (1);"
                "ALTER TABLE invoice ADD customer integer DEFAULT 1 REFERENCES customer "
                "ON DELETE CASCADE ON UPDATE CASCADE;"
                "INSERT INTO invoice VALUES (1, 1); CREATE VIEW looks AS SELECT * FROM invoice;"
                "CREATE FUNCTION pay() RETURNS void LANGUAGE sql AS 'UPDATE invoice SET total = 7'")
    assert ledger.install().returncode == 0
    assert ledger.announce(42).returncode == 0
    for token, verdict in ((41, "TNG01"), ("x", "TNG04")):
        writer = ledger.writer(token)
        assert writer.run("PREPARE pay AS UPDATE invoice SET total = 7") == "done"
        assert writer.run(WAYS[way]).startswith(verdict)
    assert ledger.query("SELECT sum(id * 100 + total) FROM invoice") == 101
    writer = ledger.writer(42)
    assert writer.run("PREPARE pay AS UPDATE invoice SET total = 7") == "done"
    assert not writer.run(WAYS[way]).startswith("TNG")


def test_partitions_are_guarded_also_those_that_come_later(ledger):
    ledger.sql("CREATE TABLE log (at integer, x integer) PARTITION BY RANGE (at);"
                "CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (10)")
    assert ledger.install(table="log").returncode == 0
    ledger.sql("CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (10) TO (20)")
    assert ledger.announce(42).returncode == 0
    new, old = ledger.writer(42), ledger.writer(41)
    for sql in ("INSERT INTO log VALUES (1, 1), (11, 11)", "INSERT INTO log_1 VALUES (2, 2)",
                "INSERT INTO log_2 VALUES (12, 12)", "UPDATE log SET at = at + 8 WHERE at = 2",
                "DELETE FROM log_2 WHERE at = 12"):
        assert old.run(sql).startswith("TNG01") or "DELETE" in sql or "UPDATE" in sql, sql
        assert new.run(sql) == "done", sql
    for sql in ("UPDATE log SET x = 0", "UPDATE log_1 SET x = 0", "DELETE FROM log_2",
                "TRUNCATE log", "TRUNCATE log_1"):
        assert old.run(sql).startswith("TNG01"), sql
    done = ledger.guard("check")
    assert done.returncode == 1 and "unprotected" in done.stdout, "log_2 could be truncated"
    assert ledger.install(table="log").returncode == 0
    assert ledger.guard("check").returncode == 0
    assert old.run("TRUNCATE log_2").startswith("TNG01")
    assert ledger.install(table="log_1", name="billing/other").returncode == 80
    before = ledger.dump()
    assert ledger.guard("remove", "--name", NAME).returncode == 0
    assert ledger.dump() != before and not any("tenure" in line for line in ledger.dump())


@pytest.mark.parametrize("written,table", [
    ("Odd Name", '"Odd Name"'), ('"Odd Name"', '"Odd Name"'), ("it's", '"it\'s"'),
    ("away.invoice", "away.invoice"), ("INVOICE", "invoice"), ('a"b', '"a""b"'),
    ("x; DROP TABLE invoice", '"x; DROP TABLE invoice"')])
def test_a_table_is_named_as_in_sql_or_exactly(ledger, written, table):
    ledger.sql("CREATE SCHEMA away")
    ledger.sql(f"CREATE TABLE IF NOT EXISTS {table} (id integer, total integer)")
    done = ledger.install(table=written)
    assert done.returncode == 0, done.stderr
    assert ledger.writer(0).run(f"INSERT INTO {table} VALUES (1, 1)").startswith("TNG04")
    assert ledger.writer(1).run(f"INSERT INTO {table} VALUES (1, 1)") == "done"
    assert ledger.check()[0]["tables"][0]["table"] == table
    assert ledger.guard("remove", "--name", NAME).returncode == 0
    assert ledger.dump() and not any("tenure" in line for line in ledger.dump())


@pytest.mark.parametrize("table,words", [
    ("looks", "it is a view"), ("summary", "it is a materialized view"),
    ("invoice_id_seq", "it is a sequence"), ("invoice_pkey", "it is an index"),
    ("pg_class", "cannot be guarded"), ("information_schema.sql_parts", "cannot be guarded"),
    ("none.such", "no such table"), ("a.b.c.d", "no such table")])
def test_what_cannot_carry_a_guard_is_refused(ledger, table, words):
    ledger.sql("CREATE VIEW looks AS SELECT 1; CREATE MATERIALIZED VIEW summary AS SELECT 1")
    done = ledger.install(table=table)
    assert done.returncode == 64 and words in done.stderr, done.stderr
    assert not any("tenure" in line for line in ledger.dump())


def test_a_store_of_tenure_cannot_be_guarded(ledger):
    assert tenure("store", "init", "--store", ledger.target).returncode == 0
    done = ledger.install(table="tenure.record")
    assert done.returncode == 64 and "of tenure cannot be guarded" in done.stderr


# ---- what a program sees ---------------------------------------------------------------------


def test_every_verdict_has_an_sqlstate_of_its_own(ledger):
    assert ledger.install("--strict").returncode == 0
    assert ledger.announce(42).returncode == 0
    for setting, state in ((f"{NAME}=41", "TNG01"), (f"{NAME}=43", "TNG02"), ("", "TNG03"),
                           ("other=42", "TNG03"), (f"x{NAME}=42", "TNG03"), (NAME, "TNG03"),
                           (f"{NAME}=", "TNG04"), (f"{NAME}=42x", "TNG04"),
                           (f"{NAME}= 42", "TNG04"), (f"{NAME}=42 {NAME}=41", "TNG01"),
                           (f"{NAME}=a=42", "TNG03"), ("42", "TNG03")):
        writer = ledger.writer(1)
        assert writer.run(f"SET tenure.token = '{setting}'") == "done"
        assert writer.run(INSERT).startswith(state), setting
    writer = ledger.writer(1)
    assert writer.run(f"SET tenure.token = 'a=1 {NAME}=41 {NAME}=42 b=2'") == "done"
    assert writer.run(INSERT) == "done"
    ledger.sql("DROP SEQUENCE tenure_guard.mark_1")
    assert writer.run(SECOND).startswith("TNG05")
    assert ledger.announce(43).returncode == 83


def test_the_setting_can_belong_to_one_transaction(guarded):
    writer = guarded.writer(0)
    for sql in ("BEGIN", f"SET LOCAL tenure.token = '{NAME}=42'", INSERT, "COMMIT"):
        assert writer.run(sql) == "done"
    assert writer.run(SECOND).startswith("TNG04"), "the connection's own is back"


def test_refusals_are_counted_although_their_transactions_are_rolled_back(guarded):
    assert guarded.check()[0]["refusals"] == {"count": 0, "last": None}
    assert guarded.announce(43).returncode == 0
    old = guarded.writer(42)
    for sql in ("BEGIN", "INSERT INTO other VALUES (1)"):
        assert old.run(sql) == "done"
    assert old.run(INSERT).startswith("TNG01")
    assert old.run("ROLLBACK") == "done"
    refusals = guarded.check()[0]["refusals"]
    assert refusals["count"] == 1
    assert (refusals["last"]["verdict"], refusals["last"]["token"]) == ("stale", 42)
    assert guarded.writer("x").run(INSERT).startswith("TNG04")
    refusals = guarded.check()[0]["refusals"]
    assert (refusals["count"], refusals["last"]["verdict"]) == (2, "invalid")
    assert refusals["last"]["token"] is None and refusals["last"]["at"].endswith("Z")
    done = guarded.guard("check")
    assert f"{NAME} has refused 2 writes; the last one " in done.stdout


# ---- roles -----------------------------------------------------------------------------------


@pytest.fixture
def roles(ledger):
    """`owner` owns the ledger's tables and is no superuser; `app` may write to them."""
    ledger.sql(f"DO $$ BEGIN CREATE ROLE owner LOGIN; CREATE ROLE app LOGIN; "
                f"EXCEPTION WHEN duplicate_object THEN END $$;"
                f"GRANT CREATE ON DATABASE {ledger.database} TO owner;"
                f"ALTER TABLE invoice OWNER TO owner; ALTER TABLE other OWNER TO owner;"
                f"GRANT ALL ON invoice, other TO app")
    return ledger


def by(ledger, role):
    return ledger.target.replace("postgres@", f"{role}@")


def test_neither_extension_nor_superuser_is_needed(roles):
    owner, app = by(roles, "owner"), by(roles, "app")
    done = tenure("guard", "install", owner, "--name", NAME, "--table", "invoice")
    assert done.returncode == 0, done.stderr
    roles.target = app
    assert roles.writer(42).run(INSERT) == "done", "who writes needs no rights on the guard"
    denied = roles.announce(43)
    assert denied.returncode == 83 and "permission denied" in denied.stderr
    assert "guard-postgres.md says what a role needs" in denied.stderr
    roles.sql("GRANT USAGE ON SCHEMA tenure_guard TO app")
    assert roles.announce(43).returncode == 0
    writer = roles.writer(42)
    assert writer.run(SECOND).startswith("TNG01")
    assert writer.run("SELECT setval('tenure_guard.mark_1', 1)").startswith("42501")
    assert writer.run("SELECT tenure_guard.remove('billing/invoices')").startswith("42501")
    assert writer.run("ALTER TABLE invoice DISABLE TRIGGER tenure_guard").startswith("42501")
    assert roles.guard("remove", "--name", NAME).returncode == 83
    assert tenure("guard", "check", owner).returncode == 0
    assert tenure("guard", "remove", owner, "--name", NAME).returncode == 0
    assert not any("tenure" in line for line in roles.dump())


@pytest.mark.parametrize("table,role", [("invoice", "app"), ("other", "owner")])
def test_without_the_rights_nothing_is_installed(roles, table, role):
    """`app` may not make a schema; `owner` does not own one of the tables."""
    roles.sql("ALTER TABLE other OWNER TO postgres; REVOKE ALL ON other FROM owner")
    done = tenure("guard", "install", by(roles, role), "--name", NAME, "--table", "invoice",
                  "--table", table)
    assert done.returncode == 83 and "permission denied" in done.stderr, done.stderr
    assert not any("tenure" in line for line in roles.dump())


def test_a_role_that_does_not_exist_is_denied_and_a_server_that_is_not_there_unreachable(ledger):
    done = tenure("guard", "check", by(ledger, "nobody"))
    assert done.returncode == 83 and 'role "nobody" does not exist' in done.stderr
    done = tenure("guard", "check", "postgres://127.0.0.1:1/x")
    assert done.returncode == 82 and "refused" in done.stderr


def test_check_finds_a_trigger_that_was_switched_off_or_altered(guarded):
    guarded.sql("ALTER TABLE invoice DISABLE TRIGGER tenure_guard")
    assert guarded.check()[0]["tables"][0]["state"] == "unprotected"
    assert guarded.install().returncode == 0
    assert guarded.check()[0]["tables"][0]["state"] == "intact"
    guarded.sql("DROP TRIGGER tenure_guard ON invoice; CREATE TRIGGER tenure_guard BEFORE INSERT "
                 "ON invoice EXECUTE FUNCTION tenure_guard.admit('billing/invoices', '1', 'f')")
    assert guarded.check()[0]["tables"][0]["state"] == "altered"
    assert guarded.install().returncode == 0
    assert guarded.check()[0]["tables"][0]["state"] == "intact"


def test_a_schema_that_is_not_ours_is_left_alone(ledger):
    ledger.sql("CREATE SCHEMA tenure_guard")
    for verb, options in (("install", ["--name", NAME, "--table", "invoice"]), ("check", []),
                          ("remove", ["--name", NAME])):
        done = ledger.guard(verb, *options)
        assert done.returncode == 83 and "not the one" in done.stderr
    ledger.sql("DROP SCHEMA tenure_guard")
    assert ledger.install().returncode == 0
    ledger.sql("CREATE OR REPLACE FUNCTION tenure_guard.judge(mark bigint, shown text, "
                "is_strict boolean) RETURNS text LANGUAGE sql AS 'SELECT ''admit'''")
    done = ledger.guard("check")
    assert done.returncode == 83 and "not the one" in done.stderr


def test_a_dump_keeps_the_guard_and_its_mark(guarded, server):
    assert guarded.announce(43).returncode == 0
    assert guarded.writer(43).run(INSERT) == "done"
    copy = PostgresLedger(server)
    copy.sql("DROP TABLE invoice, other")
    dump = subprocess.run(["pg_dump", guarded.target], check=True, text=True, capture_output=True)
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", copy.target], input=dump.stdout,
                   check=True, text=True, capture_output=True)
    assert copy.guard("check").returncode == 0
    assert (copy.count(), copy.mark()) == (1, 43)
    try:
        assert copy.writer(42).run(SECOND).startswith("TNG01")
        assert copy.writer(43).run(SECOND) == "done"
    finally:
        copy.end()


def test_the_bypasses_that_the_manual_names_are_what_it_says(guarded):
    assert guarded.announce(43).returncode == 0
    superuser = guarded.writer(42)
    assert superuser.run(INSERT).startswith("TNG01"), "a superuser is fenced as everybody is"
    assert superuser.run("SET session_replication_role = replica") == "done"
    assert superuser.run(INSERT) == "done", "but may switch triggers off"


# ---- under lock and lead ---------------------------------------------------------------------


def shown(ledger, *command, env=None, store):
    """What a psql under the command sees of its settings."""
    done = tenure(*command, "psql", "-X", "-A", "-t", ledger.target, "-c", "SHOW tenure.token",
                  "-c", "SHOW work_mem", store=store, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:2]


def test_pgoptions_present_the_token_and_keep_what_is_there(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    assert guarded.install(table="other", name="b").returncode == 0
    token, memory = shown(guarded, "lock", "--guard", guarded.target, NAME, "--", store=store,
                          env={"PGOPTIONS": "-c work_mem=99kB"})
    assert (token, memory) == (f"{NAME}={guarded.mark()}", "99kB")
    token, memory = shown(guarded, "lock", "--guard", guarded.target, NAME, "--", BINARY, "lock",
                          "--guard", guarded.target, "b", "--", store=store,
                          env={"PGOPTIONS": "-c work_mem=99kB"})
    assert (token, memory) == (f"{NAME}={guarded.mark()} b={guarded.mark('b')}", "99kB")


def test_without_a_guard_in_postgresql_pgoptions_are_left_alone(tmp_path):
    done = tenure("lock", "a", "--", "sh", "-c", "echo ${PGOPTIONS-none}",
                  store=tmp_path / "tenure.db")
    assert done.stdout == "none\n"


def test_a_server_that_does_not_answer_keeps_the_command_from_starting(guarded, server, tmp_path):
    guarded.writer(1)
    pid = server.process.pid
    store = tmp_path / "tenure.db"
    server.process.send_signal(signal.SIGSTOP)
    try:
        done = tenure("lock", "--guard", guarded.target, NAME, "--", "touch", tmp_path / "started",
                      store=store)
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert server.process.pid == pid
    assert done.returncode == 82, done.stderr
    assert not (tmp_path / "started").exists()
    assert json.loads(tenure("status", "--json", NAME, store=store).stdout or "{}").get(
        "holders", []) == []
