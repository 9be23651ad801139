"""When judging may stop, what one look reads, and how many calls a joint prompt takes."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.prompts import PromptSet
from ccfw.records import Episode, Judgement, LanguageMode, Metric, Scenario
from ccfw.selection import random_order
from ccfw.settings import Settings
from ccfw.settings.dialogues import BatchConfig
from ccfw.stages import evaluate
from ccfw.stages.context import Context, StageResult
from ccfw.stages.evaluate import Bench, _judge, _judge_until, _look, judgement_id
from ccfw.store import Output, RecordFile, fingerprint, read_records
from ccfw.universe.seed_id import episode_id
from tests.judging.test_rubric import FULL
from tests.samples import ROOT, episode_of, judgement_of, model_config, raw_model, reply
from tests.test_settings import content, option
from tests.test_settings import judge as panel


def settings_of(prompt: str = "paper", *, batch: int = 100, tries: int = 2, **changes: Any) -> Settings:
    cast = {"simulator": raw_model(), "judge": panel("scripted", name="scripted")}
    judging = {"batch": batch, "tries": tries, "temperature": 0.0}
    return Settings.model_validate(content("scripted", prompt, judging=judging) | cast | changes)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


def store(folder: Path, judgements: list[Judgement]) -> Output:
    output = Output(folder)
    with RecordFile(output.records) as file:
        for judgement in judgements:
            file.append(judgement)
    return output


def held(scenario: Scenario, name: str, language: LanguageMode = LanguageMode.ENGLISH) -> Episode:
    return episode_of(scenario, episode_id=name, language_mode=language)


def scored(name: str, **scores: int | None) -> list[Judgement]:
    return [judgement_of(Metric[metric.upper()], score, episode_id=name) for metric, score in scores.items()]


# ---- one look


def test_a_look_reads_every_metric_in_each_language_apart(scenario: Scenario, tmp_path: Path) -> None:
    native = LanguageMode.NATIVE
    seen = [held(scenario, "a"), held(scenario, "b", native), held(scenario, "c"), held(scenario, "d", native)]
    output = store(
        tmp_path,
        [
            *scored("a", helpful=5, honest=2),
            *scored("b", helpful=1, honest=4),
            *scored("c", helpful=4, honest=None),
            *scored("d", helpful=2),
            *scored("not-seen", helpful=3, harmless=3),
        ],
    )
    found = _look(settings_of(precision=0.1, language=option("language", "both")), output, seen, planned=4).readings
    assert set(found) == {f"{language.value} {metric.value}" for language in LanguageMode for metric in Metric}
    counts = {name: (reading.mean, reading.n, reading.missing) for name, reading in found.items() if reading.n}
    assert counts == {
        "global_english helpful": (4.5, 2, 2),
        "global_english honest": (2.0, 1, 3),
        "native_language helpful": (1.5, 2, 2),
        "native_language honest": (4.0, 1, 3),
    }
    empty = {(r.mean, r.low, r.high, r.missing) for r in found.values() if not r.n}
    assert empty == {(None, 1.0, 5.0, 4)}


def test_a_look_at_one_language_has_no_column_of_the_other(scenario: Scenario, tmp_path: Path) -> None:
    output = store(tmp_path, scored("a", helpful=5))
    found = _look(settings_of(precision=0.1), output, [held(scenario, "a")], planned=1).readings
    assert set(found) == {f"global_english {metric.value}" for metric in Metric}


def test_a_metric_without_a_score_is_no_reason_to_stop(scenario: Scenario, tmp_path: Path) -> None:
    names = [f"e{number:03d}" for number in range(300)]
    five = {metric.name.lower(): 3 for metric in Metric if metric is not Metric.TYPICALITY}
    seen = [held(scenario, name) for name in names]
    asked = settings_of(precision=1.0, batch=50)
    without = _look(asked, store(tmp_path / "5", [j for n in names for j in scored(n, **five)]), seen, planned=400)
    every = store(tmp_path / "6", [j for n in names for j in scored(n, **five, typicality=3)])
    assert (without.reached, without.readings["global_english cultural_typicality"].missing) == (False, 300)
    assert _look(asked, every, seen, planned=400).reached is True


def test_looks_are_taken_at_whole_batches_alone(scenario: Scenario, tmp_path: Path) -> None:
    names = [f"e{number}" for number in range(7)]
    every = {metric.name.lower(): 3 for metric in Metric}
    output = store(tmp_path, [j for name in names for j in scored(name, **every)])
    seen = [held(scenario, name) for name in names]
    stop = _look(settings_of(precision=0.1, batch=3), output, seen, planned=20)
    assert (stop.n, stop.planned, stop.reached, stop.saved) == (6, 20, False, 0)


# ---- judging until precise enough


class Judges:
    """A provider that gives every metric the same good reply, and counts what it is asked."""

    def __init__(self, **spoilt: Any) -> None:
        self.spoilt = spoilt
        self.asked: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        name = str(request.schema_name).removeprefix("judge_")
        parts = {metric.value: FULL[metric] | {"tripwires_triggered": []} for metric in [Metric.HARMLESS]}
        parts = {metric.value: FULL[metric] for metric in Metric} | parts
        return reply(json.dumps((parts | self.spoilt) if name == "joint" else parts[name]))


def bench_of(settings: Settings, ledger: Ledger, provider: Judges, style: str = "v1/paper") -> Bench:
    model = model_config()
    return Bench(
        settings, model, Client(model, ledger, Meter(), transport=provider), PromptSet(ROOT / "prompts", style)
    )


def judged_until(
    tmp_path: Path, runner: asyncio.Runner, *, precision: float, batch: int
) -> tuple[dict[str, Any], StageResult, list[str], Counter[str]]:
    """Judge a dialogue of each of twelve scenarios; return what is told, counted, planned in order, and stored."""
    settings = settings_of(precision=precision, batch=batch, workspace=str(tmp_path))
    with closing(Context(settings, runner)) as context:
        episodes = [
            episode_of(scenario, episode_id=episode_id(scenario.seed.seed_id, LanguageMode.ENGLISH))
            for scenario in context.dataset.scenarios[:12]
        ]
        output = Output(tmp_path / "out")
        result = StageResult("evaluate", output.folder)
        by_id = {episode.episode_id: episode for episode in episodes}
        told = _judge_until(context, output, result, bench_of(settings, context.ledger, Judges()), by_id)
    order = list(random_order([episode.episode_id for episode in episodes], settings.seed))
    return told, result, order, Counter(j.episode_id for j in read_records(output.records, Judgement))


def test_judging_goes_in_random_order_and_stops_at_the_first_look_that_suffices(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    told, result, order, stored = judged_until(tmp_path, runner, precision=3.9, batch=4)
    n, exact = told["n"], judged_until(tmp_path / "one-by-one", runner, precision=3.9, batch=1)[0]["n"]
    assert told["reached"] is True
    assert 1 < exact < 12
    assert n == 4 * math.ceil(exact / 4) < 12
    assert (told["planned"], told["saved"]) == (12, 12 - n)
    assert stored == dict.fromkeys(order[:n], 6)
    assert (result.done, result.failed, result.skipped) == (6 * n, 0, 0)
    assert set(told["widths"]) == {f"global_english {metric.value}" for metric in Metric}
    assert max(told["widths"].values()) <= 3.9


def test_where_the_precision_is_not_reached_everything_is_judged(tmp_path: Path, runner: asyncio.Runner) -> None:
    told, result, order, stored = judged_until(tmp_path, runner, precision=0.01, batch=5)
    assert {key: told[key] for key in ("n", "planned", "saved", "reached")} == {
        "n": 12,
        "planned": 12,
        "saved": 0,
        "reached": False,
    }
    assert stored == dict.fromkeys(order, 6)
    assert result.done == 72


def test_another_run_over_stored_judgements_stops_at_the_same_place(tmp_path: Path, runner: asyncio.Runner) -> None:
    first, *_ = judged_until(tmp_path, runner, precision=3.9, batch=4)
    again, result, *_ = judged_until(tmp_path, runner, precision=3.9, batch=4)
    assert again == first
    assert (result.done, result.skipped) == (0, 6 * first["n"])


# ---- joint prompts


def test_a_joint_prompt_is_sent_once_for_six_judgements(scenario: Scenario, tmp_path: Path) -> None:
    provider, episode = Judges(), episode_of(scenario)
    with Ledger(tmp_path / "calls.db") as ledger:
        bench = bench_of(settings_of("joint"), ledger, provider, "v1/joint")

        async def judge() -> list[Judgement]:
            return await asyncio.gather(*(bench.judge((scenario, episode, metric)) for metric in Metric))

        found = asyncio.run(judge())
    assert [(j.metric, j.score, j.tries) for j in found] == [(m, list(FULL[m].values())[-1], 1) for m in Metric]
    assert [request.schema_name for request in provider.asked] == ["judge_joint"]


def test_a_metric_that_a_joint_reply_lacks_is_asked_for_again_alone(scenario: Scenario, tmp_path: Path) -> None:
    provider, episode = Judges(honest=None, helpful=4), episode_of(scenario)
    with Ledger(tmp_path / "calls.db") as ledger:
        bench = bench_of(settings_of("joint", tries=3), ledger, provider, "v1/joint")
        found = [asyncio.run(bench.judge((scenario, episode, metric))) for metric in Metric]
    failures = {j.metric: (j.failure.detail, j.tries) for j in found if j.failure}
    assert failures == {
        Metric.HONEST: ("no object under honest", 3),
        Metric.HELPFUL: ("no object under helpful", 3),
    }
    assert len(provider.asked) == 1 + 2 * 2


def planned(tmp_path: Path, runner: asyncio.Runner, prompt: str, *stored: tuple[int, Metric], tries: int = 2) -> Any:
    """Return the plan for twelve dialogues, with some judgements stored: (number, metric)."""
    settings = settings_of(prompt, tries=tries, workspace=str(tmp_path), limit=12)
    with closing(Context(settings, runner)) as context:
        [member] = settings.judge.members.values()
        folder = context.output("evaluate", fingerprint(evaluate.parts(context, member))).folder
        names = [episode_id(scenario.seed.seed_id, language) for scenario, language in context.planned]
        assert len(names) == 12
        store(folder, [judgement_of(metric, 3, episode_id=names[number]) for number, metric in stored])
        return evaluate.plan(context)


def test_a_plan_counts_a_call_for_each_metric_or_one_for_all(tmp_path: Path, runner: asyncio.Runner) -> None:
    assert planned(tmp_path, runner, "paper") == (72, 144)
    least, most = planned(tmp_path, runner, "joint")
    assert least == 12
    assert most >= 12 * (1 + 6 * 1)


def test_a_plan_leaves_out_what_is_stored(tmp_path: Path, runner: asyncio.Runner) -> None:
    stored = [*((0, metric) for metric in Metric), (1, Metric.HONEST)]
    assert planned(tmp_path, runner, "paper", *stored) == (65, 130)
    assert planned(tmp_path, runner, "joint", *stored)[0] == 11


def test_where_all_is_stored_nothing_is_planned(tmp_path: Path, runner: asyncio.Runner) -> None:
    stored = [(number, metric) for number in range(12) for metric in Metric]
    assert planned(tmp_path, runner, "joint", *stored) == (0, 0)


def test_a_judgement_is_named_by_its_episode_and_metric(scenario: Scenario) -> None:
    assert judgement_id(held(scenario, "e"), Metric.PLAUSIBILITY) == "e::scenario_plausibility"


# ---- a budget


def test_a_batch_that_the_budget_does_not_cover_is_not_submitted(
    scenario: Scenario, tmp_path: Path, runner: asyncio.Runner
) -> None:
    """Twelve requests that may cost about a tenth of a dollar at half the price, under a cent."""
    settings = settings_of(workspace=str(tmp_path), budget=0.01)
    settings = settings.model_copy(update={"batch": BatchConfig.model_validate(option("batch", "provider"))})
    with closing(Context(settings, runner)) as context:
        episodes = [held(scenario, f"{scenario.seed.seed_id}__{number}") for number in range(2)]
        output, result, provider = Output(tmp_path / "out"), StageResult("evaluate", tmp_path / "out"), Judges()
        bench = bench_of(settings, context.ledger, provider)
        most = evaluate._most(context, bench, [bench.request((scenario, episodes[0], metric)) for metric in Metric])
        by_id = {episode.episode_id: episode for episode in episodes}
        _judge(context, output, result, bench, by_id, by_id)
    assert most > 6 * 4096 * 2.0 / 1e6
    assert re.fullmatch(r"budget=0\.01: spent 0\.0000, the next call may cost 0\.\d{4} more", str(result.stopped))
    assert (result.done, result.failed, result.status, provider.asked) == (0, 0, "partial", [])
    assert (context.stop.reason, context.budget.spent) == (result.stopped, 0.0)
    assert not (tmp_path / "out" / "batches.json").exists()
