"""The drain story of `make drills`: each way lets through what it says; else the drill tells."""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import pytest

from programs import load_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRILL = ROOT / "examples/drain/drill"
LIMIT_S = 120


@pytest.fixture
def drill(monkeypatch):
    for name in [name for name in os.environ if name.startswith("TENURE_")]:
        monkeypatch.delenv(name)
    return load_program(DRILL)


def left_behind():
    return set(pathlib.Path(tempfile.gettempdir()).glob("tenure-drain-*"))


def test_an_election_alone_lets_all_through_and_permits_nothing():
    before = left_behind()
    done = subprocess.run([DRILL], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout and done.stdout.count("\n  ok  ") == 5
    rows = {line[:24].strip(): line[24:].split()[:2] for line in done.stdout.splitlines()}
    assert rows["election only"] == ["7", "6"] and rows["+ permits"] == ["0", "0"]
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert left_behind() <= before


def users_of(directory):
    """The command lines that name it."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [file.parent.name] if str(directory) in file.read_text() else []
    return found


def test_a_drill_whose_terminal_is_closed_leaves_nothing():
    before = left_behind()
    run = subprocess.Popen([DRILL], stdout=subprocess.DEVNULL)
    end = time.monotonic() + LIMIT_S
    while not (directory := left_behind() - before) or len(users_of(*directory)) < 4:
        assert run.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    run.send_signal(signal.SIGHUP)
    assert run.wait(LIMIT_S) == 1
    assert not directory & left_behind() and not users_of(*directory)


def test_an_agent_that_does_not_ask_lets_the_late_drain_through(drill, tmp_path, monkeypatch):
    class Careless(drill.Agent):
        def __init__(self, way, directory, env):
            super().__init__(way._replace(permits=False), directory, env)

    monkeypatch.setattr(drill, "Agent", Careless)
    outcome = drill.Drill(drill.WAYS[3], tmp_path).run()
    assert outcome.late == ["node-4"] and outcome.twice == ["node-4"]


def test_a_claim_that_does_not_hold_is_shown_and_fails(drill, capsys):
    refused = [{"by": "agent", "text": "tenure: drain node-4: expired: late", "node": "node-4"}]
    counts = (7, 2, 1, 1)
    outcomes = [drill.Outcome(way, ["node-4"] * n, ["node-4"], 0,
                              refused if way.permits else [], [])
                for way, n in zip(drill.WAYS, counts)]
    assert not drill.verdict(outcomes)
    assert "FAIL  with permits: 1" in capsys.readouterr().out
