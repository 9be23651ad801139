"""A norm-grounding supervisor, trained for real where grades can be learnt, and taken by GRPO in a judge's place."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from ccfw.errors import RequestError
from ccfw.llm import transports
from ccfw.settings import Settings
from ccfw.stages import grpo, responses, supervisor
from ccfw.stages.context import Context
from ccfw.stop import Stop
from ccfw.training.checkpoints import latest_checkpoint
from ccfw.training.reward import save
from ccfw.training.scoring import RewardModel, load
from ccfw.training.supervising import Grade, grounding, read_as
from ccfw.training.supervisor import fit
from ccfw.training.texts import Text, norm_text
from ccfw.training.weights import Loaded
from tests.fakes.provider import FakeProvider
from tests.fakes.wire import FakeRequest
from tests.samples import raw_model
from tests.training import tiny
from tests.training.grading import Grading, settings

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]
HELD = {f"n{i}" for i in range(0, 30, 4)}
TERMS_OF_TRAINING: dict[str, Any] = {"epochs": 12, "learning_rate": 3e-3, "batch": 16, "micro_batch": 16}


def rewards(loaded: Loaded, found: Sequence[Grade]) -> list[float]:
    texts = [Text(each.grade_id, norm_text(each.culture, each.norm), each.reasoning) for each in found]
    return [grounding(each.reward or 0.0) for each in RewardModel(*loaded, max_tokens=64, batch=32).rewards(texts)]


def exact(loaded: Loaded, found: Sequence[Grade]) -> float:
    return sum(read_as(r) == g.score for r, g in zip(rewards(loaded, found), found, strict=True)) / len(found)


@pytest.mark.parametrize("how", [{}, {"top": {"keep": 3, "train": 2}}], ids=["full", "top"])
def test_a_supervisor_learns_whether_a_reasoning_has_the_norm(how: dict[str, Any], tmp_path: Path) -> None:
    every = tiny.grades(800)
    held_out = [each for each in every if each.norm_id in HELD]
    taught = [each for each in every if each.norm_id not in HELD]
    found = fit(tiny.config(**how, **TERMS_OF_TRAINING), tiny.classifier(spread=0.1), taught, tmp_path, 0, Stop())
    assert found.finished
    assert exact(found.loaded, held_out) > 0.8
    # the same reasonings beside another norm: it reads the norm, and not what reasonings are like
    acts = dict(zip(tiny.ACTS, reversed(tiny.ACTS), strict=True))
    swapped = [
        each.model_copy(update={"norm": " ".join(acts.get(word, word) for word in each.norm.split())})
        for each in held_out
    ]
    assert exact(found.loaded, swapped) < 0.5


def test_an_encoder_learns_too(tmp_path: Path) -> None:
    every = [
        each.model_copy(
            update={"reasoning": f"w{7 * i % 30} {('now', 'later', 'please')[i // 3 % 3]}", "score": i // 3 % 3}
        )
        for i, each in enumerate(tiny.grades(300))
    ]
    how = tiny.config(**TERMS_OF_TRAINING | {"epochs": 10, "learning_rate": 2e-3})
    found = fit(how, tiny.classifier(kind="bert", spread=0.1), every[:220], tmp_path, 0, Stop())
    assert exact(found.loaded, every[220:]) > 0.9


def test_a_supervisor_trained_on_from_a_checkpoint_is_the_same_and_is_read_back_by_the_door(tmp_path: Path) -> None:
    how, taught = tiny.config(epochs=2, save_every=3), tiny.grades(32)
    straight = fit(how, tiny.classifier(), taught, tmp_path / "straight", 0, Stop())

    class AfterThree(Stop):
        """Asks to stop once a checkpoint is there."""

        @property
        def interrupted(self) -> bool:
            return latest_checkpoint(tmp_path / "broken") is not None

        @interrupted.setter
        def interrupted(self, value: bool) -> None:
            pass

    first = fit(how, tiny.classifier(), taught, tmp_path / "broken", 0, AfterThree())
    assert (first.finished, 3 <= first.steps < 8) == (False, True)
    second = fit(how, tiny.classifier(seed=5), taught, tmp_path / "broken", 0, Stop())
    assert [each["loss"] for each in second.curve] == pytest.approx([each["loss"] for each in straight.curve], rel=1e-5)
    save(second, tmp_path / "model")
    texts = [Text(each.grade_id, norm_text(each.culture, each.norm), each.reasoning) for each in taught]
    read = load(str(tmp_path / "model"), max_tokens=64, batch=8).rewards(texts)
    assert [grounding(each.reward or 0.0) for each in read] == pytest.approx(rewards(straight.loaded, taught), abs=1e-5)


# ---- the stage


def play(request: FakeRequest) -> str | None:
    """Answer with a mark for each scale, by the question and the take."""
    if request.schema_name != "crisp_response":
        return None
    turn = sum("".join(request.said("user")).encode()) + 5 * int(request.body.get("seed", 0))
    said = {"answer": f"Follow mark {1 + turn % 5} .", "reasoning": f"It says mark {turn % 3} ."}
    return json.dumps(said)


def job(folder: Path, weights: Path, provider: FakeProvider) -> Settings:
    raw = settings(folder, weights, provider, steps=2, supervisor="trained").model_dump(mode="json")
    policy = raw_model("scripted", name="old", provider_model="openai/old", api_base=provider.base_url)
    raw["crisp"]["responses"] |= {"k": 6, "policies": {"old": policy}}
    own = {"path": str(weights / "base"), "package": None, "gguf": None}
    raw["supervisor"] |= {
        "pooling": "last",
        "top": None,
        "epochs": 12,
        "learning_rate": 5e-3,
        "batch": 16,
        "micro_batch": 16,
    }
    raw["supervisor"] |= {"weights": raw["supervisor"]["weights"] | own, "name": "small", "max_tokens": 256}
    return Settings.model_validate(raw)


def test_stored_judgements_become_a_supervisor_that_grpo_takes_in_the_judges_place(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    tiny.answering_policy(weights / "policy")
    tiny.reward_model(weights / "reward")
    loaded = tiny.classifier(spread=0.1)
    loaded.model.save_pretrained(weights / "base")
    loaded.tokenizer.save_pretrained(weights / "base")
    with FakeProvider(Grading(play)) as provider, asyncio.Runner() as runner:
        made = job(tmp_path, weights, provider)
        with closing(Context(made, runner)) as context, context.stop.on_signals():
            assert responses.run(context).status == "ok"
            result = supervisor.run(context)
            again = supervisor.run(context)
            provider.clear()
            optimised = grpo.run(context)
            runner.run(transports.close())
        asked = {each.body["model"] for each in provider.requests}
    rows = {
        row["grader"]: row for row in csv.DictReader((result.out / "agreement.csv").read_text("utf-8").splitlines())
    }
    small, constant = rows["small"], rows["best constant"]
    assert float(small["accuracy"]) > float(constant["accuracy"]) + 0.3
    assert float(small["kappa"]) > 0.8
    assert constant["kappa"] == ""
    card = json.loads((result.out / "model" / "card.json").read_text("utf-8"))
    stored = [json.loads(line) for line in (result.out / "grades.jsonl").read_text("utf-8").splitlines()]
    held = {each["norm_id"] for each in stored} - set(card["trained_norms"])
    assert held
    assert int(small["reasonings"]) == sum(each["norm_id"] in held for each in stored) == result.done
    taught, judged = ([g["score"] for g in stored if (g["norm_id"] in held) == side] for side in (False, True))
    best, middle = max(range(3), key=taught.count), median(taught)
    assert float(constant["accuracy"]) == pytest.approx(judged.count(best) / len(judged), abs=1e-6)
    assert float(constant["mae"]) == pytest.approx(sum(abs(middle - each) for each in judged) / len(judged), abs=1e-6)
    assert (again.skipped, again.done) == (result.done, 0)
    assert (optimised.status, asked) == (
        "ok",
        {"gold"},
    )  # the judge whose Norm Match would be a reward is asked nothing
    curve = list(csv.DictReader((optimised.out / "curve.csv").read_text("utf-8").splitlines()))
    assert all(0.0 < float(row["rewards/norm_grounding/mean"]) < 1.0 for row in curve)


def test_without_reasonings_or_a_supervisor_the_request_says_what_to_do(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    tiny.reward_model(weights / "reward")
    (weights / "policy").mkdir()
    with FakeProvider(Grading()) as provider, asyncio.Runner() as runner:
        made = job(tmp_path, weights, provider)
        with closing(Context(made, runner)) as context:
            for stage in (supervisor, grpo):
                with pytest.raises(RequestError) as raised:
                    stage.run(context)
                assert raised.value.problems == (
                    "stage=supervisor: no reasonings with Norm Match under these settings; collect them with "
                    "stage=responses and otherwise the same line, or give a file: supervisor.pairs=…",
                )
