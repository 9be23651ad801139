"""Files of questions in the form of CulShield and CultureForest, and a provider that errs on them in each way.

The model under test is told what to reply by the question itself: a word after ``#``. The verifier is told by the
answer: ``sat``, ``neu`` or ``vio``, or how it fails.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from tests.fakes.faults import SERVER_ERROR, Fault
from tests.fakes.wire import FakeReply, FakeRequest

LABELS = ("Satisfy", "Neutral", "Violate")
SHARES = {"sat": (0.8, 0.15, 0.05), "neu": (0.1, 0.8, 0.1), "vio": (0.05, 0.15, 0.8)}
"""What the verifier's tokens say of the three labels."""
PLAIN = {"Yes", "No", "maybe", *SHARES, "mute", "wordy", "rare"}
"""Replies that are no JSON."""
BEGINNING = ("{", '"Answer', '": "')


def shield(folder: Path, rows: list[tuple[str, str, str]]) -> str:
    """Write CulShield's file: country, what the reply is to be, the right answer."""
    content = [{"country": c, "query_en": f"Is it so? #{n}-{t}", "answer": a} for n, (c, t, a) in enumerate(rows)]
    (folder / "explicit.json").write_text(json.dumps(content), "utf-8")
    return "external.culshield_questions=explicit.json"


def forest(folder: Path, questions: dict[str, dict[str, Any]], acceptability: dict[str, str]) -> tuple[str, str]:
    """Write CultureForest's folder: by id ``country``, ``easy``, ``medium`` (four), ``hard`` and ``norms``."""
    for key, each in questions.items():
        entry = {
            "uuid": key,
            "Easy": {"Question_MCQ": f"{key} easy #{each['easy']}", "Answer_Key_Shuffle": "B"},
            "Medium": {f"Question_Judge{n}": f"{key} option {n} #{told}" for n, told in enumerate(each["medium"], 1)},
            "Open": {"Question_Open": f"{key} open #{each['hard']}"},
            "Open_End": f"The background of {key}.",
            "Norm_Bundle": {
                "Norms": {f"Norm_{n}": {"norm_id": i, "norm": f"norm {i}"} for n, i in enumerate(each["norms"], 1)}
            },
        }
        path = folder / "forest" / each["country"] / "Dining.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    (folder / "norms.json").write_text(
        json.dumps({name: {"norm": "n", "acceptability": value} for name, value in acceptability.items()}), "utf-8"
    )
    return "external.cultureforest_questions=forest", "external.cultureforest_norms=norms.json"


def play(request: FakeRequest) -> FakeReply | Fault | str:
    """Be the model under test, or its verifier."""
    text = request.said("user")[-1]
    if request.schema_name == "external_verdict":
        return _verify(text)
    told = re.findall(r"#(?:\d+-)?(\S+)", text)[0].split("/")
    said: str = told[int(request.body["seed"]) % len(told)]  # a sample each, in turn
    if said == "down":
        return SERVER_ERROR
    if said == "empty":
        return FakeReply("")
    if said == "filtered":
        return FakeReply("x", finish_reason="content_filter")
    forms = {"thinks": '<think>{"Answer": "C"}</think>{"Answer": "B"}', "escaped": '{\\"Answer\\": \\"true\\"}'}
    forms |= {"thinksyes": "<think>No.</think>Yes", "chat": "Let me see: B."}
    if said in forms:
        return forms[said]
    return (
        said
        if said in ("Yes", "No", "maybe", "sat", "neu", "vio", "mute", "wordy", "rare")
        else json.dumps({"Answer": said})
    )


def _verify(text: str) -> FakeReply | Fault:
    said = re.findall(r'^"(\w+)"$', text, re.MULTILINE)[0]
    if said == "mute":  # a server without log-probabilities
        return FakeReply('{"Answer": "Satisfy"}')
    if said == "wordy":
        return FakeReply("Well.", tokens=[("Well", {"Well": -0.1}), (".", {".": -0.1})])
    sat, neu, vio = SHARES.get(said, (0.5, 0.25, 0.25))
    # half of what a model gives to "Satisfy" goes to a longer first token, and words that are no label take some too
    place = {"S": sat / 4, "Satis": sat / 4, "Ne": neu / 2, "V": vio / 2, "Maybe": 0.5}
    if said == "rare":  # Violate may be anything up to a quarter of Satisfy's
        place = {"Satis": 0.4, "Ne": 0.3, "Maybe": 0.1}
    logs = {token: math.log(share) for token, share in place.items()}
    tokens = [(token, {token: -0.1}) for token in BEGINNING] + [("Satis", logs), ("fy", {}), ('"}', {})]
    return FakeReply('{"Answer": "Satisfy"}', tokens=tokens)
