"""Results of a report → the sentences that say what came out, and how sure it is."""

from __future__ import annotations

import numpy as np

from ccfw.records import LanguageMode
from ccfw.report.agreement import counted
from ccfw.report.board import H3, LANGUAGES
from ccfw.report.contrasts import (
    Effects,
)
from ccfw.report.disparities import Disparities
from ccfw.report.leaderboard import leaderboard
from ccfw.report.results import Results, Source
from ccfw.report.slices import Sliced
from ccfw.report.standings import Standings, Terms
from ccfw.report.tables import FEW, FEW_CAUTION, shown
from ccfw.report.writing import as_markdown
from ccfw.stats.pairs import Pairs

_TOP = 10
"""Assistants in the table of a pull request."""
_NAMED = 5
"""Assistants without a rank that the summary names."""


def summary(source: Source, found: Results) -> str:
    """Say in a few sentences what came out, and how sure it is."""
    leading = found.leading
    parts = [_who(source), _best(leading, found.standings[0].scope, source.terms), _unranked(leading)]
    if found.pairs is not None:
        parts.append(_held(found.pairs, source.terms))
    if found.disparities is not None and found.sliced is not None:
        parts.append(_gaps(source, found.sliced, found.disparities))
    if found.effects is not None:
        parts.append(_traps(found.effects, source.terms))
    if source.others:
        count = sum(len(group.members) for group in source.others)
        runs = "1 other run does not compare with these and stands"
        if count > 1:
            runs = f"{count} other runs do not compare with these and stand"
        parts.append(f"{runs} apart, with the reason.")
    cautions = [*source.cautions, *([FEW_CAUTION] if _few(found.standings[0]) else [])]
    return "\n\n".join(["\n".join(part for part in parts if part), *cautions])


def _few(found: Standings) -> bool:
    return any(row.intervals[H3].low is None for row in found.rows)


def _who(source: Source) -> str:
    who = counted(len(source.board.labels), "assistant")
    seeds = counted(int(source.board.asked.any(axis=(0, 1)).sum()), "seed")
    languages = " and ".join(LANGUAGES[language] for language in source.board.languages) or "no language"
    return f"{who}, {seeds}, dialogues in {languages}, {source.mode.value} mode."


def _best(found: Standings, everything: LanguageMode | None, terms: Terms) -> str:
    """Say who stands highest of those that are ranked against each other, over what they are ranked on."""
    place, others = found.order[0], found.ranked - 1
    if found.rows[place].intervals[H3].mean is None:
        return "No dialogue has a 3H: nothing can be said of any assistant."
    if not found.ranked:
        return "No assistant is ranked: no dialogue is scored for all of them."
    where = "" if found.scope is everything else f" in {LANGUAGES[found.scope]}"
    figure = shown("3h", found.shared[place])
    if found.shared[place].n != found.rows[place].intervals[H3].n:
        figure += f" over the {counted(found.ranked_on, 'dialogue')} that all ranked assistants have"
    text = f"Highest 3H{where}: {found.rows[place].label}, {figure}."
    if not others or found.ranked_seeds < FEW:
        return text
    behind, level = int(found.ranks.better[place].sum()), f"(at {terms.level:.0%})"
    if others == 1:
        return f"{text} {'It is surely ahead' if behind else 'It is not surely ahead'} of the other {level}."
    return f"{text} It is surely ahead of {behind or 'none'} of the {others} others {level}."


def _unranked(found: Standings) -> str:
    """Say who has no rank, and why."""
    out = [f"{row.label}, {row.unranked}" for row in (found.rows[place] for place in found.order) if row.unranked]
    if not out or not found.ranked:
        return ""
    more = f"; and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
    return f"Not ranked: {'; '.join(out[:_NAMED])}{more}."


def _held(pairs: Pairs, terms: Terms) -> str:
    tested = int((~np.isnan(pairs.p[:, 0])).sum())
    if not tested:
        return f"No difference between assistants was tested: fewer than {FEW} seeds are shared."
    held = int((pairs.p[:, 0] <= 1 - terms.level).sum())
    sure = f"at {terms.level:.0%}, corrected for how many there are"
    if tested == 1:
        return f"The difference in 3H between two assistants {'holds' if held else 'does not hold'} ({sure})."
    verb = "holds" if held == 1 else "hold"
    return f"{held or 'None'} of {tested} differences in 3H between two assistants {verb} ({sure})."


def _gaps(source: Source, found: Sliced, apart: Disparities) -> str:
    p = apart.chance.p
    if np.isnan(p).all():
        return f"Gaps between groups were not tested: no axis has two groups of {FEW} seeds."
    beyond = np.argwhere(p <= 1 - source.terms.level)
    if not len(beyond):
        return f"No gap between groups of users is wider than chance allows (at {source.terms.level:.0%})."
    place, model = max(beyond.tolist(), key=lambda at: getattr(apart.spreads[at[0]][at[1]], "range", 0.0))
    each = apart.spreads[place][model]
    assert each is not None
    names = apart.groups[place][model]
    return (
        f"{len(beyond)} of {counted(int((~np.isnan(p)).sum()), 'gap')} between groups "
        f"{'is' if len(beyond) == 1 else 'are'} wider than chance allows (at {source.terms.level:.0%}); the widest: "
        f"{source.board.labels[model]} by {found.axes[place].title.lower()}, {each.range:.2f} points from "
        f"{names[each.lowest]} to {names[each.highest]} (chance alone gives {apart.chance.expected[place, model]:.2f})."
    )


def _traps(effects: Effects, terms: Terms) -> str:
    tested = ~np.isnan(effects.p)
    if not tested.any():
        return ""
    lower, level = int(((effects.p <= 1 - terms.level) & (effects.bounds.point < 0)).sum()), f"(at {terms.level:.0%})"
    if tested.sum() == 1:
        return f"Traps {'lower' if lower else 'do not surely lower'} 3H {level}."
    return f"Traps lower 3H in {lower or 'none'} of {int(tested.sum())} assistants {level}."


def pull_request(source: Source, found: Results, page: str) -> str:
    """Return the short summary in Markdown: what came out, the head of the leaderboard, where the rest is."""
    table = leaderboard(found.standings[0], source.terms, source.judge, (), None)
    rest = len(table.rows) - _TOP
    top = table._replace(rows=table.rows[:_TOP], breaks=tuple(each for each in table.breaks if each[0] < _TOP))
    more = f"\n\n… and {rest} more." if rest > 0 else ""
    lines = [as_markdown(line) for line in summary(source, found).split("\n")]
    return "\n".join(
        [
            f"## {as_markdown(source.title)}\n",
            *lines,
            f"\n#{top.markdown().rstrip()}{more}\n",
            f"Everything else: {as_markdown(page)}\n",
        ]
    )
