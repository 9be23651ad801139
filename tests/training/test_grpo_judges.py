"""GRPO with judges behind the door: what they reward, what they cost, and what is missing when they give nothing."""

from __future__ import annotations

import asyncio
import csv
import json
import math
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.llm import transports
from ccfw.llm.budget import of_the_process
from ccfw.settings import Settings
from ccfw.stages import grpo
from ccfw.stages.context import Context, StageResult
from ccfw.training.checkpoints import CHECKPOINTS, latest_checkpoint
from ccfw.training.guard import TrainingError
from ccfw.training.weights import load_causal
from tests.e2e.running import ccfw
from tests.e2e.test_tracking import logged
from tests.fakes.faults import UNAUTHORIZED, Fault
from tests.fakes.provider import FakeProvider
from tests.fakes.wire import FakeReply, FakeRequest
from tests.training import tiny
from tests.training.grading import Grading, settings

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
NORMS = [each.norm.norm for each in read_situations(shipped_folder())]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    tiny.answering_policy(folder / "policy")
    tiny.reward_model(folder / "reward")
    return folder


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(Grading()) as provider:
        yield provider


def run(job: Settings) -> StageResult:
    of_the_process.cache_clear()
    with asyncio.Runner() as runner, closing(Context(job, runner)) as context, context.stop.on_signals():
        try:
            return grpo.run(context)
        finally:
            runner.run(transports.close())


def curve(result: StageResult) -> list[dict[str, float]]:
    rows = csv.DictReader((result.out / "curve.csv").read_text("utf-8").splitlines())
    return [{name: float(value) if value else math.nan for name, value in row.items()} for row in rows]


def bodies(provider: FakeProvider, model: str) -> list[str]:
    return [each.digest for each in provider.requests if each.model == model]


def test_norm_grounding_is_learnt_from_one_judge_and_looked_at_by_another(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    result = run(
        settings(tmp_path, weights, provider, steps=30, monitor={"every": 15}, questions=4, group=8, micro_batch=32)
    )
    assert (result.status, result.done) == ("ok", 30)
    found = curve(result)
    match = [each["rewards/norm_grounding/mean"] for each in found]
    assert all(0.0 <= each <= 1.0 for each in match)
    assert sum(match[-5:]) / 5 > sum(match[:5]) / 5 + 0.15
    assert sum(each["rewards/form/mean"] for each in found[-5:]) / 5 > 0.9
    guide, gold = bodies(provider, "guide"), bodies(provider, "gold")
    assert result.meter.calls == len(guide) + len(gold) == len(set(guide)) + len(set(gold))  # each asked once
    assert result.meter.cached > 0  # the policy repeats itself
    scales = {(each.model, each.schema_name) for each in provider.requests}
    assert scales == {("guide", "crisp_norm_match"), ("gold", "crisp_outcome"), ("gold", "crisp_norm_match")}
    looks = list(csv.DictReader((result.out / "looks.csv").read_text("utf-8").splitlines()))
    assert [row["step"] for row in looks] == ["0", "15", "30"]
    assert all(1.0 <= float(row["gold"]) <= 5.0 for row in looks)
    as_marked(result)


def as_marked(result: StageResult) -> None:
    """Hold the table before and after against the marks in the answers, which judges give as scores."""
    answers = [json.loads(line) for line in (result.out / "answers.jsonl").read_text("utf-8").splitlines()]
    rows = csv.DictReader((result.out / "policies.csv").read_text("utf-8").splitlines())
    table = {row["policy"]: row for row in rows}
    for when in ("before", "after"):
        own = [each["answer"] for each in answers if each["when"] == when]
        marks = [tuple(map(int, found)) for each in own if len(found := re.findall(r"mark (\d)", each)) == 2]
        lost = len(own) - len(marks)
        expected = {"valid": len(marks) / len(own), "questions": len(own)}
        for place, (name, least) in enumerate((("gold", 1), ("norm_match", 0))):
            scores = [each[place] for each in marks]
            expected[f"{name}_valid"] = sum(scores) / len(scores)
            expected[f"{name}_all"] = (sum(scores) + least * lost) / len(own)
        assert {name: float(table[when][name]) for name in expected} == pytest.approx(expected, abs=1e-6)
    gain = float(table["after"]["norm_match_all"]) - float(table["before"]["norm_match_all"])
    assert float(table["difference"]["norm_match_all"]) == pytest.approx(gain, abs=1e-5)


def test_judges_see_the_norm_and_the_policy_never_does(
    weights: Path, provider: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ccfw.training import grpo as training

    asked: list[str] = []
    optimise = training.optimise

    def watched(config: Any, policy: Any, task: Any, *rest: Any) -> Any:
        asked.extend(turn["content"] for each in (*task.train, *task.held_out) for turn in each.prompt)
        return optimise(config, policy, task, *rest)

    monkeypatch.setattr(training, "optimise", watched)
    run(settings(tmp_path, weights, provider, steps=1))
    assert asked
    assert not [text for text in asked if any(norm in text for norm in NORMS)]
    judged = ["\n".join(each.said("user")) for each in provider.requests]
    assert judged
    assert all(any(norm in text for norm in NORMS) for text in judged)


def test_a_run_that_was_cut_off_goes_on_with_the_same_curve_and_pays_for_nothing_twice(
    weights: Path, provider: FakeProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    straight = run(settings(tmp_path / "straight", weights, provider, steps=6))
    paid = [sorted(bodies(provider, name)) for name in ("guide", "gold")]
    provider.clear()
    job = settings(tmp_path / "broken", weights, provider, steps=6)

    def third_step(request: FakeRequest) -> Fault | None:
        return UNAUTHORIZED if len(provider.requests) > 14 else None

    provider.script = Grading(third_step)
    first = run(job)
    assert first.status == "partial"
    assert not first.interrupted
    assert first.stopped is not None
    assert "judgements of one step failed" in first.stopped
    manifest = json.loads((first.out / "manifest.json").read_text("utf-8"))
    assert (manifest["status"], (first.out / "model").exists()) == ("partial", False)
    assert latest_checkpoint(first.out) == first.out / CHECKPOINTS / "checkpoint-2"
    assert caplog.messages[-1] == f"stage=grpo: stopped ({first.stopped}); the same line goes on from step 2"
    answered = [each for each in provider.requests if each.status == 200]
    provider.clear()
    provider.script = Grading()
    second = run(job)
    assert (second.status, second.out) == ("ok", first.out)
    names = ("reward", "loss", "grad_norm", "rewards/norm_grounding/mean", "judgements", "unscored", "held_out/gold")
    for name in names:
        expected = [each[name] for each in curve(straight)]
        assert [each[name] for each in curve(second)] == pytest.approx(expected, rel=1e-4, abs=1e-6, nan_ok=True), name
    both = [*answered, *provider.requests]
    assert [sorted(each.digest for each in both if each.model == name) for name in ("guide", "gold")] == paid
    again = run(job)
    assert (again.skipped, again.meter.calls) == (6, 0)


def test_a_provider_that_is_out_from_the_beginning_leaves_nothing_to_go_on_from(
    weights: Path, provider: FakeProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    provider.script = Grading(lambda _: UNAUTHORIZED)
    result = run(settings(tmp_path, weights, provider))
    assert result.status == "partial"
    assert caplog.messages[-1].endswith("; no checkpoint is there yet, and the same line starts anew")


def test_answers_that_are_too_long_for_the_reward_model_are_valid_and_counted(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    raw = settings(tmp_path, weights, provider, steps=6, monitor={"unrewarded": 0.2}).model_dump(mode="json")
    raw["rewards"] |= {"max_tokens": 4, "judge": raw["judge"]}
    result = run(Settings.model_validate(raw))
    assert (result.status, result.done) == ("ok", 2)
    report = (result.out / "report.md").read_text("utf-8")
    assert "Ended by the monitor at step 2 of 6: unrewarded 1 in the mean of 2 steps, above 0.2." in report
    for step in curve(result):
        assert step["readings"] == step["readings/too_long"]
        assert "rewards/appropriateness/mean" not in step
        assert step["rewards/norm_grounding/mean"] >= 0
    as_marked(result)
    answers = [json.loads(line) for line in (result.out / "answers.jsonl").read_text("utf-8").splitlines()]
    valid = {when: sum(each["valid"] for each in answers if each["when"] == when) for when in ("before", "after")}
    in_form = [8 * step["rewards/form/mean"] for step in curve(result)]
    assert [step["readings"] for step in curve(result)] == [in_form[0], in_form[1] + valid["after"]]  # with the look
    rows = list(csv.DictReader((result.out / "policies.csv").read_text("utf-8").splitlines()))
    assert {row["policy"]: row["without_reward"] for row in rows} == {
        "before": str(valid["before"]),
        "after": str(valid["after"]),
        "difference": "",
    }
    assert all(each.get("no_reward") == ("too_long" if each["valid"] else None) for each in answers)
    assert re.search(r"(\d+) of \1 answers that a model was to reward got none \(\1 too_long\): ", report)
    assert "openai/gold both rewards norm grounding and gives the gold score" in report


def test_a_reward_model_that_gives_no_number_ends_the_run_with_the_step_and_why(
    provider: FakeProvider, tmp_path: Path
) -> None:
    tiny.answering_policy(tmp_path / "policy")
    loaded = tiny.classifier()
    loaded.model.score.weight.data[:] = math.nan
    loaded.model.save_pretrained(tmp_path / "reward")
    loaded.tokenizer.save_pretrained(tmp_path / "reward")
    told = r"grpo\.reward_model gives no number for an answer, of \d+ tokens with its question"
    with pytest.raises(TrainingError, match=f"^training step 0: {told}$"):
        run(settings(tmp_path, tmp_path, provider, gold="none"))


def test_a_budget_that_is_spent_ends_the_run_and_more_money_goes_on_with_it(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    whole = run(settings(tmp_path / "whole", weights, provider))
    cost = whole.meter.cost
    provider.clear()
    most = {"max_output_tokens": 40}

    def job(budget: float | None) -> Settings:
        made = settings(tmp_path / "poor", weights, provider)
        raw = made.model_dump(mode="json")
        for judge in (raw["judge"], raw["rewards"]["judge"]):
            for member in judge["members"].values():
                member |= most
        return Settings.model_validate(raw | {"budget": budget})

    first = run(job(0.6 * cost))
    assert first.status == "partial"
    assert first.stopped is not None
    assert first.stopped.startswith("budget=")
    assert 0 < first.meter.cost <= 0.6 * cost
    second = run(job(None))
    assert (second.status, second.out) == ("ok", first.out)
    assert first.meter.cost + second.meter.cost == pytest.approx(cost, rel=1e-6)
    digests = [each.digest for each in provider.requests]
    assert len(digests) == len(set(digests))


def test_a_judgement_that_cannot_be_had_is_no_reward_and_is_counted_by_kind(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    def spoiled(request: FakeRequest) -> FakeReply | str | None:
        text = "\n".join(request.said("user"))
        if request.schema_name != "crisp_norm_match":
            return None
        if "mark 0" in text:
            return FakeReply("", finish_reason="content_filter")
        return "two, I would say" if "mark 1" in text else None

    provider.script = Grading(spoiled)
    result = run(settings(tmp_path, weights, provider, steps=3, questions=4, group=8, micro_batch=32))
    assert result.status == "ok"
    found = curve(result)
    for step in found:
        missing = step["judgements/refused"] + step["judgements/unparsed"]
        assert step["unscored"] == pytest.approx(missing / step["judgements"])
        assert step["rewards/norm_grounding/mean"] == 1.0  # of those that are there, all are 2 of 2; no default joins
    report = (result.out / "report.md").read_text("utf-8")
    assert "judgements gave no score" in report
    assert "refused" in report


def test_a_judge_that_gives_too_little_ends_the_run_with_the_reason(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.script = Grading(lambda request: "no" if request.schema_name == "crisp_norm_match" else None)
    result = run(settings(tmp_path, weights, provider, steps=6, monitor={"unscored": 0.2}))
    assert (result.status, result.done) == ("ok", 2)
    assert "Ended by the monitor at step 2 of 6: unscored" in (result.out / "report.md").read_text("utf-8")
    answers = [json.loads(line) for line in (result.out / "answers.jsonl").read_text("utf-8").splitlines()]
    assert {each["when"] for each in answers} == {"before", "after"}


def test_without_lambda_and_gold_nobody_is_asked(weights: Path, provider: FakeProvider, tmp_path: Path) -> None:
    result = run(settings(tmp_path, weights, provider, steps=2, lam=0.0, gold="none"))
    assert (result.status, result.meter.calls, provider.requests) == ("ok", 0, [])


def test_a_policy_that_was_optimised_is_read_back_as_any_loader_reads_it(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    job = settings(tmp_path, weights, provider, steps=2, lam=0.0, gold="none", learning_rate=0.1)
    result = run(job)
    tokens = AutoTokenizer.from_pretrained(result.out / "model")
    model = AutoModelForCausalLM.from_pretrained(result.out / "model").eval()
    before = load_causal(job.policy.weights, "policy", 0)
    assert tokens.chat_template == before.tokenizer.chat_template
    assert tokens.get_vocab() == before.tokenizer.get_vocab()
    ids = torch.tensor([tokens("one two")["input_ids"]])
    with torch.inference_mode():
        changed = (model(input_ids=ids).logits - before.model(input_ids=ids).logits).abs().max()
    assert float(changed) > 1e-3
    again = settings(tmp_path, weights, provider, steps=1, lam=0.0, gold="none").model_dump(mode="json")
    again["policy"]["weights"]["path"] = str(result.out / "model")
    assert run(Settings.model_validate(again)).status == "ok"  # it is optimised further


def test_a_policy_that_is_torn_is_said_and_optimised_again_to_the_same(
    weights: Path, provider: FakeProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = settings(tmp_path, weights, provider, steps=2, lam=0.0, gold="none", learning_rate=2e-7)
    first = run(job)
    path, steps = first.out / "model" / "model.safetensors", (first.out / "curve.csv").read_text("utf-8")
    assert steps.startswith("step,loss,grad_norm,learning_rate,")
    assert [each["learning_rate"] for each in curve(first)] == [2e-7, 2e-7]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    caplog.clear()
    second = run(job)
    told = f"{path.parent}: model.safetensors is missing or torn; the policy is optimised again"
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [told]
    assert (second.out, second.done, path.read_bytes() == whole) == (first.out, 2, True)
    assert (first.out / "curve.csv").read_text("utf-8") == steps
    assert (run(job).skipped, provider.requests) == (2, [])


@pytest.mark.long
def test_a_sweep_over_lambda_leaves_four_runs_that_compare(
    weights: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    policy = ["policy=smollm2", f"policy.weights.path={weights / 'policy'}", "policy.weights.package=null"]
    policy += ["policy.weights.gguf=null", "policy.weights.parameters=0.01", "policy.lora=null"]
    how = ["grpo=smollm2", f"grpo.reward_model={weights / 'reward'}", "grpo.gold=judge", "grpo.format_weight=0.5"]
    how += ["grpo.steps=2", "grpo.max_completion_tokens=1", "grpo.monitor.every=2", "rewards.max_tokens=256"]
    where = ["dataset=normcompass_starter", "crisp.cultures=Japan", "report.shown=0", "bootstrap.resamples=50"]
    judged = ["model=scripted", f"model.api_base={provider.base_url}"]
    uri = f"tracking.uri=sqlite:///{tmp_path}/runs.db"
    done = ccfw(tmp_path, "-m", "stage=grpo", "grpo.lam=0,0.25,0.5,1", *policy, *how, *where, *judged, uri)
    assert done.code == 0, done.err
    runs = [each for each in logged(tmp_path / "runs.db") if each.name.startswith("grpo ")]
    assert sorted(each.metrics["lam"] for each in runs) == [0.0, 0.25, 0.5, 1.0]
    shared = set.intersection(*(set(each.metrics) for each in runs))
    assert {"rewards/appropriateness/mean", "rewards/form/mean", "held_out/proxy", "held_out/gold"} <= shared
    assert all(each.status == "FINISHED" for each in runs)
    with_norms = [each for each in runs if "rewards/norm_grounding/mean" in each.metrics]
    assert sorted(each.metrics["lam"] for each in with_norms) == [0.25, 0.5, 1.0]
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        parents = database.execute("SELECT DISTINCT value FROM tags WHERE key = 'mlflow.parentRunId'").fetchall()
    assert len(parents) == 1
