"""One judge against people, written down: the page, the rows, the metrics of its MLflow run. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ccfw.align.alignment import ALL, Alignment, Baseline, Group, Line
from ccfw.humans.study import People
from ccfw.report.agreement import (
    LINE_HEAD,
    Table,
    counted,
    line_cells,
    number,
    percent,
    points,
    signed,
)
from ccfw.report.writing import NONE, as_markdown, comma_separated

TITLES = {"metric": "Agreement by metric", "region": "Agreement by region", "language": "Agreement by language"}


@dataclass(frozen=True)
class Aligned:
    """A judge, or a panel, with all that is known of how it agrees with people."""

    name: str
    label: str
    members: tuple[str, ...]
    aggregation: str
    cost: float | None
    """US dollars for one item in one metric; ``None``: unknown."""
    missing: Mapping[str, Mapping[str, int]]
    """Items that each member has no score for, by the reason."""
    people: People
    baseline: Baseline
    alignment: Alignment


def page(aligned: Aligned, level: float) -> str:
    """Write everything about one judge in Markdown."""
    people, whole = aligned.people, aligned.alignment.consensus[ALL]
    about = [
        f"# {as_markdown(aligned.label)} against people",
        "",
        *(f"- {line}" for line in about_people(people)),
        f"- judge: {as_markdown(', '.join(aligned.members))}"
        + (f", the {aligned.aggregation} of their scores" if len(aligned.members) > 1 else ""),
        f"- compared: {whole.items:,} of {len(people.keys):,}",
        *(f"- {line}" for line in completeness(aligned)),
        f"- cost of one item in one metric: {'unknown' if aligned.cost is None else f'{aligned.cost:.6f} US dollars'}",
        "",
        f"Brackets are {level:.0%} bootstrap intervals over items (dialogues with all their metrics). Bias is judge "
        "minus people: below 0 the judge is the stricter one.",
        "",
    ]
    return "\n".join([*about, *(table.markdown() for table in tables(aligned))])


def about_people(people: People) -> list[str]:
    """Return what people rated, and how many scores they lack, by the reason."""
    items, metrics = counted(people.dialogues, "item"), counted(len(people.metrics), "metric")
    by = counted(people.raters, "person", "people")
    lines = [f"ratings: {items} in {metrics}, {len(people.keys):,} in all, by {by}"]
    if people.missing:
        reasons = ", ".join(f"{as_markdown(reason)} {count:,}" for reason, count in sorted(people.missing.items()))
        lines.append(f"no score of people: {reasons}")
    return lines


def completeness(aligned: Aligned) -> list[str]:
    """Return what scores are missing, a line for each member that lacks some."""
    return [
        f"no score of {as_markdown(member)}: "
        + ", ".join(f"{as_markdown(reason)} {count:,}" for reason, count in sorted(reasons.items()))
        for member, reasons in aligned.missing.items()
        if reasons
    ]


def tables(aligned: Aligned) -> list[Table]:
    """Return Table 3 of one judge, and agreement by metric, region and language."""
    partitions = [partition for partition in TITLES if any(name == partition for name, _ in aligned.people.groups)]
    return [comparisons(aligned), *(by_group(aligned, partition) for partition in partitions), reliability(aligned)]


def comparisons(aligned: Aligned) -> Table:
    """Return the layout of Table 3, with comparisons that are like for like beside the paper's."""
    label, found, baseline = aligned.label, aligned.alignment, aligned.baseline
    rows = [
        ("Human–human (mean pairwise)", baseline.pairs[ALL], False),
        (f"{label} vs each human", found.single, True),
        ("Human vs mean of the others", baseline.others[ALL], False),
        (f"{label} vs mean of all humans but one", found.others, True),
        (f"{label} vs human consensus", found.consensus[ALL], True),
    ]
    return Table(
        "table_3",
        "Agreement with people",
        ("Comparison", "%±1", "MAE", "Bias", "Comparisons"),
        tuple(
            (
                name,
                percent(line.within_one),
                points(line.mae),
                signed(line.bias) if sign else NONE,
                f"{line.items:,}",
            )
            for name, line, sign in rows
        ),
        "A judge against the consensus has an easier target than a human against a human: compare the first two rows "
        "with each other, and the next two.",
    )


def by_group(aligned: Aligned, partition: str) -> Table:
    """Return the layout of Tables 12 and 13, with association, counts and an overall row."""
    groups: list[Group] = [group for group in aligned.people.groups if group[0] == partition]
    return Table(
        {"metric": "table_12", "region": "table_13"}.get(partition, f"table_{partition}"),
        TITLES[partition],
        (partition.capitalize(), *HEAD),
        tuple((name_of(group), *cells(aligned, group)) for group in [*groups, ALL]),
        NOTE,
    )


HEAD = ("HH %±1", "HH MAE", "Judge %±1", "Judge MAE", "Bias", "κ", "ρ", "τ", "Items", "Missing")
NOTE = (
    "HH: any two humans. κ: quadratic-weighted kappa, ρ: Spearman, τ: Kendall's tau-b, each of judge and consensus. "
    "Missing: rated items without a score of the judge, in no figure."
)


def name_of(group: Group) -> str:
    """Return a group as tables name it."""
    return "Overall" if group == ALL else group[1]


def cells(aligned: Aligned, group: Group) -> tuple[str, ...]:
    """Return a group's cells in the order of ``HEAD``."""
    human, judge = aligned.baseline.pairs[group], aligned.alignment.consensus[group]
    return (
        *(percent(human.within_one), points(human.mae)),
        *(percent(judge.within_one), points(judge.mae), signed(judge.bias)),
        *(number(each) for each in aligned.alignment.association[group]),
        *(f"{judge.items:,}", f"{judge.missing:,}"),
    )


def reliability(aligned: Aligned) -> Table:
    """Return how far people agree beyond chance, by group, and with the judge as one rater more."""
    rows = [(name_of(group), aligned.baseline.reliability[group]) for group in aligned.people.groups]
    rows.append((f"Overall, {aligned.label} as one rater more", aligned.alignment.with_people))
    return Table(
        "reliability",
        "Reliability of the ratings",
        ("Ratings", "α nominal", "α ordinal", "α interval", "ICC(1)", "ICC(1,k)"),
        tuple((name, *(number(each) for each in found)) for name, found in rows),
        "α: Krippendorff's. ICC: one-way random effects, of one rating and of an item's mean rating; below 0 items "
        "differ less than their raters do. A dash: no value, as of one score throughout.",
    )


def rows(aligned: Aligned) -> str:
    """Write every figure as CSV: a row for each comparison and group."""
    found, baseline = aligned.alignment, aligned.baseline
    every: list[tuple[str, Group, Line]] = [
        *(("judge_consensus", group, found.consensus[group]) for group in aligned.people.groups),
        ("judge_single", ALL, found.single),
        ("judge_others", ALL, found.others),
        *(("human_pairs", group, baseline.pairs[group]) for group in aligned.people.groups),
        *(("human_others", group, baseline.others[group]) for group in aligned.people.groups),
    ]
    return comma_separated(
        ("judge", "comparison", "partition", "group", *LINE_HEAD),
        [(aligned.name, comparison, *group, *line_cells(line)) for comparison, group, line in every],
    )


def metrics(aligned: Aligned) -> dict[str, float]:
    """Return what an MLflow run of the judge holds: figures with bounds, overall and by group, association, counts."""
    found, whole = aligned.alignment, aligned.alignment.consensus[ALL]
    named = dict(_figures(aligned))
    named |= {f"items{suffix}": float(value) for suffix, value in (("", whole.items), ("_missing", whole.missing))}
    named |= {name: value for name, value in found.association[ALL]._asdict().items() if value is not None}
    for name, line in (("vs_each_human", found.single), ("vs_other_humans", found.others)):
        named |= dict(_bounds(line, f"{name}/"))
    if aligned.cost is not None:
        named["cost_usd"] = aligned.cost
    return named


def baseline_metrics(people: People, baseline: Baseline) -> dict[str, float]:
    """Return what the run of the ratings themselves holds: people against each other."""
    named = {"items": float(len(people.keys)), "raters": float(people.raters)}
    for name, lines in (("pairs", baseline.pairs), ("others", baseline.others)):
        named |= {
            key: value for key, value in _bounds(lines[ALL], f"{name}/") if not key.split("/")[1].startswith("bias")
        }
    named |= {name: value for name, value in baseline.reliability[ALL]._asdict().items() if value is not None}
    return named


def _figures(aligned: Aligned) -> Iterator[tuple[str, float]]:
    taken: dict[str, set[str]] = {}
    for group in aligned.people.groups:
        prefix = "" if group == ALL else f"{group[0]}/{_key(group[1], taken.setdefault(group[0], set()))}/"
        yield from _bounds(aligned.alignment.consensus[group], prefix)


def _bounds(line: Line, prefix: str) -> Iterator[tuple[str, float]]:
    for name in ("mae", "within_one", "bias"):
        for end, value in zip(("", "_lo", "_hi"), getattr(line, name), strict=True):
            if value is not None:
                yield f"{prefix}{name}{end}", value


_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


def _key(name: str, taken: set[str]) -> str:
    """Return a name that MLflow takes as part of a metric's; two names never become one."""
    plain = _UNFIT.sub("_", name).strip("_.")[:60] or "group"
    key, number = plain, 2
    while key in taken:
        key, number = f"{plain}_{number}", number + 1
    taken.add(key)
    return key
