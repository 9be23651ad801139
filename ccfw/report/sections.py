"""What a report holds before it is written as a page, Markdown, CSV or LaTeX. Pure.

Every cell is plain text that nobody vouches for: whoever writes it escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ccfw.report.latex import tabular
from ccfw.report.writing import as_markdown, comma_separated, markdown_table, sections_separated


class TableView(NamedTuple):
    """A table as every writer takes it."""

    name: str
    """Of its files and its place in a page: ``leaderboard``."""
    title: str
    note: str
    """What the numbers are and how far they can be trusted."""
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """As many cells each as the head has."""
    breaks: tuple[tuple[int, str], ...] = ()
    """Before which row a visible break stands, with its text: rows on two sides of one do not compare."""
    grey: frozenset[int] = frozenset()
    """Rows that were not run here, such as published ones."""
    texts: int = 1
    """Columns from the left that hold names; the others hold figures."""
    data_head: tuple[str, ...] = ()
    data: tuple[tuple[object, ...], ...] = ()
    """The same as numbers, shares between 0 and 1, for CSV; empty: the cells as they are shown."""
    keys: tuple[tuple[object, ...], ...] = ()
    """Of every row, what its cells after the names are sorted by; ``None``: by nothing. Empty: by what they show."""

    def csv(self) -> str:
        """Return the table as CSV."""
        if self.data:
            return comma_separated(self.data_head, self.data)
        return sections_separated(self.head, self.rows, self.breaks)

    def markdown(self) -> str:
        """Return the table in Markdown, with its title and note."""
        table = markdown_table(self.head, self.rows, texts=self.texts, breaks=self.breaks)
        return f"## {as_markdown(self.title)}\n\n{table}\n\n{as_markdown(self.note)}\n"

    def latex(self) -> str:
        """Return the table in LaTeX."""
        return tabular(
            self.head,
            self.rows,
            caption=self.title,
            note=self.note,
            label=f"tab:{self.name}",
            texts=self.texts,
            breaks=self.breaks,
            grey=self.grey,
        )


def keys_of(
    head: Sequence[str], data: Sequence[Sequence[object]], columns: Sequence[str]
) -> tuple[tuple[object, ...], ...]:
    """Return what the rows of a table are sorted by: some columns of its data, which has a row for each of them."""
    places = [head.index(column) for column in columns]
    return tuple(tuple(row[place] for place in places) for row in data)


class FigureView(NamedTuple):
    """A figure with the data that it shows."""

    name: str
    title: str
    note: str
    alt: str
    """What a reader who cannot see it is told."""
    svg: str
    """A whole SVG document of our own making, in which every text is escaped."""
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bare: str = ""
    """The same document without its title, for a page that sets the title itself; empty: there is none."""


class Link(NamedTuple):
    """Where another page is."""

    text: str
    place: str
    """Relative to the page that holds the link, as addresses are written."""


class Chapter(NamedTuple):
    """Tables and figures that belong together, apart from those of the dialogues."""

    name: str
    """Of its place in a page."""
    title: str
    summary: str
    """Paragraphs are parted by blank lines."""
    tables: tuple[TableView, ...]
    figures: tuple[FigureView, ...]
    links: tuple[Link, ...] = ()


class Report(NamedTuple):
    """Everything that a page shows but for the conversations."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """What was run, by whom it was judged, and the like: name and value."""
    summary: str
    """A few sentences that say what came out; paragraphs are parted by blank lines."""
    tables: tuple[TableView, ...]
    figures: tuple[FigureView, ...]
    chapters: tuple[Chapter, ...] = ()
