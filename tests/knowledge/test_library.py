"""A built knowledge base beside the passages that ship: one shelf, read from disk as it is shown."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccfw.frames import Mapped
from ccfw.knowledge.library import Lazy, open_library
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.records import Passage
from ccfw.knowledge.shelf import Shelf, build_shelf
from ccfw.knowledge.shipped import passage_text
from tests.e2e.running import ccfw
from tests.knowledge.test_building import PAGES, english
from tests.knowledge.test_retriever import PASSAGES, Toy, passage

THEIRS = (
    passage(11, "SG", "exam hall and wedding"),
    passage(12, "BN", "market on the water", ["Malay_Muslim"]),
    passage(13, "SG", "funeral wake", ["Chinese_Secular"]),
)


def built(folder: Path) -> Path:
    """Write two files of passages as a build leaves them."""
    for number, part in enumerate((THEIRS[:2], THEIRS[2:])):
        (folder / "passages").mkdir(parents=True, exist_ok=True)
        rows = [each.model_dump(mode="json") for each in part]
        terms = pa.list_(pa.struct([("term", pa.string()), ("native", pa.string())]))
        texts = dict.fromkeys(("tags", "identities"), pa.list_(pa.string())) | {"niche_terms": terms}
        schema = pa.schema([(name, texts.get(name, pa.string())) for name in Passage.model_fields])
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "passages" / f"{number:06d}.parquet")
    return folder


def library(
    folder: Path,
    toy: Toy,
    *,
    lexical: bool = False,
    ours: tuple[Passage, ...] = PASSAGES,
    known: Mapping[str, Floats] = {},
) -> Shelf[Passage]:
    return open_library(folder / "kb", ours, embedder=toy, lexical=lexical, cache=folder / "cache", known=known)


@pytest.mark.parametrize("lexical", [False, True], ids=["vectors", "hybrid"])
def test_what_is_on_disk_is_searched_as_what_is_in_memory(tmp_path: Path, lexical: bool) -> None:
    built(tmp_path / "kb")
    toy = Toy()
    kwargs = {"embedder": toy, "lexical": lexical, "shipped": None, "cache": tmp_path / "cache"}
    expected = build_shelf((*PASSAGES, *THEIRS), passage_text, **kwargs)  # type: ignore[arg-type]
    for _ in range(2):  # made, then opened
        found = library(tmp_path, toy, lexical=lexical)
        assert list(found.documents) == list(expected.documents)
        assert list(found.texts) == list(expected.texts)
        assert (found.ranges, found.named) == (expected.ranges, {k: list(v) for k, v in expected.named.items()})
        asked = [(query, ("SG", "BN")) for query in ("wedding", "market exam", "nothing")]
        assert found.hits(asked, "") == expected.hits(asked, "")


def test_only_what_is_new_is_embedded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    built(tmp_path / "kb")
    with caplog.at_level(logging.INFO):
        library(tmp_path, Toy())
    assert caplog.messages == ["9 passages: their vectors by toy are not there yet and are made once"]
    again, changed = Toy(), Toy()
    library(tmp_path, again)
    assert again.embedded == []
    found = library(tmp_path, changed, ours=(*PASSAGES[:-1], passage(6, "SG", "exam week")))
    assert changed.embedded == ["About exam 6. exam week term6"]
    assert [each.text for each in found.documents if each.passage_id == "SG_6"] == ["exam week"]
    assert len(list((tmp_path / "kb" / "index").glob("*.arrow"))) == 1


def test_what_ships_with_its_vectors_is_not_embedded_in_a_built_knowledge_base(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    built(tmp_path / "kb")
    texts = list(map(passage_text, PASSAGES))
    shipped = dict(zip(texts, Toy().passages(texts), strict=True))
    toy = Toy()
    with caplog.at_level(logging.INFO):
        found = library(tmp_path, toy, known=shipped)
    assert caplog.messages == ["3 passages: their vectors by toy are not there yet and are made once"]
    assert toy.embedded == [passage_text(each) for each in sorted(THEIRS, key=lambda each: each.region)]
    built(tmp_path / "again" / "kb")
    expected = library(tmp_path / "again", Toy())
    asked = [(query, ("SG", "MY", "BN")) for query in ("wedding", "market exam")]
    assert found.hits(asked, "") == expected.hits(asked, "")


def test_a_shelf_that_lost_its_words_or_vectors_makes_them_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    built(tmp_path / "kb")
    expected = library(tmp_path, Toy(), lexical=True).hits([("exam", ("SG",))], "")
    (tmp_path / "kb" / "index" / "words" / "params.index.json").write_text("{}")
    next((tmp_path / "kb" / "index").glob("*/vectors.npy")).write_bytes(b"torn")
    assert library(tmp_path, Toy(), lexical=True).hits([("exam", ("SG",))], "") == expected
    assert [message.partition("; ")[2] for message in caplog.messages] == [
        "the texts are embedded anew",
        "it is made anew",
    ]


def test_an_item_is_made_when_it_is_asked_for_and_kept() -> None:
    made: list[int] = []
    lazy = Lazy(5, lambda place: made.append(place) or f"item {place}", kept=2)  # type: ignore[func-returns-value]
    assert (len(lazy), made) == (5, [])
    assert [lazy[1], lazy[-1], lazy[1]] == ["item 1", "item 4", "item 1"]
    assert made == [1, 4]
    assert lazy[3:] == ["item 3", "item 4"]
    with pytest.raises(IndexError):
        lazy[5]


def test_a_file_that_is_no_table_is_said_to_be_none(tmp_path: Path) -> None:
    from ccfw.errors import StoreError

    (tmp_path / "x.arrow").write_bytes(b"nothing")
    with pytest.raises(StoreError, match="not a table of passages"):
        Mapped(tmp_path / "x.arrow")


def test_a_query_is_asked_of_what_was_built_of_the_dumps(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    asked = ("stage=kb", "kb=wikipedia", f"kb.dumps=[{dump}]", "retriever=bm25", "region=MY", "query=laksa")
    before = ccfw(tmp_path, *asked)
    assert before.code == 0
    (line,) = before.err.splitlines()
    assert line.endswith(
        "kb=wikipedia is not built yet: only what ships is searched; build it by stage=kb without query"
    )
    assert ccfw(tmp_path, *asked[:3]).code == 0
    after = ccfw(tmp_path, *asked)
    assert (after.code, after.err) == (0, "")
    assert after.out != before.out
