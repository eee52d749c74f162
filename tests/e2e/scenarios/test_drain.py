"""The drain of `make drills` with permits, on every store: who wakes up late drains nothing."""
from conftest import ROOT
from field import engine, store  # noqa: F401
from programs import load_program

DRILL = ROOT / "examples/drain/drill"


def test_a_leader_that_wakes_up_late_drains_nothing(store, tmp_path):  # noqa: F811
    drill = load_program(DRILL)
    directory = tmp_path / "drain"
    directory.mkdir()
    outcome = drill.Drill(drill.WAYS[3], directory, store).run()
    assert outcome.late == [] and outcome.twice == [] and outcome.missing == 0
    assert outcome.late_refused[0]["by"] == "agent" and outcome.bea_refused == []
