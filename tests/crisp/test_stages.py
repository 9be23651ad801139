"""The stages one by one through the door: published sources, selections, refusals, tracking."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.crisp.records import Situation
from ccfw.job import run_job
from ccfw.request import to_settings
from ccfw.resources import resource
from ccfw.settings import Settings
from tests.crisp.situated import Situated
from tests.crisp.test_norms import BENCH, FORK, NORMAD, there
from tests.e2e.running import Run, ccfw, read_lines, scripted
from tests.e2e.test_tracking import logged
from tests.fakes.provider import FakeProvider, FakeRequest

STARTER = ("stage=responses", "dataset=normcompass_starter", "bootstrap.resamples=50")


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(Situated()) as provider:
        yield provider


def counts(run: Run, stage: str) -> dict[str, int]:
    found: dict[str, int] = json.loads((out(run, stage) / "manifest.json").read_text("utf-8"))["counts"]
    return found


def out(run: Run, stage: str) -> Path:
    folder: Path = run.folder / run.closings[stage]["out"]
    return folder


# ---- norms


@there
def test_fork_gives_177_norms_with_a_model(tmp_path: Path, provider: FakeProvider) -> None:
    line = ("stage=norms", f"crisp.norms.sources=[{FORK}]")
    done = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    assert (done.code, len(done.requests)) == (0, 177), done.err
    assert counts(done, "norms") == {"taken": 184, "kept": 177, "lost_same_question": 7, "waiting": 0}
    table = (out(done, "norms") / "table_1.csv").read_text("utf-8").splitlines()
    assert table[1] == "fork,184,177,Binary-choice extraction,CC-BY-4.0"
    norms = read_lines(out(done, "norms") / "norms.jsonl")
    assert len({each["norm"] for each in norms}) == 177
    again = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    assert (again.requests, counts(again, "norms")) == ((), counts(done, "norms"))


@there
def test_all_published_sources_go_through_without_a_model_and_every_row_is_told(tmp_path: Path) -> None:
    sources = f"crisp.norms.sources=[starter,{FORK},{BENCH},{NORMAD}]"
    line = ("stage=norms", sources, "crisp.norms.extraction=deterministic", "tracking=none", "model=haiku45")
    done = ccfw(tmp_path, *line)  # no key, and none is needed
    assert done.code == 0, done.err
    found = counts(done, "norms")
    assert found["taken"] == 196 + 184 + 1227 + 5
    assert found["lost_same_question"] == 7 + 1
    assert found["kept"] == 196 + 8 + 5
    assert found["lost_no_rule"] == 177 + 1226 - 8
    assert found["taken"] == sum(found.values()) - found["taken"]
    by_source = dict(
        row[:3:2] for row in csv.reader((out(done, "norms") / "table_1.csv").read_text("utf-8").splitlines())
    )
    assert by_source == {
        "Source": "Norms",
        "starter": "196",
        "fork": "0",
        "culturalbench": "8",
        "normad": "5",
        "total": "209",
    }


@there
def test_negated_questions_of_culturalbench_become_avoidance_norms(tmp_path: Path, provider: FakeProvider) -> None:
    line = ("stage=norms", f"crisp.norms.sources=[{BENCH}]", "crisp.cultures=Netherlands")
    done = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    assert done.code == 0, done.err
    found = counts(done, "norms")
    assert (found["taken"], found["lost_other_culture"]) == (1227, 1227 - 25)
    norms = {each["origin"]: each["norm"] for each in read_lines(out(done, "norms") / "norms.jsonl")}
    assert "is avoided" in norms["0"]  # "which of the following is an unusual common public practice?"
    assert norms["0"].startswith("Tipping generously")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("stage=norms", "crisp.cultures=[Japan,Atlantis]", "crisp.norms.sources=[starter]"),
            "ccfw: crisp.cultures=Atlantis: no norm has it; there: Argentina, Brunei, China, Egypt, Germany, India, "
            "Indonesia, Iran, Italy, Japan, Malaysia, Mexico, Nigeria, Philippines, Singapore, South Korea, Thailand, "
            "Türkiye, United Kingdom, Vietnam\n",
        ),
        (
            ("stage=norms", "crisp.norms.sources=[no.csv]"),
            "ccfw: crisp.norms.sources=no.csv: No such file or directory\n",
        ),
        (
            ("stage=scenarios",),
            "ccfw: stage=scenarios: no norms under these settings; make them first: stage=norms\n",
        ),
        (
            ("stage=responses",),
            "ccfw: dataset=starter: holds no situations; stage=responses reads dataset=normcompass_starter or "
            "dataset=normcompass\n",
        ),
        (
            ("stage=simulate", "dataset=normcompass_starter"),
            "ccfw: dataset=normcompass_starter: holds situations, which stages of CRISP read; dialogues and "
            "stage=report need dataset=starter, as where dataset= is left out\n",
        ),
        (
            (*STARTER, "region=[JP,XX]", "split=dev"),
            "ccfw: split=dev: no such split; options: train, validation, test\n",
        ),
        (
            (*STARTER, "region=[JP,XX]", "ids=nobody_s01", "crisp.cultures=Japan"),
            "ccfw: region=XX: no situation has it; there: BN, CN, ID, JP, KR, MY, PH, SG, TH, VN, none\n"
            "ccfw: ids=nobody_s01: no situation has it; nearest: india_s01 (162 there)\n",
        ),
        (
            ("stage=crisp", "crisp.norms.sources=[no.csv]", "split=dev"),
            "ccfw: crisp.norms.sources=no.csv: No such file or directory\n"
            "ccfw: dataset=starter: holds no situations; stage=responses reads dataset=normcompass_starter or "
            "dataset=normcompass\n"
            "ccfw: split=dev: no such split; options: train, validation, test\n",
        ),
        (
            (*STARTER, "dataset.path=nowhere"),
            "ccfw: dataset.path=nowhere: no such file or folder\n",
        ),
    ],
)
def test_mistakes_are_refused_with_key_value_and_options(
    capfd: pytest.CaptureFixture[str], provider: FakeProvider, arguments: tuple[str, ...], says: str
) -> None:
    assert refused(provider, *arguments) == 2
    assert capfd.readouterr() == ("", says)


def settings(*overrides: str) -> Settings:
    """Compose a job's settings in this process."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(version_base="1.3", config_dir=str(resource("conf"))):
        return to_settings(compose("config", overrides=list(overrides)))


def refused(provider: FakeProvider, *arguments: str) -> int:
    """Run a job in this process, which is all that a mistake needs, and return its exit code; nobody may be asked."""
    provider.clear()
    outcome = run_job(settings(*scripted(provider), *arguments))
    assert (outcome.status, list(provider.requests)) == ("refused", [])
    return outcome.code


def test_policies_are_named_as_options_and_all_unknown_ones_are_said(tmp_path: Path, provider: FakeProvider) -> None:
    done = ccfw(tmp_path, *scripted(provider), *STARTER, "crisp.responses.policies=[gpt5mini,gpt5min,nobody]")
    assert done.code == 2
    first, second = done.err.splitlines()
    assert first.startswith(
        "ccfw: crisp.responses.policies=gpt5min: no such option (did you mean gpt5mini?); options: deepseek_v31, "
    )
    assert second.startswith("ccfw: crisp.responses.policies=nobody: no such option; options: deepseek_v31, ")


def test_a_policy_behind_a_key_needs_it(tmp_path: Path, provider: FakeProvider) -> None:
    done = ccfw(tmp_path, *scripted(provider), *STARTER, "crisp.responses.policies=[scripted,haiku45]")
    assert (done.code, done.err) == (
        2,
        "ccfw: crisp.responses.policies.haiku45=haiku45: the environment variable ANTHROPIC_API_KEY is not set\n",
    )


# ---- scenarios: vectors


@pytest.mark.long
def test_a_chronotope_that_only_its_vector_shows_to_be_the_same_is_refused(
    tmp_path: Path, provider: FakeProvider
) -> None:
    """The fake's vectors count letters: at a cosine of 0.5 any two texts in one script are one."""
    vectors = (
        "retriever=api",
        "retriever.embedder.model=openai/fake-model",
        f"retriever.embedder.api_base={provider.base_url}",
        "retriever.embedder.api_key_env=null",
    )
    line = ("stage.runs=[norms,scenarios]", "limit=1", "crisp.scenarios.per_norm=2", *vectors)
    done = ccfw(tmp_path, *scripted(provider), *line, "crisp.scenarios.likeness=0.5", provider=provider)
    assert counts(done, "scenarios") == {"taken": 2, "kept": 1, "lost_no_chronotope": 1, "waiting": 0}, done.err
    (record,) = done.records("scenarios", "failures.jsonl")  # the next run asks again for what is missing
    assert record["slots"][1]["loss"]["detail"].endswith("the last failed: likeness")
    fine = ccfw(tmp_path, *scripted(provider), *line, "crisp.scenarios.likeness=1.0", provider=provider)
    assert counts(fine, "scenarios") == {"taken": 2, "kept": 2, "waiting": 0}
    (record,) = fine.records("scenarios")
    assert 0.5 < record["slots"][1]["likeness"] < 1.0


# ---- responses


def test_the_starter_is_answered_by_the_assistant_and_printed_as_a_table(
    tmp_path: Path, provider: FakeProvider
) -> None:
    line = (*STARTER, "limit=20", "crisp.responses.k=1", "report.shown=1")
    arguments = [each for each in scripted(provider) if not each.startswith("report.shown")]
    done = ccfw(tmp_path, *arguments, *line, provider=provider)
    assert done.code == 0, done.err
    head, row, *rest = done.out.splitlines()
    assert head.split() == ["Policy", "Outcome", "n", "Norm", "Match", "n", "Valid", "Answers", "Unscored", "Broken"]
    assert row.startswith("Scripted  ")
    assert "scripted judges its own answers." in rest
    cultures = {each["culture"] for each in all_answers(done)}
    assert len(cultures) >= 10  # the order is stratified by culture


def all_answers(run: Run) -> list[dict[str, Any]]:
    root = run.folder / "workspace" / "crisp" / "responses"
    return [each for path in root.glob("*/records.jsonl") for each in read_lines(path)]


def test_more_answers_and_more_situations_are_added_to_those_there(tmp_path: Path, provider: FakeProvider) -> None:
    first = ccfw(tmp_path, *scripted(provider), *STARTER, "limit=3", "crisp.responses.k=1", provider=provider)
    more = ccfw(tmp_path, *scripted(provider), *STARTER, "limit=5", "crisp.responses.k=2", provider=provider)
    asked = [each.schema_name for each in more.requests].count("crisp_response")
    assert asked == 5 * 2 - 3
    assert len(all_answers(more)) == 10
    assert first.closings["responses"]["out"] != more.closings["responses"]["out"]


def test_a_provider_that_fails_is_counted_as_broken_and_tried_again(tmp_path: Path, provider: FakeProvider) -> None:
    def down(request: FakeRequest) -> Any:
        from tests.fakes.faults import SERVER_ERROR

        return SERVER_ERROR if request.schema_name == "crisp_response" else Situated()(request)

    line = (*STARTER, "limit=3", "crisp.responses.k=1", "model.attempts=1")
    provider.script = down
    broken = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    provider.script = Situated()
    assert broken.code == 1
    assert counts(broken, "responses") == {"taken": 3, "kept": 0, "lost_infrastructure": 3, "waiting": 0}
    mended = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    assert mended.code == 0
    assert "lost_infrastructure" not in counts(mended, "responses")


def test_situations_of_ones_own_are_read_from_a_file(tmp_path: Path, provider: FakeProvider) -> None:
    own: list[Situation] = [each for each in read_situations(shipped_folder()) if each.norm.culture == "Japan"][:2]
    (tmp_path / "own.jsonl").write_text("".join(each.model_dump_json() + "\n" for each in own), "utf-8")
    line = (*STARTER, "dataset.path=own.jsonl", "crisp.responses.k=1")
    done = ccfw(tmp_path, *scripted(provider), *line, provider=provider)
    assert counts(done, "responses")["taken"] == 2


# ---- preferences and the tracker


def test_the_starters_triplets_make_pairs_without_a_call_or_a_key(tmp_path: Path) -> None:
    line = ("stage=preferences", "dataset=normcompass_starter", "model=haiku45", "tracking=none")
    done = ccfw(tmp_path, *line, "bootstrap.resamples=50")
    situations = len(read_situations(shipped_folder()))
    assert done.code == 0, done.err
    assert counts(done, "preferences") == {"taken": situations, "kept": situations, "waiting": 0}
    pairs = read_lines(out(done, "preferences") / "pairs.jsonl")
    assert len(pairs) == 3 * situations
    assert {each["chosen_from"] for each in pairs} == {"appropriate", "generic"}
    assert "No scored answers under these settings" in (out(done, "preferences") / "report.md").read_text("utf-8")


def test_a_rewrite_needs_an_answer_of_the_score_and_is_counted_without(tmp_path: Path, provider: FakeProvider) -> None:
    line = ("dataset=normcompass_starter", "limit=4", "crisp.responses.k=2", "bootstrap.resamples=50")
    ccfw(tmp_path, *scripted(provider), "stage=responses", *line, provider=provider)
    more = ("stage=preferences", "crisp.preferences.triplets=rewrite")
    done = ccfw(tmp_path, *scripted(provider), *more, *line, provider=provider)
    found = counts(done, "preferences")
    scores = [
        each
        for path in (tmp_path / "workspace" / "crisp" / "responses").glob("*/scores/*/records.jsonl")
        for each in read_lines(path)
    ]
    top = {each["situation_id"] for each in scores if (each["scale"], each["score"]) == ("outcome", 5)}
    assert (found["kept"], found.get("lost_not_scored", 0)) == (len(top), 4 - len(top))
    assert {each.schema_name for each in done.requests} <= {"crisp_rewrite"}


@pytest.mark.long
def test_policies_and_stages_are_runs_of_the_tracker(tmp_path: Path, provider: FakeProvider) -> None:
    line = [each for each in scripted(provider) if each != "tracking=none"]
    done = ccfw(tmp_path, *line, *STARTER, "limit=3", "crisp.responses.k=1", provider=provider)
    assert (done.code, done.err) == (0, "")
    runs = {run.name: run for run in logged(tmp_path / "mlflow.db")}
    assert set(runs) == {"crisp normcompass_starter", "responses", "responses scripted"}
    row = next(csv.DictReader((out(done, "responses") / "policies.csv").read_text("utf-8").splitlines()))
    assert runs["responses scripted"].metrics["outcome"] == pytest.approx(float(row["outcome"]), abs=1e-6)
    assert runs["responses"].metrics["taken"] == 3
    assert runs["responses"].params["judge"] == "scripted"
    assert runs["responses scripted"].metrics["norm_match_n"] == float(row["norm_match_n"])
    assert runs["responses scripted"].metrics["outcome_unscored"] == 0


# ---- the embedded model


@pytest.mark.long
@pytest.mark.embedded
def test_the_embedded_model_answers_and_judges(tmp_path: Path) -> None:
    line = ("stage=responses", "dataset=normcompass_starter", "limit=2", "crisp.responses.k=1", "tracking=none")
    done = ccfw(tmp_path, *line, "bootstrap.resamples=50", "report.shown=0")
    assert done.code == 0, done.err
    found = counts(done, "responses")
    assert found["taken"] == 2
    assert found["kept"] >= 1
