"""What a stage works with, and what it leaves behind: counts, a manifest, one closing line."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ccfw import __version__
from ccfw.datasets import Dataset, load
from ccfw.errors import RequestError
from ccfw.llm.budget import Budget, of_the_process
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.limiter import Limiter
from ccfw.prompts import PromptSet
from ccfw.records import LanguageMode
from ccfw.resources import resource
from ccfw.selection import Criteria, Outline, choose, problems
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stop import Stop
from ccfw.store import Output
from ccfw.terminal import printable

log = logging.getLogger(__name__)
Status = Literal["ok", "partial", "failed"]
_APART = re.compile(r"[\s'\"\\]")
_RECORDED = ("hydra-core", "litellm", "pydantic", "numpy")


@dataclass
class StageResult:
    """What a stage came to; ``line`` is printed and ``manifest.json`` holds the same."""

    stage: str
    out: Path
    done: int = 0
    failed: int = 0
    skipped: int = 0
    meter: Meter = field(default_factory=Meter)
    reason: str | None = None
    """Why most of what failed did."""
    stopped: str | None = None
    """Why the stage ended early: an interruption, a budget that is spent, a disk that is full."""
    empty: str | None = None
    """Why, though nothing broke, there is nothing for whatever follows."""
    interrupted: bool = False
    """Whether a person or the system ended it, so that nothing may follow."""

    def add(self, part: StageResult) -> None:
        """Add the counts of a part, and stand where it left its output."""
        self.out = part.out
        self.done += part.done
        self.failed += part.failed
        self.skipped += part.skipped
        self.meter.add(part.meter)
        self.interrupted = part.interrupted
        self.stopped = part.stopped or self.stopped
        self.reason = part.reason or self.reason
        self.empty = part.empty or self.empty

    @property
    def status(self) -> Status:
        """``ok``: nothing failed; ``failed``: nothing is there; ``partial``: something between, or stopped early."""
        if self.interrupted or self.stopped:
            return "partial"
        if self.empty:
            return "failed"
        if not self.failed:
            return "ok"
        return "partial" if self.done + self.skipped else "failed"

    def closing(self) -> dict[str, Any]:
        """Return the fields of the closing line."""
        return {
            "stage": self.stage,
            "status": self.status,
            "done": self.done,
            "failed": self.failed,
            "skipped": self.skipped,
            "calls": self.meter.calls,
            "cached": self.meter.cached,
            "cost": self.meter.cost_text,
            "out": str(self.out),
        }

    def line(self) -> str:
        """Return the closing line; a value that is no single word is quoted as a shell would."""
        return "ccfw " + " ".join(f"{key}={_word(str(value))}" for key, value in self.closing().items())


def _word(text: str) -> str:
    return quote(shown) if _APART.search(shown := printable(text)) else shown


@dataclass
class Context:
    """One job: its settings, its ledger, its event loop."""

    settings: Settings
    runner: asyncio.Runner
    stop: Stop = field(default_factory=Stop)
    written: dict[str, Path] = field(default_factory=dict)
    """Where a stage of this job wrote what a later one reads, whatever others store in the workspace meanwhile."""
    _limiters: dict[str, Limiter] = field(default_factory=dict)
    _clients: dict[tuple[str, int], Client] = field(default_factory=dict)
    _prompts: dict[str, PromptSet] = field(default_factory=dict)

    @cached_property
    def ledger(self) -> Ledger:
        """The call ledger of the workspace, opened when it is first needed."""
        return Ledger(self.ledger_path, self.stop)

    @property
    def ledger_path(self) -> Path:
        """Where the ledger is, if it is there yet."""
        return Path(self.settings.workspace) / "ledger.sqlite"

    def close(self) -> None:
        """Close the ledger, if it was ever opened."""
        if "ledger" in self.__dict__:
            self.ledger.close()

    @cached_property
    def dataset(self) -> Dataset:
        """The scenarios that the job reads."""
        return load(self.settings.dataset, Path(self.settings.workspace) / ".datasets")

    @property
    def criteria(self) -> Criteria:
        """What the job asks scenarios, or seeds, to be."""
        settings = self.settings
        return Criteria(
            tiers=settings.trap.tiers,
            regions=settings.region,
            identities=settings.identity,
            domains=settings.domain,
            subdomains=settings.subdomain,
            ages=settings.age,
            genders=settings.gender,
            splits=settings.split,
            ids=settings.ids,
        )

    @cached_property
    def selection(self) -> tuple[Outline, ...]:
        """The scenarios that the job takes.

        Raises ``RequestError`` with every value that no scenario has, or when one lacks the language that is asked for.
        """
        settings, criteria = self.settings, self.criteria
        found = problems(self.dataset.outlines, criteria)
        if found:
            raise RequestError(found)
        chosen = choose(self.dataset.outlines, criteria, settings.limit, settings.seed)
        lacking = [each.seed.seed_id for each in chosen if not each.native]
        if lacking and LanguageMode.NATIVE in settings.language.modes:
            told = f"{len(lacking)} of {len(chosen)} scenarios have no message in the user's language, as {lacking[0]}"
            raise RequestError([f"language={settings.language.name}: {told}; language=english takes them"])
        return chosen

    @property
    def planned(self) -> list[tuple[Outline, LanguageMode]]:
        """The dialogues that the job asks for: scenarios × language modes."""
        return [(scenario, language) for scenario in self.selection for language in self.settings.language.modes]

    def prompts(self, model: ModelConfig) -> PromptSet:
        """Return the prompts that a model gets, read once a job."""
        style = self.settings.prompt_style(model)
        if style not in self._prompts:
            self._prompts[style] = PromptSet(resource("prompts"), style)
        return self._prompts[style]

    def client(self, model: ModelConfig, meter: Meter) -> Client:
        """Return the stage's client of a model; roles that one model plays share it, with its limits."""
        key = (model.model_dump_json(), id(meter))
        if key not in self._clients:
            self._clients[key] = Client(
                model, self.ledger, meter, budget=self.budget, stop=self.stop, limiter=self._limiter(model)
            )
        return self._clients[key]

    def _limiter(self, model: ModelConfig) -> Limiter:
        """Return the limit on a model's calls, which outlives the stages: a provider does not forget between them."""
        where = f"{model.api_base}\n{model.provider_model}"
        return self._limiters.setdefault(where, Limiter(model.min_in_flight, model.max_in_flight))

    @cached_property
    def budget(self) -> Budget:
        """What the calls of the whole command may cost."""
        return of_the_process(self.settings.budget)

    def output(self, stage: str, fingerprint: str) -> Output:
        """Return the output folder of a stage."""
        return Output(Path(self.settings.workspace) / self.settings.dataset.name / stage / fingerprint, self.stop)

    def manifest(self, output: Output, result: StageResult, parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Return the content of ``manifest.json``: closing line, fingerprint, settings, versions.

        ``paid`` is what every run so far paid for the output; a run that repeats nothing adds nothing.
        """
        paid = _paid(output)
        if paid is None and output.fresh:
            paid = _Paid()  # what came from the ledger was paid for other outputs
        elif paid is None:
            # a run that was killed left no manifest: what it paid for came from the ledger,
            # or is in records whose calls nobody counted
            paid = _Paid(usd=result.meter.cached_cost, unpriced_calls=result.skipped)
        return {
            **result.closing(),
            "paid": {
                "usd": paid.usd + result.meter.cost,
                "unpriced_calls": paid.unpriced_calls + result.meter.unpriced,
                "lost_calls": paid.lost_calls + result.meter.lost,
                "lost_usd_at_most": paid.lost_usd_at_most + result.meter.lost_cost,
            },
            "fingerprint_of": dict(parts),
            "settings": self.settings.model_dump(mode="json"),
            "versions": {"ccfw": __version__, "python": platform.python_version()} | {n: version(n) for n in _RECORDED},
            "ended": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            **more,
        }


class _Paid(BaseModel):
    """What earlier runs noted that they paid for an output."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    usd: Annotated[float, Field(ge=0)] = 0.0
    unpriced_calls: Annotated[int, Field(ge=0)] = 0
    lost_calls: Annotated[int, Field(ge=0)] = 0
    lost_usd_at_most: Annotated[float, Field(ge=0)] = 0.0


def _paid(output: Output) -> _Paid | None:
    """Return what an output's manifest says was paid for it; what somebody made unreadable is said and left out."""
    noted = output.read_manifest().get("paid")
    if not noted:
        return None
    try:
        return _Paid.model_validate(noted)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, ("paid", *first["loc"])))
        log.warning("%s: %s: %s; what earlier runs paid is not counted", output.manifest, where, first["msg"])
        return None
