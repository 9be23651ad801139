"""What dialogues there are, in the layout of Table 2. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.records import LanguageMode, Region, SimulationMode, Tier
from ccfw.report.agreement import counted
from ccfw.report.board import LANGUAGES
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import TableView
from ccfw.selection import Outline
from ccfw.stats.resampling import Ints
from ccfw.universe.seed_id import episode_id

_TIERS = (Tier.STANDARD, Tier.CONTEXTUAL, Tier.NORMATIVE)
_REGIONS = tuple(Region)
HEAD = ("Partition", "Detail", "N", "Standard", "CTX", "NORM")
_DATA = ("split", "mode", "language", "region", "identities", "dialogues", "standard", "contextual", "normative")


class Composition(NamedTuple):
    """Dialogues by part and tier."""

    splits: tuple[tuple[str, SimulationMode, LanguageMode, Ints], ...]
    """Split of the seeds, mode and language, and dialogues by tier; those of which there are none are left out."""
    regions: Ints
    """Regions × tiers."""
    identities: tuple[int, ...]
    """Different ones in each region."""


def composition(
    outlines: Sequence[Outline], held: Iterable[tuple[SimulationMode, frozenset[str] | set[str]]]
) -> Composition:
    """Count the dialogues that were held, each once whatever assistants held it, by what their seeds are."""
    seeds = [outline.seed for outline in outlines]
    tiers = np.array([_TIERS.index(seed.challenge_config.challenge_type) for seed in seeds], dtype=np.int64)
    regions = np.array([_REGIONS.index(seed.persona.region) for seed in seeds], dtype=np.int64)
    in_test = np.array([seed.split == "test" for seed in seeds], dtype=np.bool_)
    ids = [seed.seed_id for seed in seeds]
    pairs = sorted({(seed.persona.region, seed.persona.identity) for seed in seeds})
    names = {pair: number for number, pair in enumerate(pairs)}
    identities = np.array([names[seed.persona.region, seed.persona.identity] for seed in seeds], dtype=np.int64)
    by_mode: dict[SimulationMode, set[str]] = {}
    for mode, found in held:
        by_mode[mode] = by_mode[mode] | found if mode in by_mode else set(found)
    splits, by_region = [], np.zeros((len(_REGIONS), len(_TIERS)), dtype=np.int64)
    met = np.zeros(len(seeds), dtype=np.bool_)
    for mode in SimulationMode:
        for language in LanguageMode:
            there = np.array([episode_id(key, language) in by_mode.get(mode, ()) for key in ids], dtype=np.bool_)
            met |= there
            by_region += _counts(regions[there], tiers[there], len(_REGIONS))
            for split, part in (("test", in_test), ("train", ~in_test)):
                counts = _counts(np.zeros(len(seeds), dtype=np.int64)[there & part], tiers[there & part], 1)[0]
                if counts.any():
                    splits.append((split, mode, language, counts))
    occurring = {pairs[number] for number in np.unique(identities[met]).tolist()}
    return Composition(
        tuple(splits), by_region, tuple(sum(region is each for each, _ in occurring) for region in _REGIONS)
    )


def _counts(groups: Ints, tiers: Ints, size: int) -> NDArray[np.int64]:
    return np.bincount(groups * len(_TIERS) + tiers, minlength=size * len(_TIERS)).reshape(size, len(_TIERS))


def composition_table(found: Composition, published: PublishedScores | None) -> TableView:
    """Return the table, the paper's own rows after a break."""
    lines = _lines(found)
    breaks, grey = _breaks(found, 0, ""), frozenset[int]()
    if published is not None:
        start = len(lines)
        theirs = _published(published)
        breaks += _breaks(theirs, start, f"Published, not run here: {published.source}, Table 2: ")
        lines += _lines(theirs)
        grey = frozenset(range(start, len(lines)))
    sources = ["published" if place in grey else "own" for place in range(len(lines))]
    return TableView(
        name="composition",
        title="Composition of the dialogues held",
        note="Each dialogue is counted once, however many assistants held it. CTX and NORM: contextual and normative "
        "traps. Identities: those that occur.",
        head=HEAD,
        rows=tuple(line.cells for line in lines),
        breaks=tuple(breaks),
        grey=grey,
        texts=2,
        data_head=("source", *_DATA),
        data=tuple((source, *line.data) for source, line in zip(sources, lines, strict=True)),
    )


def _breaks(found: Composition, start: int, whose: str) -> list[tuple[int, str]]:
    """Set splits, regions and what they come to apart, so that none is sorted among the others."""
    regions = start + len(found.splits)
    parts = ((start, "by split, mode and language"), (regions, "by region"), (regions + len(_REGIONS), "in all"))
    return [(place, f"{whose}{part}" if whose else part.capitalize()) for place, part in parts]


class _Line(NamedTuple):
    cells: tuple[str, ...]
    data: tuple[object, ...]
    """In the order of ``_DATA``."""


def _lines(found: Composition) -> list[_Line]:
    lines = [
        _Line(
            (f"{split.capitalize()} ({mode.value})", LANGUAGES[language], *_cells(counts)),
            (split, mode.value, LANGUAGES[language], None, None, int(counts.sum()), *counts.tolist()),
        )
        for split, mode, language, counts in found.splits
    ]
    regions = [region.value for region in _REGIONS]
    for region, counts, identities in zip(regions, found.regions, found.identities, strict=True):
        lines.append(_by_region(region, region, identities, counts))
    return [*lines, _by_region("All dialogues", "all", sum(found.identities), found.regions.sum(axis=0))]


def _by_region(title: str, region: str, identities: int, counts: Ints) -> _Line:
    return _Line(
        (title, counted(identities, "identity", "identities"), *_cells(counts)),
        (None, None, None, region, identities, int(counts.sum()), *counts.tolist()),
    )


def _published(published: PublishedScores) -> Composition:
    """Return the paper's own numbers, regions in the order of ours."""
    split = {SimulationMode.EVAL: "test", SimulationMode.GOLD: "train"}
    splits = [
        (split[each.mode], each.mode, each.language, np.array(each.episodes)) for each in published.table_2.splits
    ]
    regions = {each.region: each for each in published.table_2.regions}
    return Composition(
        tuple(splits),
        np.array([regions[region].episodes for region in _REGIONS]),
        tuple(regions[region].identities for region in _REGIONS),
    )


def _cells(counts: Ints) -> list[str]:
    return [f"{number:,}" for number in (int(counts.sum()), *counts.tolist())]
