"""The demonstration of `make run` shows what it says, and would show the opposite."""
import os
import pathlib
import sqlite3
import subprocess
import tempfile

from programs import load_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples/invoices/demo"
LIMIT_S = 120


def test_every_claim_of_the_demonstration_holds():
    before = set(pathlib.Path(tempfile.gettempdir()).glob("tenure-demo-*"))
    done = subprocess.run([DEMO], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout and "tenure: stale" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert set(pathlib.Path(tempfile.gettempdir()).glob("tenure-demo-*")) <= before


def test_without_the_guard_the_demonstration_shows_the_damage(tmp_path, monkeypatch, capsys):
    demo = load_program(DEMO)
    for name in [name for name in os.environ if name.startswith("TENURE_")]:
        monkeypatch.delenv(name)
    shown = demo.Demo(tmp_path)
    try:
        with sqlite3.connect(shown.ledger) as db:
            db.execute("DROP TRIGGER tenure_guard_1_INSERT")
        shown.acts()
        shown.crowd.end()
        assert not demo.verdict(shown)
    finally:
        shown.crowd.end()
    assert "FAIL  the late write was refused" in capsys.readouterr().out.replace("\n", " ")
