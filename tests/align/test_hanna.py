"""HANNA, by nothing but YAML: four judges, four trios, six criteria, three people."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.e2e.running import Run, ccfw
from tests.samples import ROOT

DATA = ROOT.parent / "shared" / "data" / "hanna" / "hanna_ratings_long.csv"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"HANNA is not at {DATA}")
CONF = Path(__file__).parent / "hanna"
PATHS = (f"ratings.path={DATA}", f"align.scores.path={DATA}")
FILES = (f"--config-dir={CONF}", "experiment=hanna", *PATHS, "tracking=none")
ICC = {
    "relevance": (".137622", ".323755"),
    "coherence": ("-.0547567", "-.184472"),
    "empathy": (".115955", ".282378"),
    "surprise": (".0512276", ".1394"),
    "engagement": (".180231", ".397433"),
    "complexity": (".278044", ".536044"),
}
"""ICC(1) and ICC(1,k) as published, to their printed digits."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = ccfw(tmp_path_factory.mktemp("hanna"), *FILES, "-m", "stage=align", "judge=glob(*hanna*)")
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == "ccfw sweep jobs=8 ok=8 partial=0 failed=0 refused=0 not_run=0"
    return run


def aligned(run: Run) -> dict[str, dict[str, object]]:
    """Return what agreement.json says of each judge."""
    found = [json.loads(path.read_text("utf-8")) for path in run.folder.glob("workspace/*/align/*/agreement.json")]
    return {each["judge"]: each for each in found}


@pytest.mark.parametrize("criterion", ICC)
def test_published_intraclass_correlations_come_out_to_their_printed_digits(swept: Run, criterion: str) -> None:
    found: dict[str, dict[str, float]] = aligned(swept)["hanna_beluga"]["reliability"]  # type: ignore[assignment]
    for name, printed in zip(("icc1", "icc1k"), ICC[criterion], strict=True):
        digits = len(printed.partition(".")[2])
        value = found[f"metric/{criterion}"][name]
        assert float(f"{value:.{digits}f}") == float(printed)


def test_values_below_one_are_missing_and_counted(swept: Run) -> None:
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {"beluga": "Beluga-13B", "mistral": "Mistral-7B", "llama": "Llama-13B", "chatgpt": "ChatGPT"}
    for name, column in columns.items():
        below = sum(float(row[f"{column}_task1"]) < 1 for row in rows)
        found: dict[str, float] = aligned(swept)[f"hanna_{name}"]["metrics"]  # type: ignore[assignment]
        assert (found["items_missing"], found["items"]) == (below, len(rows) - below)


def test_figures_of_a_judge_and_a_trio_are_those_of_a_plain_loop(swept: Run) -> None:
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for judge, columns in (
        ("hanna_mistral", ["Mistral-7B"]),
        ("trio_hanna_beluga_hanna_chatgpt_hanna_llama", ["Beluga-13B", "ChatGPT", "Llama-13B"]),
    ):
        apart = []
        for row in rows:
            scores = [float(row[f"{column}_task1"]) for column in columns]
            if min(scores) >= 1:
                human = sum(int(row[f"human_{number}"]) for number in (1, 2, 3)) / 3
                apart.append(sum(scores) / len(scores) - human)
        metrics: dict[str, float] = aligned(swept)[judge]["metrics"]  # type: ignore[assignment]
        assert metrics["mae"] == pytest.approx(sum(map(abs, apart)) / len(apart), abs=1e-6)
        assert metrics["bias"] == pytest.approx(sum(apart) / len(apart), abs=1e-6)
        near = sum(abs(each) <= 1.00001 for each in apart) / len(apart)  # printed thirds are off by less than that
        assert metrics["within_one"] == pytest.approx(near)


def test_the_table_in_the_docs_is_what_the_panel_stage_writes(tmp_path: Path) -> None:
    run = ccfw(tmp_path, *FILES, "stage=panel")
    assert run.code == 0, run.err
    written = (tmp_path / run.closings["panel"]["out"] / "table_11.md").read_text("utf-8")
    rows = [line for line in written.splitlines() if line.startswith("|")]
    docs = (ROOT / "docs" / "align.md").read_text("utf-8")
    shown = re.findall(r"^\|.*\|$", docs.split("## HANNA")[1], re.MULTILINE)
    assert rows == shown[: len(rows)]
