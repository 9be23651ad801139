"""``stage=kb kb=wikipedia`` as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kb import MOST_MB, build, write_dump
from ccfw.knowledge.building import read_passages
from tests.e2e.running import Run, ccfw
from tests.knowledge.test_building import PAGES, english
from tests.knowledge.test_dumps import SHARED


def run(folder: Path, *dumps: Path, more: tuple[str, ...] = ()) -> Run:
    listed = ",".join(map(str, dumps))
    return ccfw(folder, "stage=kb", "kb=wikipedia", f"kb.dumps=[{listed}]", *more)


def manifest(done: Run) -> dict[str, Any]:
    content = json.loads((done.folder / done.closings["kb"]["out"] / "manifest.json").read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def files(done: Run) -> dict[str, bytes]:
    folder = done.folder / done.closings["kb"]["out"] / "passages"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_dump_becomes_passages_once(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    first = run(tmp_path, dump)
    assert first.code == 0
    (line,) = first.err.splitlines()
    assert line.endswith("INFO stage=kb: 5 passages; who asks first by vectors waits for theirs, once")
    closing = first.closings["kb"]
    assert (closing["status"], closing["done"], closing["calls"]) == ("ok", 5, 0)
    told = manifest(first)
    assert {region: count for region, count in told["passages"].items() if count} == {"MY": 4, "SG": 1}
    assert (told["dumps"][0]["pages"], told["dumps"][0]["status"]) == (len(PAGES), "whole")
    assert sorted(path.name for path in (tmp_path / closing["out"]).iterdir() if path.name[0] != ".") == [
        "manifest.json",
        "passages",
    ]
    again = run(tmp_path, dump)
    assert (again.closings["kb"]["done"], again.closings["kb"]["skipped"]) == (0, 5)
    assert again.closings["kb"]["out"] == closing["out"]


def test_a_changed_dump_or_setting_is_another_knowledge_base(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    out = run(tmp_path, dump).closings["kb"]["out"]
    assert run(tmp_path, dump, more=("kb.build.words=90",)).closings["kb"]["out"] != out
    english(tmp_path, *PAGES[:5])
    assert run(tmp_path, dump).closings["kb"]["out"] != out


def test_a_list_of_titles_is_read(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    (tmp_path / "brunei.tsv").write_text("number\ttitle\tnamespace\n1\tGold\t\n", "utf-8")
    lists = ("+kb.build.lists.regions.BN=[brunei.tsv]", "+kb.build.lists.identities={BN/Iban_Christian:[brunei.tsv]}")
    done = run(tmp_path, dump, more=(*lists, "+kb.build.lists.tags.money=[brunei.tsv]"))
    (gold,) = [each for each in read_passages(done.folder / done.closings["kb"]["out"]) if each.region == "BN"]
    assert (gold.title, gold.tags, gold.identities) == ("Gold", ("money",), ("Iban_Christian",))


def test_a_truncated_dump_is_said_to_be_one(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    dump.write_text(dump.read_text("utf-8")[:-100], "utf-8")
    told = f"enwiki.xml: truncated after {len(PAGES) - 1} whole pages: the XML ends before </mediawiki>"
    for counts in ({"done": 5, "failed": 1, "skipped": 0}, {"done": 0, "failed": 1, "skipped": 5}):  # built, then there
        done = run(tmp_path, dump)
        assert (done.code, done.closings["kb"]["status"]) == (1, "partial")
        assert counts.items() <= done.closings["kb"].items()
        assert told in done.err


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            ("kb.dumps=null",),
            "kb.dumps: give one MediaWiki dump or more, as in kb.dumps=[viwiki-pages-articles.xml.bz2]",
        ),
        (("kb.dumps=[none.xml,no.bz2]",), "kb.dumps: none.xml: no such file\nkb.dumps: no.bz2: no such file"),
    ],
    ids=["none", "missing"],
)
def test_a_request_that_cannot_be_met_is_refused(tmp_path: Path, more: tuple[str, ...], reason: str) -> None:
    done = ccfw(tmp_path, "stage=kb", "kb=wikipedia", *more)
    assert done.code == 2
    assert [line for line in reason.splitlines() if line not in done.err] == []
    assert "Traceback" not in done.err


def test_every_file_of_which_nothing_can_be_read_is_named_before_a_build(tmp_path: Path) -> None:
    (tmp_path / "page.xml").write_text("<html></html>", "utf-8")
    (tmp_path / "cut.xml").write_text("<mediawiki><page><title>A</title>", "utf-8")
    (tmp_path / "dumps").mkdir()
    done = ccfw(tmp_path, "stage=kb", "kb=wikipedia", f"kb.dumps=[{english(tmp_path, *PAGES)},page.xml,cut.xml,dumps]")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "ccfw: kb.dumps: page.xml: not a MediaWiki dump: its root is <html>",
        "ccfw: kb.dumps: cut.xml: truncated before its first page: the XML ends before </mediawiki>",
        "ccfw: kb.dumps: dumps: is a folder; name the dump files in it",
    ]
    assert not (tmp_path / "workspace" / "kb").exists()


@pytest.mark.parametrize("more", [(), ("query=rice",), ("dry_run=true",)], ids=["build", "query", "dry-run"])
def test_dumps_of_which_nothing_would_be_made_are_refused(tmp_path: Path, more: tuple[str, ...]) -> None:
    done = ccfw(tmp_path, "stage=kb", "kb.dumps=[a.xml,b.xml]", *more)
    assert (done.code, done.out) == (2, "")
    assert done.err == "ccfw: kb.dumps=a.xml,b.xml: kb=starter is not made of dumps; add kb=wikipedia\n"


def test_a_selection_of_what_is_built_whole_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, english(tmp_path, *PAGES), more=("region=MY", "limit=2"))
    assert (done.code, done.out) == (2, "")
    why = "a knowledge base is built whole; a query and the stages that read it select"
    assert done.err.splitlines() == [f"ccfw: region: {why}", f"ccfw: limit: {why}"]


def test_a_stage_with_nothing_to_do_says_what_to_give(tmp_path: Path) -> None:
    done = ccfw(tmp_path, "stage=kb")
    assert (done.code, done.closings["kb"]["done"]) == (0, 0)
    (line,) = done.err.splitlines()
    assert line.endswith(
        "WARNING stage=kb: kb=starter ships and needs no building; query=… asks it, kb=wikipedia 'kb.dumps=[…]' builds "
        "another of dumps, 'kb.taboos=[…]' checks taboos of your own"
    )


def test_a_name_of_ones_own_is_told_its_plus(tmp_path: Path) -> None:
    lists = ("kb.build.lists.regions.VN=[a.tsv]", "kb.build.lists.region.VN=[a.tsv]")
    done = run(tmp_path, english(tmp_path, *PAGES), more=lists)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "ccfw: kb.build.lists.regions.VN: a name of your own is added with a + before it: +kb.build.lists.regions.VN=…",
        "ccfw: kb.build.lists.region.VN: no such setting (did you mean kb.build.lists.regions?)",
    ]


@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not there")
def test_the_real_dumps_become_one_knowledge_base_of_two_languages(tmp_path: Path) -> None:
    done = run(tmp_path, *sorted(SHARED.iterdir(), reverse=True))
    told = manifest(done)
    assert [(each["language"], each["status"], each["pages"]) for each in told["dumps"]] == [
        ("vi", "truncated", 970),
        ("en", "whole", 206),
    ]
    assert [sum(each["kinds"].values()) for each in told["dumps"]] == [970, 206]
    assert [each["kinds"]["redirect"] for each in told["dumps"]] == [154, 100]
    found = list(read_passages(done.folder / done.closings["kb"]["out"]))
    assert len(found) == sum(told["passages"].values()) == done.closings["kb"]["done"] > 400
    assert {each.language for each in found} == {"en", "vi"}
    assert len({each.passage_id for each in found}) == len(found)
    assert [each.passage_id for each in found if set("{}[]|") & set(each.text) and "{{" in each.text] == []


@pytest.mark.long
def test_a_killed_build_goes_on_and_ends_in_the_same_files(tmp_path: Path) -> None:
    dump = tmp_path / "enwiki.xml.gz"
    write_dump(dump, 70)
    whole = run(tmp_path, dump, more=("workspace=whole",))
    command = [sys.executable, "-m", "ccfw", "stage=kb", "kb=wikipedia", f"kb.dumps=[{dump}]", "workspace=killed"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        started = time.monotonic()
        while not list(tmp_path.glob("killed/kb/*/drafts/*.json")) and time.monotonic() - started < 120:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert list(tmp_path.glob("killed/kb/*/drafts/*.json"))
    assert not list(tmp_path.glob("killed/kb/*/manifest.json"))
    again = run(tmp_path, dump, more=("workspace=killed",))
    assert again.closings["kb"]["done"] == whole.closings["kb"]["done"]
    assert len(files(whole)) > 1
    assert files(again) == files(whole)


@pytest.mark.long
def test_a_dump_of_a_gigabyte_stays_under_its_memory(tmp_path: Path) -> None:
    done = build(tmp_path, 1000)
    assert done.passages > 50_000
    assert done.peak_mb < MOST_MB
