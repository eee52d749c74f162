"""Which libraries a process of `tenure` has in its memory: those that its store needs, and not
before that is opened, since each of them costs every start."""
from pathlib import Path

import pytest

from conftest import USAGE
from supervised import children_of

NEEDED_BY_ENGINES = "libsqlite3", "libpq", "libnghttp2", "libprotobuf-c", "libgnutls"


def loaded(pid):
    maps = Path(f"/proc/{pid}/maps").read_text()
    return {library for library in NEEDED_BY_ENGINES if f"/{library}.so" in maps}


@pytest.mark.parametrize("store,needs", [("sqlite:tenure.db", {"libsqlite3"}), ("memory:a", set())])
def test_a_holder_has_loaded_what_its_store_needs_and_its_guardian_nothing(cli, store, needs):
    holder = cli.start("lock", "a", "--", "sh", "-c", "echo ready; exec sleep 100",
                       env={"TENURE_STORE": store})
    holder.out.wait_for("ready")
    (guardian, name), = children_of(holder.pid)
    assert name == "guardian"
    assert loaded(holder.pid) == needs
    assert loaded(guardian) == set(), "it was forked before the store was opened"


@pytest.mark.parametrize("args", [
    ["lock", "-w", "10s", "a", "--", "touch", "ran"], ["lead", "a", "--", "touch", "ran"],
    ["status"], ["guard", "check", "sqlite:ledger.db"],
    ["guard", "serve", "--marks", "marks.db", "--secret", "secret"],
])
def test_sqlite_that_is_not_there_is_told_by_its_package(cli, tmp_path, args):
    (tmp_path / "libsqlite3.so.0").touch()
    (tmp_path / "secret").write_text("a-secret-of-the-tests\n")
    (tmp_path / "secret").chmod(0o600)
    done = cli.run(*args, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.code == USAGE, done.err
    assert "needs SQLite (Debian: libsqlite3-0): " in done.err and done.err.count("\n") == 1
    assert "libsqlite3.so.0" in done.err
    assert not (tmp_path / "ran").exists() and not (tmp_path / "tenure.db").exists()


@pytest.mark.parametrize("library,store,package", [
    ("libpq.so.5", "postgres://127.0.0.1:1/tenure", "libpq5"),
    ("libnghttp2.so.14", "etcd://127.0.0.1:1", "libnghttp2-14"),
    ("libprotobuf-c.so.1", "etcd://127.0.0.1:1", "libprotobuf-c1"),
    ("libgnutls.so.30", "etcd://127.0.0.1:1?tls=on", "libgnutls30"),
])
def test_what_a_server_s_store_needs_and_is_not_there_is_told_by_its_package(cli, tmp_path, library,
                                                                             store, package):
    (tmp_path / library).touch()
    env = {"LD_LIBRARY_PATH": str(tmp_path), "TENURE_STORE": store}
    for args in ["lock", "a", "--", "touch", "ran"], ["lead", "a", "--", "touch", "ran"], \
            ["status"], ["store", "init"]:
        done = cli.run(*args, env=env)
        assert done.code == USAGE, (args, done.err)
        assert f"(Debian: {package}): " in done.err and done.err.count("\n") == 1, args
    assert not (tmp_path / "ran").exists()
