"""What stage *report* computes for its page, and the files that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ccfw import __version__
from ccfw.records import LanguageMode, SimulationMode
from ccfw.report import build, charts, findings, page, results
from ccfw.report.board import LANGUAGES, Assistant, Board, board, unique
from ccfw.report.composition import composition
from ccfw.report.figures import use_fonts
from ccfw.report.plots import Figure
from ccfw.report.published_scores import PublishedScores
from ccfw.report.reader import PER_CHUNK
from ccfw.report.reader_index import indexed
from ccfw.report.research.chapter import TITLE, chapter
from ccfw.report.research.figures import drawings
from ccfw.report.research.shelves import Shelf
from ccfw.report.research.tables import tables
from ccfw.report.sections import Chapter, Link, Report, TableView
from ccfw.report.standings import Terms
from ccfw.resources import resource
from ccfw.stages import researched
from ccfw.stages.context import Context
from ccfw.stages.gathered import Gathered, Judged, legible
from ccfw.stages.reading import Reading
from ccfw.store import digest, write_atomically
from ccfw.universe.reading import yaml_record


@dataclass(frozen=True)
class Research:
    """What paper 2's stages left in the workspace, computed and not yet drawn."""

    shelves: tuple[Shelf, ...]
    tables: tuple[TableView, ...]
    readers: tuple[researched.Reader, ...]
    """Pages on which situations can be read."""

    @classmethod
    def of(cls, context: Context) -> Research:
        """Read what there is."""
        workspace = Path(context.settings.workspace)
        shelves = tuple(researched.shelves(workspace))
        return cls(shelves, tables(shelves), tuple(researched.readers(workspace)))

    @property
    def told(self) -> list[str]:
        """All that tables and links say."""
        return [*_told(self.tables), *(text for each in self.readers for text in (each.text, each.name))]

    @property
    def digest(self) -> str:
        """The hash of all that tables and links say."""
        return digest(self.told)

    def drawings(self) -> tuple[Figure, ...]:
        """Draw every figure."""
        return tuple(drawings(self.shelves))

    def chapters(self, figures: Sequence[Figure], folder: Path) -> tuple[Chapter, ...]:
        """Return the chapters of the page in a folder: one, or none where there is nothing."""
        links = [Link(each.text, each.place(folder)) for each in self.readers]
        return (chapter(self.shelves, self.tables, figures, links),) if self.tables or links else ()

    def write(self, folder: Path) -> list[Path]:
        """Write a page of nothing else, for a workspace without dialogues, and return all paths."""
        figures = self.drawings()
        facts = (("Program", f"ccfw {__version__}"),)
        summary = "No dialogues were judged here."
        report = Report(TITLE, facts, summary, (), (), self.chapters(figures, folder))
        page.write(folder / Pages.NAME, report, page.Embedded(indexed([]), [], PER_CHUNK, 0))
        return [*files(folder, self.tables, figures), folder / Pages.NAME]


def _told(tables: Sequence[TableView]) -> list[str]:
    return [text for table in tables for text in (table.name, table.note, table.csv())]


@dataclass(frozen=True)
class Pages:
    """A report, computed and not yet written."""

    source: results.Source
    results: results.Results
    tables: tuple[TableView, ...]
    research: Research
    reading: Reading
    """What the page's reader holds."""

    NAME = "index.html"

    @classmethod
    def of(cls, context: Context, found: Gathered, reading: Reading, unless_interrupted: Callable[[], None]) -> Pages:
        """Compute everything but the figures; ``reading`` is what the page's reader holds."""
        source = _source(context, found)
        computed = results.compute(source, unless_interrupted)
        unless_interrupted()
        tables = tuple(build.tables(source, computed))
        return cls(source, computed, tables, Research.of(context), reading)

    @property
    def digest(self) -> str:
        """The hash of all that the files say."""
        said = [name + value for name, value in self.source.facts]
        return digest([*said, *_told(self.tables), *self.research.told])

    def write(self, folder: Path) -> list[Path]:
        """Write the tables, the figures, the summary and the page, and return their paths."""
        figures = tuple(charts.drawings(self.source, self.results))
        drawn = self.research.drawings()
        report = build.report(self.source, self.results, [figure.view for figure in figures])
        report = report._replace(chapters=self.research.chapters(drawn, folder))
        written = files(folder, (*self.tables, *self.research.tables), (*figures, *drawn))
        write_atomically(folder / "summary.md", findings.pull_request(self.source, self.results, self.NAME))
        page.write(folder / self.NAME, report, self.reading.embedded())
        return [*written, folder / "summary.md", folder / self.NAME]


def files(folder: Path, tables: Sequence[TableView], figures: Sequence[Figure]) -> list[Path]:
    """Write every table and figure in all its forms, and return their paths."""
    drawn = [path for figure in figures for path in figure.write(folder / "figures")]
    return [*_tables(folder / "tables", tables), *drawn]


def _tables(folder: Path, tables: Sequence[TableView]) -> list[Path]:
    written = []
    for table in tables:
        for end, text in ((".csv", table.csv()), (".md", table.markdown()), (".tex", table.latex())):
            written.append(folder / f"{table.name}{end}")
            write_atomically(written[-1], text)
    return written


@lru_cache(maxsize=1)
def published() -> PublishedScores:
    """Return the scores that the paper publishes."""
    return yaml_record(resource("data") / "published" / "table17.yaml", PublishedScores)


def _source(context: Context, found: Gathered) -> results.Source:
    settings = context.settings
    shown = found.ordered(found.found.values())
    main = _board(context, found, shown)
    modes = [(found.mode, shown)]
    counterpart = None
    if found.counterpart:
        other = SimulationMode.GOLD if found.mode is SimulationMode.EVAL else SimulationMode.EVAL
        runs = found.ordered(found.counterpart.values())
        counterpart = _board(context, found, runs)
        modes.append((other, runs))
    held = [(mode, judged.held) for mode, runs in modes for judged in runs]
    return results.Source(
        title=f"{settings.dataset.name}, judged by {found.judge}",
        facts=_facts(context, found, main),
        cautions=_cautions(found, main),
        board=main,
        mode=found.mode,
        counterpart=counterpart,
        others=tuple(_others(found)),
        composition=composition(context.selection, held),
        costs=tuple(judged.cost() for judged in shown),
        judge=found.judge,
        published=published() if settings.report.published else None,
        terms=Terms(settings.seed, settings.bootstrap.resamples, settings.bootstrap.level),
    )


def _others(found: Gathered) -> Iterator[results.OtherGroup]:
    for differs, runs in found.others:
        if shown := legible(runs):
            names = unique([found.name(run) for run in shown])
            each = (results.Other(name, run.scores, run.held) for name, run in zip(names, shown, strict=True))
            yield results.OtherGroup(differs, tuple(each))


def _board(context: Context, found: Gathered, runs: Sequence[Judged]) -> Board:
    outlines = context.dataset.outlines
    assistants = [
        Assistant(
            run.model, found.name(run), run.scores, run.held, asked=found.asked(run, outlines), kind=found.kind(run)
        )
        for run in runs
    ]
    return board(assistants, tuple(LanguageMode), context.selection, context.dataset.outlines)


def _facts(context: Context, found: Gathered, shown: Board) -> tuple[tuple[str, str], ...]:
    settings, folders = context.settings, found.lead.members
    prompts = sorted({f"{each.manifest.style} (hash {each.manifest.fingerprint_of.prompts})" for each in folders})
    members = ", ".join(each.manifest.member for each in folders)
    judge = f"{found.judge}, the {found.aggregation} of {members}" if len(folders) > 1 else found.judge
    if len(folders) == 1 and members != found.judge:
        judge = f"{found.judge}: {members} alone"
    simulator = folders[0].manifest.fingerprint_of.episodes.get("simulator") or {}
    user = found.lead.line.simulator.label if found.lead.line else str(simulator.get("provider_model", "unknown"))
    chosen = [
        f"{name}={getattr(settings, name)}"
        for name in ("region", "identity", "domain", "subdomain", "age", "gender", "split", "limit")
        if getattr(settings, name)
    ]
    if settings.trap.name != "all":
        chosen.append(f"trap={settings.trap.name}")
    return (
        (
            "Dataset",
            f"{settings.dataset.name}, {len(context.dataset.outlines):,} scenarios (hash {context.dataset.digest})",
        ),
        ("Chosen", ", ".join(chosen) or "all that were run"),
        ("Languages", ", ".join(LANGUAGES[language] for language in shown.languages) or "none"),
        ("Mode", found.mode.value),
        ("Judge", judge),
        ("Judge's prompts", ", ".join(prompts)),
        ("Simulated user", user),
        (
            "Intervals",
            f"{settings.bootstrap.level:.0%}, {settings.bootstrap.resamples:,} resamples, seed {settings.seed}",
        ),
        ("Program", f"ccfw {__version__}"),
    )


def _cautions(found: Gathered, shown: Board) -> tuple[str, ...]:
    return (*found.cautions, *use_fonts(shown.labels))
