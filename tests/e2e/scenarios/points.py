"""Holding one process at a named point of the code (src/os/point.h).

The points exist in a build of their own, which is made here when there is none: build-points, or
$TENURE_POINTS_BUILD, which tools/test sets to a build that it has anyway.
"""
import errno
import fcntl
import os
import pathlib
import subprocess

import pytest

from conftest import LIMIT_S, ROOT, Cli, Running, wait_until

FOLDER = pathlib.Path(os.environ.get("TENURE_POINTS_BUILD", ROOT / "build-points"))
BUILD_LIMIT_S = 300


@pytest.fixture(scope="session")
def points_binary():
    """The command line with points in it."""
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (FOLDER / "build.ninja").exists():
            subprocess.run(["meson", "setup", "-Dpoints=true", str(FOLDER), str(ROOT)], check=True,
                           stdout=subprocess.DEVNULL, timeout=BUILD_LIMIT_S)
        subprocess.run(["ninja", "-C", str(FOLDER), "src/cli/tenure"], check=True,
                       stdout=subprocess.DEVNULL, timeout=BUILD_LIMIT_S)
    return FOLDER / "src/cli/tenure"


class Point:
    """One point in one process, which is held there once."""

    def __init__(self, directory, name):
        self.name = name
        self.path = pathlib.Path(directory) / f"point-{name}"
        self.environment = {"TENURE_POINTS": f"{name}={self.path}"}
        self._fd = -1

    def arm(self):
        """From now on the process stops when it comes there."""
        os.mkfifo(self.path)
        return self

    def _reached(self):
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
        return self._fd >= 0

    def wait_reached(self, limit=LIMIT_S):
        wait_until(self._reached, f"the arrival at {self.name}", limit)
        self.path.unlink()  # nobody else stops here

    def let_go(self):
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def end(self):
        self.path.unlink(missing_ok=True)
        self.let_go()


@pytest.fixture
def point(tmp_path):
    """Makes points; whoever is still held at one is let go in the end."""
    made = []

    def make(name):
        made.append(Point(tmp_path, name))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def held_cli(tmp_path, store, points_binary):
    """`tenure` with points in it: start(point, ...)."""
    program = Cli(tmp_path, store)

    def start(at, *args):
        process = Running([str(points_binary), *map(str, args)], cwd=tmp_path,
                          env={**program.env, **at.environment})
        program._running.append(process)
        return process

    yield start
    program.end()
