"""One store for several users: `tenure store init --group`, and what a death leaves of it.

Users are numbers, so that none has to exist: MEMBERS are in GROUP, the STRANGER is not.
"""
import os
import pathlib
import shutil
import signal
import stat
import tempfile

import pytest

from conftest import BINARY, DENIED, USAGE, Cli, wait_until
from field import as_root
from points import point, points_binary  # noqa: F401

pytestmark = [as_root, pytest.mark.embedded]
GROUP, MEMBERS, STRANGER = 47110, (47111, 47112), 47113


class Users:
    """A directory that everybody sees, and commands as one user or the other."""

    def __init__(self, directory):
        self.directory = directory
        directory.chmod(0o755)
        self.path = directory / "group" / "tenure.db"
        self.cli = Cli(directory, f"sqlite:{self.path}")
        self.program = shutil.copy(BINARY, directory / "tenure")

    def who(self, user):
        groups = [] if user == STRANGER else [GROUP]
        return {"user": user, "group": user, "extra_groups": groups, "umask": 0o077}

    def run(self, user, *args, **options):
        return self.cli.run(*args, **self.who(user), **options)

    def hold(self, user, name):
        process = self.cli.start("lock", name, **self.who(user))
        process.out.wait_for(lambda line: line.isdigit())
        return process

    def init(self):
        return self.cli.run("store", "init", "--group", GROUP)

    def rights(self):
        """{name: (mode, group)} of the store's files."""
        found = {p.name: p.lstat() for p in self.path.parent.iterdir()}
        return {name: (stat.S_IMODE(st.st_mode), st.st_gid) for name, st in found.items()}

    def assert_shared(self):
        files = self.rights()
        assert files.pop("tenure.db-live") == (0o2770, GROUP)
        assert set(files) >= {"tenure.db", "tenure.db-gate", "tenure.db-wal", "tenure.db-shm"}
        assert set(files.values()) == {(0o660, GROUP)}
        for user in (*MEMBERS, *MEMBERS):
            done = self.run(user, "lock", "job", "--", "true")
            assert (done.code, done.err) == (0, "")


@pytest.fixture
def users():
    with tempfile.TemporaryDirectory() as name:
        users = Users(pathlib.Path(name))
        users.cli.program = [str(users.program)]  # one that all of them can read
        yield users
        users.cli.end()


def test_users_of_the_group_share_a_store_and_others_do_not(users):
    assert users.init().code == 0
    users.assert_shared()
    done = users.run(STRANGER, "lock", "job", "--", "true")
    assert done.code == DENIED and str(users.path) in done.err and "-gate" not in done.err


def test_a_member_makes_it_as_well_as_root(users):
    users.directory.chmod(0o777)
    assert users.run(MEMBERS[0], "store", "init", "--group", GROUP).code == 0
    users.assert_shared()
    assert (users.path.parent.stat().st_mode & 0o7777, users.path.stat().st_uid) == \
        (0o2770, MEMBERS[0])


def test_the_url_of_a_group_makes_it_at_the_first_use(users):
    done = users.cli.run("lock", "--store", f"sqlite:{users.path}?group={GROUP}", "job", "--",
                         "true")
    assert (done.code, done.err) == (0, "")
    users.assert_shared()


def test_the_death_of_one_user_is_seen_by_the_other_at_once(users):
    """P7, across users: the FIFO of one can be opened by the other."""
    users.init()
    holder = users.hold(MEMBERS[0], "job")
    waiter = users.cli.start("lock", "job", "--", "true", **users.who(MEMBERS[1]))
    wait_until(lambda: users.cli.waiting("job"), "a waiter")
    holder.send(signal.SIGKILL)
    assert waiter.wait(limit=3) == 0  # its TTL is 10 s


def test_a_private_store_is_given_to_the_group_while_it_is_used(users):
    users.path.parent.mkdir(mode=0o700)
    os.chown(users.path.parent, -1, GROUP)
    users.path.parent.chmod(0o2770)
    holder, token = users.cli.hold("job")
    assert users.run(MEMBERS[0], "lock", "-n", "job", "--", "true").code == DENIED
    assert users.init().code == 0
    assert users.run(MEMBERS[0], "status", "--json").objects[0]["holders"][0]["token"] == token
    holder.send(signal.SIGTERM)
    assert holder.wait() == 0
    users.assert_shared()


def test_companions_that_were_lost_come_back_for_all(users):
    users.init()
    gate = users.path.parent / "tenure.db-gate"
    for user in MEMBERS:
        gate.unlink()
        shutil.rmtree(users.path.parent / "tenure.db-live")
        assert users.run(user, "lock", "job", "--", "true").code == 0
        users.assert_shared()


def test_a_companion_with_other_rights_is_told_and_mended_by_its_owner(users):
    users.init()
    wal = users.path.parent / "tenure.db-wal"
    wal.chmod(0o600)
    done = users.run(MEMBERS[0], "lock", "job", "--", "true")
    assert done.code == DENIED and "tenure.db-wal has other rights" in done.err
    assert "tenure store init" in done.err
    assert users.cli.run("store", "init").code == 0
    users.assert_shared()


@pytest.mark.parametrize("directory", ["no-setgid", "another-group", "missing-parent"])
def test_a_directory_that_is_not_the_groups_is_refused_untouched(users, directory):
    if directory == "missing-parent":
        users.cli.env["TENURE_STORE"] = f"sqlite:{users.directory}/a/b/tenure.db"
    else:
        users.path.parent.mkdir()
        if directory == "no-setgid":
            os.chown(users.path.parent, -1, GROUP)
            users.path.parent.chmod(0o770)
    done = users.init()
    assert done.code in (DENIED, 82) and str(users.directory) in done.err
    assert list(users.directory.glob("*/*")) == []


@pytest.mark.parametrize("arguments", [
    ["--group", "no-such-group-here"], ["--group", ""], ["--group", "-1"],
    ["--group", str(GROUP), "--store", "memory:"], ["--group", "x" * 65]])
def test_a_group_that_is_none_is_refused_with_its_name(users, arguments):
    done = users.cli.run("store", "init", *arguments)
    assert done.code == USAGE and arguments[1] in done.err
    assert not users.path.parent.exists()


@pytest.mark.parametrize("place", ["file-rights", "directory-rights"])
def test_who_dies_while_it_makes_a_file_locks_nobody_out(users, point, points_binary, monkeypatch,
                                                         place):
    """Root dies after it made the gate, or the directory, and before it gave it away."""
    users.init()
    (users.path.parent / "tenure.db-gate").unlink()
    shutil.rmtree(users.path.parent / "tenure.db-live")
    gap = point(place).arm()
    with monkeypatch.context() as patch:
        patch.setattr(users.cli, "program", [str(points_binary)])
        root = users.cli.start("lock", "job", "--", "true", env=gap.environment)
    gap.wait_reached()
    root.send(signal.SIGKILL)
    root.wait()
    gap.let_go()
    for user in MEMBERS:
        assert users.run(user, "lock", "job", "--", "true").code == 0
