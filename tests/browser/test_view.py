"""A run from the first call to the browser: the page that the report writes, and the server of stage *view*."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Show
from tests.browser.demo import ASSISTANTS, SHOWN, held, line
from tests.e2e.conftest import Shared, shared
from tests.e2e.running import Run, ccfw, closing, environment
from tests.samples import STARTER

__all__ = ["shared"]
pytestmark = pytest.mark.long
NAMES = ASSISTANTS[:2]


@pytest.fixture(scope="module")
def run(shared: Shared) -> Run:
    """Two assistants over six scenarios in two languages, judged and reported."""

    def make(folder: Path) -> Run:
        (folder / "scenarios").mkdir()
        for seed in SHOWN:
            shutil.copy(STARTER / f"{seed}.json", folder / "scenarios")
        return held(folder, *OWN, names=NAMES)

    return shared("browser", make)


OWN = ("dataset=files", "dataset.path=scenarios", "bootstrap.resamples=200")


def page_of(run: Run) -> Path:
    *_, last = sorted(run.folder.glob("workspace/files/report/*/index.html"), key=lambda path: path.stat().st_mtime_ns)
    return last


def test_the_report_writes_a_page_that_shows_what_was_held(run: Run, show: Show) -> None:
    assert run.code == 0, run.err
    for window in ((1440, 1000), PHONE):
        screen = show(page_of(run).as_uri(), window=window)
        assert screen.tally == "24 of 24 dialogues"
        assert screen.overflow() == 0
        drawn = screen.page.locator(".paper img").evaluate_all("all => all.map(each => each.naturalWidth > 0)")
        assert len(drawn) >= 5
        assert all(drawn)
        expect(screen.page.locator("table.grid").first).to_be_visible()
        screen.choose("language", "native: Uyghur")
        assert len(screen.listed) == 2
        screen.open(screen.listed[0])
        said = screen.page.locator(".bubble.user .said").first
        assert said.evaluate("element => getComputedStyle(element).direction") == "rtl"
        scenario = json.loads((STARTER / f"{SHOWN[3]}.json").read_text("utf-8"))
        assert said.inner_text() == scenario["Blueprint"]["Public_Context"]["Initial_User_Message"]["Native_Language"]


def test_a_page_holds_a_sample_of_whole_scenarios_and_says_so(run: Run, show: Show, tmp_path: Path) -> None:
    folder = shutil.copytree(run.folder, tmp_path / "copy")
    report = ccfw(
        folder, *line(NAMES[:1], "tracking=none", "report.shown=0", *OWN), "stage=report", "report.episodes=10"
    )
    assert report.code == 0, report.err
    screen = show((folder / report.closings["report"]["out"] / "index.html").as_uri())
    assert screen.tally == "8 of 8 dialogues"
    expect(screen.page.locator("#conversations > .note")).to_contain_text("8 of 24: those of the first scenarios")


ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+/)  \(only this machine reaches it; Ctrl-C ends it\)\n")


@dataclass
class Viewing:
    """Stage *view*, running."""

    process: subprocess.Popen[str]
    address: str

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@contextmanager
def viewing(folder: Path, *more: str) -> Iterator[Viewing]:
    arguments = line(NAMES[:1], "tracking=none", *OWN, "stage=view", *more)
    with subprocess.Popen(
        [sys.executable, "-m", "ccfw", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            told = ADDRESS.fullmatch(process.stdout.readline())
            if told is None:
                process.kill()
                raise AssertionError(process.communicate()[1])
            yield Viewing(process, told[1])
        finally:
            process.kill()


def test_the_view_serves_every_conversation_and_ends_at_ctrl_c(run: Run, show: Show) -> None:
    before = sorted(path.relative_to(run.folder) for path in (run.folder / "workspace").rglob("*"))
    with viewing(run.folder) as view:
        screen = show(view.address)
        assert screen.tally == "24 of 24 dialogues"
        screen.choose("model", "Birch")
        screen.choose("language", "native: Thai")
        assert len(screen.listed) == 1
        screen.open(screen.listed[0])
        expect(screen.page.locator(".bubble .said").first).to_have_attribute("lang", "th")
        with screen.listing():
            screen.page.get_by_role("button", name="Clear").click()
        screen.fill("text", "ผู้ใหญ่ในบ้าน")
        assert 0 < len(screen.listed) < 24
        screen.page.context.close()
        code, out, err = view.end(signal.SIGINT)
    assert (code, err) == (0, "")
    assert closing(out.strip())["done"] == 24
    assert sorted(path.relative_to(run.folder) for path in (run.folder / "workspace").rglob("*")) == before


def test_the_served_list_is_the_pages_list(run: Run) -> None:
    with viewing(run.folder) as view:
        with urllib.request.urlopen(f"{view.address}episodes?count=200") as answer:
            served = json.loads(answer.read())
        view.end(signal.SIGTERM)
    setup = re.search(r'<script type="application/json" id="setup">(.*?)</script>', page_of(run).read_text("utf-8"))
    assert setup is not None
    columns = json.loads(setup[1])["columns"]
    assert [row["id"] for row in served["rows"]] == columns["episodes"]
    assert [row["scores"][0] for row in served["rows"]] == columns["scores"][0]


def test_a_port_that_is_taken_is_said(run: Run) -> None:
    with viewing(run.folder) as view:
        port = view.address.rstrip("/").rpartition(":")[2]
        second = ccfw(run.folder, *line(NAMES[:1], "tracking=none", *OWN), "stage=view", f"view.port={port}")
        view.end(signal.SIGINT)
    assert (second.code, second.out) == (2, "")
    assert second.err == f"ccfw: view.port={port}: Address already in use; view.port=0 takes any that is free\n"


def test_nothing_to_view_is_said_with_what_to_do(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder / "my conf", tmp_path / "my conf")
    shutil.copytree(run.folder / "scenarios", tmp_path / "scenarios")
    done = ccfw(tmp_path, *line(NAMES[:1], "tracking=none", *OWN), "stage=view")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "ccfw: stage=view: no episodes of model=amber with these settings in workspace/files; "
        "hold them first with stage=simulate and otherwise the same line\n"
    )


def test_what_nobody_judged_can_be_read_without_scores(run: Run, show: Show, tmp_path: Path) -> None:
    folder = shutil.copytree(run.folder, tmp_path / "copy")
    shutil.rmtree(folder / "workspace" / "files" / "evaluate")
    with viewing(folder) as view:
        screen = show(view.address)
        assert screen.tally == "12 of 12 dialogues"
        expect(screen.page.locator(".scores dd").first).to_have_text("–")
        expect(screen.page.locator("#panel-judged")).to_have_text("Not judged.")
        screen.page.context.close()
        assert view.end(signal.SIGINT)[0] == 0
