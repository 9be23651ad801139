"""Runs under a budget against a provider that bills the worst that a request allows: how far spending passes the cap.

``python -m benchmarks.budgets`` is that provider: it prints its root URL and serves until it is told to stop. A base
URL names the run, ``ROOT/run/7/v1``, and ``ROOT/bill`` says what each run was billed for, in tokens.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
import urllib.request
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from benchmarks.page import Bar, Section
from benchmarks.sides import serving
from benchmarks.wire import Sent, error, http, serve
from ccfw.errors import BudgetError, ProviderError
from ccfw.llm.asking import build_request
from ccfw.llm.budget import Budget
from ccfw.llm.client import Client, Meter
from ccfw.llm.ledger import Ledger
from ccfw.llm.openai_http import close
from ccfw.llm.types import ChatRequest
from ccfw.records import Message
from ccfw.settings.models import ModelConfig, Price
from ccfw.stop import Stop
from tests.fakes.filling import prose
from tests.samples import model_config

MIX = {"429": 0.05, "500": 0.05, "stall": 0.02, "drip": 0.02, "malformed": 0.03, "closed": 0.03}
UNBILLED = ("429", "500")
UNSEEN = 1024
"""Tokens that the provider adds to a prompt at most."""
MOST_IN_FLIGHT, MOST_CALLS = 500, 600
ABOUT = (
    "{runs} runs of `Client` over loopback, each with its own prices (0.01 to 30 dollars per million tokens of input, "
    "0.01 to 120 of output, cached input cheaper, as dear or dearer), bound on output (16 to 4,096 tokens), prompts, "
    "cap (from less than one call's worst case to several times what all calls cost) and concurrency from 1 to "
    "{most}. The provider counts any tokens up to a byte of the prompt each and the bound on output, often all of "
    "them, answers within 20 ms and fails as it likes: {mix}; it bills everything but 429 and 500. Spending is its "
    "own count at the run's prices, in whole fractions."
)


class Case(NamedTuple):
    """One run."""

    number: int
    calls: int
    at_once: int
    cap: float
    price: Price
    most_out: int


class Spent(NamedTuple):
    """What a run came to."""

    case: Case
    billed: Fraction
    """US dollars by the provider's count."""
    meter: Meter
    ended_by_budget: bool
    told: float
    """US dollars by the client's count."""

    @property
    def over(self) -> Fraction:
        """US dollars beyond the cap."""
        return max(Fraction(0), self.billed - Fraction(self.case.cap))


# ---- the provider


class Biller:
    """What all connections share."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)  # noqa: S311 faults, not secrets
        self.bills: dict[str, Counter[str]] = {}

    def answer(self, head: bytes, body: bytes) -> Sent:
        """Return what a request gets, and bill it."""
        if head.startswith(b"get "):
            return Sent(http(200, json.dumps(self.bills).encode()))
        bill = self.bills.setdefault(head.partition(b"/run/")[2].partition(b"/")[0].decode(), Counter())
        kind = self.rng.choices([*MIX, "good"], [*MIX.values(), 1 - sum(MIX.values())])[0]
        after = self.rng.random() * 0.02
        if kind in UNBILLED:
            return Sent(http(int(kind), error("no")), after)
        usage = self._usage(json.loads(body))
        bill.update(usage)
        content = http(200, _completion(usage))
        match kind:
            case "stall":
                return Sent(b"", after)
            case "closed":
                return Sent(None, after)
            case "drip":
                return Sent(content, after, 0.05)
            case "malformed":
                return Sent(http(200, _completion(usage)[:-9]), after)
        return Sent(content, after)

    def _usage(self, asked: dict[str, object]) -> dict[str, int]:
        messages = asked["messages"]
        assert isinstance(messages, list)
        most_in = sum(len(message["content"].encode()) for message in messages) + UNSEEN
        most_out = asked["max_tokens"]
        assert isinstance(most_out, int)
        tokens_in, tokens_out = self._up_to(most_in), self._up_to(most_out)
        return {"in": tokens_in, "out": tokens_out, "cached": self.rng.choice((0, 0, self.rng.randint(0, tokens_in)))}

    def _up_to(self, most: int) -> int:
        return most if self.rng.random() < 0.3 else self.rng.randint(1, most)


def _completion(usage: dict[str, int]) -> bytes:
    content = {
        "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": usage["in"],
            "completion_tokens": usage["out"],
            "prompt_tokens_details": {"cached_tokens": usage["cached"]},
        },
    }
    return json.dumps(content).encode()


# ---- the runs


def drawn(number: int, rng: Random) -> tuple[Case, ModelConfig, list[ChatRequest]]:
    """Draw a run."""
    at_once = round(MOST_IN_FLIGHT ** rng.random())
    calls = min(rng.randint(20, MOST_CALLS), 20 * at_once)
    tokens_in = 10 ** rng.uniform(-2, 1.5)
    cached = rng.choice((None, tokens_in * rng.uniform(0.05, 1.5)))
    price = Price(input=tokens_in, output=10 ** rng.uniform(-2, 2.1), cached_input=cached)
    most_out = 2 ** rng.randint(4, 12)
    model = model_config(
        transport="openai_http",
        max_output_tokens=most_out,
        max_in_flight=at_once,
        timeout_s=0.3,
        deadline_s=20,
        attempts=3,
        price=price.model_dump(),
    )
    requests = [
        build_request(
            model,
            (Message(role="user", content=prose(rng, 20, 2000) + f" {i}"),),
            role="judge",
            temperature=0.0,
            seed=0,
        )
        for i in range(calls)
    ]
    one = (price.input * 1500 + price.output * most_out) / 1e6  # roughly the worst case of one call
    cap = one * 10 ** rng.uniform(-0.2, 3)
    return Case(number, calls, at_once, cap, price, most_out), model, requests


async def _spend(client: Client, requests: list[ChatRequest], workers: int) -> bool:
    """Ask until everything is answered or the money is spent; say whether it was spent."""
    queue = iter(requests)
    spent = False

    async def worker() -> None:
        nonlocal spent
        for request in queue:
            if spent:
                return
            try:
                await client.complete(request)
            except BudgetError:
                spent = True
            except ProviderError:
                continue

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workers, len(requests))):
            group.create_task(worker())
    return spent


def run(root: str, runner: asyncio.Runner, folder: Path, number: int, rng: Random) -> Spent:
    """Make one run."""
    case, model, requests = drawn(number, rng)
    model = model.model_copy(update={"api_base": f"{root}/run/{number}/v1"})
    meter, budget = Meter(), Budget(case.cap)
    with Ledger(folder / f"{number}.sqlite") as ledger:
        client = Client(model, ledger, meter, budget=budget, stop=Stop())
        ended = runner.run(_spend(client, requests, 2 * case.at_once))
    with urllib.request.urlopen(f"{root}/bill") as response:  # noqa: S310 our own
        bill = json.load(response).get(str(number), {})
    return Spent(case, _dollars(bill, case.price), meter, ended, budget.spent)


def _dollars(bill: dict[str, int], price: Price) -> Fraction:
    tokens_in, tokens_out, cached = (bill.get(name, 0) for name in ("in", "out", "cached"))
    rate = Fraction(price.input if price.cached_input is None else price.cached_input)
    total = (tokens_in - cached) * Fraction(price.input) + cached * rate + tokens_out * Fraction(price.output)
    return total / 10**6


def measure(quick: bool) -> Section:
    """Make the runs."""
    logging.getLogger("stamina").setLevel(logging.ERROR)
    rng = Random(7)  # noqa: S311 prices, not secrets
    with (
        serving("benchmarks.budgets", "7") as root,
        asyncio.Runner() as runner,
        tempfile.TemporaryDirectory() as folder,
    ):
        spent = [run(root, runner, Path(folder), number, rng) for number in range(3 if quick else 100)]
        runner.run(close())
    return _section(spent)


def _section(spent: list[Spent]) -> Section:
    bands = ((1, 1), (2, 50), (51, 250), (251, MOST_IN_FLIGHT))
    rows = []
    for low, high in bands:
        those = [each for each in spent if low <= each.case.at_once <= high]
        ended = [each for each in those if each.ended_by_budget]
        shares = [float(each.billed / Fraction(each.case.cap)) for each in ended]
        rows.append(
            (
                str(low) if low == high else f"{low} to {high}",
                str(len(those)),
                f"{sum(each.meter.calls + each.meter.lost for each in those):,}",
                str(len(ended)),
                f"{median(shares):.0%}" if shares else "–",
                f"{max(shares):.1%}" if shares else "–",
                f"${float(max((each.over for each in those), default=0)):g}",
            )
        )
    highest = max(each.over for each in spent)
    untold = max(each.billed - Fraction(each.told) for each in spent)
    bars = (
        Bar("Highest overshoot of any run", "$0", f"${float(highest):g}", highest == 0),
        Bar("Billed beyond what the client counts", "$0", f"${max(0.0, float(untold)):g}", untold <= 0),
    )
    mix = ", ".join(f"{name} {share:.0%}" for name, share in MIX.items())
    head = ("In flight", "Runs", "Calls billed", "Ended by the cap", "Of it billed, median", "Highest", "Overshoot")
    return Section("Budgets", ABOUT.format(runs=len(spent), most=MOST_IN_FLIGHT, mix=mix), head, tuple(rows), bars)


if __name__ == "__main__":
    asyncio.run(serve(Biller(int(sys.argv[1])).answer))
