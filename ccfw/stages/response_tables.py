"""What stage *responses* tells of answers: tables, losses, and scores as ``stage=align`` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ccfw.crisp.rating import blind
from ccfw.crisp.records import Loss, Reason, ResponseRecord, Scale, Situation
from ccfw.records import LanguageMode
from ccfw.report.crisp import SMALL_JUDGE, CultureRow, PolicyRow
from ccfw.report.writing import comma_separated
from ccfw.settings import Settings

if TYPE_CHECKING:
    from ccfw.stages.responses import Collected

_LANGUAGE = LanguageMode.ENGLISH.value


def policy_row(each: Collected, settings: Settings) -> PolicyRow:
    """Summarise one policy; every row uses the same resampling seed, so rows over the same norms pair."""
    valid = _valid(each)
    outcome, match = _means(each, valid, settings)
    return PolicyRow(
        policy=each.name,
        label=each.model.label,
        outcome=outcome,
        norm_match=match,
        valid=len(valid) / len(each.answers) if each.answers else 0.0,
        answers=len(each.answers),
        broken=each.broken,
        unscored=(len(valid) - outcome.n, len(valid) - match.n),
    )


def culture_rows(each: Collected, settings: Settings) -> Iterator[CultureRow]:
    """Summarise one policy culture by culture."""
    by_culture: dict[str, list[ResponseRecord]] = {}
    for answer in _valid(each):
        by_culture.setdefault(answer.culture, []).append(answer)
    for culture, own in sorted(by_culture.items()):
        outcome, match = _means(each, own, settings)
        yield CultureRow(each.name, culture, outcome, match, len({answer.norm_id for answer in own}))


def _valid(each: Collected) -> list[ResponseRecord]:
    return [answer for answer in each.answers.values() if answer.failure is None]


def _means(each: Collected, answers: Sequence[ResponseRecord], settings: Settings) -> list[Any]:
    return clustered_means(
        [[each.scores.get((answer.response_id, scale)) for scale in Scale] for answer in answers],
        [answer.norm_id for answer in answers],
        settings,
    )


def clustered_means(values: Sequence[Sequence[float | None]], norms: Sequence[str], settings: Settings) -> list[Any]:
    """Return the mean of each column with its percentile interval, whole norms drawn; of few norms there is none."""
    import numpy as np

    from ccfw.align.alignment import ALL, Terms
    from ccfw.stats.bootstrap import Interval
    from ccfw.training.figures import means

    columns = len(values[0]) if values else len(Scale)
    array = np.array([[np.nan if x is None else x for x in row] for row in values], dtype=np.float64)
    terms = Terms(settings.seed, settings.bootstrap.resamples, settings.bootstrap.level)
    found = means(array.reshape(-1, columns), norms, terms)
    return [Interval(*figure, n) for figure, n in zip(found.figures[ALL], found.items[ALL], strict=True)]


def metrics(row: PolicyRow) -> dict[str, float]:
    """Return a policy's figures for the tracker."""
    found = {"valid": row.valid, "answers": float(row.answers), "broken": float(row.broken)}
    for name, interval, unscored in zip(Scale, (row.outcome, row.norm_match), row.unscored, strict=True):
        found |= {f"{name.value}_n": float(interval.n), f"{name.value}_unscored": float(unscored)}
        for suffix, value in (("", interval.mean), ("_lo", interval.low), ("_hi", interval.high)):
            if value is not None:
                found[f"{name.value}{suffix}"] = value
    return found


def losses(each: Collected) -> Iterator[tuple[str, Loss | None]]:
    """Yield each answer that came to an end, with why it is of no use; what is not judged yet waits."""
    for key, answer in each.answers.items():
        if answer.failure is not None:
            yield key, Loss(reason=Reason.NO_ANSWER, detail=f"{answer.failure.kind}: {answer.failure.detail}")
            continue
        missing = [(key, scale) for scale in Scale if (key, scale) not in each.scores]
        found = [each.unscored[place] for place in missing if place in each.unscored]
        if found:
            detail = "; ".join(dict.fromkeys(loss.detail for loss in found))
            yield key, found[0].model_copy(update={"detail": detail})
        elif not missing:
            yield key, None
    for key, detail in each.failed.items():
        yield key, Loss(reason=Reason.INFRASTRUCTURE, detail=f"{detail}; the same line tries again")


def losses_csv(every: Sequence[Collected], found: Sequence[Situation]) -> str:
    """Return a line for every answer that is of no use, with the reason in full."""
    cultures = {each.situation_id: each.norm.culture for each in found}
    rows = [
        (key, each.name, situation, cultures.get(situation, ""), loss.reason.value, loss.detail)
        for each in every
        for key, loss in losses(each)
        if loss is not None
        for situation in (key.split("::")[0],)
    ]
    return comma_separated(("item", "policy", "situation", "culture", "reason", "detail"), rows)


def scores_csv(
    every: Sequence[Collected], found: Sequence[Situation], scales: Sequence[Scale], settings: Settings
) -> str:
    """Return every judge's scores as ``stage=align`` reads them, long; the cluster is the norm.

    ``blind`` is the item as the sheets for people have it.
    """
    norms = {each.situation_id: each.norm for each in found}
    rows = []
    for each in every:
        for key, answer in each.answers.items():
            region = norms[answer.situation_id].region
            about = (region or "other", _LANGUAGE, answer.norm_id, answer.culture, blind(key, settings.seed))
            rows += [
                (key, judge, scale.value, str(scores[key, scale]), *about)
                for scale in scales
                for judge, scores in each.by_judge.items()
                if (key, scale) in scores
            ]
    head = ("item", "rater", "metric", "score", "region", "language", "cluster", "culture", "blind")
    return comma_separated(head, rows)


def cautions(settings: Settings) -> list[str]:
    """Return what a reader must know before believing the scores."""
    small = any(member.size == "small" for member in settings.judge.members.values())
    own = sorted(set(settings.policies) & set(settings.judge.members)) if not small else []
    notes = [SMALL_JUDGE] if small else []
    return notes + [f"{name} judges its own answers." for name in own]


def apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Return what tables call each policy: its label, with its name where two have one label."""
    every = list(labels.values())
    return {name: label if every.count(label) == 1 else f"{label} ({name})" for name, label in labels.items()}
