"""Dumps: every whole page of whatever state a file is in, and then how it ended."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccfw.errors import StoreError
from ccfw.knowledge.dumps import Dump, End
from ccfw.knowledge.export import Page, redirect_target
from tests.samples import ROOT

SHARED = ROOT.parent / "shared" / "data" / "wikidumps"
HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" xml:lang="vi">\n'
    "  <siteinfo><sitename>Wikipedia</sitename><dbname>viwiki</dbname><namespaces>"
    '<namespace key="0" case="first-letter" /><namespace key="14" case="first-letter">Thể loại</namespace>'
    "</namespaces></siteinfo>\n"
)
TAIL = "</mediawiki>\n"
NOISE = random.Random(0)
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "bz2": bz2.compress,
    "bz2 of many streams": lambda data: b"".join(bz2.compress(data[at : at + 700]) for at in range(0, len(data), 700)),
    "xz": lzma.compress,
    "gz": gzip.compress,
}


def page(title: str, text: str, ns: int = 0, inner: str = "") -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>{len(title)}</id>{inner}<revision><id>7</id>"
        "<timestamp>2024-02-03T04:05:06Z</timestamp><contributor><username>x</username><id>99</id></contributor>"
        f'<model>wikitext</model><text bytes="3" xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def dump_text(*pages: str, version: str = "0.11", head: str = HEAD) -> str:
    return head.format(version=version) + "".join(pages) + TAIL


THREE = (page("Tết", "Lễ & hội"), page("Thể loại:Tết", "a", 14), page("Phở", "", 0, '<redirect title="Phở bò" />'))


def read(path: Path) -> tuple[list[Page], End]:
    with Dump(path) as dump:
        found = list(dump.pages())
        assert dump.end is not None
        return found, dump.end


def written(folder: Path, data: bytes, name: str = "dump") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_dump_is_read_in_any_packing_and_encoding(tmp_path: Path, packing: str, encoding: str) -> None:
    path = written(tmp_path, PACKED[packing](dump_text(*THREE).encode(encoding)))
    found, end = read(path)
    assert end == End("whole", 3, None)
    assert found[0] == Page("Tết", 0, 3, "7", "2024-02-03T04:05:06Z", None, "Lễ & hội", "vi")
    assert [(each.title, each.namespace, each.redirect) for each in found] == [
        ("Tết", 0, None),
        ("Thể loại:Tết", 14, None),
        ("Phở", 0, "Phở bò"),
    ]


@pytest.mark.parametrize("version", ["0.3", "0.10", "0.11", "0.99"])
def test_any_version_of_the_export_is_read(tmp_path: Path, version: str) -> None:
    assert len(read(written(tmp_path, dump_text(*THREE, version=version).encode()))[0]) == 3


def test_a_dump_with_a_prefix_for_its_namespace_is_read(tmp_path: Path) -> None:
    text = (
        '<m:mediawiki xmlns:m="http://www.mediawiki.org/xml/export-0.11/"><m:page><m:title>A</m:title><m:ns>0</m:ns>'
        "<m:id>1</m:id><m:revision><m:id>2</m:id><m:text>b</m:text></m:revision></m:page></m:mediawiki>"
    )
    (found,), end = read(written(tmp_path, text.encode(), "thwiki-latest.xml"))
    assert (found.title, found.text, found.language, end.status) == ("A", "b", "th", "whole")


def test_site_language_and_names_come_from_siteinfo(tmp_path: Path) -> None:
    with Dump(written(tmp_path, dump_text(*THREE).encode(), "enwiki.xml")) as dump:
        list(dump.pages())
        assert (dump.site.name, dump.site.language, dump.site.namespaces) == ("viwiki", "vi", {0: "", 14: "Thể loại"})


@pytest.mark.parametrize(
    ("name", "wiki", "language"),
    [
        ("thwiki-20260101-pages-articles.xml.bz2", "thwiki", "th"),
        ("zh_yuewiki-latest.xml", "zh_yuewiki", "yue"),
        ("simplewiki.xml", "simplewiki", "en"),
        ("export.xml", "wiki", "und"),
    ],
)
def test_without_siteinfo_the_files_name_says_which_wiki_it_is(
    tmp_path: Path, name: str, wiki: str, language: str
) -> None:
    path = written(tmp_path, dump_text(*THREE, head="<mediawiki>").encode(), name)
    with Dump(path) as dump:
        assert {each.language for each in dump.pages()} == {language}
        assert dump.site.name == wiki


def test_of_a_page_with_its_history_the_last_revision_counts(tmp_path: Path) -> None:
    twice = page("A", "old").replace("</page>\n", "<revision><id>8</id><text>new</text></revision></page>\n")
    (found,), _ = read(written(tmp_path, dump_text(twice).encode()))
    assert (found.revision, found.text) == ("8", "new")


def test_a_page_without_a_namespace_number_has_that_of_its_title(tmp_path: Path) -> None:
    old = [each.replace("<ns>14</ns>", "").replace("<ns>0</ns>", "") for each in (*THREE, page("Phở: món", "x"))]
    found, _ = read(written(tmp_path, dump_text(*old).encode()))
    assert [each.namespace for each in found] == [0, 14, 0, 0]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#REDIRECT [[Tết Nguyên Đán#Lịch]]", "Tết Nguyên Đán"),
        ("#đổi [[Hà_Nội]]", "Hà Nội"),
        ("#เปลี่ยนทาง [[สงกรานต์]]", None),  # its vowel signs are no letters of their own: the element says it
        ("#转向 [[春节|x]]", "春节"),
        ("# [[A]]\n# [[B]]", None),
        ("'''A''' is #1 [[x]]", None),
        ("#one [[a]]" + "x" * 1000, None),
    ],
)
def test_a_redirect_is_told_by_its_text_where_no_element_says_it(text: str, target: str | None) -> None:
    assert redirect_target(text) == target


@settings(max_examples=60)
@given(cut=st.floats(0, 1), packing=st.sampled_from(sorted(PACKED)))
def test_a_dump_cut_anywhere_gives_every_whole_page_and_says_that_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, cut: float, packing: str
) -> None:
    whole = dump_text(*(page(f"P{number}", f"text {number} " * 20) for number in range(30))).encode()
    packed = PACKED[packing](whole)
    end_of_root = whole.index(b"</mediawiki>")
    kept = (
        packed[: 400 + int(cut * (len(packed) - 420))]
        if packing != "plain"
        else whole[: int(400 + cut * (end_of_root - 400))]
    )
    path = written(tmp_path_factory.mktemp("cut"), kept)
    try:
        found, end = read(path)
    except StoreError as error:  # so short that not even the root is there
        assert str(error).startswith(f"{path}: not a MediaWiki dump: ")  # noqa: PT017
        return
    assert [each.title for each in found] == [f"P{number}" for number in range(len(found))]
    assert all(each.text == f"text {each.title[1:]} " * 20 for each in found)
    assert (end.status, end.pages) == ("truncated", len(found))
    if packing == "plain":
        assert len(found) == kept.count(b"</page>")


def test_what_ends_in_the_xml_or_in_the_packing_is_told_apart(tmp_path: Path) -> None:
    text = dump_text(*THREE).encode()
    cut = read(written(tmp_path, text[: text.rindex(b"</text>")]))[1]
    assert cut == End("truncated", 2, "the XML ends before </mediawiki>")
    packed = lzma.compress(dump_text(*THREE * 3000).encode())
    cut = read(written(tmp_path, packed[: len(packed) - 100]))[1]
    assert (cut.status, cut.reason) == ("truncated", "the compressed data end before their end is marked")


def test_damage_is_told_from_a_cut(tmp_path: Path) -> None:
    text = dump_text(*THREE).encode()
    end = read(written(tmp_path, text.replace(b"</mediawiki>", b"</mediawik>")))[1]
    assert end == End("damaged", 3, "not well-formed XML: mismatched tag: line 6, column 2")
    packed = bytearray(
        bz2.compress(dump_text(*(page(f"P{n}", NOISE.randbytes(500).hex()) for n in range(900))).encode(), 1)
    )
    packed[len(packed) // 2] ^= 255
    end = read(written(tmp_path, bytes(packed)))[1]
    assert end.status == "damaged"
    assert 0 < end.pages < 900


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a MediaWiki dump: it is empty"),
        (b"<html><p>x</p></html>", "not a MediaWiki dump: its root is <html>"),
        (b"title\nA\n", "not a MediaWiki dump: not well-formed XML: syntax error: line 1, column 0"),
    ],
)
def test_what_is_no_dump_is_said_to_be_none(tmp_path: Path, data: bytes, reason: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(StoreError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: {reason}"


def test_an_entity_bomb_is_refused_unread(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 50}">' for n in range(9))
    path = written(tmp_path, f"<!DOCTYPE mediawiki [{entities}]><mediawiki><page>&e8;</page></mediawiki>".encode())
    with pytest.raises(StoreError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: holds a DOCTYPE, which no MediaWiki dump does and an entity bomb needs; it is not read"
    )


def test_a_text_larger_than_any_wiki_admits_is_cut_and_says_so(tmp_path: Path) -> None:
    (found, small), _ = read(written(tmp_path, dump_text(page("A", "x" * 9_000_000), page("B", "y")).encode()))
    assert (len(found.text), found.cut, small.cut) == (4 << 20, True, False)


def test_a_tag_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xml.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'<mediawiki><page><title a="')
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    assert read(path)[1] == End("damaged", 0, "a tag of more than 16 MB")


def test_memory_does_not_grow_with_the_number_of_pages(tmp_path: Path) -> None:
    def peak(pages: int) -> int:
        path = written(
            tmp_path, gzip.compress(dump_text(*(page(f"P{n}", "x" * 2000) for n in range(pages))).encode(), 1)
        )
        tracemalloc.start()
        with Dump(path) as dump:
            assert sum(1 for _ in dump.pages()) == pages
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(8000) < 1.5 * peak(1000)


def test_the_position_goes_from_nothing_to_the_size_of_the_file(tmp_path: Path) -> None:
    data = NOISE.randbytes(300_000).hex()
    path = written(
        tmp_path, bz2.compress(dump_text(*(page(f"P{n}", data[n * 600 :][:600]) for n in range(900))).encode(), 1)
    )
    with Dump(path) as dump:
        positions = [dump.position for _ in dump.pages()]
        assert positions == sorted(positions)
        assert positions[0] < dump.size == dump.position == path.stat().st_size


@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not there")
@pytest.mark.parametrize(
    ("name", "pages", "articles", "redirects", "status"),
    [("viwiki-truncated-100k.xml.xz", 970, 274, 154, "truncated"), ("enwiki", 206, 106, 100, "whole")],
)
def test_the_real_dumps_give_the_pages_that_they_have(
    name: str, pages: int, articles: int, redirects: int, status: str
) -> None:
    (path,) = SHARED.glob(f"{name}*")
    found, end = read(path)
    kinds = Counter("redirect" if each.redirect else "article" if each.namespace == 0 else "other" for each in found)
    assert (end.status, end.pages) == (status, pages)
    assert (len(found), kinds["article"], kinds["redirect"]) == (pages, articles, redirects)
