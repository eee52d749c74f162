"""What a command finds under the supervisor, and what the caller learns of it: streams, signals,
descriptors, exit codes, job control."""
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time

import pytest

# Fixtures are used by the names of arguments.
from supervised import run, tree, victim, ways  # noqa: F401
from supervised import DRIVER, LONG, stat_fields

REPORTER = """
import os, signal, sys
names = [n for n in sys.argv[1:]]
def seen(signo, frame):
    os.write(1, (signal.Signals(signo).name + "\\n").encode())
for n in names:
    signal.signal(getattr(signal, n), seen)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


OPEN_DESCRIPTORS = """
import os
for fd in range(1024):
    try:
        os.fstat(fd)
        print(fd)
    except OSError:
        pass
"""


def reporter(*names):
    """A command that prints the name of each of these signals it gets."""
    return ["/usr/bin/python3", "-S", "-c", REPORTER, *names]


def read_until(fd, wanted, seen=b""):
    limit = time.monotonic() + LONG
    while wanted not in seen:
        left = limit - time.monotonic()
        assert left > 0, f"no {wanted!r} in {seen!r}"
        if select.select([fd], [], [], left)[0]:
            chunk = os.read(fd, 65536)
            assert chunk, f"end of file after {seen!r}, before {wanted!r}"
            seen += chunk
    return seen


# ---- exit codes (scenario 9) ---------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 125, 126, 127, 255])
def test_the_exit_code_of_the_command_is_passed_on(run, code):
    one = run([], ["sh", "-c", f"exit {code}"])
    assert one.wait() == code
    assert one.wait_event("ended")[1]["cause"] == "itself"


@pytest.mark.parametrize("signo", [1, 2, 3, 6, 9, 11, 13, 15])
def test_death_by_a_signal_is_128_and_its_number(run, signo):
    one = run([], ["sh", "-c", f"ulimit -c 0; kill -{signo} $$; exec sleep 1000"])
    assert one.wait() == 128 + signo


def test_a_missing_command_is_127_and_says_so(run):
    one = run([], ["no-such-command-here"])
    _, err = one.process.communicate(timeout=LONG)
    assert one.wait() == 127
    assert err == b"driver: cannot run no-such-command-here: No such file or directory\n"
    assert [name for _, name, _ in one.events()] == ["begin", "failed", "closed"]


def test_a_command_that_may_not_be_executed_is_126(run, tmp_path):
    path = tmp_path / "plain"
    path.write_text("#!/bin/sh\n")
    one = run([], [str(path)])
    assert one.wait() == 126


def test_a_script_without_a_first_line_runs_as_in_a_shell(run, tmp_path):
    path = tmp_path / "script"
    path.write_text("echo hello\n")
    path.chmod(0o755)
    one = run([], [str(path)])
    assert one.process.communicate(timeout=LONG)[0] == b"hello\n"
    assert one.wait() == 0


# ---- streams, descriptors, environment -----------------------------------------------------


def test_standard_input_and_output_pass_through_untouched(run):
    data = os.urandom(300_000)
    one = run([], ["cat"], stdin=subprocess.PIPE)
    out, err = one.process.communicate(data, timeout=LONG)
    assert out == data and err == b""


def test_a_probe_stands_aside(run):
    one = run(["--aside"], ["sh", "-c", "cat; echo out; echo err >&2"], stdin=subprocess.PIPE)
    out, err = one.process.communicate(b"not for the probe", timeout=LONG)
    assert out == b"" and err == b"out\nerr\n"


def test_a_probe_has_a_time_limit(run):
    one = run(["--aside", "--no-group", "--kill-in", "200"], ["sleep", "1000"])
    assert one.wait() == 81
    assert one.wait_event("ended")[1]["status"] == str(128 + signal.SIGKILL)


def test_only_what_the_user_passed_is_open_in_the_command(run, ways, tmp_path):
    with open(tmp_path / "passed", "w") as passed:
        os.set_inheritable(passed.fileno(), True)
        one = run([*ways, "--lifeline", str(tmp_path / "lifeline")],
                  ["/usr/bin/python3", "-S", "-c", OPEN_DESCRIPTORS],
                  pass_fds=(passed.fileno(),))
        out, _ = one.process.communicate(timeout=LONG)
        assert sorted(map(int, out.split())) == [0, 1, 2, passed.fileno()]


def test_the_guardian_keeps_nothing_that_the_user_passed(run, tmp_path):
    with open(tmp_path / "passed", "w") as passed:
        os.set_inheritable(passed.fileno(), True)
        one = run([], ["sleep", "1000"], pass_fds=(passed.fileno(),))
        guardian = one.guardian()
        links = [os.readlink(f"/proc/{guardian}/fd/{fd}")
                 for fd in os.listdir(f"/proc/{guardian}/fd")]
        assert str(tmp_path / "passed") not in links
        one.process.send_signal(signal.SIGTERM)
        one.wait()


def test_the_environment_is_the_one_that_was_given(run):
    one = run([], ["env"], env={"PATH": os.environ["PATH"], "A": "1"})
    out, _ = one.process.communicate(timeout=LONG)
    assert b"A=1\n" in out


def masks(text):
    return [line for line in text.splitlines() if line.startswith((b"SigBlk", b"SigIgn"))]


def test_signal_mask_and_dispositions_are_those_of_the_start(run, ways):
    def prepare():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2})

    plain = subprocess.run(["cat", "/proc/self/status"], stdout=subprocess.PIPE,
                           preexec_fn=prepare, check=True).stdout
    one = run(ways, ["cat", "/proc/self/status"], preexec_fn=prepare)
    out, _ = one.process.communicate(timeout=LONG)
    assert masks(out) == masks(plain)


# ---- signals (scenario 7) ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2",
                                  "SIGWINCH", "SIGALRM"])
def test_a_signal_to_the_wrapper_reaches_the_command_once(run, name):
    one = run([], reporter(name, "SIGRTMAX"))
    out = one.process.stdout.fileno()
    read_until(out, b"ready\n")
    one.process.send_signal(getattr(signal, name))
    read_until(out, name.encode())
    one.process.send_signal(signal.SIGRTMAX)  # the last one: nothing else came before it
    seen = read_until(out, b"SIGRTMAX\n")
    assert name.encode() not in seen
    one.process.send_signal(signal.SIGKILL)


def test_after_term_the_command_has_its_time_to_clean_up(run):
    one = run(["--stop-in", "800", "--kill-in", "900", "--renew-for", "60000"],
              ["sh", "-c", "trap 'sleep 1; echo clean; exit 9' TERM; echo ready;"
               " while :; do sleep 0.01; done"])
    out = one.process.stdout.fileno()
    read_until(out, b"ready\n")
    one.process.send_signal(signal.SIGTERM)
    read_until(out, b"clean\n")
    assert one.wait() == 9
    assert one.wait_event("ended")[1]["cause"] == "itself"


def test_a_signal_that_comes_before_the_command_runs_is_not_lost(run):
    for _ in range(20):
        one = run([], ["sleep", "1000"])
        one.wait_event("begin")
        one.process.send_signal(signal.SIGTERM)
        assert one.wait() == 128 + signal.SIGTERM


def test_nohup_stays_in_force(run):
    one = run([], ["sh", "-c", "echo ready; sleep 0.3; echo survived"],
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    out = one.process.stdout.fileno()
    read_until(out, b"ready\n")
    one.process.send_signal(signal.SIGHUP)
    read_until(out, b"survived\n")
    assert one.wait() == 0


def test_a_parent_that_ignores_sigchld_costs_no_status(run, ways):
    one = run(ways, ["sh", "-c", "exit 6"],
              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert one.wait() == 6


def test_a_process_group_killed_at_once_takes_the_whole_tree(victim, tree, ways):
    one = victim(ways, "tcgdc", start_new_session=True)
    tree.wait_count(4)
    os.killpg(one.pid, signal.SIGKILL)
    tree.wait_gone()


def test_children_that_were_there_before_are_left_alone(tree, tmp_path, ways):
    """A shell that starts something in the background and then becomes the wrapper."""
    report = tmp_path / "report"
    process = subprocess.Popen(
        ["sh", "-c", f"sleep 1000 & echo $!; exec {DRIVER} --report {report} {' '.join(ways)}"
         " -- sleep 2000"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    stranger = int(process.stdout.readline())
    limit = time.monotonic() + LONG
    while "started" not in report.read_text() if report.exists() else True:
        assert time.monotonic() < limit
    command = int(report.read_text().split("started pid=")[1].split()[0])
    os.kill(int(stat_fields(command)[1]), signal.SIGKILL)
    assert process.wait(timeout=LONG) == 128 + signal.SIGKILL
    process.stdout.close()
    os.kill(stranger, 0)
    assert stat_fields(stranger)[0] == "S"
    os.kill(stranger, signal.SIGKILL)


# ---- a terminal ----------------------------------------------------------------------------


class Terminal:
    """The driver as the foreground job of a session with a terminal."""

    def __init__(self, tmp_path, command, args=()):
        self.report = tmp_path / "report"
        self.master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)

        def lead_session():
            # The job is a group of its own, as a shell makes it; its parent in the same session
            # keeps the group from being orphaned.
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        shell = ("import os, signal, sys\n"
                 "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
                 "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                 "signal.signal(signal.SIGQUIT, signal.SIG_IGN)\n"
                 "pid = os.fork()\n"
                 "if pid == 0:\n"
                 "    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid())\n"
                 "    for s in (signal.SIGTTOU, signal.SIGINT, signal.SIGQUIT):\n"
                 "        signal.signal(s, signal.SIG_DFL)\n"
                 "    os.execv(sys.argv[1], sys.argv[1:])\n"
                 "while True:\n"
                 "    _, status = os.waitpid(pid, os.WUNTRACED)\n"
                 "    if os.WIFSTOPPED(status):\n"
                 "        os.write(1, b'[stopped %d]' % os.WSTOPSIG(status))\n"
                 "        os.read(3, 1)\n"
                 "        os.killpg(pid, signal.SIGCONT)\n"
                 "        continue\n"
                 "    os.write(1, b'[code %d]' % os.waitstatus_to_exitcode(status))\n"
                 "    break\n")
        go_reader, self.go = os.pipe()

        def prepare():
            lead_session()
            os.dup2(go_reader, 3)

        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-S", "-c", shell, DRIVER, "--report", str(self.report), *args,
             "--", *command],
            stdin=slave, stdout=slave, stderr=slave, preexec_fn=prepare, pass_fds=(3,))
        os.close(go_reader)
        os.close(slave)

    def press(self, key):
        os.write(self.master, key)

    def expect(self, text):
        return read_until(self.master, text)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.go)


@pytest.fixture
def terminal(tmp_path):
    made = []

    def start(command, args=()):
        made.append(Terminal(tmp_path, command, args))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize("key, name", [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")])
def test_a_key_of_the_terminal_reaches_the_command_once(terminal, key, name):
    one = terminal(reporter(name, "SIGUSR1"))
    one.expect(b"ready\r\n")
    one.press(key)
    one.expect(name.encode() + b"\r\n")
    limit = time.monotonic() + LONG
    while f"signal signo={int(getattr(signal, name))} terminal=1" not in one.report.read_text():
        assert time.monotonic() < limit
    driver = int(one.report.read_text().split("begin pid=")[1].split()[0])
    os.kill(driver, signal.SIGUSR1)
    assert name.encode() not in one.expect(b"SIGUSR1\r\n")


def test_control_c_ends_command_and_wrapper_with_130(terminal):
    one = terminal(["sh", "-c", "echo ready; exec sleep 1000"])
    one.expect(b"ready\r\n")
    one.press(b"\x03")
    one.expect(b"[code 130]")


def test_control_z_stops_the_wrapper_too_and_fg_continues_both(terminal):
    one = terminal(["sh", "-c", "echo ready; read line; echo got $line; exit 4"])
    one.expect(b"ready\r\n")
    one.press(b"\x1a")
    one.expect(b"[stopped %d]" % signal.SIGTSTP)
    os.write(one.go, b".")
    one.press(b"word\n")
    one.expect(b"got word\r\n")
    one.expect(b"[code 4]")


def test_a_job_that_stays_stopped_loses_its_tree_at_the_deadline(terminal):
    one = terminal(["sh", "-c", "echo $$; trap '' TERM; while :; do sleep 0.05; done"],
                   ["--stop-in", "1000", "--kill-in", "1100", "--renew-for", "60000"])
    command = int(one.expect(b"\r\n").split()[0])
    fd = os.pidfd_open(command)
    one.press(b"\x1a")
    one.expect(b"[stopped %d]" % signal.SIGTSTP)
    assert select.select([fd], [], [], LONG)[0]
    os.close(fd)
    os.write(one.go, b".")
    one.expect(b"[code 81]")


def test_a_hang_up_of_the_terminal_reaches_the_command(tmp_path):
    """The wrapper as leader of the session: the kernel tells only the leader."""
    master, slave = pty.openpty()
    reader, writer = os.pipe()

    def lead_session():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [DRIVER, "--report", str(tmp_path / "report"), "--", *reporter("SIGHUP")],
        stdin=slave, stdout=writer, stderr=slave, preexec_fn=lead_session)
    os.close(slave)
    os.close(writer)
    read_until(reader, b"ready\n")
    os.close(master)
    read_until(reader, b"SIGHUP\n")
    process.kill()
    process.wait()
    os.close(reader)
