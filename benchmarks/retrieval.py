"""What finding evidence takes: one query within a region, opening an index, the evidence of every seed."""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from benchmarks.clock import Times, interleaved, spent
from benchmarks.library import DIMENSION, REGIONS, Drawn, write_passages
from benchmarks.page import Bar, Section
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.library import open_library
from ccfw.knowledge.nearest import Floats, Ints
from ccfw.knowledge.queries import queries
from ccfw.knowledge.records import Passage
from ccfw.knowledge.retriever import Retriever, Wanted
from ccfw.knowledge.shelf import Shelf, build_shelf
from ccfw.knowledge.shipped import taboo_text
from ccfw.knowledge.vectors import Spread, VectorIndex, unit
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.settings.knowledge import RetrieverConfig
from ccfw.universe.reading import read_universe
from ccfw.universe.seeds import TIERS, Shares, allocate

PASSAGES, K, IN_ROUND, ROUNDS = 181_000, 10, 20, 11
MOST_MS, MOST_LOAD_S, MOST_SEEDS_S = 3.0, 1.0, 90.0
HEAD = ("What", "Time", "Of ours", "Recall@10", "Of another region")
ABOUT = (
    f"Random unit vectors of {DIMENSION} dimensions, a tenth of them of each of ten regions, beside random passages of "
    "a hundred words on disk. A query asks for the 10 nearest within one region; ours also gives each score's distance "
    f"from what the query scores in the region at large. {ROUNDS} rounds of {IN_ROUND} queries, all ways in turn, one "
    "thread; recall is against the numpy scan. Seeds are all personas × all templates with their true queries and "
    "regions, the queries' vectors drawn beforehand; what is shown is read from disk, re-ranked and freed of "
    "near-duplicates."
)
Search = Callable[[Floats, int], Ints]
"""The ids that a way of searching gives a query within the region of that number."""


class Ways(NamedTuple):
    """Ways of searching one set of vectors, and where each region lies in it."""

    searches: Mapping[str, Search]
    bounds: list[tuple[int, int]]


def ways(index: VectorIndex) -> Ways:
    """Return ours and what could be had instead."""
    vectors = np.array(index.vectors)
    bounds = [index.ranges[region] for region in REGIONS]
    faiss: Any = importlib.import_module("faiss")  # its stubs know less than it takes
    flat = faiss.IndexFlatIP(DIMENSION)
    flat.add(vectors)
    of_region = np.repeat(np.arange(len(REGIONS)), [high - low for low, high in bounds])
    bitmaps = [np.packbits(of_region == number, bitorder="little") for number in range(len(REGIONS))]
    chosen = [faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bitmap)) for bitmap in bitmaps]
    faiss.omp_set_num_threads(1)

    def masked(query: Floats, region: int) -> Ints:
        scores = np.where(of_region == region, vectors @ query[0], -2)
        best = np.argpartition(scores, -K)[-K:]
        found: Ints = best[np.argsort(-scores[best])]
        return found

    def within(query: Floats, region: int) -> Ints:
        return index.within(query, REGIONS[region], K)[0].ids

    def unfiltered(query: Floats, _: int) -> Ints:
        found: Ints = flat.search(query, K)[1][0]
        return found

    def selected(query: Floats, region: int) -> Ints:
        found: Ints = flat.search(query, K, params=chosen[region])[1][0]
        return found

    searches: dict[str, Search] = {
        "ours": within,
        "numpy, every vector, then the region": masked,
        "FAISS flat with a selector": selected,
        "FAISS flat, no region": unfiltered,
    }
    return Ways(searches, bounds)


class Asked(NamedTuple):
    """What one way of searching came to."""

    times: Times
    recall: float
    outside: int
    """Ids that are no vector's or of another region."""


def single(made: Ways, rounds: int) -> dict[str, Asked]:
    """Ask the same queries in every way."""
    draw = np.random.default_rng(1)
    asked = unit(draw.standard_normal((rounds * IN_ROUND, DIMENSION), dtype=np.float32))
    regions = draw.integers(0, len(REGIONS), len(asked)).tolist()
    found: dict[str, list[Ints]] = {name: [np.empty(0, dtype=np.int64)] * len(asked) for name in made.searches}

    def ask(name: str, number: int) -> None:
        for i in range(number * IN_ROUND, (number + 1) * IN_ROUND):
            found[name][i] = made.searches[name](asked[i : i + 1], regions[i])

    for search in made.searches.values():
        search(asked[:1], 0)
    times = interleaved(rounds, {name: partial(ask, name) for name in made.searches})
    _, plain, *_ = found.values()
    return {name: Asked(times[name], _recall(ids, plain), _outside(ids, regions, made)) for name, ids in found.items()}


def _recall(found: list[Ints], plain: list[Ints]) -> float:
    return float(np.mean([len(set(a.tolist()) & set(b.tolist())) / len(b) for a, b in zip(found, plain, strict=True)]))


def _outside(found: list[Ints], regions: list[int], made: Ways) -> int:
    bounds = [made.bounds[region] for region in regions]
    return sum(int(((ids < low) | (ids >= high)).sum()) for ids, (low, high) in zip(found, bounds, strict=True))


def wanted() -> list[Wanted]:
    """Return what each seed of the universe asks for."""
    universe = read_universe(resource("data") / "universe")
    shares = yaml.safe_load((resource("conf") / "config.yaml").read_text("utf-8"))["seeds"]
    cross = {tier: shares["cross_cultural"][tier.value] for tier in TIERS}
    allocated = allocate(universe, Shares(shares["test"], shares["taboo_grounded"], cross), 0)
    domains = {domain.code: domain for domain in universe.domains}
    names = {(d.code, s.code): s.name for d in universe.domains for s in d.subdomains}
    regions = list(map(str, Region))
    asked = {
        (person, number): queries(t, domains[t.domain_code].name, names[t.domain_code, t.subdomain_code], persona)
        for person, persona in enumerate(universe.personas)
        for number, t in enumerate(universe.templates)
    }
    return [
        Wanted(
            asked[int(person), int(template)],
            (str(universe.personas[person].region), *((regions[second],) if second >= 0 else ())),
            universe.personas[person].identity,
            bool(grounded),
        )
        for person, template, second, grounded in zip(
            allocated.persona, allocated.template, allocated.secondary, allocated.taboo_grounded, strict=True
        )
    ]


def opened(folder: Path) -> Shelf[Passage]:
    """Open the passages on disk beside those that ship, making the index when it is not there."""
    ours = read_passages(resource("data") / "knowledge" / "passages")
    return open_library(folder / "kb", ours, embedder=Drawn(), lexical=False, cache=folder)


def retriever(folder: Path, shelf: Shelf[Passage]) -> Retriever:
    """Return a retriever that shows as much as the default does."""
    taboos = read_taboos(resource("data") / "knowledge" / "taboos")
    beside = build_shelf(taboos, taboo_text, embedder=Drawn(), lexical=False, shipped=None, cache=folder)
    config = yaml.safe_load((resource("conf") / "retriever" / "e5.yaml").read_text("utf-8"))
    return Retriever(shelf, beside, RetrieverConfig.model_validate(config))


class Seeds(NamedTuple):
    """The evidence of all seeds."""

    asked: int
    distinct: int
    embedded: float
    together: float
    alone: float
    """Seconds of all, had each been asked by itself."""


def of_seeds(made: Retriever, seeds: list[Wanted]) -> Seeds:
    """Find the evidence of all seeds together, and of some of them one by one."""
    counts = Counter(seeds)
    embedded = spent(lambda: made.prepare(seeds)).wall
    together = spent(lambda: sum(counts[each] for each, found in made.evidence_of(seeds) if found.passages))
    some = seeds[:: max(1, len(seeds) // 200)]
    alone = spent(lambda: [dict(made.evidence_of([seed])) for seed in some]).wall
    return Seeds(len(seeds), len(counts), embedded, together.wall, alone / len(some) * len(seeds))


class Opened(NamedTuple):
    """What making and opening an index takes."""

    built: float
    of_index: float
    of_shelf: float
    spreads: float
    megabytes: float


def opening(folder: Path) -> tuple[Shelf[Passage], Opened]:
    """Make an index of the passages in a folder, then open it again and again."""
    built = spent(lambda: opened(folder)).wall
    (index,) = (path.parent for path in folder.glob("kb/index/*/index.json"))
    variants = {"index": lambda _: VectorIndex.load(index)[0].spread(REGIONS[0]), "shelf": lambda _: opened(folder)}
    times = interleaved(5, variants)
    shelf = opened(folder)
    vectors = VectorIndex.load(index)[0].vectors
    spreads = spent(lambda: [Spread.of(np.asarray(vectors[low:high])) for low, high in shelf.ranges.values()]).wall
    size = (index / "vectors.npy").stat().st_size / 1e6
    return shelf, Opened(built, times["index"].wall, times["shelf"].wall, spreads, size)


def _rows(alone: dict[str, Asked], opened_in: Opened, seeds: Seeds) -> tuple[tuple[str, ...], ...]:
    ours = alone["ours"].times
    ratio = f"{seeds.alone / seeds.together:.1f} x"
    return (
        *(
            (
                f"One query: {name}",
                f"{each.times.wall / IN_ROUND * 1e3:.2f} ms",
                f"{each.times.slower(ours):.1f} x",
                f"{each.recall:.3f}",
                f"{each.outside:,}",
            )
            for name, each in alone.items()
        ),
        (f"Opening the index ({opened_in.megabytes:.0f} MB, mapped)", f"{opened_in.of_index:.3f} s", *"–––"),
        ("Opening the shelf: index, passages, identities", f"{opened_in.of_shelf:.3f} s", *"–––"),
        ("Mean and covariance of ten regions, kept in the index", f"{opened_in.spreads:.2f} s", *"–––"),
        ("Making the shelf, the embedder's time apart", f"{opened_in.built:.1f} s", *"–––"),
        (f"{seeds.asked:,} seeds together, {seeds.distinct:,} distinct", f"{seeds.together:.1f} s", *"1––"),
        (f"{seeds.asked:,} seeds one by one (scaled from 200)", f"{seeds.alone:.0f} s", ratio, *"––"),
    )


def _bars(alone: dict[str, Asked], opened_in: Opened, seeds: Seeds, count: int) -> tuple[Bar, ...]:
    ours, ms = alone["ours"], alone["ours"].times.wall / IN_ROUND * 1e3
    return (
        Bar(f"One query within a region of {count:,} passages", f"≤ {MOST_MS:g} ms", f"{ms:.2f} ms", ms <= MOST_MS),
        Bar(
            "What it finds",
            "recall 1.0, every id of the region, none −1",
            f"recall {ours.recall:.3f}, {ours.outside} others",
            (ours.recall, ours.outside) == (1.0, 0),
        ),
        Bar(
            f"Opening {count:,} passages",
            f"≤ {MOST_LOAD_S:g} s",
            f"{opened_in.of_shelf:.2f} s, of which the index {opened_in.of_index:.3f} s",
            opened_in.of_shelf <= MOST_LOAD_S,
        ),
        Bar(
            f"Evidence of {seeds.asked:,} seeds",
            f"< {MOST_SEEDS_S:g} s once queries are embedded",
            f"{seeds.together:.1f} s",
            seeds.together < MOST_SEEDS_S,
        ),
    )


def measure(quick: bool) -> Section:
    """Search random vectors one query at a time, and for all seeds."""
    count, rounds = (5_000, 2) if quick else (PASSAGES, ROUNDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_passages(folder / "kb" / "passages", count)
        shelf, opened_in = opening(folder)
        assert shelf.vectors is not None
        alone = single(ways(shelf.vectors), rounds)
        seeds = of_seeds(retriever(folder, shelf), wanted()[:: 100 if quick else 1])
    return Section("Retrieval", ABOUT, HEAD, _rows(alone, opened_in, seeds), _bars(alone, opened_in, seeds, count))
