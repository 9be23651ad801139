"""How the stages of paper 2 tell what they came to: counts, losses, sources, policies, lengths. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ccfw.crisp.checks import Tell
from ccfw.crisp.pairs import balance, longest_roles
from ccfw.crisp.records import Norm, PairKind, Preference, Triplet
from ccfw.crisp.tally import Tally
from ccfw.report.agreement import Table, number
from ccfw.report.writing import NONE, as_markdown
from ccfw.stats.bootstrap import Interval
from ccfw.terminal import one_line
from ccfw.training.figures import intervals_note

_PROCESSING = {
    "culturalbench": "Cultural question extraction",
    "fork": "Binary-choice extraction",
    "normad": "Structured rule organization",
    "starter": "Written for this project",
}
"""As Table 1 calls it; of any other source the rule is taken as it stands."""
_WIDTH = 80
_BOUNDS = ("outcome", "outcome_lo", "outcome_hi", "norm_match", "norm_match_lo", "norm_match_hi")
SMALL_JUDGE = "The judge is a small model: its scores show that the program works and say nothing else."


def page(
    title: str, tables: Iterable[Table], paid: Mapping[str, float] | None, notes: Sequence[str] = (), of: str = "in all"
) -> str:
    """Write a stage's report; ``paid`` is what its figures cost, ``None`` where it paid for none, ``of`` for what."""
    if paid is None:
        cost = []
    elif paid.get("unpriced_calls"):
        cost = [f"Cost: unknown; {paid['unpriced_calls']} calls have no price."]
    else:
        cost = [f"Cost: {paid['usd']:.4f} USD {of}."]
    parts = [f"# {as_markdown(title)}", *cost, *(f"**{as_markdown(note)}**" for note in notes)]
    return "\n\n".join([*parts, *(table.markdown().rstrip() for table in tables)]) + "\n"


def counts_table(tally: Tally) -> Table:
    """Return what went in and what became of it."""
    rows = (("taken", tally.taken), ("kept", tally.kept), ("lost", tally.lost.total()), ("waiting", tally.waiting))
    note = "Taken = kept + lost + waiting. Waiting: beyond the limit, or not reached by a run that was stopped."
    return Table("counts", "Counts", ("What", "Number"), tuple((name, str(n)) for name, n in rows), note)


def losses_table(tally: Tally) -> Table:
    """Return what was lost, by reason, the commonest first."""
    rows = tuple(
        (reason.value, str(count), tally.examples.get(reason, "")[:160])
        for reason, count in sorted(tally.lost.items(), key=lambda each: (-each[1], each[0]))
    )
    head = ("Reason", "Number", "As in")
    return Table("lost", "Lost", head, rows, "Each is in the stage's folder with its own.", texts=3)


def sources_table(rows_read: Mapping[str, int], norms: Sequence[Norm]) -> Table:
    """Return norms by source (Table 1), with the rows that they come from."""
    rows = []
    for source, read in rows_read.items():
        own = [norm for norm in norms if norm.source == source]
        licences = ", ".join(sorted({norm.licence for norm in own})) or NONE
        rows.append((source, str(read), str(len(own)), _PROCESSING.get(source, "Taken as it stands"), licences))
    rows.append(("total", str(sum(rows_read.values())), str(len(norms)), "", ""))
    head = ("Source", "Rows", "Norms", "Processing", "Licence")
    note = "Rows: of the file. Norms: distinct ones that were kept; a norm of two sources is the earlier one's."
    return Table("table_1", "Norms by source", head, tuple(rows), note)


def cultures_table(
    norms: Mapping[str, int], situations: Mapping[str, int], splits: Mapping[str, Mapping[str, int]]
) -> Table:
    """Return norms and situations by culture, and their split (Tables 16 and 17)."""
    names = ("train", "validation", "test")
    rows = [
        (culture, str(norms[culture]), str(situations[culture]), *(str(splits[culture].get(s, 0)) for s in names))
        for culture in sorted(norms)
    ]
    total = [sum(splits[culture].get(s, 0) for culture in norms) for s in names]
    rows.append(("total", str(sum(norms.values())), str(sum(situations.values())), *map(str, total)))
    head = ("Culture", "Norms", "Situations", "Train", "Validation", "Test")
    return Table("table_16", "Norms and situations by culture", head, tuple(rows), "Split by norm, in each culture.")


class PolicyRow(NamedTuple):
    """What one policy's answers came to."""

    policy: str
    label: str
    outcome: Interval
    norm_match: Interval
    valid: float
    """Share of the answers that could be read."""
    answers: int
    """That were asked for and came; broken calls aside."""
    broken: int
    unscored: tuple[int, int]
    """Valid answers that lack a score of their outcome, and of Norm Match."""


class CultureRow(NamedTuple):
    """What one policy's answers came to in one culture."""

    policy: str
    culture: str
    outcome: Interval
    norm_match: Interval
    norms: int


def _interval(found: Interval) -> str:
    if found.mean is None:
        return NONE
    if found.low is None or found.high is None:
        return f"{found.mean:.2f}"
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def policies_table(rows: Sequence[PolicyRow], judge: str, level: float) -> Table:
    """Return the policies with their mean scores, the best outcome first."""
    ordered = sorted(rows, key=lambda row: (-(row.outcome.mean if row.outcome.mean is not None else -1.0), row.policy))
    shown = tuple(
        (
            row.label,
            _interval(row.outcome),
            str(row.outcome.n),
            _interval(row.norm_match),
            str(row.norm_match.n),
            f"{row.valid:.1%}",
            str(row.answers),
            str(sum(row.unscored)),
            str(row.broken),
        )
        for row in ordered
    )
    data = tuple(
        (
            *(r.policy, r.label, *r.outcome[:3], *r.norm_match[:3], r.valid, r.outcome.n, r.norm_match.n, r.answers),
            *(sum(r.unscored), *r.unscored, r.broken),
        )
        for r in ordered
    )
    counts = ("n", "norm_match_n", "answers", "unscored", "outcome_unscored", "norm_match_unscored", "broken")
    note = (
        f"Judged by {judge}. Outcome: 1 to 5; Norm Match: 0 to 2; means over valid answers. "
        f"{intervals_note(level, 'norms')} Valid: share of answers that could be read. n: answers with the score "
        "before it. Unscored: scores that valid answers lack, on both scales. Broken: calls that the provider failed, "
        "in nothing else here."
    )
    return Table(
        "policies",
        "Policies",
        ("Policy", "Outcome", "n", "Norm Match", "n", "Valid", "Answers", "Unscored", "Broken"),
        shown,
        note,
        data_head=("policy", "label", *_BOUNDS, "valid", *counts),
        data=data,
    )


def scores_by_culture_table(rows: Sequence[CultureRow], level: float) -> Table:
    """Return the policies' mean scores culture by culture."""
    shown = tuple(
        (
            *(r.culture, r.policy, _interval(r.outcome), str(r.outcome.n)),
            *(_interval(r.norm_match), str(r.norm_match.n), str(r.norms)),
        )
        for r in sorted(rows, key=lambda row: (row.culture, row.policy))
    )
    data = tuple(
        (r.culture, r.policy, *r.outcome[:3], *r.norm_match[:3], r.outcome.n, r.norm_match.n, r.norms)
        for r in sorted(rows, key=lambda row: (row.culture, row.policy))
    )
    note = (
        f"Means over valid answers. {intervals_note(level, 'norms')} A culture has few norms, so that most intervals "
        "are wide. The questions of two cultures are not the same, so their means rank no cultures."
    )
    return Table(
        "cultures",
        "Scores by culture",
        ("Culture", "Policy", "Outcome", "n", "Norm Match", "n", "Norms"),
        shown,
        note,
        texts=2,
        data_head=("culture", "policy", *_BOUNDS, "n", "norm_match_n", "norms"),
        data=data,
    )


def plain(table: Table, notes: Sequence[str]) -> str:
    """Write a table for a terminal, with its note and others."""
    rows = [tuple(map(one_line, row)) for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    for note in (table.note, *notes):
        lines += textwrap.wrap(one_line(note), _WIDTH)
    return "\n".join(lines)


def pairs_table(pairs: Sequence[Preference], longer: Mapping[str, Interval]) -> Table:
    """Return pairs by kind with the balance of their lengths; ``longer`` has an interval for each kind and ``all``."""
    rows = []
    for kind in (*PairKind, "all"):
        own = [pair for pair in pairs if kind in (pair.kind, "all")]
        found = balance(own)
        if found is None:
            rows.append((str(kind), "0", NONE, NONE, NONE))
            continue
        share = longer[str(kind)]
        shown = NONE if share.mean is None else f"{share.mean:.1%}"
        if share.low is not None and share.high is not None:
            shown += f" [{share.low:.1%}, {share.high:.1%}]"
        words = f"{found.chosen_words:.1f}", f"{found.rejected_words:.1f}"
        rows.append((str(kind), str(found.pairs), shown, *words))
    head = ("Kind", "Pairs", "Chosen is longer", "Words chosen", "Words rejected")
    note = (
        "Chosen is longer: what always taking the longer answer would score, a tie counting half; whole norms "
        "resampled. A reward model learns length before anything else wherever this is far from 50%."
    )
    return Table("pairs", "Pairs and their lengths", head, tuple(rows), note)


def longest_table(triplets: Sequence[Triplet]) -> Table:
    """Return how often each role's answer is the longest of its triplet."""
    shares = longest_roles(triplets)
    n = len(triplets)
    rows = tuple((role, number(count / n if n else None)) for role, count in shares.items())
    return Table("longest", "Longest of its triplet", ("Role", "Share"), rows, f"Of {n} triplets; a tie is divided.")


def tells_table(tells: Sequence[Tell]) -> Table:
    """Return the words by which the roles of the triplets could be told apart."""
    rows = tuple((tell.word, tell.role, str(tell.times), str(tell.others)) for tell in tells)
    note = "Stems in at least 8 answers of one role and more than 3 times as many as of any other; none is best."
    return Table(
        "tells", "Words that tell a role", ("Word", "Role", "Answers", "Of the next role"), rows, note, texts=2
    )
