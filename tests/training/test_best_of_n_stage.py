"""From answers to Best-of-N as a user gets there: policies of scripted quality, k = 16, and every kind of scorer."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.training.scoring import load
from ccfw.training.texts import Text, situation_text
from tests.e2e.running import Run, ccfw, own_options, read_lines
from tests.fakes.provider import FakeProvider
from tests.fakes.wire import FakeRequest
from tests.training import tiny
from tests.training.grading import Grading
from tests.training.test_best_of_n import by_enumeration

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.filterwarnings("ignore")]
SIZES = (4, 8, 16)
SELECTORS = ("rm", "file", "outcome", "grounding")


def play(request: FakeRequest) -> str | None:
    """Answer by place and take, *able* better than *plain*; the other judge is two points off on some answers."""
    text = "".join(request.said("user"))
    if request.schema_name == "crisp_response":
        turn = sum(text.encode()) + 7 * int(request.body.get("seed", 0))
        mark = min(5, 1 + turn % 5 + (turn % 3 if request.model == "able" else 0))
        if turn % 13 == 12:
            return "Just wait."
        return json.dumps({"answer": f"Follow mark {mark} w{turn % 30} .", "reasoning": f"It says mark {turn % 3} ."})
    if request.model == "other" and request.schema_name == "crisp_outcome":
        mark = int(re.findall(r"mark (\d)", text)[-1])
        off = 2 if len(text) % 3 == 0 else 0
        return json.dumps({"evidence": "it says", "reason": "so", "score": abs(mark - off) or 1})
    return None


@dataclass(frozen=True)
class Chosen:
    """A job that chose, again, and what it was told beforehand."""

    responses: Run
    planned: Run
    keyless: Run
    first: Run
    again: Run
    reward_model: Path


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Chosen:
    folder = tmp_path_factory.mktemp("job")
    situations = [each for each in read_situations(shipped_folder()) if each.norm.culture == "Japan"]
    with FakeProvider(Grading(play)) as provider:
        conf = own_options(folder, provider.base_url, ["able", "plain", "gold", "other"])
        locked = (conf / "model" / "other.yaml").read_text("utf-8").replace("name: other", "name: locked")
        (conf / "model" / "locked.yaml").write_text(locked.replace("api_key_env: null", "api_key_env: LOCKED"), "utf-8")
        judge = (conf / "judge" / "other_judge.yaml").read_text("utf-8").replace("other", "locked")
        (conf / "judge" / "locked_judge.yaml").write_text(judge, "utf-8")
        line: tuple[str, ...] = (
            "--config-dir",
            str(conf),
            "dataset=normcompass_starter",
            "crisp.cultures=Japan",
            "model=scripted",
        )
        line += ("crisp.responses.policies=[able,plain]", "crisp.responses.k=16", "judge=gold_judge", "limit=4")
        line += ("tracking=none", "report.shown=0", "bootstrap.resamples=100")
        responses = ccfw(folder, "stage=responses", *line, provider=provider)
        assert responses.code == 0, responses.err
        model = tiny.reward_model(folder / "rm")
        rows = [
            {"id": f"{each.situation_id}::{policy}::{take}", "reward": (7 * take + len(policy)) % 5}
            for each in situations
            for policy in ("able", "plain")
            for take in range(1, 17)
        ]
        (folder / "rewards.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        scorers = "{rm: rm, file: rewards.jsonl, outcome: judge_outcome, grounding: judge_norm_match}"
        line += (f"+rewards.scorers={scorers}", "best_of_n.sizes=[4,8,16]", "rewards.max_tokens=256")
        other, locked = ("stage=best_of_n", "judge@rewards.judge=other_judge"), "judge@rewards.judge=locked_judge"
        planned = ccfw(folder, *other, "dry_run=true", *line, provider=provider)
        keyless = ccfw(folder, other[0], locked, *line, provider=provider)
        first = ccfw(folder, *other, *line, provider=provider)
        again = ccfw(folder, *other, *line, provider=provider)
    return Chosen(responses, planned, keyless, first, again, model)


def table(run: Run, stage: str, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((run.folder / run.closings[stage]["out"] / name).read_text("utf-8").splitlines()))


def answers(run: Run) -> dict[str, dict[str, str]]:
    """Return the stored answers that could be read, by id."""
    folders = run.folder / "workspace" / "crisp" / "responses"
    found = [each for path in folders.glob("*/records.jsonl") for each in read_lines(path)]
    return {each["response_id"]: each for each in found if each["failure"] is None}


def rewards(chosen: Chosen) -> dict[str, dict[str, float]]:
    """Work out every selector's reward of every answer without the stage."""
    found = answers(chosen.responses)
    by_id = {each.situation_id: each for each in read_situations(shipped_folder())}
    model = load(str(chosen.reward_model), max_tokens=256, batch=1)
    texts = [Text(key, situation_text(by_id[each["situation_id"]]), each["answer"]) for key, each in found.items()]
    judged: dict[str, float] = {}
    for request in chosen.first.requests:
        if request.schema_name == "crisp_outcome":
            advice = re.findall(r"Follow mark \d w\d+ \.", "".join(request.said("user")))[-1]
            scene = next(key for key, each in by_id.items() if each.draft.question in "".join(request.said("user")))
            judged[f"{scene} {advice}"] = json.loads(str(Grading(play)(request)))["score"]
    return {
        "rm": {each.text_id: each.reward for each in model.rewards(texts) if each.reward is not None},
        "file": {key: (7 * int(key.split("::")[-1]) + len(key.split("::")[-2])) % 5 for key in found},
        "outcome": {key: judged[f"{each['situation_id']} {each['answer']}"] for key, each in found.items()},
        "grounding": {key: float(re.findall(r"mark (\d)", each["reasoning"])[0]) for key, each in found.items()},
    }


def test_every_selector_gets_what_going_through_all_choices_gives(chosen: Chosen) -> None:
    assert chosen.first.code == 0, chosen.first.err
    given, scores = rewards(chosen), dict[str, int]()
    for row in table(chosen.responses, "responses", "scores.csv"):
        if row["metric"] == "outcome":
            scores[row["item"]] = int(row["score"])
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in scores:
        situation, policy, _ = key.rsplit("::", 2)
        places[policy, situation].append(key)
    rows = {
        (row["policy"], int(row["n"]), row["selector"]): row
        for row in table(chosen.first, "best_of_n", "best_of_n.csv")
    }
    for n in SIZES:
        for name in ("random", *SELECTORS, "oracle"):
            by_policy: dict[str, list[float]] = defaultdict(list)
            for (policy, _), keys in places.items():
                if len(keys) < n:
                    continue
                own = [scores[key] for key in keys]
                order = (
                    own if name == "oracle" else [0] * len(own) if name == "random" else [given[name][k] for k in keys]
                )
                by_policy[policy].append(by_enumeration(order, own, n))
            for policy, values in by_policy.items():
                assert float(rows[policy, n, name]["score"]) == pytest.approx(fmean(values), abs=1e-6), (
                    n,
                    name,
                    policy,
                )
                assert int(rows[policy, n, name]["questions"]) == len(values)
            pooled = [value for values in by_policy.values() for value in values]
            if pooled:
                assert float(rows["all", n, name]["score"]) == pytest.approx(fmean(pooled), abs=1e-6)
    assert {n for _, n, _ in rows} >= {4, 8}


def test_the_table_has_chance_the_ceiling_and_gains_paired_by_question(chosen: Chosen) -> None:
    rows = table(chosen.first, "best_of_n", "best_of_n.csv")
    assert {row["policy"] for row in rows} == {"all", "able", "plain"}
    for row in rows:
        n = (row["policy"], row["n"])
        chance, ceiling = (
            next(r for r in rows if (r["policy"], r["n"]) == n and r["selector"] == s) for s in ("random", "oracle")
        )
        assert float(row["gain"]) == pytest.approx(float(row["score"]) - float(chance["score"]), abs=2e-6)
        assert float(row["score"]) <= float(ceiling["score"]) + 1e-9
        assert (row["gain_lo"], row["gain_hi"]) == ("", "")  # four norms allow no interval
        if row["selector"] == "oracle":
            assert float(row["share"]) == pytest.approx(1.0)
    report = (chosen.first.folder / chosen.first.closings["best_of_n"]["out"] / "report.md").read_text("utf-8")
    assert "| all policies | 4 | random |" in report
    assert "oracle (the judge itself)" in report


def test_a_judge_among_the_scorers_is_planned_and_paid_once(chosen: Chosen) -> None:
    asked = {(each.model, each.schema_name) for each in chosen.first.requests}
    assert asked == {("other", "crisp_outcome"), ("other", "crisp_norm_match")}
    closing = chosen.first.closings["best_of_n"]
    assert closing["calls"] == len(chosen.first.requests)
    plan = next(line for line in chosen.planned.out.splitlines() if line.startswith("plan "))
    assert re.search(r" best_of_n=(\d+)\.\.", plan)
    assert int(re.search(r" best_of_n=(\d+)\.\.", plan)[1]) == closing["calls"]  # type: ignore[index]
    assert chosen.planned.requests == ()
    row = next(line for line in chosen.planned.out.splitlines() if line.split()[:3] == ["best_of_n", "judge", "other"])
    assert row.split()[3] == str(closing["calls"])
    assert chosen.again.requests == ()
    assert chosen.again.closings["best_of_n"]["calls"] == 0
    assert table(chosen.again, "best_of_n", "best_of_n.csv") == table(chosen.first, "best_of_n", "best_of_n.csv")


def test_a_key_that_the_scoring_judge_lacks_is_said_before_anything_else(chosen: Chosen) -> None:
    assert (chosen.keyless.code, chosen.keyless.requests) == (2, ())
    assert chosen.keyless.err == (
        "ccfw: rewards.judge.members.locked=locked: the environment variable LOCKED is not set\n"
    )


def test_a_judge_cannot_score_what_it_cannot_read(tmp_path: Path) -> None:
    rows = [{"response_id": f"a{i}", "question_id": "q", "policy": "p", "score": i} for i in range(4)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    line = ("tracking=none", "model=scripted", "dataset=normcompass_starter", "stage=best_of_n")
    scorers = "+rewards.scorers={one: judge_outcome, two: judge_norm_match}"
    run = ccfw(tmp_path, *line, "best_of_n.candidates=answers.jsonl", scorers)
    assert (run.code, run.err.splitlines()) == (
        2,
        [
            f"ccfw: rewards.scorers.{name}=judge_{scale}: judges score answers to situations, and those of a file have "
            "none"
            for name, scale in (("one", "outcome"), ("two", "norm_match"))
        ],
    )
    run = ccfw(tmp_path, *line, "best_of_n.candidates=triplets", scorers)
    assert (run.code, run.err.splitlines()) == (
        2,
        [
            "ccfw: best_of_n.sizes=[2,4]: no question has 4 answers; the most are 3",
            "ccfw: rewards.scorers.two=judge_norm_match: Norm Match is of the reasoning, and these answers have none",
        ],
    )
