"""How fast replies are kept, found again and turned into judgements again."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.clock import Times, interleaved
from benchmarks.judging import Played, Work, played, work
from benchmarks.page import Bar, Section
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.types import ChatReply

HITS, LIMIT = 43_830, 10.0
"""The judgements of the paper's main table, and the seconds to make them again from the ledger."""
ABOUT = (
    "Replies of about {size:.1f} KB to prompts of about {prompt:.0f} KB, {rounds} rounds in turn, medians. A put "
    "returns when its reply is on disk; *one commit each* is SQLite with the same settings and a transaction for every "
    "reply. A replay is `Client.complete` on a request that the ledger holds, its hash computed anew; a re-run is the "
    "whole evaluate path into an empty folder, every reply from the ledger."
)


class Sizes(NamedTuple):
    """How much of each is done in a round."""

    rounds: int
    alone: int
    """Puts by one task, and by plain SQLite."""
    together: int
    """Puts by 100 tasks."""
    calls: int
    """Gets, replays and judgements."""


class Desk(NamedTuple):
    """Everything that the variants work with."""

    runner: asyncio.Runner
    made: Work
    seen: Played
    ledger: Ledger
    """Holds every reply."""
    folder: Path
    sizes: Sizes

    def puts(self, name: str, count: int, tasks: int) -> None:
        """Keep replies in a new ledger, several tasks at once."""
        replies, queue = list(self.seen.replies.values()), iter(range(count))
        with Ledger(self.folder / f"{name}.sqlite") as ledger:

            async def worker() -> None:
                for number in queue:
                    await ledger.put(f"{number:064}", "openai/scripted", replies[number % len(replies)])

            async def every() -> None:
                await asyncio.gather(*(worker() for _ in range(tasks)))

            self.runner.run(every())

    def commits(self, name: str, count: int) -> None:
        """Keep replies in plain SQLite, one transaction each."""
        connection = sqlite3.connect(self.folder / f"{name}.sqlite")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE calls (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        texts = [reply.text for reply in self.seen.replies.values()]
        for number in range(count):
            with connection:
                connection.execute("INSERT INTO calls VALUES (?, ?)", (f"{number:064}", texts[number % len(texts)]))
        connection.close()

    def gets(self) -> None:
        """Find every reply by its key."""
        for request in self.seen.requests:
            assert self.ledger.get(request.key)

    def replays(self) -> None:
        """Ask the client for every reply again."""
        client = Client(self.made.settings.model, self.ledger, Meter(), self.seen)

        async def every() -> list[ChatReply]:
            return [await client.complete(replace(request)) for request in self.seen.requests]

        assert all(reply.cached for reply in self.runner.run(every()))

    def rerun(self, number: int) -> None:
        """Judge again, everything from the ledger."""
        folder = self.folder / f"again_{number}"
        calls, seen = len(self.made.items), self.seen
        meter = self.made.judge(self.runner, self.ledger, folder, seen, calls=calls, at_once=100)
        assert meter.cached == calls

    def times(self) -> dict[str, Times]:
        """Time every variant in turn."""
        alone, together = self.sizes.alone, self.sizes.together
        variants = {
            "commits": lambda number: self.commits(f"commits_{number}", alone),
            "one": lambda number: self.puts(f"one_{number}", alone, 1),
            "hundred": lambda number: self.puts(f"hundred_{number}", together, 100),
            "gets": lambda _: self.gets(),
            "replays": lambda _: self.replays(),
            "rerun": self.rerun,
        }
        return interleaved(self.sizes.rounds, variants)


def measure(quick: bool) -> Section:
    """Measure keeping, finding and judging again."""
    sizes = Sizes(1, 10, 100, 12) if quick else Sizes(5, 300, 3000, 900)
    made = work(sizes.calls)
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        seen = played(made, runner, Path(folder))
        with Ledger(Path(folder) / "played.sqlite") as ledger:
            times = Desk(runner, made, seen, ledger, Path(folder), sizes).times()
    return _section(times, seen, sizes)


def _section(times: dict[str, Times], seen: Played, sizes: Sizes) -> Section:
    def row(what: str, name: str, count: int) -> tuple[str, ...]:
        return what, f"{count:,}", f"{count / times[name].wall:,.0f}", f"{times[name].wall / count * 1e3:.3f}"

    rows = (
        row("Durable puts, one commit each (plain SQLite)", "commits", sizes.alone),
        row("Durable puts, 1 task", "one", sizes.alone),
        row("Durable puts, 100 tasks", "hundred", sizes.together),
        row("Gets", "gets", sizes.calls),
        row("Replays through the client", "replays", sizes.calls),
        row("Re-run of the stage, judgements", "rerun", sizes.calls),
    )
    scale = HITS / sizes.calls
    whole, client = times["rerun"].wall * scale, times["replays"].wall * scale
    cpu = times["rerun"].cpu * scale
    measured = (
        f"{whole:.1f} s the whole stage ({cpu:.1f} s of CPU), {client:.1f} s the client alone "
        f"(scaled from {sizes.calls:,})"
    )
    bar = Bar(f"{HITS:,} judgements from the ledger", f"≤ {LIMIT:.0f} s", measured, whole <= LIMIT)
    texts = [len(reply.text) for reply in seen.replies.values()]
    prompts = [sum(len(message.content) for message in request.messages) for request in seen.requests]
    means = {"size": sum(texts) / len(texts) / 1e3, "prompt": sum(prompts) / len(prompts) / 1e3}
    about = ABOUT.format(rounds=sizes.rounds, **means)
    return Section("The ledger", about, ("What", "In a round", "A second", "ms each"), rows, (bar,))
