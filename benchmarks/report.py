"""The report of the paper's whole evaluation: every table and figure of 18 assistants; and the composition of a corpus.

``python -m benchmarks.report FOLDER`` makes the report in a process of its own and prints what it took.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.clock import Times, interleaved
from benchmarks.page import Bar, Section
from ccfw.judging.score_table import METRICS, ScoreTable
from ccfw.records import ChallengeConfig, LanguageMode, Region, Seed, SimulationMode, Tier
from ccfw.report import build, charts, results
from ccfw.report.board import Assistant, board
from ccfw.report.composition import composition, composition_table
from ccfw.report.standings import Terms
from ccfw.resources import resource as shipped
from ccfw.selection import Outline
from ccfw.stages.report_page import files, published
from ccfw.stages.scores import keep, kept_at, stored_scores
from ccfw.store import Output, done_ids
from ccfw.universe.reading import read_universe
from ccfw.universe.seed_id import episode_id
from ccfw.universe.seeds import TIERS, Shares, allocate, names

ASSISTANTS, SEEDS, CORPUS = 18, 7_305, 144_453
TOTAL_S, PEAK_GB, STATISTICS_S, COMPOSITION_S = 60, 3.0, 5, 10
ROOT = Path(__file__).parent.parent
HEAD = ("Part", "Seconds", "CPU seconds")
ABOUT = (
    "{assistants} assistants × {dialogues:,} dialogues ({seeds:,} test seeds of the universe, two languages), scores "
    "drawn at random around a mean for each assistant and dialogue, half a per cent of them missing, read from "
    "Parquet, as the report keeps them beside judgements; 1,000 resamples. Everything is made in a process of its own: "
    "{tables} tables as CSV, Markdown and LaTeX, {figures} figures as SVG, PNG and CSV. Imports are not counted. The "
    "composition is that of {corpus:,} dialogues, their ids read from two files of one record a line."
)


class Spent(NamedTuple):
    """What a part took."""

    wall: float
    cpu: float


class Made(NamedTuple):
    """What making a report took."""

    parts: dict[str, Spent]
    peak_gb: float
    tables: int
    figures: int

    @property
    def total(self) -> float:
        """Seconds from the first file read to the last one written."""
        return sum(part.wall for part in self.parts.values())


def outlines(count: int, *, test_only: bool) -> list[Outline]:
    """Return the outlines of so many seeds of the universe."""
    universe = read_universe(shipped("data") / "universe")
    found = allocate(universe, Shares(0.05, 0.5, {Tier.STANDARD: 0.1, Tier.CONTEXTUAL: 0.5, Tier.NORMATIVE: 0.1}), 0)
    regions = tuple(Region)
    ids, made = names(universe, found), list[Outline]()
    for place in np.flatnonzero(found.test if test_only else np.ones(len(ids), dtype=np.bool_))[:count].tolist():
        template = universe.template(universe.templates[found.template[place]])
        tier = TIERS[found.tier[place]]
        second = regions[found.secondary[place]] if found.secondary[place] >= 0 else None
        seed = Seed(
            seed_id=ids[place],
            template_id=template.template_id,
            split="test" if found.test[place] else "train",
            persona=universe.personas[found.persona[place]],
            challenge_config=ChallengeConfig(
                challenge_group="Standard" if tier is Tier.STANDARD else "Trap",
                challenge_type=tier,
                is_cross_cultural=second is not None,
                secondary_region=second,
                taboo_grounded=bool(found.taboo_grounded[place]),
            ),
        )
        made.append(Outline(seed, template.domain, template.subdomain, 4))
    return made


def scores(seeds: Sequence[str], assistants: int) -> Iterator[ScoreTable]:
    """Yield the scores of each assistant."""
    rng = np.random.default_rng(7)
    ids = sorted(episode_id(seed, language) for seed in seeds for language in LanguageMode)
    shared = rng.normal(0.0, 0.5, (len(ids), 1))
    for place in np.linspace(0.5, -0.5, assistants):
        metrics = np.clip(np.rint(3.7 + place + shared + rng.normal(0.0, 0.8, (len(ids), len(METRICS)))), 1, 5)
        metrics[rng.random(metrics.shape) < 0.005] = np.nan
        yield ScoreTable(tuple(ids), metrics, np.where(np.isnan(metrics[:, 2]), np.nan, metrics[:, 2] > 2))


def prepare(folder: Path, assistants: int, seeds: int) -> None:
    """Write the scores as a report finds them: kept beside judgements, of which it sees the size alone."""
    for number, table in enumerate(scores([each.seed.seed_id for each in outlines(seeds, test_only=True)], assistants)):
        records = folder / f"{number:02d}" / "records.jsonl"
        records.parent.mkdir(parents=True)
        with records.open("wb") as file:
            file.truncate(1 << 23)
        keep(kept_at(records), table)


def make(folder: Path, seeds: int) -> Made:
    """Make the report and return what it took."""
    chosen = outlines(seeds, test_only=True)
    parts: dict[str, Spent] = {}
    begun = time.perf_counter(), time.process_time()

    def note(name: str) -> None:
        nonlocal begun
        now = time.perf_counter(), time.process_time()
        parts[name], begun = Spent(now[0] - begun[0], now[1] - begun[1]), now

    found = [stored_scores(Output(path.parent)) for path in sorted(folder.glob("*/records.jsonl"))]
    runs = [Assistant(f"m{n}", f"Assistant {n}", each, set(each.episodes), 0.01 * n) for n, each in enumerate(found, 1)]
    laid_out = board(runs, tuple(LanguageMode), chosen, chosen)
    held = composition(chosen, [(SimulationMode.EVAL, run.held) for run in runs])
    note("read the scores")
    costs = tuple(run.usd for run in runs)
    terms = Terms(seed=0, resamples=1000, level=0.95)
    source = results.Source(
        *("Benchmark", (), (), laid_out, SimulationMode.EVAL, None, (), held, costs, "none", published(), terms)
    )
    computed = results.compute(source)
    note("statistics")
    tables = tuple(build.tables(source, computed))
    note("tables")
    figures = tuple(charts.drawings(source, computed))
    note("figures")
    files(folder / "report", tables, figures)
    note("files")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return Made(parts, peak, len(tables), len(figures))


def made(assistants: int, seeds: int) -> Made:
    """Make the report in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), assistants, seeds)
        command = [sys.executable, "-m", "benchmarks.report", name, str(seeds)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, env=dict(os.environ))  # noqa: S603 our own
    parts, *rest = json.loads(done.stdout)
    return Made({name: Spent(*spent) for name, spent in parts.items()}, *rest)


def composed(folder: Path, seeds: int, rounds: int) -> Times:
    """Time the composition table: a twentieth in eval mode, the others in gold mode."""
    chosen = outlines(seeds, test_only=False)
    modes = {SimulationMode.EVAL: "test", SimulationMode.GOLD: "train"}
    for mode, split in modes.items():
        ids = [
            episode_id(o.seed.seed_id, language) for o in chosen if o.seed.split == split for language in LanguageMode
        ]
        (folder / mode.value).write_text("".join(f'{{"episode_id":"{each}","turns":[]}}\n' for each in ids), "utf-8")

    def compose(_: int) -> object:
        return composition_table(composition(chosen, [(m, done_ids(folder / m.value)) for m in modes]), None)

    return interleaved(rounds, {"composition": compose})["composition"]


def measure(quick: bool) -> Section:
    """Measure one report and one composition."""
    assistants, seeds, corpus = (3, 60, 600) if quick else (ASSISTANTS, SEEDS, CORPUS)
    found = made(assistants, seeds)
    with tempfile.TemporaryDirectory() as name:
        composition_took = composed(Path(name), corpus, 1 if quick else 3)
    about = ABOUT.format(
        assistants=assistants,
        dialogues=2 * seeds,
        seeds=seeds,
        tables=found.tables,
        figures=found.figures,
        corpus=2 * corpus,
    )
    rows = [(part, f"{spent.wall:.1f}", f"{spent.cpu:.1f}") for part, spent in found.parts.items()]
    rows.append(("composition of the corpus", f"{composition_took.wall:.1f}", f"{composition_took.cpu:.1f}"))
    what = f"Report of {assistants} assistants × {2 * seeds:,} dialogues"
    cpu = sum(spent.cpu for spent in found.parts.values())
    statistics = found.parts["statistics"]
    bars = (
        Bar(what, f"< {TOTAL_S} s", f"{found.total:.1f} s ({cpu:.1f} s of CPU)", found.total < TOTAL_S),
        Bar(what, f"< {PEAK_GB:g} GB", f"{found.peak_gb:.2f} GB", found.peak_gb < PEAK_GB),
        Bar(
            f"{what}: statistics",
            f"< {STATISTICS_S} s",
            f"{statistics.wall:.1f} s ({statistics.cpu:.1f} s of CPU)",
            statistics.wall < STATISTICS_S,
        ),
        Bar(
            f"Composition of {2 * corpus:,} dialogues",
            f"< {COMPOSITION_S} s",
            f"{composition_took.wall:.1f} s ({composition_took.cpu:.1f} s of CPU)",
            composition_took.wall < COMPOSITION_S,
        ),
    )
    return Section("The report", about, HEAD, tuple(rows), bars)


if __name__ == "__main__":
    print(json.dumps(make(Path(sys.argv[1]), int(sys.argv[2]))))
