"""tenure lock at a terminal: what the keys do, and what is printed there."""
import os
import pty
import re
import select
import signal
import sys
import time

import pytest

from conftest import BINARY, LIMIT_S, wait_until

COUNT = """
import signal, sys
got = []
signal.signal(signal.SIGINT, lambda n, f: (got.append(n), print("got", len(got), flush=True)))
print("ready", flush=True)
sys.stdin.readline()
print("total", len(got), flush=True)
"""


class Terminal:
    """A process that leads a session on a terminal of its own."""

    def __init__(self, argv, env, directory):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execve(argv[0], argv, env)
        self.text = ""

    def wait_for(self, pattern):
        end = time.monotonic() + LIMIT_S
        while not re.search(pattern, self.text):
            left = end - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self.text!r}"
            if not select.select([self.fd], [], [], left)[0]:
                continue
            try:
                self.text += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:  # the other side is closed
                assert re.search(pattern, self.text), f"no {pattern!r} in {self.text!r}"
        return re.search(pattern, self.text)

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def wait(self):
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return 128 - code if code < 0 else code

    def end(self):
        os.close(self.fd)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(cli):
    opened = []

    def start(*argv):
        opened.append(Terminal([str(a) for a in argv], {**cli.env, "TERM": "xterm"},
                               cli.directory))
        return opened[-1]

    yield start
    for t in opened:
        t.end()


def test_ctrl_c_reaches_the_command_once(cli, terminal):
    t = terminal(BINARY, "lock", "a", "--", sys.executable, "-c", COUNT)
    t.wait_for("ready")
    t.type("\x03")
    t.wait_for("got 1")
    t.type("\n")
    t.wait_for("total 1\r")
    assert t.wait() == 0


def test_ctrl_c_ends_a_wait(cli, terminal):
    cli.hold("a")
    t = terminal(BINARY, "lock", "a", "--", "echo", "ran")
    t.wait_for("waiting for a")
    t.type("\x03")
    assert t.wait() == 128 + signal.SIGINT
    assert cli.waiting("a") == []


def test_ctrl_c_ends_a_lock_without_a_command_well(cli, terminal):
    t = terminal(BINARY, "lock", "a")
    t.wait_for(r"\d+\r\n")
    t.type("\x03")
    assert t.wait() == 0


def test_a_stopped_job_is_continued_by_fg(cli, terminal):
    t = terminal("/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
    t.type(f"{BINARY} lock --ttl 1h a -- sh -c 'echo be''gin; exec cat'\n")
    t.wait_for("begin")
    t.type("one\n")
    t.wait_for(r"one\r\none\r\n")
    t.type("\x1a")
    t.wait_for("Stopped")
    assert cli.holders("a")[0]["state"] == "held"
    t.type("fg\n")
    t.wait_for(r"Stopped[\s\S]*fg\r\n[\s\S]*lock --ttl")
    t.type("two\n")
    t.wait_for(r"two\r\ntwo\r\n")
    t.type("\x04")
    wait_until(lambda: cli.history("a")[0]["cause"] == "released", "the end")
    assert cli.holders("a") == []


def test_headings_are_bold_on_a_terminal_but_for_no_color(cli, terminal):
    cli.run("lock", "a", "--", "true")
    t = terminal(BINARY, "status", "-a")
    t.wait_for("# 1 name")
    assert "\x1b[1mNAME" in t.text
    t = terminal("/usr/bin/env", "NO_COLOR=1", BINARY, "status", "-a")
    t.wait_for("# 1 name")
    assert "\x1b" not in t.text
