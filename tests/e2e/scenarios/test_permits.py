"""An effector that dies while it verifies: what it saw is on disk, or was not admitted."""
import signal
import subprocess

import pytest

from conftest import LIMIT_S, LOST, wait_until
from points import point, points_binary  # noqa: F401

ROLE = "cluster/maintenance"


@pytest.fixture
def permit(cli):
    """The path of a permit that is good for a while."""
    cli.run("permit", "keygen", "key")
    cli.start("lead", ROLE, "--", "sleep", "1000")
    epoch = wait_until(lambda: cli.holders(ROLE), "the election")[0]["token"]
    done = cli.run("permit", "issue", "node-7", "drain", "--key", "key", "--role", ROLE, "--epoch",
                   epoch, "--for", "10m", "--clock-error", "50ms")
    assert done.code == 0, done.err
    path = cli.directory / "permit"
    path.write_text(done.out)
    return path


@pytest.fixture
def verify(cli, permit, points_binary):  # noqa: F811
    """Starts to verify the permit, to be held at a point."""
    started = []

    def start(at=None):
        command = [points_binary, "permit", "verify", "node-7", "drain", "--role", ROLE, "--keys",
                   "key.pub", "--state", "seen", "--clock-error", "50ms"]
        with open(permit) as text:
            started.append(subprocess.Popen(command, stdin=text, cwd=cli.directory,
                                            stderr=subprocess.DEVNULL,
                                            env={**cli.env, **(at.environment if at else {})}))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def kill_at(verify, at):
    victim = verify(at.arm())
    at.wait_reached()
    victim.send_signal(signal.SIGKILL)
    assert victim.wait(LIMIT_S) == -signal.SIGKILL
    at.let_go()


def test_who_died_before_it_wrote_down_what_it_saw_has_admitted_nothing(cli, verify, point):  # noqa
    kill_at(verify, point("sheet-filled"))
    assert not (cli.directory / "seen").exists() and (cli.directory / "seen.new").exists()
    assert verify().wait(LIMIT_S) == 0
    assert verify().wait(LIMIT_S) == LOST


def test_who_died_before_it_answered_has_admitted_it_once(cli, verify, point):  # noqa: F811
    kill_at(verify, point("sheet-replaced"))
    assert (cli.directory / "seen").exists()
    assert verify().wait(LIMIT_S) == LOST


@pytest.mark.parametrize("at", ["sheet-filled", "sheet-replaced"])
def test_a_second_one_waits_and_is_refused(verify, point, at):  # noqa: F811
    gap = point(at)
    first = verify(gap.arm())
    gap.wait_reached()
    second = verify()
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.3)
    gap.let_go()
    assert first.wait(LIMIT_S) == 0 and second.wait(LIMIT_S) == LOST
