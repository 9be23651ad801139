"""What the stages of paper 2 share: where their outputs are, how they have something written, how they report."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ccfw.crisp.norms import Candidate
from ccfw.crisp.records import Loss, Norm, Reason
from ccfw.crisp.tally import Tally
from ccfw.datasets import MAKERS, NORMCOMPASS
from ccfw.errors import RequestError
from ccfw.llm.asking import Asked
from ccfw.llm.client import Client
from ccfw.prompts import PromptSet
from ccfw.records import Failure, FailureKind, Record
from ccfw.report.agreement import Table
from ccfw.report.crisp import counts_table, losses_table, page
from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from ccfw.stages.context import Context, StageResult
from ccfw.stages.drafting import Drafting
from ccfw.stages.judged import paid
from ccfw.store import Output, fingerprint, write_atomically

log = logging.getLogger(__name__)
ROOT = "crisp"
_REMARK = 4000
"""Characters of a remark that are kept."""
_SHOWN = 60
"""Options written out in one message."""


def folder_of(context: Context, name: str, content: Mapping[str, Any]) -> Path:
    """Return where a stage's output is."""
    return Path(context.settings.workspace) / ROOT / name / fingerprint(content)


@dataclass(frozen=True)
class Patience:
    """How patiently something is asked for that nobody audits (``ccfw.stages.drafting.Terms``)."""

    tries: int
    temperature: float | None
    review_tries: int = 0
    audit_temperature: float | None = None


def drafting(context: Context, result: StageResult, what: str, terms: Patience) -> Drafting:
    """Return the generator of a stage, for what is checked and not audited."""
    settings = context.settings
    return Drafting(
        result.stage,
        what,
        settings,
        terms,
        generator=context.client(settings.generator, result.meter),
        auditor=None,
        prompts=context.prompts(settings.generator),
        audit_prompts=None,
    )


@dataclass(frozen=True)
class Speaker:
    """A model in a role, with its prompts."""

    model: ModelConfig
    client: Client
    prompts: PromptSet

    @classmethod
    def of(cls, context: Context, model: ModelConfig, result: StageResult) -> Speaker:
        """Return a model with the prompts of its size, its calls counted into a result."""
        return cls(model, context.client(model, result.meter), context.prompts(model))


class Due(NamedTuple):
    """What a role's model would be asked."""

    role: str
    model: ModelConfig
    least: int
    """Calls."""
    most: int
    expected: int | None = None
    """Requests, where they are not the least calls."""


def all_calls(due: Iterable[Due]) -> tuple[int, int]:
    """Return the least and the most calls of all roles."""
    every = list(due)
    return sum(each.least for each in every), sum(each.most for each in every)


def loss_of(failure: Failure, reason: Reason) -> Loss:
    """Return a failure as a loss: a provider's as such, any other under the given reason."""
    broken = failure.kind is FailureKind.INFRASTRUCTURE
    return Loss(reason=Reason.INFRASTRUCTURE if broken else reason, detail=failure.detail)


def failure_of(asked: Asked[Any]) -> Failure:
    """Return why there is no value."""
    assert asked.failure is not None
    return asked.failure


def shortened(text: str) -> str:
    """Return a judge's or a verifier's remark as it is kept: nothing bounds what a model writes beside its score."""
    return text if len(text) <= _REMARK else f"{text[:_REMARK]} … ({len(text)} characters in all)"


def write_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records as JSON lines, whole or not at all."""
    write_atomically(path, "".join(record.model_dump_json() + "\n" for record in records))


def region_of(norm: Norm | Candidate) -> str:
    """Return the region by which ``region=`` selects a norm: ``none`` where its culture is none of the ten."""
    return norm.region.value if norm.region else "none"


def make_first(settings: Settings, stage: str) -> str:
    """Return what to do where a stage finds nothing of the one before it; a dry run is told what would cost it all."""
    planned = f"; what all of it would take: stage={ROOT} dataset={NORMCOMPASS} dry_run=true"
    return f"make them first: stage={stage}{planned if settings.dry_run else ''}"


def conclude(
    context: Context,
    output: Output,
    result: StageResult,
    content: Mapping[str, Any],
    tally: Tally,
    title: str,
    tables: Sequence[Table] = (),
    metrics: Mapping[str, float] = {},
    notes: Sequence[str] = (),
    parts: Iterable[Output] = (),
    there: int | None = None,
) -> None:
    """Write report, tables and manifest of a stage, and log them; ``parts`` are outputs that its cost is of.

    ``there`` is how many things whatever follows will find, those kept if it is not given. When there are none, and
    nobody stopped the stage, the result says so.
    """
    tally.settle()
    if not (tally.kept if there is None else there) and not result.stopped:
        result.empty = result.empty or _nothing(tally)
        log.warning("stage=%s: %s", result.stage, result.empty)
    every = [counts_table(tally), losses_table(tally), *tables]
    written = [output.folder / "report.md"]
    for table in every:
        written.append(output.folder / f"{table.name}.csv")
        write_atomically(written[-1], table.csv())
    manifest = context.manifest(output, result, content, counts=tally.numbers())
    manifest["paid"] |= costs(parts) or {}
    write_atomically(written[0], page(title, every, manifest["paid"], notes))
    output.write_manifest(manifest)
    numbers = {name: float(count) for name, count in tally.numbers().items()}
    track(context, result.stage, "", content, numbers | dict(metrics), [*written, output.manifest])


def costs(outputs: Iterable[Output]) -> dict[str, float] | None:
    """Return what some outputs cost together, as page and manifest take it; ``None`` where none says."""
    known = [each for each in map(paid, outputs) if each is not None]
    if not known:
        return None
    return {"usd": sum(each.usd for each in known), "unpriced_calls": sum(each.unpriced_calls for each in known)}


def track(
    context: Context,
    stage: str,
    name: str,
    content: Mapping[str, Any],
    metrics: Mapping[str, float],
    files: Sequence[Path],
    curves: Mapping[str, Sequence[tuple[int, float]]] = {},
    params: Mapping[str, str] = {},
    label: str = "",
) -> None:
    """Log a stage, or one policy of it, under the run of the dataset; the same content and figures are logged once.

    ``curves`` are metrics over steps; ``params`` stand beside the roles of the job; ``label`` tells the run from
    others of its stage, in its name alone.
    """
    settings = context.settings
    if settings.tracking.name == "none":
        return
    from ccfw.tracking import Tracked, track_nested

    dataset = NORMCOMPASS if stage in MAKERS else settings.dataset.name  # what they make, whatever else the job reads
    shared = {"dataset": dataset, "sources": ",".join(settings.crisp.norms.sources)}
    parent = Tracked(
        name=f"{ROOT} {dataset}",
        fingerprint=fingerprint({ROOT: shared}),
        tags={"stage": ROOT, **shared},
        params=shared,
        metrics={},
    )
    run = Tracked(
        name=" ".join(filter(None, (stage, name, label))),
        fingerprint=fingerprint({"under": shared, "content": content, "name": name, "metrics": metrics}),
        tags={"stage": stage} | ({"model": name} if name else {}),
        params={**params, **_roles(settings), **shared},
        metrics=metrics,
        files=files,
        curves=curves,
    )
    track_nested(settings, parent, run)


def _nothing(tally: Tally) -> str:
    reasons = ", ".join(f"{reason} {count}" for reason, count in tally.lost.most_common())
    return f"nothing was kept of {tally.taken}" + (f": {reasons}" if reasons else "")


def _roles(settings: Settings) -> dict[str, str]:
    roles = ("generator", "auditor", "reasoner", "judge")
    return {role: getattr(settings, role).name for role in roles} | {"seed": str(settings.seed)}


def chosen(values: Sequence[str], options: Iterable[str], key: str, what: str) -> frozenset[str] | None:
    """Return which values are asked for, ``None`` for all; raise ``RequestError`` for those that there are not."""
    if not values:
        return None
    there = sorted(set(options))
    unknown = [value for value in dict.fromkeys(values) if value not in there]
    if unknown:
        raise RequestError(f"{key}={value}: no {what} has it; {_listed(value, there)}" for value in unknown)
    return frozenset(values)


def _listed(value: str, options: Sequence[str]) -> str:
    if len(options) <= _SHOWN:
        return f"there: {', '.join(options) or 'nothing'}"
    near = difflib.get_close_matches(value, options, 1) or options[:1]
    return f"nearest: {near[0]} ({len(options)} there)"
