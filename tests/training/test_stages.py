"""Stages triplets, best_of_n and norm_match as a user runs them: files in, figures out."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.crisp.records import Preference, ResponseRecord, ResponseScore, Scale, Situation
from ccfw.records import Failure, FailureKind
from ccfw.settings import Settings
from ccfw.stages import norm_match, responses
from ccfw.stages.context import Context
from ccfw.stages.crisp import write_lines
from tests.e2e.running import Run, ccfw
from tests.samples import raw_model
from tests.test_settings import content
from tests.training import tiny

STARTER = "dataset=normcompass_starter"
CHEAP = ("tracking=none", "report.shown=0", "bootstrap.resamples=50")


def shipped(culture: str) -> list[Situation]:
    return [each for each in read_situations(shipped_folder()) if each.norm.culture == culture]


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def table(run: Run, stage: str, name: str = "") -> list[dict[str, str]]:
    path = run.folder / run.closings[stage]["out"] / f"{name or stage}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def rewards(found: Sequence[Situation], values: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"text_id": f"{each.situation_id}::{role}", "reward": value} for each in found for role, value in values.items()
    ]


# ---- triplets


def test_rankings_by_a_file_of_rewards(tmp_path: Path) -> None:
    japan = shipped("Japan")
    lines(tmp_path / "good.jsonl", rewards(japan, {"appropriate": 3, "generic": 2, "opposite": 1}))
    lines(tmp_path / "flat.jsonl", rewards(japan, {"appropriate": 0, "generic": 0, "opposite": 0}))
    run = ccfw(
        tmp_path,
        "stage=triplets",
        STARTER,
        "crisp.cultures=Japan",
        "+rewards.scorers={good: good.jsonl, flat: flat.jsonl}",
        *CHEAP,
    )
    assert (run.code, run.err) == (0, "")
    found = {(row["scorer"], row["group"]): row for row in table(run, "triplets")}
    assert {found["good", "all"][name] for name in ("appropriate_opposite", "top_1", "order")} == {"1.000000"}
    flat = [found["flat", "all"][name] for name in ("generic_opposite", "top_1", "order")]
    assert flat == ["0.500000", "0.333333", "0.166667"]
    assert int(found["flat", "all"]["triplets"]) == len(japan) == run.closings["triplets"]["done"]
    folder = run.folder / run.closings["triplets"]["out"]
    assert {path.suffix for path in folder.glob("rankings.*")} == {".svg", ".png", ".csv"}
    drawn = {(row["place"], row["series"]): row["value"] for row in table(run, "triplets", "rankings")}
    assert (drawn["Complete order", "good"], drawn["Complete order", "chance"]) == ("100.000000", "16.666667")
    differ = {row["measure"]: row for row in table(run, "triplets", "differences")}
    assert (differ["top_1"]["first"], differ["top_1"]["second"]) == ("good", "flat")
    assert float(differ["top_1"]["difference"]) == pytest.approx(2 / 3, abs=1e-6)
    assert "Cost" not in (folder / "report.md").read_text("utf-8")


def test_what_a_scorer_has_no_reward_of_is_left_out_for_all_and_said(tmp_path: Path) -> None:
    japan = shipped("Japan")
    whole = rewards(japan, {"appropriate": 3, "generic": 2, "opposite": 1})
    lines(tmp_path / "whole.jsonl", whole)
    lines(tmp_path / "less.jsonl", [*whole[3:], {"text_id": whole[0]["text_id"], "reward": None}])
    scorers = "+rewards.scorers={whole: whole.jsonl, less: less.jsonl}"
    run = ccfw(tmp_path, "stage=triplets", STARTER, "crisp.cultures=Japan", scorers, *CHEAP)
    told = f"WARNING stage=triplets: rewards.scorers.less has no reward of 3 of {len(whole)} answers\n"
    assert run.err[len("00:00:00 ") :] == told
    assert {int(row["triplets"]) for row in table(run, "triplets")} == {len(japan) - 1}


def test_every_mistake_in_the_scorers_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("text_id,reward\na,one\nb,2\nb,3\n,4\n", "utf-8")
    (tmp_path / "other.csv").write_text("name,value\na,1\n", "utf-8")
    scorers = "+rewards.scorers={a: bad.csv, b: other.csv, c: none.csv, d: ./nowhere}"
    run = ccfw(tmp_path, "stage=triplets", STARTER, "crisp.cultures=Japan", scorers, *CHEAP)
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: rewards.scorers.a=bad.csv: line 2: reward is not a number",
        "ccfw: rewards.scorers.a=bad.csv: line 4: b stands twice with different rewards",
        "ccfw: rewards.scorers.a=bad.csv: line 5: no text_id",
        "ccfw: rewards.scorers.b=other.csv: needs a column of ids (text id, response id, item, id) and reward or "
        "score; it has name, value",
        "ccfw: rewards.scorers.c=none.csv: No such file or directory",
        "ccfw: rewards.scorers.d=./nowhere: no such file or folder",
    ]


def test_without_scorers_the_stage_says_how_to_name_one(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=triplets", STARTER, *CHEAP)
    assert run.code == 2
    assert run.err == (
        "ccfw: stage=triplets: whose rewards? +rewards.scorers.<name>=<file of rewards, or a model's folder or name>\n"
    )


def test_a_scorer_may_not_bear_the_name_of_a_baseline(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=triplets", STARTER, *CHEAP, "+rewards.scorers={random: a.csv, oracle: a.csv}")
    assert run.code == 2
    assert run.err.splitlines()[:2] == [
        "ccfw: rewards.scorers.oracle: is the name of a baseline, as are chance, oracle, random",
        "ccfw: rewards.scorers.random: is the name of a baseline, as are chance, oracle, random",
    ]


# ---- reward and supervisor, before anything is trained


def pairs(folder: Path, found: Sequence[Preference]) -> str:
    write_lines(folder / "pairs.jsonl", found)
    return "reward.pairs=pairs.jsonl"


def test_a_reward_model_is_named_as_no_control_is_and_starts_from_weights_that_are_there(tmp_path: Path) -> None:
    mistakes = ("reward.name=longer", "reward.weights.scratch=toy", "supervisor.weights.scratch=toy")
    run = ccfw(tmp_path, "stage=reward", STARTER, *mistakes, *CHEAP)
    assert run.code == 2
    why = "a reward model starts from weights that are there: give path or package, and scratch=null"
    assert run.err.splitlines() == [
        'ccfw: reward.name="longer": is the name of a control, as are longer, words alone',
        f'ccfw: reward.weights.scratch="toy": {why}',
        f'ccfw: supervisor.weights.scratch="toy": {why}',
    ]


@pytest.mark.parametrize(
    ("stage", "given", "told"),
    [
        ("reward", ".", "reward.pairs=.: a folder, and no file"),
        ("supervisor", ".", "supervisor.pairs=.: a folder, and no file"),
        ("reward", "none.jsonl", "reward.pairs=none.jsonl: no such file"),
        ("reward", "empty.jsonl", "reward.pairs=empty.jsonl: the file is empty"),
        (
            "supervisor",
            "torn.jsonl",
            "supervisor.pairs: torn.jsonl:1: not a Grade record: Invalid JSON: EOF while parsing an object at line 2 "
            "column 0",
        ),
    ],
)
def test_a_file_that_nothing_can_be_learnt_from_is_named(tmp_path: Path, stage: str, given: str, told: str) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "torn.jsonl").write_text("{\n", "utf-8")
    run = ccfw(tmp_path, f"stage={stage}", f"{stage}.pairs={given}", "dry_run=true", *CHEAP)
    assert (run.code, run.err) == (2, f"ccfw: {told}\n")


def test_every_mistake_in_what_is_to_be_trained_is_named_at_once(tmp_path: Path) -> None:
    given = pairs(tmp_path, tiny.pairs(8))
    weights = ("reward.weights.package=null", "reward.weights.gguf=null", "reward.weights.path=some/where/else")
    run = ccfw(tmp_path, "stage=reward", given, *weights, "reward.kinds=[gap]", "dry_run=true", *CHEAP)
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: reward.kinds=gap: no pair is of it; there: appropriate_opposite",
        "ccfw: reward.weights.path=some/where/else: no such folder",
    ]


def test_pairs_that_all_teach_nothing_are_refused_and_a_plan_says_what_is_left_out(tmp_path: Path) -> None:
    useless = [tiny.preference(1, "bow", "bow"), tiny.preference(2, "bow", "")]
    run = ccfw(tmp_path, "stage=reward", pairs(tmp_path, useless), "dry_run=true", *CHEAP)
    kind = "1 of kind appropriate_opposite with"
    said = f"{kind} both answers the same; {kind} no rejected answer"
    assert (run.code, run.err) == (2, f"ccfw: stage=reward: nothing can be learnt from any of the pairs: {said}\n")
    more = [each.model_copy(update={"pair_id": f"more{each.pair_id}"}) for each in tiny.pairs(8)]
    run = ccfw(tmp_path, "stage=reward", pairs(tmp_path, [*useless, *more]), "dry_run=true", *CHEAP)
    assert (run.code, run.err) == (0, "")
    assert "  pairs: 6 trained on, 2 held out\n" in run.out
    assert f"  2 of 10 pairs are left out: {said}.\n" in run.out


# ---- best_of_n


def candidate(question: int, number: int, score: float | None) -> dict[str, Any]:
    own = {"response_id": f"q{question}::{number}", "question_id": f"q{question}", "policy": "p", "score": score}
    return own | {"cluster": f"n{question % 2}"}


CANDIDATES = [candidate(q, k, score) for q in range(4) for k, score in enumerate((1, 2, 5, None))]


def test_best_of_n_of_a_file_of_answers(tmp_path: Path) -> None:
    lines(tmp_path / "answers.jsonl", CANDIDATES)
    given = [{"id": each["response_id"], "reward": -float(each["score"] or 9)} for each in CANDIDATES]
    lines(tmp_path / "contrary.jsonl", given)
    run = ccfw(
        tmp_path,
        "stage=best_of_n",
        "best_of_n.candidates=answers.jsonl",
        "best_of_n.sizes=[2,3]",
        "+rewards.scorers.contrary=contrary.jsonl",
        *CHEAP,
    )
    assert (run.code, run.err) == (0, "")
    found = {(row["n"], row["selector"]): float(row["score"]) for row in table(run, "best_of_n")}
    # of 1, 2, 5: pairs' minima 1, 1, 2 and maxima 2, 5, 5
    expected = {("2", "random"): 8 / 3, ("2", "contrary"): 4 / 3, ("2", "oracle"): 4.0}
    expected |= {("3", "random"): 8 / 3, ("3", "contrary"): 1.0, ("3", "oracle"): 5.0}
    assert found == pytest.approx(expected, abs=1e-6)
    manifest = json.loads((run.folder / run.closings["best_of_n"]["out"] / "manifest.json").read_text("utf-8"))
    assert manifest["counts"] == {"answers": 16, "not_scored": 4, "without_reward": 0, "chosen_from": 12}


def test_too_few_answers_for_any_size_are_a_mistake_in_the_request(tmp_path: Path) -> None:
    lines(tmp_path / "answers.jsonl", CANDIDATES)
    lines(tmp_path / "r.jsonl", [{"id": each["response_id"], "reward": 1} for each in CANDIDATES])
    given = ("best_of_n.candidates=answers.jsonl", "+rewards.scorers.r=r.jsonl")
    run = ccfw(tmp_path, "stage=best_of_n", *given, "best_of_n.sizes=[2,8,16]", *CHEAP)
    assert (run.code, run.err) == (2, "ccfw: best_of_n.sizes=[2,8,16]: no question has 8, 16 answers; the most are 4\n")
    run = ccfw(tmp_path, "stage=best_of_n", *given, "best_of_n.sizes=[4]", *CHEAP)
    told = "no question has so many answers with a score and a reward; the most are 3"
    assert (run.code, run.err) == (2, f"ccfw: best_of_n.sizes=[4]: {told}\n")
    run = ccfw(tmp_path, "stage=best_of_n", *given, *CHEAP)
    assert {row["n"] for row in table(run, "best_of_n")} == {"2"}
    report = (run.folder / run.closings["best_of_n"]["out"] / "report.md").read_text("utf-8")
    assert "**N=4 is left out: no question has so many answers with a score and a reward.**" in report


def test_values_out_of_bounds_are_named_at_once(tmp_path: Path) -> None:
    given = ("best_of_n.sizes=[8,4,8]", "norm_match.invalid_outcome=0", "norm_match.invalid_norm_match=3")
    run = ccfw(tmp_path, "stage=norm_match", STARTER, *given, *CHEAP)
    assert (run.code, run.err.splitlines()) == (
        2,
        [
            "ccfw: best_of_n.sizes=[8, 4, 8]: holds 8 more than once",
            "ccfw: norm_match.invalid_outcome=0: input should be greater than or equal to 1",
            "ccfw: norm_match.invalid_norm_match=3: input should be less than or equal to 2",
        ],
    )


def test_a_file_of_answers_with_mistakes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    rows = [candidate(1, 1, 2.0), candidate(1, 1, 3.0), candidate(1, 2, 2.0) | {"score": "good"}]
    lines(tmp_path / "answers.jsonl", [*rows, candidate(2, 1, 1.0) | {"policy": ""}])
    run = ccfw(tmp_path, "stage=best_of_n", "best_of_n.candidates=answers.jsonl", "+rewards.scorers.r=r.csv", *CHEAP)
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: best_of_n.candidates=answers.jsonl: line 2: q1::1 stands twice",
        "ccfw: best_of_n.candidates=answers.jsonl: line 3: score is not a number",
        "ccfw: best_of_n.candidates=answers.jsonl: line 4: no policy",
    ]


def test_a_judges_scores_choose_by_the_outcome(tmp_path: Path) -> None:
    lines(tmp_path / "answers.jsonl", [candidate(1, k, float(k)) for k in (1, 2, 3, 4)])
    rows = [("item", "rater", "metric", "score")]
    rows += [(f"q1::{k}", "j", metric, str(k if metric == "outcome" else -k)) for k in (1, 2, 3, 4) for metric in Scale]
    with (tmp_path / "scores.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    given = ("best_of_n.candidates=answers.jsonl", "+rewards.scorers.judge=scores.csv", "best_of_n.sizes=[4]")
    run = ccfw(tmp_path, "stage=best_of_n", *given, *CHEAP)
    assert {row["selector"]: float(row["score"]) for row in table(run, "best_of_n")}["judge"] == 4.0


# ---- norm_match


def settings(tmp_path: Path, **methods: Any) -> Settings:
    raw = content("scripted", workspace=str(tmp_path / "workspace"))
    raw["dataset"] = {"name": "normcompass_starter", "path": None}
    raw["crisp"]["cultures"] = ["Japan"]
    raw["crisp"]["responses"] |= {
        "k": 1,
        "policies": {
            name: raw_model("scripted", name=name, provider_model=f"openai/{name}") for name in ("old", "new")
        },
    }
    raw["norm_match"] |= {"methods": methods}
    raw["report"]["shown"] = 0
    raw["bootstrap"]["resamples"] = 50
    return Settings.model_validate(raw)


def store(context: Context, name: str, outcome: int, match: int, invalid: int, missing: int = 0) -> None:
    """Write the answers of a policy to every situation but the last few, the first few of them unreadable."""
    policy = context.settings.policies[name]
    (member,) = context.settings.judge.members.values()
    answers, scores = [], []
    found = shipped("Japan")
    for place, each in enumerate(found[: len(found) - missing]):
        failure = Failure(kind=FailureKind.UNPARSED, detail="no JSON") if place < invalid else None
        key = f"{each.situation_id}::{name}::1"
        answers.append(
            ResponseRecord(
                response_id=key,
                situation_id=each.situation_id,
                norm_id=each.norm.norm_id,
                culture="Japan",
                policy=name,
                number=1,
                answer="" if failure else "Do it.",
                reasoning="" if failure else "Because.",
                failure=failure,
            )
        )
        for scale, score in ((Scale.OUTCOME, outcome), (Scale.NORM_MATCH, match)):
            if failure is None:
                own = {"response_id": key, "situation_id": each.situation_id, "norm_id": each.norm.norm_id}
                more = {"policy": name, "judge": member.name, "failure": None, "evidence": "", "reason": ""}
                scores.append(ResponseScore(score_id=f"{key}::{scale}", scale=scale, score=score, **own, **more))
    folder = responses.folder(context, policy)
    write_lines(folder / "records.jsonl", answers)
    write_lines(responses.scores_folder(context, policy, member) / "records.jsonl", scores)


def test_methods_are_held_against_the_base_over_valid_and_over_all_answers(tmp_path: Path) -> None:
    with asyncio.Runner() as runner, closing(Context(settings(tmp_path, base="old", tuned="new"), runner)) as context:
        store(context, "old", outcome=3, match=0, invalid=1)
        store(context, "new", outcome=4, match=2, invalid=0, missing=1)
        out = norm_match.run(context).out
    n = len(shipped("Japan"))

    def rows(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((out / f"{name}.csv").read_text("utf-8").splitlines()))

    valid, every = ({row["method"]: row for row in rows(name)} for name in ("table_27", "table_5"))
    assert (float(valid["base"]["outcome"]), float(valid["tuned"]["norm_match"])) == (3.0, 2.0)
    lost = {name: [int(row[key]) for key in ("invalid", "missing")] for name, row in valid.items()}
    assert lost == {"base": [1, 0], "tuned": [0, 1]}
    assert float(every["base"]["outcome"]) == pytest.approx((3 * (n - 1) + 1) / n, abs=1e-6)
    assert float(every["tuned"]["outcome_gain"]) == pytest.approx((n - 2 + 3) / (n - 1), abs=1e-6)
    assert {(r["base"], r["method"], float(r["gain"]), r["n"]) for r in rows("table_28")} == {
        ("0.000000", "base", 0.0, str(n - 2)),
        ("0.000000", "tuned", 1.0, str(n - 2)),
    }


def test_methods_that_do_not_pair_up_or_have_no_answers_are_named_at_once(tmp_path: Path) -> None:
    given = ("crisp.responses.policies=[smollm2,scripted]", "judge=gpt5mini", "model=scripted")
    methods = "+norm_match.methods={base: [smollm2, scripted], crisp: scripted, ngs: [gpt5mini, smollm2]}"
    run = ccfw(tmp_path, "stage=norm_match", STARTER, *given, methods, *CHEAP)
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: norm_match.methods.crisp: 1 policies, and the first method has 2",
        "ccfw: norm_match.methods.ngs=gpt5mini: not among crisp.responses.policies: smollm2, scripted",
    ]
