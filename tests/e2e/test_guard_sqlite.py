"""What is true of the SQLite guard alone: one writer at a time, and a mark that is a row."""
import pytest

from ledgers import SqliteLedger, tenure


@pytest.fixture(params=["wal", "delete"])
def guarded(request, tmp_path):
    ledger = SqliteLedger(tmp_path, request.param)
    assert ledger.install().returncode == 0
    yield ledger
    ledger.end()


def test_a_transaction_that_writes_elsewhere_holds_the_announcement_up(guarded):
    old = guarded.writer(42)
    assert old.run("BEGIN") == "done"
    assert old.run("INSERT INTO other VALUES (1)") == "done"  # not guarded, but it holds the lock
    assert guarded.announce(43).returncode == 82
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    assert old.run("COMMIT") == "done"
    assert guarded.announce(43).returncode == 0
    assert old.run("BEGIN") == "done"
    assert "tenure: stale" in old.run("INSERT INTO invoice VALUES (2, 2)")


def test_a_savepoint_that_is_rolled_back_takes_the_mark_along(guarded):
    new = guarded.writer(43)
    for sql in ("BEGIN", "SAVEPOINT a", "INSERT INTO invoice VALUES (1, 1)", "ROLLBACK TO a",
                "COMMIT"):
        assert new.run(sql) == "done"
    assert guarded.mark() == 0
    assert guarded.writer(42).run("INSERT INTO invoice VALUES (1, 1)") == "done"


def test_the_mark_of_a_transaction_that_died_is_gone(guarded):
    old = guarded.writer(42)
    assert old.run("BEGIN IMMEDIATE") == "done"
    assert old.run("INSERT INTO invoice VALUES (1, 1)") == "done"
    old.kill()
    assert guarded.announce(41).returncode == 0


def test_a_database_that_is_not_there_is_told_by_the_systems_word_for_it(tmp_path):
    done = tenure("guard", "check", f"sqlite:{tmp_path}/ledgr.db")
    assert done.returncode == 82
    assert f"{tmp_path}/ledgr.db: No such file or directory" in done.stderr


def test_refusals_are_not_kept(guarded):
    """SQLite takes back all that a refused statement wrote; check says null, and not zero."""
    assert "tenure: invalid" in guarded.writer(0).run("INSERT INTO invoice VALUES (1, 1)")
    assert guarded.check()[0]["refusals"] is None


def test_a_refusal_changes_no_byte_of_a_database_without_a_log(tmp_path):
    ledger = SqliteLedger(tmp_path, "delete")
    assert ledger.install().returncode == 0
    before = ledger.path.read_bytes()
    assert ledger.shell("INSERT INTO invoice VALUES (1, 1)").returncode != 0
    assert ledger.path.read_bytes() == before
