"""Guards from outside: real shells, real processes, every order that matters (P10), on each kind of
database.

What is true of one kind alone is in test_guard_sqlite.py and test_guard_postgres.py; what one
connection of SQLite sees is in tests/guards/sqlite.c.
"""
import signal

import pytest

from conftest import BINARY, wait_until
from ledgers import NAME, PostgresLedger, SqliteLedger, guarded, tenure  # noqa: F401
from postgres import running_server

INSERT = "INSERT INTO invoice VALUES (1, 1)"
SECOND = "INSERT INTO invoice VALUES (2, 2)"


@pytest.fixture(scope="module")
def server():
    with running_server() as running:
        yield running


@pytest.fixture(params=["sqlite-wal", "sqlite-delete", "postgres"])
def ledger(request, tmp_path):
    if request.param == "postgres":
        made = PostgresLedger(request.getfixturevalue("server"))
    else:
        made = SqliteLedger(tmp_path, request.param.split("-")[1])
    yield made
    made.end()


def is_refused(ledger, answer, verdict):
    return answer.startswith(ledger.REFUSAL) and \
        f"tenure: {verdict} token for guard {NAME}" in answer


# ---- programs that know nothing of tenure ---------------------------------------------------


def test_the_shell_is_refused_without_a_token_and_let_in_with_one(guarded):
    done = guarded.shell(INSERT + ";")
    assert done.returncode != 0 and "tenure: missing token" in done.stderr
    done = guarded.shell(INSERT + ";", 42)
    assert done.returncode == 0, done.stderr
    assert (guarded.count(), guarded.mark()) == (1, 42)


def test_a_refused_script_ends_at_the_refusal(guarded):
    assert guarded.announce(42).returncode == 0
    done = guarded.shell(f"BEGIN; INSERT INTO other VALUES (1); {INSERT}; COMMIT;", 41)
    assert done.returncode != 0 and "tenure: stale token" in done.stderr
    assert guarded.count("other") == 0


def test_a_program_sees_a_refusal_by_its_kind_and_its_words(guarded):
    assert guarded.announce(42).returncode == 0
    assert is_refused(guarded, guarded.writer(41).run(INSERT), "stale")


@pytest.mark.parametrize("token", ["0", "-1", "042", "4e1", "0x2a", "42.0",
                                   "9223372036854775808", "18446744073709551616"])
def test_what_is_no_token_is_refused_as_invalid(guarded, token):
    assert is_refused(guarded, guarded.writer(token).run(INSERT), "invalid")
    assert guarded.count() == 0


@pytest.mark.parametrize("write", [INSERT, SECOND, "UPDATE invoice SET total = 7",
                                   "DELETE FROM invoice",
                                   "INSERT INTO invoice SELECT 5, 5",
                                   "INSERT INTO invoice VALUES (1, 7) ON CONFLICT (id) "
                                   "DO UPDATE SET total = 7",
                                   "INSERT INTO invoice VALUES (1, 1) ON CONFLICT DO NOTHING"])
def test_every_kind_of_write_is_guarded(guarded, write):
    assert guarded.writer(42).run(INSERT) == "done"
    assert is_refused(guarded, guarded.writer(41).run(write), "stale")
    assert guarded.query("SELECT sum(id * 100 + total) FROM invoice") == 101


def test_a_token_for_another_guard_does_not_count(guarded):
    assert guarded.install(table="other", name="billing/other").returncode == 0
    writer = guarded.writer(42, "billing/other")
    assert is_refused(guarded, writer.run(INSERT), "missing")
    assert writer.run("INSERT INTO other VALUES (1)") == "done"


# ---- every order at the boundary -------------------------------------------------------------


def test_a_writer_paused_in_its_transaction_commits_before_the_announcement(guarded):
    old = guarded.writer(42)
    assert old.run(guarded.begin) == "done"
    assert old.run(INSERT) == "done"
    old.send(signal.SIGSTOP)
    refused = guarded.announce(43)
    assert refused.returncode == 82, refused.stderr  # nothing happened: the successor must wait
    assert "transaction" in refused.stderr
    old.send(signal.SIGCONT)
    assert old.run("COMMIT") == "done"
    assert guarded.announce(43).returncode == 0
    assert is_refused(guarded, old.run(SECOND), "stale")
    assert (guarded.count(), guarded.mark()) == (1, 43)


def test_a_writer_killed_in_its_transaction_leaves_nothing(guarded):
    old = guarded.writer(42)
    assert old.run(guarded.begin) == "done"
    assert old.run(INSERT) == "done"
    old.kill()
    wait_until(lambda: guarded.announce(43).returncode == 0, "the announcement")
    assert (guarded.count(), guarded.mark()) == (0, 43)


def test_a_writer_that_wakes_up_after_the_announcement_is_refused(guarded):
    old = guarded.writer(42)
    assert old.run(INSERT) == "done"
    old.send(signal.SIGSTOP)
    old.tell(SECOND)
    assert guarded.announce(43).returncode == 0
    old.send(signal.SIGCONT)
    assert is_refused(guarded, old.hear(), "stale")
    assert guarded.count() == 1


@pytest.mark.parametrize("order", [(42, 43), (43, 42)])
def test_of_two_first_writers_the_older_never_writes_after_the_newer(guarded, order):
    first, second = (guarded.writer(token) for token in order)
    assert first.run(guarded.begin) == "done"
    assert first.run(INSERT) == "done"
    second.tell(SECOND)  # the newer one waits for the older, whose transaction is open
    assert first.run("COMMIT") == "done"
    answer = second.hear()
    if order == (42, 43):
        assert answer == "done"
    else:
        assert is_refused(guarded, answer, "stale")
    assert guarded.mark() == 43


def test_writers_under_one_token_do_not_refuse_each_other(guarded):
    crowd = [guarded.writer(42) for _ in range(4)]
    for i in range(10):
        for n, w in enumerate(crowd):
            w.tell(f"INSERT INTO invoice VALUES ({i * 4 + n}, 1)")
        assert [w.hear() for w in crowd] == ["done"] * 4
    assert guarded.count() == 40


def test_install_against_a_running_writer_misses_no_write(ledger):
    old = ledger.writer(41)
    assert old.run(ledger.begin) == "done"
    assert old.run(INSERT) == "done"
    assert ledger.install().returncode == 82  # it waits for the transaction, and gives up
    assert old.run("COMMIT") == "done"
    assert ledger.install().returncode == 0
    assert ledger.announce(42).returncode == 0
    assert is_refused(ledger, old.run(SECOND), "stale")


def test_strict_tells_newer_from_stale(ledger):
    assert ledger.install("--strict").returncode == 0
    new = ledger.writer(43)
    assert "tenure: newer" in new.run(INSERT)
    assert ledger.announce(43).returncode == 0
    assert new.run(INSERT) == "done"
    assert ledger.announce(44).returncode == 0
    assert is_refused(ledger, new.run(SECOND), "stale")


# ---- the command -----------------------------------------------------------------------------


def test_an_announcement_moves_up_and_never_down(guarded):
    assert guarded.announce(42).returncode == 0
    assert guarded.announce(42).returncode == 0
    done = guarded.announce(41)
    assert done.returncode == 80 and "stale" in done.stderr and "42" in done.stderr
    assert guarded.mark() == 42


@pytest.mark.parametrize("token", ["0", "-1", "abc", "1e3", "", "9223372036854775808",
                                   "18446744073709551616"])
def test_a_token_that_is_none_is_refused(guarded, token):
    done = guarded.announce(token)
    assert done.returncode == 64 and "--token" in done.stderr
    assert guarded.mark() == 0


def test_bad_targets_and_tables_are_refused_and_nothing_is_installed(ledger):
    before = ledger.dump()
    for arguments, codes in [
        (("install", f"x{ledger.target}", "--name", NAME, "--table", "invoice"), (64,)),
        (("install", "sqlite:", "--name", NAME, "--table", "invoice"), (64,)),
        (("install", "postgres://", "--name", NAME, "--table", "invoice"), (64,)),
        (("install", "postgres://?no=such", "--name", NAME, "--table", "invoice"), (64,)),
        (("install", ledger.elsewhere, "--name", NAME, "--table", "invoice"), (82, 83)),
        (("install", f"sqlite:{BINARY}", "--name", NAME, "--table", "invoice"), (83,)),
        (("install", ledger.target, "--name", NAME, "--table", "nothing"), (64,)),
        (("install", ledger.target, "--name", NAME, "--table", "invoice", "--table", "none"),
         (64,)),
        (("install", ledger.target, "--name", "a//b", "--table", "invoice"), (64,)),
        (("install", ledger.target, "--name", NAME), (64,)),
        (("announce", ledger.target, "--name", NAME, "--token", "1"), (64,)),
        (("check", ledger.target, "--name", NAME), (64,)),
        (("remove", ledger.target, "--name", NAME), (64,)),
    ]:
        done = tenure("guard", *arguments)
        assert done.returncode in codes, (arguments, done.stderr)
        assert done.stderr.startswith("tenure: ") and done.stdout == ""
    assert ledger.dump() == before


def test_two_guards_on_one_table_are_refused(guarded):
    done = guarded.install(name="billing/other")
    assert done.returncode == 80 and NAME in done.stderr
    assert [guard["guard"] for guard in guarded.check()] == [NAME]


def test_a_guard_is_as_strict_as_it_was_installed(guarded):
    done = guarded.install("--strict")
    assert done.returncode == 80 and "without --strict" in done.stderr


def test_check_tells_an_intact_guard_from_one_that_a_migration_lost(guarded):
    assert guarded.announce(42).returncode == 0
    assert guarded.writer(42).run(INSERT) == "done"
    found, = guarded.check()
    found.pop("refusals")
    assert found == {"guard": NAME, "mark": 42, "strict": False, "warning": None,
                     "tables": [{"table": "invoice", "state": "intact", "moved_to": None}]}
    guarded.replace_table()
    done = guarded.guard("check")
    assert done.returncode == 1 and "unprotected" in done.stdout
    assert guarded.install().returncode == 0
    assert guarded.guard("check").returncode == 0
    assert guarded.mark() == 42
    assert is_refused(guarded, guarded.writer(41).run(SECOND), "stale")


def test_check_says_so_when_nothing_is_guarded(ledger):
    for arguments in [], ["--json"]:
        done = ledger.guard("check", *arguments)
        assert (done.returncode, done.stdout) == (0, "")
        assert "no guard is installed there" in done.stderr
    assert ledger.install().returncode == 0
    assert ledger.guard("check").stderr == ""


def test_check_makes_no_store_of_a_mistyped_one(guarded, tmp_path):
    done = guarded.guard("check", "--store", f"sqlite:{tmp_path}/no.db")
    assert done.returncode == 82 and "there is no such store" in done.stderr
    assert not (tmp_path / "no.db").exists()


def test_check_follows_a_table_that_was_renamed(guarded):
    assert guarded.shell("ALTER TABLE invoice RENAME TO bill").returncode == 0
    done = guarded.guard("check")
    assert done.returncode == 1 and "moved to bill" in done.stdout
    assert guarded.install(table="bill").returncode == 0
    assert guarded.guard("check").returncode == 0


def test_check_says_when_a_mark_is_higher_than_any_token_of_the_store(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    held = tenure("lock", "--guard", guarded.target, NAME, "--", "true", store=store)
    assert held.returncode == 0, held.stderr
    done = guarded.guard("check", "--store", f"sqlite:{store}")
    assert done.returncode == 0, done.stderr
    assert guarded.announce(guarded.mark() + 1000).returncode == 0
    done = guarded.guard("check", "--store", f"sqlite:{store}")
    assert done.returncode == 1 and "higher than" in done.stderr


def test_remove_leaves_nothing(ledger):
    before = ledger.dump()
    assert ledger.install().returncode == 0
    assert ledger.install(table="other").returncode == 0
    assert ledger.dump() != before
    assert ledger.guard("remove", "--name", NAME).returncode == 0
    assert ledger.dump() == before
    assert ledger.shell(INSERT).returncode == 0


# ---- under lock and lead ---------------------------------------------------------------------


def test_lock_announces_its_token_before_the_command_starts(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    done = tenure("lock", "--guard", guarded.target, NAME, "--", "sh", "-c",
                  f"{BINARY} guard check '{guarded.target}' --json; echo $TENURE_TOKEN",
                  store=store)
    assert done.returncode == 0, done.stderr
    report, token = done.stdout.splitlines()
    assert f'"mark":{token},' in report


def test_a_command_writes_under_the_token_that_was_announced(guarded, tmp_path):
    done = tenure("lock", "--guard", guarded.target, NAME, "--", "sh", "-ec", guarded.presents(),
                  store=tmp_path / "tenure.db")
    assert done.returncode == 0, done.stderr
    assert guarded.count() == 1


def test_when_the_announcement_fails_the_command_is_not_started(guarded, tmp_path):
    store = tmp_path / "tenure.db"
    assert guarded.announce(2**62).returncode == 0  # higher than any token of a new store
    done = tenure("lock", "--guard", guarded.target, NAME, "--", "touch",
                  tmp_path / "started", store=store)
    assert done.returncode == 83 and "stale" in done.stderr
    assert not (tmp_path / "started").exists()
    again = tenure("lock", "-n", NAME, "--", "true", store=store)
    assert again.returncode == 0, "the tenure was not given back"
