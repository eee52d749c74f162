"""A store in PostgreSQL on servers of its own: a standby that takes over, a disk that is full,
connections that are encrypted."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from authority import Authority
from conftest import BINARY, DENIED, LOST, Cli, wait_until
from postgres import free_port, postgres_server, running_server

pytestmark = pytest.mark.skipif(not postgres_server.available(), reason="needs PostgreSQL")


def made(cli):
    """The same, with a store in it."""
    done = cli.run("store", "init")
    assert done.code == 0, done.err
    return cli


# ---- a standby ---------------------------------------------------------------------------------


@pytest.fixture
def pair():
    """(primary, standby): a server and another that follows it."""
    with running_server("wal_level=replica", "hot_standby=on") as primary:
        with tempfile.TemporaryDirectory(prefix="tenure-pg-") as directory:
            os.chmod(directory, 0o755)
            standby = postgres_server.Standby(f"{directory}/server", primary)
            standby.start()
            yield primary, standby
            standby.stop(signal.SIGQUIT)


def has_replayed(primary, standby):
    end = primary.sql("SELECT pg_current_wal_lsn()")
    return standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == "t"


def both(primary, standby):
    """One URL for the two: libpq looks for the one that can be written to."""
    return (f"postgres://postgres@/postgres?host={primary.directory},{standby.directory}"
            f"&port={primary.port},{standby.port}&target_session_attrs=read-write")


# P1, P7: whoever holds goes on across a fail-over, and tokens are ahead of all that it can lose.
def test_a_holder_outlives_the_promotion_of_a_standby(command, pair):
    primary, standby = pair
    cli = made(command(both(primary, standby)))
    assert "replication is asynchronous" in cli.run("doctor").out
    before = cli.lock_once()
    process, token = cli.hold("job", "--ttl", "20s")
    waiter = cli.start("lock", "--ttl", "20s", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    cli.wait_for_waiters("job", 1)
    wait_until(lambda: has_replayed(primary, standby), "what was committed reaches the standby")
    primary.stop(signal.SIGQUIT)
    standby.promote()
    wait_until(lambda: cli.run("status").code == 0, "the standby serves")
    assert process.running and cli.holders("job")[0]["token"] == token > before
    process.send(signal.SIGTERM)
    process.wait()
    assert waiter.wait() == 0, waiter.err.lines
    assert int(waiter.out.text()) > token + 2 ** 32


# A primary that hangs still takes connections: whoever comes new must not wait for it for ever.
def test_a_first_request_that_meets_a_primary_that_hangs_goes_to_the_next(command, pair):
    primary, standby = pair
    cli = made(command(both(primary, standby)))
    before = cli.lock_once()
    process, token = cli.hold("job", "--ttl", "30s")
    wait_until(lambda: has_replayed(primary, standby), "what was committed reaches the standby")
    primary.signal(signal.SIGSTOP)
    try:
        standby.promote()
        wait_until(lambda: standby.sql("SELECT pg_is_in_recovery()") == "f", "the standby serves")
        assert cli.lock_once("other") > before + 2 ** 32
        assert process.running and cli.holders("job")[0]["token"] == token
        process.send(signal.SIGTERM)
        assert process.wait() == 0
    finally:
        primary.signal(signal.SIGCONT)


# P1, P4: a grant that the standby never saw is lost with its primary, and its token is not
# given out again.
def test_a_grant_that_was_not_replicated_is_lost_and_its_token_stays_taken(command, pair):
    primary, standby = pair
    cli = made(command(both(primary, standby)))
    cli.lock_once()
    wait_until(lambda: has_replayed(primary, standby), "what was committed reaches the standby")
    standby.sql("SELECT pg_wal_replay_pause()")
    standby.stop()
    process, token = cli.hold("job", "--ttl", "20s")
    primary.stop(signal.SIGQUIT)
    standby.start()
    standby.promote()
    wait_until(lambda: cli.run("status").code == 0, "the standby serves")
    assert cli.lock_once() > token + 1000
    assert process.wait() != 0


# ---- a backup -----------------------------------------------------------------------------------


# P1: it is the same server with the same history, so only who remembers more can tell.
def test_files_put_back_are_refused_by_who_ran_before_and_by_nobody_else(command, tmp_path):
    with running_server() as server:
        cli = made(command(server.url("postgres")))
        before = cli.lock_once()
        server.save(tmp_path / "saved")
        holder, token = cli.hold("held", "--ttl", "6s")
        highest = max(cli.lock_once() for _ in range(3))
        watcher = cli.start("watch")
        watcher.out.wait_for("held")
        server.put_back(tmp_path / "saved")
        assert watcher.wait() == DENIED and "went back in time" in watcher.err.text()
        assert holder.wait() == LOST
        assert before < cli.lock_once() <= highest  # as docs/stores.md says
        raised = cli.run("store", "check", "--raise-to", str(highest))
        assert "tokens go on above" in raised.err, raised.err
        assert cli.lock_once() > highest >= token


def test_after_a_recovery_tokens_are_ahead_of_all_that_was_lost(command):
    with running_server("wal_level=replica") as server, \
            tempfile.TemporaryDirectory(prefix="tenure-pg-") as directory:
        cli = made(command(server.url("postgres")))
        cli.lock_once()
        os.chmod(directory, 0o755)
        recovered = postgres_server.Recovered(f"{directory}/server", server)
        highest = max(cli.lock_once() for _ in range(3))
        server.stop(signal.SIGQUIT)
        recovered.start()
        try:
            assert command(recovered.url("postgres")).lock_once() > highest + 2 ** 31
        finally:
            recovered.stop(signal.SIGQUIT)


# ---- a full disk -------------------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(megabytes):
    """A directory on a file system of this size that PostgreSQL may write to."""
    with tempfile.TemporaryDirectory(prefix="tenure-disk-") as directory:
        os.chmod(directory, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "small", directory],
                       check=True)
        try:
            place = pathlib.Path(directory) / "space"
            place.mkdir()
            shutil.chown(place, "postgres", "postgres")
            yield place
        finally:
            subprocess.run(["umount", "-l", directory], check=True)


def fill(place):
    filler = place.parent / "filler"
    with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(b"x" * 4096)
    return filler


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a mount")
def test_a_full_disk_refuses_and_says_so_and_who_holds_goes_on(command):
    with small_disk(40) as place, running_server() as server:
        server.sql(f"CREATE TABLESPACE small LOCATION '{place}'")
        server.sql("CREATE DATABASE small TABLESPACE small")
        cli = made(command(server.url("small")))
        process, token = cli.hold("held", "--ttl", "20s")
        filler = fill(place)
        done = None
        for i in range(2000):  # until the pages that are there already are full
            done = cli.run("lease", "take", f"lease/{i}", "--ttl", "1h")
            if done.code != 0:
                break
        assert done.code == DENIED and "space" in done.err, (done.code, done.err)
        assert process.running
        filler.unlink()
        assert cli.lock_once() > token
        process.send(signal.SIGTERM)
        process.wait()


# ---- TLS ---------------------------------------------------------------------------------------


@pytest.fixture
def secure(tmp_path):
    """(server, authority): a server that only takes encrypted connections."""
    authority = Authority(tmp_path)
    authority.issue("server")
    with tempfile.TemporaryDirectory(prefix="tenure-tls-") as directory:
        os.chmod(directory, 0o755)
        for name in "server.pem", "server.key":
            shutil.copy(authority.path(name), directory)
            if os.geteuid() == 0:
                shutil.chown(f"{directory}/{name}", "postgres", "postgres")
            os.chmod(f"{directory}/{name}", 0o600)
        with running_server("ssl=on", f"ssl_cert_file={directory}/server.pem",
                            f"ssl_key_file={directory}/server.key", port=free_port()) as server:
            yield server, authority


def test_a_server_is_believed_by_its_certificate_only(command, secure, tmp_path):
    server, authority = secure
    url = (f"postgres://postgres@127.0.0.1:{server.port}/postgres"
           f"?sslmode=verify-full&sslrootcert={authority.path('ca.pem')}")
    assert made(command(url)).lock_once() > 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stranger = Authority(elsewhere)
    cli = command(url.replace(authority.path("ca.pem"), stranger.path("ca.pem")))
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code != 0 and "certificate" in done.err and done.out == "", done.err
