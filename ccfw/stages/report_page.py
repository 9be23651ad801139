"""What stage *report* computes for its page, and the files that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ccfw import __version__
from ccfw.records import LanguageMode, SimulationMode
from ccfw.report import build, page
from ccfw.report.board import LANGUAGES, Assistant, Board, board
from ccfw.report.composition import composition
from ccfw.report.figures import use_fonts
from ccfw.report.plots import Figure
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import Report, TableView
from ccfw.report.standings import Terms
from ccfw.resources import resource
from ccfw.stages.context import Context
from ccfw.stages.gathered import Gathered, Judged
from ccfw.stages.reading import Reading
from ccfw.store import digest, write_atomically
from ccfw.universe.reading import yaml_record


@dataclass(frozen=True)
class Pages:
    """A report, computed and not yet written."""

    source: build.Source
    results: build.Results
    tables: tuple[TableView, ...]

    NAME = "index.html"

    @classmethod
    def of(cls, context: Context, found: Gathered, unless_interrupted: Callable[[], None]) -> Pages:
        """Compute everything but the figures."""
        source = _source(context, found)
        results = build.compute(source, unless_interrupted)
        unless_interrupted()
        return cls(source, results, tuple(build.tables(source, results)))

    @property
    def digest(self) -> str:
        """The hash of all that the files say."""
        said = [name + value for name, value in self.source.facts]
        return digest([*said, *(text for table in self.tables for text in (table.name, table.note, table.csv()))])

    def write(self, context: Context, folder: Path, found: Gathered) -> list[Path]:
        """Write the tables, the figures, the summary and the page, and return their paths."""
        figures = tuple(build.drawings(self.source, self.results))
        report = build.report(self.source, self.results, [figure.view for figure in figures])
        written = files(folder, self.tables, figures)
        write_atomically(folder / "summary.md", build.pull_request(self.source, self.results, self.NAME))
        return [*written, folder / "summary.md", *_page(context, folder / self.NAME, report, found)]


def _page(context: Context, path: Path, report: Report, found: Gathered) -> list[Path]:
    """Write the page with the conversations in it."""
    most = context.settings.report.episodes
    page.write(path, report, Reading.of(context, found).embedded(most))
    return [path]


def files(folder: Path, tables: Sequence[TableView], figures: Sequence[Figure]) -> list[Path]:
    """Write every table and figure in all its forms, and return their paths."""
    return [*_tables(folder / "tables", tables), *_figures(folder / "figures", figures)]


def _tables(folder: Path, tables: Sequence[TableView]) -> list[Path]:
    written = []
    for table in tables:
        for end, text in ((".csv", table.csv()), (".md", table.markdown()), (".tex", table.latex())):
            written.append(folder / f"{table.name}{end}")
            write_atomically(written[-1], text)
    return written


def _figures(folder: Path, figures: Sequence[Figure]) -> list[Path]:
    written = []
    for figure in figures:
        stem = folder / figure.view.name
        for end, text in ((".svg", figure.view.svg), (".csv", figure.csv())):
            written.append(stem.with_suffix(end))
            write_atomically(written[-1], text)
        written.append(stem.with_suffix(".png"))
        written[-1].write_bytes(figure.png)
    return written


@lru_cache(maxsize=1)
def published() -> PublishedScores:
    """Return the scores that the paper publishes."""
    return yaml_record(resource("data") / "published" / "table17.yaml", PublishedScores)


def _source(context: Context, found: Gathered) -> build.Source:
    settings = context.settings
    shown = sorted(found.found.values(), key=lambda judged: judged.order)
    main = _board(context, shown)
    modes = [(found.mode, shown)]
    counterpart = None
    if found.counterpart:
        other = SimulationMode.GOLD if found.mode is SimulationMode.EVAL else SimulationMode.EVAL
        runs = sorted(found.counterpart.values(), key=lambda judged: judged.order)
        counterpart = _board(context, runs)
        modes.append((other, runs))
    held = [(mode, judged.held) for mode, runs in modes for judged in runs]
    return build.Source(
        title=f"{settings.dataset.name}, judged by {found.judge}",
        facts=_facts(context, found, main),
        cautions=_cautions(found, main),
        board=main,
        mode=found.mode,
        counterpart=counterpart,
        others=tuple(
            build.OtherGroup(differs, tuple(build.Other(run.label, run.scores, run.held) for run in runs))
            for differs, runs in found.others
        ),
        composition=composition(context.selection, held),
        costs=tuple(judged.cost() for judged in shown),
        judge=found.judge,
        published=published() if settings.report.published else None,
        terms=Terms(settings.seed, settings.bootstrap.resamples, settings.bootstrap.level),
    )


def _board(context: Context, runs: Sequence[Judged]) -> Board:
    assistants = [Assistant(run.model, run.label, run.scores, run.held) for run in runs]
    return board(assistants, tuple(LanguageMode), context.selection, context.dataset.outlines)


def _facts(context: Context, found: Gathered, shown: Board) -> tuple[tuple[str, str], ...]:
    settings, folders = context.settings, found.lead.members
    prompts = ", ".join(sorted({f"{each.manifest.style} {each.manifest.fingerprint_of.prompts}" for each in folders}))
    members = ", ".join(each.manifest.member for each in folders)
    judge = found.judge if len(folders) == 1 else f"{found.judge}, the {found.aggregation} of {members}"
    simulator = found.lead.members[0].manifest.fingerprint_of.episodes.get("simulator") or {}
    chosen = [
        f"{name}={getattr(settings, name)}"
        for name in ("region", "identity", "domain", "subdomain", "age", "gender", "split", "limit")
        if getattr(settings, name)
    ]
    if settings.trap.name != "all":
        chosen.append(f"trap={settings.trap.name}")
    return (
        ("Dataset", f"{settings.dataset.name} {context.dataset.digest}, {len(context.dataset.outlines):,} scenarios"),
        ("Chosen", ", ".join(chosen) or "all of them"),
        ("Languages", ", ".join(LANGUAGES[language] for language in shown.languages) or "none"),
        ("Mode", found.mode.value),
        ("Judge", judge),
        ("Judge's prompts", prompts),
        ("Simulated user", str(simulator.get("provider_model", "unknown"))),
        (
            "Intervals",
            f"{settings.bootstrap.level:.0%}, {settings.bootstrap.resamples:,} resamples, seed {settings.seed}",
        ),
        ("Program", f"ccfw {__version__}"),
    )


def _cautions(found: Gathered, shown: Board) -> tuple[str, ...]:
    cautions = []
    if any(folder.manifest.fingerprint_of.member.size == "small" for folder in found.lead.members):
        cautions.append("The judge is a small model: its scores show that the program works and say nothing else.")
    return (*cautions, *use_fonts(shown.labels))
