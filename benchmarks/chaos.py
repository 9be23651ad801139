"""A judged run against a provider that fails in every way at once: what is kept, and how fast it goes.

``python -m benchmarks.chaos PLAN.json`` is that provider: it prints its root URL and serves until it is told to stop;
``ROOT/counts`` says what it did. It is no bottleneck, as ``benchmarks.server`` is none.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple, cast

import numpy as np

from benchmarks.judging import Work, bare_arguments, work
from benchmarks.page import Bar, Section
from benchmarks.sides import ROOT
from benchmarks.wire import Sent, error, http, serve
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.limiter import Limiter
from ccfw.llm.openai_http import OpenAIHttpClient, close
from ccfw.llm.types import ChatReply, ChatRequest
from ccfw.records import FailureKind, Judgement, Metric
from ccfw.settings.models import ModelConfig
from ccfw.stages.batch import run_batch, workers
from ccfw.stages.context import StageResult
from ccfw.stages.evaluate import Bench
from ccfw.stop import Stop
from ccfw.store import Output, done_ids
from tests.fakes.scripts import play_judge
from tests.fakes.wire import FakeReply, FakeRequest

GOODPUT, SLOPE_MB = 0.90, 1.0
MIX = {"429": 0.10, "500": 0.05, "stall": 0.02, "drip": 0.02, "malformed": 0.03, "truncated": 0.01}
"""Share of the requests that meet each; the bucket refuses more besides."""
BILLED = ("good", "truncated", "malformed", "stall", "drip")
"""What takes a token of the bucket, and what a provider may bill."""
TIMEOUT_S, DEADLINE_S, ATTEMPTS, AT_ONCE = 1.0, 30.0, 12, 200
ABOUT = (
    "{calls:,} judgements by the whole evaluate path (views, prompts, ledger, retries, parsing, records) over "
    "loopback through `openai_http`, at most {at_once} in flight, {timeout:g} s a try, {attempts} tries and "
    "{deadline:g} s a call. The provider, in a process of its own, admits {rate:g} requests a second (a token bucket "
    "with room for {burst:g}), answers after {latency:.0f} ms and draws for each request: 429 {m429:.0%}, 500 "
    "{m500:.0%}, a stall {mstall:.0%}, a slow drip {mdrip:.0%}, broken JSON {mbad:.0%}, a reply cut short {mcut:.0%}; "
    "half of all 429 name a `Retry-After` of {retry:g} s. 429 and 500 take no token. What the bucket allows is every "
    "token of the run's duration, spent at the share of good replies that the mix leaves. RSS is this process's, from "
    "the middle of the run on, by least squares."
)


@dataclass(frozen=True)
class Plan:
    """What the provider is told."""

    rate: float
    """Tokens a second."""
    burst: float
    latency: float
    retry_after: float
    replies: dict[str, str] = field(default_factory=dict)
    """Texts by a word that stands in the request."""
    mix: dict[str, float] = field(default_factory=lambda: dict(MIX))
    seed: int = 0


@dataclass
class Bucket:
    """Admits so many requests a second."""

    rate: float
    burst: float
    level: float = 0.0
    last: float = 0.0

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        self.level = min(self.burst, self.level + (now - self.last) * self.rate)
        self.last = now
        if self.level < 1:
            return False
        self.level -= 1
        return True


# ---- the provider


class Rough:
    """What all connections share."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.bucket = Bucket(plan.rate, plan.burst, plan.burst, time.monotonic())
        self.counts: Counter[str] = Counter()
        self.rng = Random(plan.seed)  # noqa: S311 faults, not secrets
        self.good = {word.encode(): _completion(text, "stop") for word, text in plan.replies.items()}
        self.cut = {word.encode(): _completion(text[: len(text) // 2], "length") for word, text in plan.replies.items()}

    def fate(self) -> str:
        """Draw what a request meets."""
        point, kind = self.rng.random(), "good"
        for name, share in self.plan.mix.items():
            if point < share:
                kind = name
                break
            point -= share
        if kind in BILLED and not self.bucket.take(time.monotonic()):
            kind = "refused"
        self.counts[kind] += 1
        return kind

    def answer(self, head: bytes, body: bytes) -> Sent:
        """Return what a request gets."""
        if head.startswith(b"get "):
            return Sent(http(200, json.dumps(self.counts).encode()))
        kind, after = self.fate(), self.plan.latency
        replies = self.cut if kind == "truncated" else self.good
        good = next((reply for word, reply in replies.items() if word in body), next(iter(replies.values())))
        match kind:
            case "stall":
                return Sent(b"", after)
            case "500":
                return Sent(http(500, error("The server had an error.")), after)
            case "429" | "refused":
                wait = f"Retry-After: {self.plan.retry_after:g}\r\n" if self.rng.random() < 0.5 else ""
                return Sent(http(429, error("Rate limit reached."), wait), after)
            case "malformed":
                return Sent(http(200, good[: len(good) * 2 // 3]), after)
            case "drip":
                return Sent(http(200, good), after, 0.02)
        return Sent(http(200, good), after)


def _completion(text: str, reason: str) -> bytes:
    body = FakeReply(text).completion(FakeRequest({"model": "scripted", "messages": []}, {}, 0, 0, 0.0))
    body["choices"][0]["finish_reason"] = reason
    return json.dumps(body).encode()


@contextlib.contextmanager
def provider(plan: Plan, folder: Path) -> Iterator[str]:
    """Run the provider in a process of its own, and give its root URL."""
    path = folder / "plan.json"
    path.write_text(json.dumps(asdict(plan)), "utf-8")
    command = [sys.executable, "-m", "benchmarks.chaos", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:  # noqa: S603 our own
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


# ---- the client's side


@dataclass
class Timed:
    """A transport that counts the replies that came through, and notes when each request was first sent."""

    inner: OpenAIHttpClient
    replies: int = 0
    first: dict[str, float] = field(default_factory=dict)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        self.first.setdefault(request.key, time.monotonic())
        reply = await self.inner.complete(request)
        self.replies += 1
        return reply


@dataclass
class Clocked(Client):
    """A client that notes how long its longest call took, from the first sending on."""

    longest: float = 0.0

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        try:
            return await super().complete(request)
        finally:
            assert isinstance(self.transport, Timed)
            first = self.transport.first.pop(request.key, None)
            if first is not None:
                self.longest = max(self.longest, time.monotonic() - first)


class Memory(threading.Thread):
    """Notes how large this process is after how many calls."""

    def __init__(self, meter: Meter) -> None:
        super().__init__(daemon=True)
        self.meter = meter
        self.points: list[tuple[int, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Look until told that it is over."""
        while not self.over.wait(0.1):
            self.points.append((self.meter.calls, _rss_mb()))

    def slope(self) -> float:
        """Return the MB by which 10,000 calls of the last half grew it."""
        last = [point for point in self.points if point[0] >= self.meter.calls / 2]
        if len(last) < 3 or last[0][0] == last[-1][0]:
            return 0.0
        calls, sizes = np.array(last).T
        return float(np.polyfit(calls, sizes, 1)[0]) * 1e4


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Found(NamedTuple):
    """What a run came to."""

    calls: int
    wall: float
    judged: int
    failed: int
    kept: int
    """Rows of the ledger."""
    through: int
    """Replies that came through whole."""
    meter: Meter
    served: dict[str, int]
    longest: float
    lowest: float
    slope: float
    plan: Plan

    @property
    def good_share(self) -> float:
        """Share of the tokens that buys a judgement."""
        taking = 1 - sum(share for name, share in self.plan.mix.items() if name not in BILLED)
        return (1 - sum(self.plan.mix.values())) / taking

    @property
    def allowed(self) -> float:
        """Judgements that the bucket allowed in that time."""
        return (self.plan.rate * self.wall + self.plan.burst) * self.good_share

    @property
    def lost(self) -> int:
        """Judgements that are missing, and whole replies that nobody kept."""
        return self.calls - self.judged + self.through - self.kept

    @property
    def doubled(self) -> int:
        """Replies that were counted without being kept, or that the provider never sent."""
        sent = self.served.get("good", 0) + self.served.get("truncated", 0)
        return abs(self.meter.calls - self.kept) + max(0, self.meter.calls - sent)


def _model(made: Work, base: str) -> ModelConfig:
    limits = {"timeout_s": TIMEOUT_S, "deadline_s": DEADLINE_S, "attempts": ATTEMPTS, "max_in_flight": AT_ONCE}
    return made.settings.model.model_copy(update={"api_base": base, **limits})


def judged(made: Work, calls: int, plan: Plan, folder: Path) -> Found:
    """Make the judgements once."""
    meter, result = Meter(), StageResult("evaluate", folder)
    with (
        provider(plan, folder) as root,
        asyncio.Runner() as runner,
        Ledger(folder / "ledger.sqlite") as ledger,
        Output(folder / "out") as output,
        contextlib.redirect_stderr(io.StringIO()),
    ):
        model = _model(made, f"{root}/v1")
        transport = Timed(OpenAIHttpClient(model, model.api_base))
        client = Clocked(model, ledger, meter, transport, limiter=Limiter(model.min_in_flight, model.max_in_flight))
        bench = Bench(made.settings, model, client, made.prompts)
        memory, started = Memory(meter), time.monotonic()
        memory.start()
        run_batch(
            runner,
            output,
            result,
            made.items[:calls],
            bench.judge,
            broken=_broken,
            kind=Judgement,
            concurrency=workers(model),
            stop=Stop(),
        )
        wall = time.monotonic() - started
        memory.over.set()
        runner.run(close())
        with urllib.request.urlopen(f"{root}/counts") as response:  # noqa: S310 our own
            served: dict[str, int] = json.load(response)
        done = len(done_ids(output.records))
    assert client.limiter
    return Found(
        plan=plan,
        calls=calls,
        wall=wall,
        judged=done,
        failed=result.failed,
        kept=_rows(folder / "ledger.sqlite"),
        through=transport.replies,
        meter=meter,
        served=served,
        longest=client.longest,
        lowest=client.limiter.lowest,
        slope=memory.slope(),
    )


def _rows(ledger: Path) -> int:
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])


def _broken(judgement: Judgement) -> str | None:
    failure = judgement.failure
    return failure.detail if failure and failure.kind is FailureKind.INFRASTRUCTURE else None


def measure(quick: bool) -> Section:
    """Make the run."""
    calls, rate = (120, 100.0) if quick else (20_000, 250.0)
    made = work(calls)
    plan = Plan(rate, rate / 5, 0.05, 1.0, replies(made))
    with tempfile.TemporaryDirectory() as folder:
        return _section(judged(made, calls, plan, Path(folder)))


def replies(made: Work) -> dict[str, str]:
    """Return a verdict for each of the judge's schemas."""
    texts: dict[str, str] = {}
    for _, item in made.items[: len(Metric)]:
        request = Bench(made.settings, made.settings.model, cast("Client", None), made.prompts).request(item)
        body = bare_arguments(made.settings.model, request)
        verdict = json.loads(play_judge(FakeRequest(body, {}, 0, 0, 0.0)))
        calm = {name: [] if isinstance(value, list) else value for name, value in verdict.items()}
        texts[f'"{request.schema_name}"'] = json.dumps(calm)  # it names nothing that one scenario alone has
    return texts


def _section(found: Found) -> Section:
    plan, mix = found.plan, found.plan.mix
    about = ABOUT.format(
        calls=found.calls,
        at_once=AT_ONCE,
        timeout=TIMEOUT_S,
        attempts=ATTEMPTS,
        deadline=DEADLINE_S,
        rate=plan.rate,
        burst=plan.burst,
        latency=plan.latency * 1e3,
        retry=plan.retry_after,
        m429=mix["429"],
        m500=mix["500"],
        mstall=mix["stall"],
        mdrip=mix["drip"],
        mbad=mix["malformed"],
        mcut=mix["truncated"],
    )
    asked = sum(found.served.values())
    goodput = found.judged / found.allowed
    kinds = ("good", "truncated", "malformed", "stall", "drip", "500", "429", "refused")
    rows = (
        *((f"Requests: {kind}", f"{found.served.get(kind, 0):,}") for kind in kinds),
        ("Requests in all", f"{asked:,}"),
        ("Judgements", f"{found.judged:,}"),
        ("Seconds", f"{found.wall:.1f}"),
        ("Judgements a second", f"{found.judged / found.wall:.0f}"),
        ("Lowest limit on calls in flight", f"{found.lowest:.0f}"),
        ("Cut off or unreadable, counted as maybe billed", f"{found.meter.lost:,}"),
    )
    bars = (
        Bar("Judgements and replies lost", "0", str(found.lost), found.lost == 0),
        Bar("Replies counted twice", "0", str(found.doubled), found.doubled == 0),
        Bar("Goodput by what the bucket allows", f"≥ {GOODPUT:.0%}", f"{goodput:.1%}", goodput >= GOODPUT),
        Bar("Longest call", f"≤ {DEADLINE_S:g} s", f"{found.longest:.1f} s", found.longest <= DEADLINE_S),
        Bar(
            "RSS over the last half, by 10,000 calls",
            f"≤ {SLOPE_MB:g} MB",
            f"{found.slope:+.2f} MB",
            found.slope <= SLOPE_MB,
        ),
    )
    return Section("A provider on a bad day", about, ("What", "Measured"), rows, bars)


if __name__ == "__main__":
    asyncio.run(serve(Rough(Plan(**json.loads(Path(sys.argv[1]).read_text("utf-8")))).answer))
