"""What a run in MLflow holds of training: its steps once each, however often it is logged; read without MLflow."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ccfw.settings import Settings
from ccfw.stages.curves import curves
from ccfw.tracking import Tracked, track_nested
from tests.e2e.test_tracking import Logged, logged
from tests.test_settings import content

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow's own use of SQLAlchemy
PARENT = Tracked("crisp d", "above", {"stage": "crisp"}, {}, {})
LOSS = [(step, 1 / step) for step in range(1, 6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tracked")


@pytest.fixture(scope="module")
def settings(folder: Path) -> Settings:
    raw: dict[str, Any] = content("scripted", "paper")
    raw["tracking"] |= {"name": "mlflow", "uri": f"sqlite:///{folder}/runs.db", "artifacts": str(folder / "artifacts")}
    return Settings.model_validate(raw | {"workspace": str(folder)})


def points(folder: Path, name: str, key: str) -> list[tuple[int, float]]:
    query = "SELECT step, value FROM metrics JOIN runs USING (run_uuid) WHERE name = ? AND key = ? ORDER BY step"
    with closing(sqlite3.connect(folder / "runs.db")) as database:
        return database.execute(query, (name, key)).fetchall()


def only(folder: Path, name: str) -> Logged:
    (found,) = [each for each in logged(folder / "runs.db") if each.name == name]
    return found


def run(name: str, **changes: Any) -> Tracked:
    fields: dict[str, Any] = {
        "name": name,
        "fingerprint": name,
        "tags": {"stage": "grpo"},
        "params": {"grpo.lam": "0.5", "grpo.held_out": "null"},
        "metrics": {"loss": 99.0, "steps": 5.0, "entropy": math.nan},
        "curves": {"loss": LOSS, "held_out/gold": [(0, 3.0), (5, 2.5)]},
    }
    return Tracked(**fields | changes)


def test_a_curve_is_logged_at_its_steps_and_its_last_value_is_the_runs(settings: Settings, folder: Path) -> None:
    track_nested(settings, PARENT, run("grpo"))
    found = only(folder, "grpo")
    assert points(folder, "grpo", "loss") == LOSS
    assert points(folder, "grpo", "held_out/gold") == [(0, 3.0), (5, 2.5)]
    assert points(folder, "grpo", "steps") == [(0, 5.0)]
    assert found.metrics == {"loss": 0.2, "held_out/gold": 2.5, "steps": 5.0}  # no number is no metric
    assert found.params == {"grpo.lam": "0.5", "grpo.held_out": "null"}
    assert found.status == "FINISHED"


def test_what_broke_off_in_the_middle_goes_on_in_the_same_run_and_doubles_no_point(
    settings: Settings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = folder / "curve.csv"
    for _ in range(2):  # the file is missing at first: numbers are logged, and then it breaks off
        track_nested(settings, PARENT, run("broken", files=[table]))
        table.write_text("step,loss\n", "utf-8")
    track_nested(settings, PARENT, run("broken", files=[table]))
    assert [record.getMessage().split(" did not take ")[1][:11] for record in caplog.records] == ["the results"]
    found = only(folder, "broken")
    assert found.status == "FINISHED"
    assert points(folder, "broken", "loss") == LOSS
    assert [path.name for path in found.artifacts.iterdir()] == ["curve.csv"]


def test_more_than_one_request_takes_is_all_there_and_names_are_such_as_mlflow_takes(
    settings: Settings, folder: Path
) -> None:
    loss = [(step, step / 7) for step in range(1, 1204)]
    params = {f"reward.key_{number}": str(number) for number in range(203)}
    asked = run("long", curves={"loss": loss}, metrics={"my(model)/order": 0.5}, params=params | {"a?": "x" * 501})
    track_nested(settings, PARENT, asked)
    found = only(folder, "long")
    assert points(folder, "long", "loss") == loss
    assert (found.params, found.metrics["my_model_/order"]) == (params, 0.5)
    assert [path.name for path in found.artifacts.iterdir()] == ["long_params.json"]


def test_curves_are_read_of_what_training_wrote(tmp_path: Path) -> None:
    assert curves(tmp_path) == {}
    (tmp_path / "curve.csv").write_text("step,loss,kl,held_out/gold\n1,0.5,,\n2,0.25,nan,3.5\n", "utf-8")
    (tmp_path / "looks.csv").write_text("step,proxy,gold\n0,0.1,3.0\n2,0.2,3.5\n", "utf-8")
    assert curves(tmp_path) == {
        "loss": [(1, 0.5), (2, 0.25)],
        "held_out/gold": [(0, 3.0), (2, 3.5)],
        "held_out/proxy": [(0, 0.1), (2, 0.2)],
    }
