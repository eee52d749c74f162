"""The drain of `make drills` with permits, on every store: who wakes up late drains nothing."""
import importlib.machinery
import importlib.util
import shutil

from conftest import ROOT
from field import engine, store  # noqa: F401

DRILL = ROOT / "examples/drain/drill"


def load():
    loader = importlib.machinery.SourceFileLoader("drill", str(DRILL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("drill", loader))
    loader.exec_module(module)
    shutil.rmtree(DRILL.parent / "__pycache__", ignore_errors=True)
    return module


def test_a_leader_that_wakes_up_late_drains_nothing(store, tmp_path):  # noqa: F811
    drill = load()
    directory = tmp_path / "drain"
    directory.mkdir()
    outcome = drill.Drill(drill.WAYS[3], directory, store).run()
    assert outcome.late == [] and outcome.twice == [] and outcome.missing == 0
    assert outcome.late_refused[0]["by"] == "agent" and outcome.bea_refused == []
