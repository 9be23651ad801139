"""A user's own files of taboos: four forms, ten regions, nothing invented, no doubles, every fault at once."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ccfw.errors import RequestError
from ccfw.frames import write_parquet
from ccfw.knowledge import shipped
from ccfw.knowledge.doubles import without_doubles
from ccfw.knowledge.files import read_taboos
from ccfw.knowledge.importing import read_atlas, with_imported
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.places import Atlas, Place
from ccfw.knowledge.records import NOT_STATED, Taboo
from ccfw.knowledge.shelf import build_shelf, vectors_of
from ccfw.records import Region
from ccfw.resources import resource
from tests.e2e.running import ccfw
from tests.samples import ROOT

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "normad_sample" / "normad_5rows.csv"
NORMAD = (*("ID", "Country", "Background", "Axis", "Subaxis", "Value"), *("Rule-of-Thumb", "Story", "Explanation"))
VIETNAMESE = ("Kinh_Buddhist", "Kinh_Catholic", "Kinh_Secular", "Hoa_Buddhist_Taoist", "Khmer_Krom_Buddhist")
BALINESE = {
    "cluster_id": 12,
    "cultural group": "Balinese people",
    "context": "in temples.",
    "goal": None,
    "relation": None,
    "actor": "visitors",
    "actor_behavior": "climb on shrines",
    "recipient": None,
    "recipient_behavior": "ask them to leave",
    "other_descriptions": None,
    "topic": "Religious Practices",
    "agreement": 0.1,
    "num_support_bin": "[5, 20)",
    "time_range": "{}",
}
PLAIN = "Region,Action,Explanation\nBN,Photographing the sultan's guard from the fence,They say so on a sign.\n"


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return read_atlas(resource("data"))


def normad_row(number: str, country: str, label: str, story: str, **more: str) -> dict[str, str]:
    row = {name: f"{name} of {number}" for name in NORMAD} | {"ID": number, "Country": country, "Gold Label": label}
    return row | {"Background": '### Eating\n- One.\n- “Two”, and "three".\n', "Story": story, **more}


def as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content, "utf-8")
    return str(folder / name)


def taboo(name: str, action: str, region: Region = Region.SG, *identities: str) -> Taboo:
    return Taboo(
        taboo_id=name,
        region=region,
        identities=identities or ("Malay_Muslim",),
        category="dress",
        action=action,
        detailed_explanation="Why.",
        severity="low",
        exceptions="None.",
        verify_with="a book",
    )


def faults(atlas: Atlas, *paths: str) -> tuple[str, ...]:
    with pytest.raises(RequestError) as caught:
        with_imported((), paths, atlas)
    return caught.value.problems


def test_normad_gives_its_violations_in_our_regions(
    tmp_path: Path, atlas: Atlas, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        normad_row(
            "7", "vietnam", "no", "At a meal,\nLan left. Is what Lan did socially acceptable?", Subaxis="eating"
        ),
        normad_row("8", "south_korea", "yes", "He bowed."),
        normad_row("9", "türkiye", "no", "He stood."),
        normad_row("10", "timor-leste", "neutral", "He sat."),
    ]
    named = write(tmp_path, "copy.txt", as_csv([{**row, "gpt4_answer": "no"} for row in rows]))
    with caplog.at_level(logging.INFO):
        (found,) = with_imported((), [named], atlas)
    assert found == Taboo(
        taboo_id="normad:7",
        region=Region.VN,
        identities=VIETNAMESE,
        category="food_and_drink",
        action="At a meal, Lan left",
        detailed_explanation="Explanation of 7 Rule of thumb: Rule-of-Thumb of 7",
        severity="unknown",
        exceptions="not stated in the source",
        verify_with="NormAd, which rests on the Cultural Atlas (https://culturalatlas.sbs.com.au)",
        source="normad:7",
        licence="CC-BY-4.0",
    )
    assert [record.message for record in caplog.records] == [
        "kb.taboos: 4 read, 2 of our regions, 1 of them violations, 0 doubles left out, 1 kept"
    ]


@pytest.mark.skipif(not SAMPLE.exists(), reason="../shared/data/normad_sample is absent")
def test_published_rows_of_normad_are_read(atlas: Atlas, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert with_imported((), [str(SAMPLE)], atlas) == ()  # all five are of Egypt
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "kb.taboos: 5 read, 0 of our regions, 0 of them violations, 0 doubles left out, 0 kept"),
        (
            "WARNING",
            f"kb.taboos: {SAMPLE}: none of its 5 entries is kept: 5 of no region here, 0 no violations, 0 doubles",
        ),
    ]


def test_a_file_of_which_nothing_is_kept_is_named_beside_one_that_helps(
    tmp_path: Path, atlas: Atlas, caplog: pytest.LogCaptureFixture
) -> None:
    useful = write(tmp_path, "useful.csv", PLAIN)
    again = write(tmp_path, "again.csv", PLAIN)
    fine = write(tmp_path, "fine.csv", as_csv([normad_row("1", "japan", "yes", "He bowed.")]))
    with caplog.at_level(logging.WARNING):
        assert len(with_imported((), [useful, again, fine], atlas)) == 1
    assert caplog.messages == [
        f"kb.taboos: {again}: none of its 1 entries is kept: 0 of no region here, 0 no violations, 1 doubles",
        f"kb.taboos: {fine}: none of its 1 entries is kept: 0 of no region here, 1 no violations, 0 doubles",
    ]


@pytest.mark.skipif(not SAMPLE.exists(), reason="../shared/data/normad_sample is absent")
def test_published_rows_are_violations_where_they_are_said_to_be(tmp_path: Path, atlas: Atlas) -> None:
    text = SAMPLE.read_text("utf-8").replace("egypt", "singapore").replace(",yes", ",no")
    found = with_imported((), [write(tmp_path, "a.csv", text)], atlas)
    assert [each.taboo_id for each in found] == ["normad:0", "normad:2", "normad:6", "normad:7", "normad:9"]
    assert [each.category for each in found] == [
        "unknown",
        "unknown",
        "food_and_drink",
        "food_and_drink",
        "gifts_and_money",
    ]
    assert found[4].action == (
        "During a visit to Alex's house, Sarah presented a gift to Alex's child, using both hands to offer it"
    )


def test_culturebank_is_read_from_csv_json_lines_and_parquet(tmp_path: Path, atlas: Atlas) -> None:
    empty = {name: "" if value is None else value for name, value in BALINESE.items()}
    write_parquet(tmp_path / "c", {name: [value] for name, value in BALINESE.items()})
    paths = [
        write(tmp_path, "a", as_csv([empty])),
        write(tmp_path, "b", json.dumps({**BALINESE, "goal": float("nan")}) + "\n\n"),
        str(tmp_path / "c"),
    ]
    wanted = Taboo(
        taboo_id="culturebank:12",
        region=Region.ID,
        identities=("Balinese_Hindu",),
        category="unknown",
        action="Climb on shrines",
        detailed_explanation=(
            "Context: in temples. Actor: visitors. Recipient behavior: ask them to leave. "
            "Share of those who wrote of it who call “climb on shrines” normal: 0.1."
        ),
        severity="unknown",
        exceptions=NOT_STATED,
        verify_with="CultureBank, which rests on what people wrote online; ask somebody of the community",
        source="culturebank:12",
        licence="MIT",
    )
    assert [with_imported((), [path], atlas) for path in paths] == [(wanted,)] * 3
    assert with_imported((), paths, atlas) == (wanted,)


@pytest.mark.parametrize(
    ("behaviour", "agreement", "act"),
    [
        ("tip", 0.4, "Tip"),
        ("tip", 0.5, None),
        ("tip", "", None),
        ("", 0.1, None),
        ("avoid pointing with one finger", 0.9, "Pointing with one finger"),
        ("generally refrain from public affection.", "", "Public affection"),
        ("should not touch heads", 1, "Touch heads"),
        ("avoid pointing", 0.2, None),
        ("avoid beef and choose fish", 1.0, None),
        ("never see snow", 1.0, None),
        ("do not care about dating", 1.0, None),
    ],
)
def test_only_what_culturebank_says_is_not_done_is_a_taboo(
    tmp_path: Path, atlas: Atlas, behaviour: str, agreement: float | str, act: str | None
) -> None:
    row = BALINESE | {"actor_behavior": behaviour, "agreement": agreement}
    found = with_imported((), [write(tmp_path, "a", json.dumps(row))], atlas)
    assert [each.action for each in found] == ([act] if act else [])


def test_halves_of_culturebank_that_count_alike_keep_their_own_names(tmp_path: Path, atlas: Atlas) -> None:
    other = BALINESE | {"actor_behavior": "wear shoes in the inner court"}
    paths = [write(tmp_path, "tiktok.jsonl", json.dumps(BALINESE)), write(tmp_path, "reddit.jsonl", json.dumps(other))]
    found = with_imported((), paths, atlas)
    assert [each.taboo_id for each in found] == ["culturebank:12", "culturebank:12@reddit"]
    assert [each.source for each in found] == ["culturebank:12", "culturebank:12"]


@pytest.mark.parametrize(
    ("group", "place"),
    [
        ("Uyghur", Place(region=Region.CN, identities=("Uyghur_Muslim",))),
        ("people in Viet Nam", Place(region=Region.VN, identities=VIETNAMESE)),
        ("the Philippines", "PH"),
        ("Koreans", "KR"),
        ("Javanese culture", Place(region=Region.ID, identities=("Javanese_Muslim", "Javanese_Abangan"))),
        ("Malay", None),
        ("Japanese Americans", None),
        ("Taiwanese", None),
        ("", None),
    ],
)
def test_a_group_is_whom_the_table_says_or_nobody(atlas: Atlas, group: str, place: Place | str | None) -> None:
    found = atlas.place(group)
    assert (found and found.region if isinstance(place, str) else found) == place
    if found and isinstance(place, str):
        assert found.identities == atlas.identities[found.region]


def test_every_group_of_the_table_has_identities_that_there_are(atlas: Atlas) -> None:
    strange = [
        name for name, each in atlas.places.groups.items() if not {*each.identities} <= {*atlas.identities[each.region]}
    ]
    assert strange == []


def test_our_own_form_is_read_back_as_it_was(tmp_path: Path, atlas: Atlas) -> None:
    ours = read_taboos(resource("data") / "knowledge" / "taboos")
    entry = ours[0].model_copy(update={"source": "me", "licence": "CC0-1.0"})
    as_yaml = yaml.safe_dump([entry.model_dump(mode="json", by_alias=True)], allow_unicode=True)
    as_json = json.dumps(entry.model_dump(mode="json"), ensure_ascii=False)
    for name, text in (("a", "# mine\n---\n" + as_yaml), ("b", as_json)):
        assert with_imported((), [write(tmp_path, name, text)], atlas) == (entry,)
    assert with_imported(ours, [write(tmp_path, "c", as_yaml)], atlas) == ours


def test_a_plain_table_leaves_unknown_what_it_does_not_say(tmp_path: Path, atlas: Atlas) -> None:
    head = "\ufeffregion;action;explanation;identities;severity;category\n"
    more = head + "Japan;Do;Why.;Okinawan | Japanese_Secular;High;Dress\n"
    (mine,) = with_imported((), [write(tmp_path, "mine.csv", PLAIN)], atlas)
    assert mine == Taboo(
        taboo_id="mine:2",
        region=Region.BN,
        identities=("Brunei_Malay_Muslim", "Chinese_Buddhist", "Iban_Christian"),
        category="unknown",
        action="Photographing the sultan's guard from the fence",
        detailed_explanation="They say so on a sign.",
        severity="unknown",
        exceptions="not stated in the source",
        verify_with="mine:2",
        source="mine:2",
        licence="not stated in the source",
    )
    (full,) = with_imported((), [write(tmp_path, "full.csv", more)], atlas)
    assert (full.region, full.identities, full.severity, full.category) == (
        "JP",
        ("Okinawan", "Japanese_Secular"),
        "high",
        "dress",
    )


def test_every_fault_of_every_file_is_named_at_once(tmp_path: Path, atlas: Atlas) -> None:
    rows = [normad_row("1", "japan", "maybe", ""), normad_row("2", "egypt", "no", "He sat.")]
    one = write(tmp_path, "one.csv", as_csv(rows))
    two = write(
        tmp_path,
        "two.csv",
        'region,action,explanation,severity,identities\n"B\nN",,x,huge,\nTH,Do,x,low,Thai;Isan_Buddhist\nTH,Do\n',
    )
    three = write(tmp_path, "three.csv", "name,age\nA,1\n")
    four = write(tmp_path, "four.jsonl", json.dumps(BALINESE | {"agreement": "2"}) + "\n{\n[]\n")
    five = write(tmp_path, "five.yaml", "- Region: SG\n  Action: Do\n  Explanation: x\n  Sevrity: low\n")
    six = write(tmp_path, "six.csv", "")
    seven = tmp_path / "seven"
    seven.write_bytes(b"PAR1 and no more")
    eight = tmp_path / "eight"
    eight.write_bytes(b"region\xff")
    found = faults(atlas, one, two, three, four, five, six, str(seven), str(eight), "nine.csv")
    columns = (
        "id, taboo id, region, identities, category, action, explanation, detailed explanation, severity, "
        "exceptions, verify with, source, licence"
    )
    assert found[:12] == (
        f"{one}:2: story: is empty",
        f"{one}:2: gold label: maybe; it is one of no, neutral, yes",
        f"{two}:5: 2 cells, and the header has 5",
        f"{two}:2: region: B N; it is one of SG, MY, ID, TH, VN, PH, CN, JP, KR, BN, or such a country's name",
        f"{two}:2: action: is empty",
        f"{two}:2: severity: huge; it is one of low, medium, high, unknown",
        f"{two}:4: identities: Thai; TH has Central_Thai_Buddhist, Northern_Thai_Buddhist, Isan_Buddhist, "
        "Thai_Chinese_Buddhist, Southern_Malay_Muslim",
        f"{three}: of no known form by its columns name, age; NormAd has country, story, explanation, gold label; "
        "CultureBank has cultural group, actor behavior, agreement; ccfw's own form has region, action, "
        "detailed explanation; a plain table has region, action, explanation",
        f"{four}:2: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        f"{four}:3: not an entry of names and values",
        f"{four}:1: agreement: 2; it is a number from 0 to 1",
        f"{five}:1: no such column: sevrity; there are {columns}",
    )
    assert found[12] == f"{six}: no entry in it"
    assert found[13].startswith(f"{seven}: not a Parquet table: ")
    assert found[14].startswith(f"{eight}: neither Parquet nor readable as UTF-8 text: ")
    assert found[15:] == ("kb.taboos: nine.csv: No such file or directory",)


def test_more_faults_than_twenty_are_counted(tmp_path: Path, atlas: Atlas) -> None:
    path = write(tmp_path, "a.csv", "region,action,explanation\n" + "SG,,x\n" * 25)
    found = faults(atlas, path)
    assert found == (*(f"{path}:{line}: action: is empty" for line in range(2, 22)), "… and 5 more")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('region,action,explanation\nSG,"Do,x\n', "2: not CSV: unexpected end of data"),
        ("- Region: SG\n  Action: [\n", "3: not YAML: did not find expected node content"),
    ],
)
def test_a_torn_file_is_said_to_be_torn(tmp_path: Path, atlas: Atlas, text: str, fault: str) -> None:
    path = write(tmp_path, "a", text)
    assert faults(atlas, path) == (f"{path}:{fault}",)


def test_doubles_are_the_same_act_of_the_same_people() -> None:
    ours = [taboo("1", "Wearing short sleeves inside the old mosque hall")]
    theirs = [
        taboo("2", "“WEARING short sleeves, inside the old mosque hall!”"),
        taboo("3", "Wearing short sleeves inside the old mosque"),  # 7 of 8 words
        taboo("4", "Wearing short sleeves inside the mosque again"),  # 6 of 9
        taboo("5", "Wearing short sleeves inside the old mosque hall", Region.MY),
        taboo("6", "Wearing short sleeves inside the old mosque hall", Region.SG, "Tamil_Hindu"),
        taboo("7", "Wearing short sleeves inside the mosque again", Region.SG, "Tamil_Hindu", "Malay_Muslim"),
    ]
    assert [each.taboo_id for each in without_doubles(ours, theirs)] == ["4", "5", "6"]


def test_none_of_ours_leaves_anything_unknown() -> None:
    ours = read_taboos(resource("data") / "knowledge" / "taboos")
    assert [each.taboo_id for each in ours if "unknown" in (each.category, each.severity)] == []
    assert without_doubles((), ours) == list(ours)


class Counting:
    """An embedder whose vector of a text is its length, and which keeps what it was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def passages(self, texts: Any) -> Floats:
        self.asked += texts
        return np.array([[np.cos(len(text)), np.sin(len(text))] for text in texts], dtype=np.float32)

    def queries(self, texts: Any, instruction: str) -> Floats:
        return self.passages(texts)


def test_what_ships_is_not_embedded_again_beside_what_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "shipped_folder", lambda kind, embedder: tmp_path / kind)
    ours = (taboo("1", "One"), taboo("2", "Two more", Region.BN), taboo("3", "Three again", Region.SG))
    terms: dict[str, Any] = {"lexical": False, "cache": tmp_path / "cache"}
    first = build_shelf(ours, shipped.taboo_text, embedder=Counting(), shipped=None, **terms)
    assert first.vectors is not None
    about = {"embedder": "counting", "digest": vectors_of("counting", first.texts)}
    first.vectors.save(tmp_path / "taboos", about)
    counting = Counting()
    known = shipped.taboo_vectors(counting, ours)
    more = (*ours, taboo("4", "New"))
    found = build_shelf(more, shipped.taboo_text, embedder=counting, shipped=None, known=known, **terms)
    assert [text for text in counting.asked if text != "dimension"] == ["dress: New. Why."]
    lengths = [len(f"dress: {action}. Why.") for action in ("Two more", "One", "Three again", "New")]  # BN before SG
    assert found.vectors is not None
    assert found.vectors.vectors == pytest.approx(np.array([[np.cos(n), np.sin(n)] for n in lengths]))
    assert shipped.taboo_vectors(counting, more) == {}  # of other texts than those that ship


def test_the_stage_shows_a_users_taboos_with_their_source(tmp_path: Path) -> None:
    write(tmp_path, "mine.csv", PLAIN)
    asked = (
        "stage=kb",
        "retriever=bm25",
        "region=BN",
        "query=photographing the guard",
        "kb.taboos=[mine.csv]",
    )
    done = ccfw(tmp_path, *asked)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    (shown,) = [number for number, line in enumerate(lines) if line.startswith("mine:2 ")]
    assert re.fullmatch(r"mine:2 \[BN\] taboo, unknown, severity unknown: \d+\.\d\d", lines[shown])
    assert lines[shown + 1 : shown + 6] == [
        "  Identities: Brunei_Malay_Muslim, Chinese_Buddhist, Iban_Christian",
        "  Photographing the sultan's guard from the fence. They say so on a sign.",
        "  Exceptions: not stated in the source",
        "  Source: mine:2, licence: not stated in the source",
        "",
    ]
    assert "kb.taboos: 1 read, 1 of our regions, 1 of them violations, 0 doubles left out, 1 kept" in done.err


def test_a_faulty_file_ends_the_stage_before_anything_is_shown(tmp_path: Path) -> None:
    write(tmp_path, "mine.csv", PLAIN.replace("BN", "XX"))
    done = ccfw(tmp_path, "stage=kb", "query=guard", "kb.taboos=[mine.csv,none.csv]")
    assert done.code == 2
    assert "mine.csv:2: region: XX; it is one of SG" in done.err
    assert "kb.taboos: none.csv: No such file or directory" in done.err


def test_own_files_are_read_without_a_query_too(tmp_path: Path) -> None:
    write(tmp_path, "mine.csv", PLAIN)
    done = ccfw(tmp_path, "stage=kb", "kb.taboos=[mine.csv]")
    assert (done.code, done.closings["kb"]["done"]) == (0, 1)
    assert "kb.taboos: 1 read, 1 of our regions, 1 of them violations, 0 doubles left out, 1 kept" in done.err
    write(tmp_path, "mine.csv", PLAIN.replace("BN", "XX"))
    assert ccfw(tmp_path, "stage=kb", "kb.taboos=[mine.csv]").code == 2


def test_the_examples_of_the_documentation_are_read(tmp_path: Path, atlas: Atlas) -> None:
    text = (ROOT / "docs" / "knowledge.md").read_text("utf-8")
    section = text.split("## Taboos of your own\n")[1].split("\n## ")[0]
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .+\n)+", section, re.MULTILINE)]
    found = [
        with_imported((), [write(tmp_path, f"{number}.txt", block)], atlas)
        for number, block in enumerate(blocks)
        if not block.startswith("python -m ccfw")
    ]
    assert [[str(each.region) for each in taboos] for taboos in found] == [["BN", "JP"], ["BN"], ["VN"], ["ID"]]
