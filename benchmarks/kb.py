"""What building a knowledge base of a dump takes: memory at two sizes of dump, and pages a second by part."""

from __future__ import annotations

import gzip
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.page import Bar, Section

SMALL_MB, LARGE_MB, MOST_MB = 125, 1000, 400
ROOT = Path(__file__).parent.parent
HEAD = ("Dump", "Pages", "Kept passages", "Seconds", "Pages a second", "MB a second", "Most memory, MB")
ABOUT = (
    "`python -m ccfw stage=kb kb=wikipedia` over a synthetic dump, gzip, of which every tenth page is of a region and "
    "the others are read and left. Memory is the process's peak. A dump eight times as large may take eight times as "
    "long, and no more memory."
)
_WORDS = 4000
_PAGE = 10_000
_SITE = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en"><siteinfo>'
    '<dbname>enwiki</dbname><namespaces><namespace key="0" /><namespace key="14">Category</namespace></namespaces>'
    "</siteinfo>\n"
)


class Built(NamedTuple):
    """One build."""

    pages: int
    passages: int
    seconds: float
    peak_mb: float


def pages(megabytes: float) -> Iterator[str]:
    """Yield the pages of a dump of that size, made from a seed; no two say the same."""
    draw = random.Random(0)  # noqa: S311 no secret
    words = ["".join(draw.choices("aeioubdgklmnprst", k=draw.randint(2, 9))) for _ in range(_WORDS)]
    written = number = 0
    while written < megabytes * 1e6:
        number += 1
        page = _page(number, draw, words)
        written += len(page)
        yield page


def _page(number: int, draw: random.Random, words: list[str]) -> str:
    paragraphs = "\n\n".join(
        f"{'==Custom==' if each % 4 == 3 else ''}\n{_paragraph(draw, words)}" for each in range(_PAGE // 900)
    )
    category = "[[Category:Malaysian cuisine]]" if number % 10 == 0 else "[[Category:Rivers]]"
    text = f"{{{{Infobox|name=P{number}|a=b}}}}\n'''P{number}''' {paragraphs}\n{category}"
    return (
        f"<page><title>Page {number}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f'<timestamp>2026-01-01T00:00:00Z</timestamp><text xml:space="preserve">{text}</text></revision></page>\n'
    )


def _paragraph(draw: random.Random, words: list[str]) -> str:
    first, second, third = (" ".join(draw.choices(words, k=length)).capitalize() for length in (60, 40, 40))
    return f"{first}. {second} [[{draw.choice(words)}]] {{{{cite|{draw.choice(words)}}}}}. {third}."


def write_dump(path: Path, megabytes: float) -> int:
    """Write a synthetic dump; return how many pages it has."""
    count = 0
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        file.write(_SITE)
        for page in pages(megabytes):
            file.write(page)
            count += 1
        file.write("</mediawiki>\n")
    return count


def build(folder: Path, megabytes: float) -> Built:
    """Write a dump and build a knowledge base of it, as a user does."""
    dump = folder / f"enwiki-{megabytes:g}.xml.gz"
    count = write_dump(dump, megabytes)
    command = [sys.executable, "-m", "ccfw", "stage=kb", "kb=wikipedia", f"kb.dumps=[{dump}]"]
    command += [f"workspace={folder}/workspace", f"hydra.run.dir={folder}/run"]
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:  # noqa: S603 our own
        out = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    done = re.search(r" status=ok done=(\d+) ", out)
    if done is None:
        raise RuntimeError(f"{command} ended with {process.returncode}: {out}")
    return Built(count, int(done[1]), time.perf_counter() - started, usage.ru_maxrss / 1e3)


def measure(quick: bool) -> Section:
    """Build two knowledge bases, of a dump and of one eight times as large."""
    sizes = (1.0, 8.0) if quick else (SMALL_MB, LARGE_MB)
    with tempfile.TemporaryDirectory() as name:
        small, large = (build(Path(name), size) for size in sizes)
    rows = tuple(
        (
            f"{size:g} MB",
            f"{each.pages:,}",
            f"{each.passages:,}",
            f"{each.seconds:.1f}",
            f"{each.pages / each.seconds:,.0f}",
            f"{size / each.seconds:.1f}",
            f"{each.peak_mb:.0f}",
        )
        for size, each in zip(sizes, (small, large), strict=True)
    )
    bars = (
        Bar(
            f"Building from a dump of {sizes[1]:,g} MB: memory",
            f"≤ {MOST_MB} MB",
            f"{large.peak_mb:.0f} MB, {large.peak_mb / small.peak_mb:.2f} times that of an eighth of it",
            large.peak_mb <= MOST_MB,
        ),
    )
    return Section("Building a knowledge base", ABOUT, HEAD, rows, bars)
