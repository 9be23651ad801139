"""What dialogues there are, in the layout of Table 2. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.records import LanguageMode, Region, SimulationMode, Tier
from ccfw.report.board import LANGUAGES
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import TableView
from ccfw.selection import Outline
from ccfw.stats.resampling import Ints
from ccfw.universe.seed_id import episode_id

_TIERS = (Tier.STANDARD, Tier.CONTEXTUAL, Tier.NORMATIVE)
_REGIONS = tuple(Region)
HEAD = ("Partition", "Detail", "N", "Standard", "CTX", "NORM")


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
    rows = [
        (f"{split.capitalize()} ({mode.value})", LANGUAGES[language], *_cells(counts))
        for split, mode, language, counts in found.splits
    ]
    for region, counts, identities in zip(_REGIONS, found.regions, found.identities, strict=True):
        rows.append((region.value, _identities(identities), *_cells(counts)))
    rows.append(("All dialogues", _identities(sum(found.identities)), *_cells(found.regions.sum(axis=0))))
    breaks, grey = [(0, "By split, mode and language"), (len(found.splits), "By region")], frozenset[int]()
    if published is not None:
        start = len(rows)
        breaks.append((start, f"Published, not run here: {published.source}, Table 2"))
        rows += _published(published)
        grey = frozenset(range(start, len(rows)))
    return TableView(
        name="composition",
        title="Composition of the dialogues held",
        note="Each dialogue is counted once, however many assistants held it. CTX and NORM: contextual and normative "
        "traps. Identities: those that occur.",
        head=HEAD,
        rows=tuple(rows),
        breaks=tuple(breaks),
        grey=grey,
        texts=2,
    )


def _published(published: PublishedScores) -> list[tuple[str, ...]]:
    split = {SimulationMode.EVAL: "Test", SimulationMode.GOLD: "Train"}
    rows = [
        (f"{split[each.mode]} ({each.mode.value})", LANGUAGES[each.language], *_cells(np.array(each.episodes)))
        for each in published.table_2.splits
    ]
    regions = published.table_2.regions
    rows += [(each.region.value, _identities(each.identities), *_cells(np.array(each.episodes))) for each in regions]
    total = np.array([each.episodes for each in regions]).sum(axis=0)
    return [*rows, ("All dialogues", _identities(sum(each.identities for each in regions)), *_cells(total))]


def _identities(number: int) -> str:
    return f"{number} {'identity' if number == 1 else 'identities'}"


def _cells(counts: Ints) -> list[str]:
    return [f"{number:,}" for number in (int(counts.sum()), *counts.tolist())]
