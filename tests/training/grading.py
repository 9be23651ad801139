"""A judge whose scores follow from the marks in what it reads, and a job of GRPO that asks it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ccfw.settings import Settings
from tests.fakes.faults import Fault
from tests.fakes.provider import FakeProvider
from tests.fakes.wire import FakeReply, FakeRequest
from tests.samples import ROOT, raw_model
from tests.test_settings import content

_MARK = re.compile(r"mark (\d)")


@dataclass
class Grading:
    """Norm Match is the mark of the reasoning, the outcome that of the advice; ``spoil`` may give another reply."""

    spoil: Callable[[FakeRequest], FakeReply | Fault | str | None] = field(default=lambda _: None)

    def __call__(self, request: FakeRequest) -> FakeReply | Fault | str:
        other = self.spoil(request)
        if other is not None:
            return other
        marks = _MARK.findall("\n".join(request.said("user")))
        mark = marks[0] if request.schema_name == "crisp_norm_match" else marks[-1]
        return json.dumps({"evidence": "it says", "reason": "so", "score": int(mark)})


def judge(url: str, name: str) -> dict[str, Any]:
    """Return a judge of one member that the provider plays."""
    member = raw_model("scripted", name=name, provider_model=f"openai/{name}", api_base=url, attempts=1)
    return {"name": name, "rubric": "cultureconverse", "aggregation": "mean", "members": {name: member}}


def option(group: str, name: str) -> dict[str, Any]:
    """Return an option as its file has it."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "conf" / group / f"{name}.yaml").read_text("utf-8"))
    return loaded


WATCH: dict[str, Any] = dict.fromkeys(
    ("gold_drop", "kl", "truncated", "zero_variance", "repetition", "length_correlation", "unscored", "unrewarded")
)


def settings(folder: Path, weights: Path, provider: FakeProvider, **grpo: Any) -> Settings:
    """Return a job that optimises ``weights/policy`` for ``weights/reward`` and judges that the provider plays."""
    raw = content("scripted", workspace=str(folder / "workspace"))
    raw["model"]["api_base"] = provider.base_url
    raw["stage"] = {"name": "grpo", "summary": "", "runs": ["grpo"]}
    raw["dataset"] = {"name": "normcompass_starter", "path": None}
    raw["crisp"]["cultures"] = ["Japan"]
    raw["judge"] = judge(provider.base_url, "gold")
    raw["rewards"] |= {"judge": judge(provider.base_url, "guide"), "max_tokens": 256}
    raw["report"]["shown"], raw["bootstrap"]["resamples"] = 0, 50
    own = {"path": str(weights / "policy"), "package": None, "gguf": None}
    raw["policy"] = option("policy", "smollm2") | {"name": "tiny", "lora": None}
    raw["policy"]["weights"] |= own | {"parameters": 0.01, "layers": 1, "hidden": 16, "key_width": 16, "vocabulary": 20}
    terms = {"reward_model": str(weights / "reward"), "held_out": 0.3, "lam": 1.0, "format_weight": 0.5}
    terms |= {"steps": 4, "questions": 2, "group": 4, "micro_batch": 8, "max_completion_tokens": 1, "beta": 0.0}
    terms |= {"learning_rate": 0.01, "mask_truncated": False, "save_every": 2, "gold": "judge", "temperature": 1.0}
    watch = {"every": 2, "questions": 3, "window": 2, "patience": 2} | WATCH | grpo.pop("monitor", {})
    raw["grpo"] |= terms | {"monitor": watch} | grpo
    return Settings.model_validate(raw)
