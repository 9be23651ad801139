"""What a judgement costs beside other clients of the same provider, and how many are made a second."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.judging import Played, bare_arguments, played, work
from benchmarks.page import Bar, Section
from benchmarks.sides import Cell, Found, Side, measured, own, peer, serving, started

SIDES = {
    "http": "ccfw, `openai_http`",
    "ours": "ccfw, `litellm`",
    "memory": "ccfw, replies from memory",
    "floor": "aiohttp + orjson",
    "litellm": "litellm",
    "openai": "openai",
    "inspect_ai": "inspect_ai",
}
TRANSPORTS = {"http": "openai_http", "ours": "litellm", "memory": "memory"}
FAST, ONCE = {"http", "memory", "floor"}, {"inspect_ai"}
RATIO, CPU_MS, RATE, SHARE, CROWDED = 1.10, 0.6, 1000, 0.97, 800
LESS = {"litellm": 10, "inspect_ai": 30}
_WORDS = ("judge_helpful", "judge_honest", "judge_harmless", "judge_naturalness", "judge_scenario", "judge_cultural")
_KEPT = 600
"""Different requests that the peers send, over and over."""
FULL = (
    Cell(0.0, 1, 200, 60, 3),
    Cell(0.05, 1, 20, 20, 3),
    Cell(0.5, 1, 3, 3, 3),
    Cell(0.0, 100, 1000, 300, 3),
    Cell(0.05, 100, 2000, 300, 3),
    Cell(0.5, 100, 2000, 300, 3),
    Cell(0.0, 1000, 2000, 1000, 2),
    Cell(0.05, 1000, 3000, 1000, 2),
    Cell(0.5, 1000, 3000, 1000, 2),
)
QUICK = (Cell(0.05, 100, 100, 6, 1), Cell(0.5, 100, 100, 6, 1), Cell(0.5, 1000, 12, 6, 1))
BUSY, SLOW, CROWD = (0.05, 100), (0.5, 100), (0.5, 1000)
"""Latency and calls at once of the cells that have bars of their own."""
ABOUT = (
    "Calls a second / CPU milliseconds a call, by latency and calls at once. ccfw is the whole evaluate path (views, "
    "prompts, ledger, limits, retries, parsing, records) through each of its transports, and once with replies that "
    "come at once from memory; the others send the same messages and bounds and read the text: nothing but aiohttp "
    "and orjson, litellm's and OpenAI's libraries as they come, and inspect_ai on a task of one generation and one "
    "trivial score through its OpenAI-compatible provider. Each side is a process of its own on Python's own event "
    "loop; the provider is another (`benchmarks/server.py`). {rounds} rounds a cell, all sides in turn, after an "
    "unmeasured one; inspect_ai has one. CPU is the process's, work after the calls included. Fast sides make up to "
    "{many:,} calls a round, the others up to {few:,}. Peers that the environment lacks (`pip install "
    "'ccfw[bench]'`) run by the interpreter that `--peers` names."
)


def replies(seen: Played) -> dict[str, str]:
    """Return a reply for each metric that is valid in every episode."""
    found: dict[str, str] = {}
    for request in seen.requests:
        word = next(word for word in _WORDS if word in str(request.schema_name))
        content: dict[str, Any] = json.loads(seen.replies[request.key].text)
        content |= {key: [] for key in ("tripwires_triggered", "taboos_violated") if key in content}
        found.setdefault(word, json.dumps(content, ensure_ascii=False))
    return found


def payloads(seen: Played) -> list[dict[str, Any]]:
    """Return what the peers send: the bodies of our own requests."""
    wanted = ("messages", "max_tokens", "temperature", "seed", "response_format")
    asked = [bare_arguments(seen.model, request) for request in seen.requests[:_KEPT]]
    return [{key: each[key] for key in wanted} for each in asked]


@contextlib.contextmanager
def prepared(most: int) -> Iterator[tuple[Path, Path]]:
    """Write what the provider answers and what the peers send, in a folder that ends with the context."""
    with tempfile.TemporaryDirectory() as name, asyncio.Runner() as runner:
        folder = Path(name)
        seen = played(work(min(most, _KEPT)), runner, folder)
        answers, sent = folder / "replies.json", folder / "requests.json"
        answers.write_text(json.dumps(replies(seen)), "utf-8")
        sent.write_text(json.dumps(payloads(seen)), "utf-8")
        yield answers, sent


def measure(quick: bool) -> Section:
    """Measure every cell."""
    cells = QUICK if quick else FULL
    most = max(cell.many for cell in cells)
    with contextlib.ExitStack() as stack:
        answers, sent = stack.enter_context(prepared(most))
        commands = {name: own(TRANSPORTS[name], most) if name in TRANSPORTS else peer(name, sent) for name in SIDES}
        root = stack.enter_context(serving("benchmarks.server", str(answers)))
        sides: dict[str, Side] = {
            name: stack.enter_context(started(command)) for name, command in commands.items() if command
        }
        return _section({cell: measured(cell, root, sides, FAST, ONCE) for cell in cells})


def _section(found: dict[Cell, dict[str, Found]]) -> Section:
    head = ("Client", *(f"{cell.latency * 1e3:g} ms, {cell.at_once:,}" for cell in found))
    rows = tuple((label, *(_figures(each.get(name)) for each in found.values())) for name, label in SIDES.items())
    most = {"many": max(cell.many for cell in found), "few": max(cell.few for cell in found)}
    about = ABOUT.format(rounds=" to ".join(sorted({str(cell.rounds) for cell in found})), **most)
    return Section("The engine", about, head, rows, tuple(_bars(found)))


def _figures(found: Found | None) -> str:
    return f"{found.rate:,.0f} / {found.cpu_ms:.2f}" if found else "not installed"


def _bars(found: dict[Cell, dict[str, Found]]) -> Iterator[Bar]:
    at = {(cell.latency, cell.at_once): (cell, sides) for cell, sides in found.items()}
    _, busy = at[BUSY]
    where = f"`openai_http`, {BUSY[0] * 1e3:g} ms, {BUSY[1]} at once"
    cpu = busy["http"].cpu_ms
    yield Bar(f"CPU of a call ({where})", f"≤ {CPU_MS} ms", f"{cpu:.2f} ms", cpu <= CPU_MS)
    for name, times in LESS.items():
        if name in busy:
            less = busy[name].costlier(busy["http"])
            yield Bar(f"CPU of a call ({where})", f"≥ {times} x less than {name}", f"{less:.1f} x", less >= times)
    rate = busy["http"].rate
    yield Bar(f"Throughput ({where})", f"≥ {RATE:,}/s", f"{rate:,.0f}/s", rate >= RATE)
    cell, slow = at[SLOW]
    share = slow["http"].rate / (cell.ideal or 1.0)
    what = f"Throughput (`openai_http`, {SLOW[0] * 1e3:g} ms, {SLOW[1]} at once)"
    yield Bar(what, f"≥ {SHARE:.0%} of the ideal", f"{share:.1%}", share >= SHARE)
    _, crowd = at[CROWD]
    rate = crowd["http"].rate
    what = f"Throughput (`openai_http`, {CROWD[0] * 1e3:g} ms, {CROWD[1]:,} at once)"
    yield Bar(what, f"≥ {CROWDED}/s", f"{rate:,.0f}/s", rate >= CROWDED)
    ratios = [sides["ours"].costlier(sides["litellm"]) for sides in found.values()]
    text = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    yield Bar("CPU by bare litellm's (`litellm`, every cell)", f"≤ {RATIO:.2f}", text, max(ratios) <= RATIO)
