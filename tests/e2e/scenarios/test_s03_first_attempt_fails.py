"""Scenario 3: the store fails during the very first attempt of a standby.

Elsewhere an exception that is swallowed at start-up turns standbys into second actors.

P6: granted, refused, unreachable, denied and unsure are different results everywhere.
"""
import os
import signal
import stat
import subprocess

import pytest

from conftest import DENIED, LIMIT_S, REFUSED, UNREACHABLE, wait_until
from field import as_root, engine, is_quick, library, now, resource, store  # noqa: F401


@pytest.fixture
def leader(cli, resource):
    """H is healthy and leads."""
    process = cli.start("lead", "--ttl", "2s", "job", "--", *resource.worker("H"))
    resource.wait_for("H")
    yield process
    resource.wait_for("H", after=len(resource.marks))  # and was never disturbed
    assert resource.overlaps() == []


def assert_idle(resource):
    assert resource.of("S") == []


STANDBY = [["lock", "-n"], ["lock"], ["lead", "--once", "-n"]]


@pytest.mark.parametrize("command", STANDBY, ids=" ".join)
def test_a_store_that_is_not_there_starts_no_work(cli, resource, command):
    done = cli.run(*command, "--store", f"sqlite:{cli.directory}/no/such.db", "job", "--",
                   *resource.worker("S"))
    assert done.code in (UNREACHABLE, DENIED)
    assert f"{cli.directory}/no" in done.err
    assert_idle(resource)


@pytest.mark.parametrize("command", STANDBY, ids=" ".join)
def test_a_malformed_store_starts_no_work(cli, resource, command):
    bad = cli.directory / "bad.db"
    bad.write_bytes(os.urandom(8192))
    done = cli.run(*command, "--store", f"sqlite:{bad}", "job", "--", *resource.worker("S"))
    assert done.code == DENIED
    assert "bad.db" in done.err
    assert_idle(resource)


@pytest.mark.embedded
@pytest.mark.parametrize("command", STANDBY, ids=" ".join)
def test_a_malformed_record_starts_no_work(cli, resource, engine, command):
    import sqlite3
    assert cli.run("lock", "job", "--", "true").code == 0
    with sqlite3.connect(engine.path) as db:
        db.execute("UPDATE item SET size = 9, bytes = ? WHERE key = 'job'", (b"\x00nonsense",))
    db.close()
    done = cli.run(*command, "job", "--", *resource.worker("S"))
    assert done.code == DENIED
    assert "job" in done.err
    assert_idle(resource)


@as_root
@pytest.mark.embedded
@pytest.mark.parametrize("command", STANDBY, ids=" ".join)
def test_permission_denied_is_said_and_is_not_standing_by(cli, resource, leader, command,
                                                          binary_for_all):
    for folder in (cli.directory, *cli.directory.parents):  # the way there is open, the store not
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o005)
    done = subprocess.run([binary_for_all, *command, "job", "--", *resource.worker("S")],
                          env=cli.env, user=65534, group=65534, extra_groups=[], cwd="/",
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == DENIED
    assert "ermission" in done.stderr or "denied" in done.stderr
    assert "standing by" not in done.stderr and "waiting" not in done.stderr
    assert_idle(resource)


@pytest.mark.parametrize("command", [["lock", "-n"], ["lead", "--once", "-n"]], ids=" ".join)
def test_a_store_that_hangs_gives_no_answer_and_starts_no_work(cli, resource, engine, command):
    assert cli.run("lock", "--ttl", "1s", "job", "--", "true").code == 0
    with engine.hanging():
        done = cli.run(*command, "--ttl", "1s", "job", "--", *resource.worker("S"))
    assert done.code == UNREACHABLE
    assert_idle(resource)


def test_a_short_wait_is_over_although_the_store_hangs(cli, resource, engine):
    """Without a limit it would take 5 s, with a file 3, to say so."""
    def attempt(_):
        began = now()
        done = cli.run("lock", "-w", "1s", "job", "--", *resource.worker("S"))
        assert done.code == UNREACHABLE
        return now() - began

    assert cli.run("lock", "job", "--", "true").code == 0
    with engine.hanging():
        is_quick(attempt, 2.5)
    assert_idle(resource)


def test_a_candidate_waits_for_a_store_that_hangs_when_it_comes(cli, resource, engine):
    assert cli.run("lock", "--ttl", "1s", "job", "--", "true").code == 0
    with engine.hanging():
        standby = cli.start("lead", "--ttl", "600ms", "job", "--", *resource.worker("S"))
        standby.err.wait_for("going on trying")
        assert_idle(resource)
        limited = cli.run("lead", "--ttl", "600ms", "-w", "100ms", "job", "--", "true")
        assert limited.code == UNREACHABLE
        other = cli.start("lead", "--ttl", "600ms", "job", "--", "true")
        other.err.wait_for("going on trying")
        other.send(signal.SIGTERM)
        assert other.wait() == 128 + signal.SIGTERM
    standby.err.wait_for("answers again")
    resource.wait_for("S")


def test_a_candidate_waits_for_a_store_whose_place_is_not_there_yet(cli, resource):
    """A disk that is mounted late.  Who wants a lock is told at once."""
    place = cli.directory / "late"
    url = f"sqlite:{place}/tenure.db"
    standby = cli.start("lead", "--store", url, "job", "--", *resource.worker("S"))
    assert str(place) in standby.err.wait_for("going on trying")
    assert cli.run("lock", "--store", url, "job", "--", "true").code == UNREACHABLE
    place.mkdir()
    resource.wait_for("S")


def test_a_candidate_in_line_lives_through_a_store_that_hangs(cli, resource, leader, engine):
    standby = cli.start("lead", "--ttl", "600ms", "job", "--", *resource.worker("S"))
    cli.wait_for_waiters("job", 1)
    with engine.hanging():
        standby.err.wait_for("going on trying")
    standby.err.wait_for("answers again")
    cli.wait_for_waiters("job", 1)
    assert_idle(resource)


def test_the_library_tells_the_five_apart(cli, library, engine, leader):
    program = library()
    assert program.do("open", engine.url, 600 * engine.patience, "s")[0] == 0
    holder, _ = cli.hold("held")
    code, text = program.do("acquire", "held", 0)
    assert (code, "held by" in text) == (-1, True), text
    with engine.hanging():
        code, text = program.do("acquire", "other", 0)
        # Busy, unreachable, or unsure: never "held by another".
        assert code in (-41, -40, -30), text
    with engine.refused():
        code, text = program.do("acquire", "other", 0)
        assert code in (-40, -50, -55), text
    wait_until(lambda: program.do("acquire", "other", 0)[0] == 0, "a grant")  # after connecting
    assert cli.run("lock", "-n", "other", "--", "true").code == REFUSED
    assert holder.running
