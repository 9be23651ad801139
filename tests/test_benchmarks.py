"""Each measurement at its smallest size, as a user runs it, and the page that they are written to."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.clock import Spent, Times, interleaved
from benchmarks.engine import replies
from benchmarks.judging import bare_arguments, played, work
from benchmarks.page import Bar, Section, page_text, printed
from benchmarks.peers import PEERS, Peer
from benchmarks.server import Conversation, response
from benchmarks.sides import INTERPRETER, Cell, Found, Round, peer
from benchmarks.synthetic import _episodes, _scenarios
from ccfw.datasets import load
from ccfw.judging.rubric import Verdict, read_verdict
from ccfw.llm.asking import build_request
from ccfw.llm.litellm_client import LitellmClient
from ccfw.records import Episode, LanguageMode, Message
from ccfw.settings.dialogues import DatasetConfig
from ccfw.universe.seed_id import episode_id
from ccfw.views import judge_view
from tests.samples import ROOT, model_config

Table = list[list[str]]
VERDICTS = {"met", "**not met**"}


def tables(text: str) -> list[Table]:
    """Return every table of a page: head and rows, the rule between them left out."""
    found: list[Table] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        found[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
    for table in found:
        rule = table.pop(1)
        assert set("".join(rule)) <= set("-:")
    return found


def rectangular(table: Table) -> bool:
    return len({len(row) for row in table}) == 1 and all(cell for row in table for cell in row)


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_measurement_prints_its_figures_and_its_bars(name: str) -> None:
    page = ROOT / "docs" / "benchmarks.md"
    before = page.read_bytes() if page.exists() else None
    done = bench("--quick", name)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    figures, bars = tables(done.stdout)
    assert rectangular(figures)
    assert rectangular(bars)
    assert len(figures) > 2
    assert bars[0] == ["What", "Bar", "Measured", "Verdict", "Command"]
    assert {row[3] for row in bars[1:]} <= VERDICTS
    assert {row[4] for row in bars[1:]} == {f"`python -m benchmarks {name}`"}
    assert (page.read_bytes() if page.exists() else None) == before


def test_an_unknown_measurement_is_named_with_those_that_there_are() -> None:
    done = bench("engin")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(f"unknown: engin; there are {', '.join(NAMES)}")


SECTION = Section("Speed", "In turn.", ("Way", "ms"), (("ours", "1"), ("theirs", "2")), (Bar("a", "≤ 1", "1", True),))


def test_the_page_counts_the_bars_and_holds_every_table() -> None:
    slow = SECTION._replace(title="Size", bars=(Bar("b", "≤ 1", "2", False),))
    text = page_text({"speed": SECTION, "size": slow}, [("Cores", "2")])
    machine, bars, speed, size = tables(text)
    assert "1 of 2 bars are met" in text
    assert machine == [["What", "Found"], ["Cores", "2"]]
    assert bars[1:] == [
        ["a", "≤ 1", "1", "met", "`python -m benchmarks speed`"],
        ["b", "≤ 1", "2", "**not met**", "`python -m benchmarks size`"],
    ]
    assert speed == size == [["Way", "ms"], ["ours", "1"], ["theirs", "2"]]
    assert max(map(len, text.splitlines())) <= 120


def test_a_measurement_without_bars_prints_one_table() -> None:
    assert len(tables(printed("speed", SECTION._replace(bars=())))) == 1


def test_variants_run_in_turn_and_the_order_turns_about() -> None:
    order: list[tuple[str, int]] = []
    times = interleaved(3, {name: lambda number, name=name: order.append((name, number)) for name in "ab"})  # type: ignore[misc]
    assert order == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert [len(each.runs) for each in times.values()] == [3, 3]


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    ours = Times((Spent(2.0, 1.0), Spent(30.0, 4.0), Spent(4.0, 9.0)))
    theirs = Times((Spent(1.0, 1.0), Spent(10.0, 2.0), Spent(4.0, 3.0)))
    assert (ours.wall, ours.cpu) == (4.0, 4.0)
    assert (ours.slower(theirs), ours.costlier(theirs)) == (2.0, 2.0)


def test_the_bare_library_is_handed_what_ours_hands_it() -> None:
    model = model_config()
    request = build_request(
        model,
        (Message(role="system", content="judge"), Message(role="user", content="hi")),
        role="judge",
        temperature=0.0,
        seed=3,
        schema_name="judge_helpful",
        schema={"type": "object"},
    )
    assert bare_arguments(model, request) == LitellmClient(model, model.api_base)._arguments(request)


class Wire(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.written = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))
        self.written.set()

    def is_closing(self) -> bool:
        return False


def http(word: str, latency: str) -> bytes:
    body = f'{{"schema":"{word}"}}'.encode()
    return f"POST /lat/{latency}/v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("size", [1, 7, 10_000], ids=str)
def test_the_fast_provider_answers_each_request_by_its_word_however_the_bytes_arrive(size: int) -> None:
    wire, conversation = Wire(), Conversation({b"judge_b": b"B", b"judge_a": b"A"})
    conversation.connection_made(wire)
    sent = http("judge_a", "0") + http("judge_b", "0") + http("other", "0")
    for start in range(0, len(sent), size):
        conversation.data_received(sent[start : start + size])
    assert wire.sent == [b"A", b"B", b"B"]


def test_the_fast_provider_waits_as_long_as_the_path_says() -> None:
    async def asked() -> tuple[list[bytes], list[bytes]]:
        wire, conversation = Wire(), Conversation({b"judge": b"A"})
        conversation.connection_made(wire)
        conversation.data_received(http("judge", "1"))
        before = list(wire.sent)
        await asyncio.wait_for(wire.written.wait(), 10)
        return before, wire.sent

    assert asyncio.run(asked()) == ([], [b"A"])


def test_the_fast_providers_reply_is_a_chat_completion() -> None:
    head, _, body = response("தமிழ்").partition(b"\r\n\r\n")
    assert head.splitlines()[0] == b"HTTP/1.1 200 OK"
    assert f"Content-Length: {len(body)}".encode() in head.splitlines()
    assert json.loads(body)["choices"][0]["message"]["content"] == "தமிழ்"


def test_a_peer_that_no_interpreter_has_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "nobody", type("Nobody", (Peer,), {"needs": "no_such_package_anywhere"}))
    monkeypatch.setenv(INTERPRETER, sys.executable)
    assert peer("nobody", ROOT) is None
    assert peer("openai", ROOT / "r.json") == (
        sys.executable,
        str(ROOT / "benchmarks" / "peers.py"),
        "openai",
        str(ROOT / "r.json"),
    )


def test_costs_are_compared_call_by_call() -> None:
    ours = Found(10, Times((Spent(1.0, 1.25), Spent(2.0, 5.0), Spent(4.0, 9.0))))
    once = Found(5, Times((Spent(2.0, 3.75),)))
    assert (ours.cpu_ms, ours.rate) == (500.0, 5.0)
    assert once.costlier(ours) == 6.0  # 0.75 s a call beside 0.125 s, in the one round that both have
    assert Cell(0.5, 100, 10, 5, 3).ideal == 200.0
    assert Cell(0.0, 100, 10, 5, 3).ideal is None
    assert Cell(0.05, 100, 10, 5, 3).asked("http://h", fast=False) == Round("http://h/lat/50/v1", 100, 5)


def test_every_metric_has_a_reply_that_fits_each_episode(tmp_path: Path) -> None:
    made = work(12)
    with asyncio.Runner() as runner:
        seen = played(made, runner, tmp_path)
    found = replies(seen)
    assert len(found) == 6
    items = [item for _, item in made.items]
    for request, item in zip(seen.requests, items, strict=True):
        text = next(text for word, text in found.items() if word in str(request.schema_name))
        assert isinstance(read_verdict(text, judge_view(*item), "full"), Verdict)


def test_copies_of_a_scenario_are_scenarios_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(f"{line}\n" for line in _scenarios(30)), "utf-8")
    found = load(DatasetConfig(name="files", path=str(path))).scenarios
    assert len({scenario.seed.seed_id for scenario in found}) == 30
    held = [Episode.model_validate_json(line) for line in _episodes(30)]
    names = {episode_id(s.seed.seed_id, language) for s in found for language in LanguageMode}
    assert len(held) == 59
    assert {episode.episode_id for episode in held} < names
    assert {episode.seed.seed_id for episode in held} == {scenario.seed.seed_id for scenario in found}


def test_the_work_is_distinct_judgements_six_to_an_episode() -> None:
    items = work(13).items
    assert len({key for key, _ in items}) == 13
    assert len({episode.episode_id for _, (_, episode, _) in items}) == 3
