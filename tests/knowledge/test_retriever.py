"""From a seed to its evidence: queries, fusion, re-ranking, and shelves over vectors worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ccfw.knowledge.lexical import LexicalIndex, tokens
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.queries import Queries, queries
from ccfw.knowledge.ranking import Hit, above, distinct, fused, normalised, overlap, reranked
from ccfw.knowledge.records import NicheTerm, Passage, Taboo
from ccfw.knowledge.retriever import Evidence, Retriever, Wanted
from ccfw.knowledge.shelf import Shelf, build_shelf, vectors_of
from ccfw.knowledge.vector_cache import VectorCache
from ccfw.knowledge.vectors import VectorIndex, unit
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.settings.knowledge import RetrieverConfig
from ccfw.universe.reading import read_universe

AXES = ("wedding", "funeral", "market", "exam")
"""What the toy embedder knows: one axis a word."""


class Toy:
    """An embedder that counts four words."""

    name = "toy"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def passages(self, texts: Sequence[str]) -> Floats:
        self.embedded += texts
        return self._counts(texts)

    def queries(self, texts: Sequence[str], instruction: str) -> Floats:
        return self._counts(texts)

    def _counts(self, texts: Sequence[str]) -> Floats:
        rows = [[text.lower().count(word) for word in AXES] + [0.5] for text in texts]
        return unit(np.array(rows, dtype=np.float32))


def passage(number: int, region: str, text: str, identities: Sequence[str] = (), title: str | None = None) -> Passage:
    return Passage(
        passage_id=f"{region}_{number}",
        region=Region(region),
        title=title or f"About {text.split()[0]} {number}",
        tags=("x",),
        identities=tuple(identities),
        niche_terms=(NicheTerm(term=f"term{number}", native=None),),
        text=text,
        check=None,
    )


def taboo(number: int, region: str, action: str, identity: str) -> Taboo:
    return Taboo(
        taboo_id=f"{region}_{number}",
        region=Region(region),
        identities=(identity,),
        category="gifts_and_money",
        action=action,
        detailed_explanation="Because.",
        severity="low",
        exceptions="None.",
        verify_with="a friend",
    )


PASSAGES = (
    passage(1, "SG", "wedding wedding hall"),
    passage(2, "MY", "wedding in a village"),
    passage(3, "SG", "funeral at the void deck", ["Malay_Muslim"]),
    passage(4, "SG", "market at dawn"),
    passage(5, "SG", "wedding banquet for ten tables", ["Chinese_Christian"]),
    passage(6, "SG", "exam season"),
)
TABOOS = (
    taboo(1, "SG", "Bringing a clock to a wedding", "Chinese_Secular"),
    taboo(2, "SG", "Wearing red to a funeral", "Chinese_Secular"),
    taboo(3, "MY", "Serving pork at a wedding", "Malay_Muslim"),
)
TERMS = RetrieverConfig.model_validate(
    {
        "name": "toy",
        "lexical": False,
        "embedder": None,
        "passages": 3,
        "by_scenario": 2,
        "niche_passages": 1,
        "niche_terms": 8,
        "taboos": 5,
        "min_score": None,
        "identity_bonus": 0.5,
    }
)


def shelves(
    tmp_path: Path, *, lexical: bool = False, embedder: Toy | None = None
) -> tuple[Shelf[Passage], Shelf[Taboo]]:
    kwargs = {"embedder": embedder, "lexical": lexical, "shipped": None, "cache": tmp_path}
    return (
        build_shelf(PASSAGES, lambda p: p.text, **kwargs),  # type: ignore[arg-type]
        build_shelf(TABOOS, lambda t: t.action, **kwargs),  # type: ignore[arg-type]
    )


def shown(retriever: Retriever, wanted: Wanted) -> Evidence:
    """Return what one seed is shown."""
    return dict(retriever.evidence_of([wanted]))[wanted]


def found(shelf: Shelf[Passage], query: str) -> list[Hit]:
    """Return what a query finds in Singapore."""
    return shelf.hits([(query, ("SG",))], "")[query, ("SG",)]


def test_evidence_is_of_the_regions_and_both_queries(tmp_path: Path) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    found = shown(
        Retriever(passages, taboos, TERMS),
        Wanted(Queries("wedding hall", "funeral customs", "wedding"), ("SG",), None, True),
    )
    assert [(each.query, each.passage.passage_id) for each in found.passages] == [
        ("scenario", "SG_5"),  # one wedding, as in the query; SG_1 has two
        ("scenario", "SG_1"),
        ("identity", "SG_3"),
    ]
    assert [term.term for term in found.niche_terms] == ["term3"]
    assert [each.taboo_id for each in found.taboos] == ["SG_1", "SG_2"]


def test_a_second_region_adds_its_passages_and_no_taboos(tmp_path: Path) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    found = shown(
        Retriever(passages, taboos, TERMS),
        Wanted(
            Queries("wedding", "wedding", "wedding"),
            (
                "SG",
                "MY",
            ),
            None,
            True,
        ),
    )
    assert {each.passage.region for each in found.passages} == {Region.SG, Region.MY}
    assert {each.region for each in found.taboos} == {Region.SG}


def test_a_seed_that_rests_on_no_taboo_is_shown_none(tmp_path: Path) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    found = shown(
        Retriever(passages, taboos, TERMS), Wanted(Queries("wedding", "exam", "wedding"), ("SG",), None, False)
    )
    assert found.taboos == ()


def test_an_answer_is_of_all_the_regions_asked_taboos_too(tmp_path: Path) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    found = Retriever(passages, taboos, TERMS).answer("wedding", ["SG", "MY"])
    assert {each.passage.region for each in found.passages} == {Region.SG, Region.MY}
    assert {each.taboo.taboo_id for each in found.taboos} == {"SG_1", "SG_2", "MY_3"}
    of_one = Retriever(passages, taboos, TERMS).answer("wedding", ["MY"])
    assert [each.taboo.taboo_id for each in of_one.taboos] == ["MY_3"]


def test_an_answer_holds_nothing_below_the_least_score_and_evidence_keeps_its_taboos(tmp_path: Path) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    strict = Retriever(passages, taboos, TERMS.model_copy(update={"min_score": 50.0}))
    answer = strict.answer("wedding", ["SG"])
    assert (answer.passages, answer.niche_terms, answer.taboos) == ((), (), ())
    asked = Queries("wedding", "wedding", "wedding")
    assert shown(strict, Wanted(asked, ("SG",), None, True)).taboos != ()


@pytest.mark.parametrize(("most", "by_scenario"), [(0, 2), (1, 2), (2, 5), (3, 0), (3, 3), (6, 2)])
def test_no_more_passages_are_shown_than_asked_for(tmp_path: Path, most: int, by_scenario: int) -> None:
    passages, taboos = shelves(tmp_path, embedder=Toy())
    terms = TERMS.model_copy(update={"passages": most, "by_scenario": by_scenario})
    found = shown(
        Retriever(passages, taboos, terms),
        Wanted(
            Queries("wedding", "funeral", "exam"),
            (
                "SG",
                "MY",
            ),
            None,
            False,
        ),
    )
    assert len(found.passages) == most
    assert sum(each.query == "scenario" for each in found.passages) == min(most, by_scenario) or most == 6


def test_words_find_what_shares_words_and_nothing_else(tmp_path: Path) -> None:
    passages, _ = shelves(tmp_path, lexical=True)
    assert [passages.documents[hit.position].passage_id for hit in found(passages, "exam")] == ["SG_6"]
    assert found(passages, "ujian sekolah") == []


def test_a_hybrid_fuses_both_rankings(tmp_path: Path) -> None:
    passages, _ = shelves(tmp_path, lexical=True, embedder=Toy())
    best = found(passages, "market")[0]
    assert passages.documents[best.position].passage_id == "SG_4"
    assert best.score == pytest.approx(2 / 61)  # first in both


def test_reciprocal_ranks_add() -> None:
    first, second = [Hit(7, 0.9, 3.0), Hit(8, 0.8, 2.0)], [Hit(8, 5.0, 1.0)]
    assert [(hit.position, hit.raw) for hit in fused([first, second])] == [(8, 0.8), (7, 0.9)]
    assert fused([first, second])[0].score == pytest.approx(1 / 62 + 1 / 61)


def test_the_personas_own_rise_and_others_sink() -> None:
    hits = [Hit(0, 0, 2.0), Hit(1, 0, 1.8), Hit(2, 0, 1.7)]
    named = {0: ["Tamil_Hindu"], 2: ["Malay_Muslim", "Tamil_Hindu"]}
    moved = reranked(hits, named, ["Malay_Muslim"], 0.4)
    assert [hit.position for hit in moved] == [2, 0, 1]
    assert [hit.score for hit in moved] == pytest.approx([2.1, 1.8, 1.8])
    assert reranked(hits, named, [], 0.4) == hits
    both = reranked(hits, named, ["Malay_Muslim", "Tamil_Hindu"], 0.4)
    assert [(hit.position, hit.score) for hit in both] == [(0, 2.4), (2, 2.1), (1, 1.8)]


def test_a_least_score_drops_what_is_below_it() -> None:
    hits = [Hit(0, 0, 2.0), Hit(1, 0, 1.0)]
    assert (above(hits, 1.5), above(hits, None)) == (hits[:1], hits)


def test_of_two_that_say_the_same_the_first_is_kept() -> None:
    hits = [Hit(i, 0, 1.0) for i in range(4)]
    assert [hit.position for hit in distinct(hits, 3, lambda a, b: a % 2 == b % 2)] == [0, 1]
    assert [hit.position for hit in distinct(hits, 3, lambda a, b: a == b, taken=[0, 1])] == [2, 3]
    assert [distinct(hits, none, lambda a, b: False) for none in (0, -1)] == [[], []]


def test_overlap_is_the_share_of_words_in_common() -> None:
    assert overlap("a b c", "B c d") == 0.5
    assert overlap("", "") == 1.0


def test_scores_that_do_not_differ_stand_out_nowhere() -> None:
    assert normalised(np.zeros(3, dtype=np.float32)).tolist() == [0.0, 0.0, 0.0]
    assert normalised(np.array([0.0, 2.0], dtype=np.float32)).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Void-deck, 3 WEDDINGS", ["void", "deck", "3", "weddings"], id="latin"),
        pytest.param("งานศพ", ["งา", "าน", "นศ", "ศพ"], id="thai-pairs"),
        pytest.param("白金 pek", ["白金", "pek"], id="han-pairs"),
        pytest.param("đám cưới", ["đám", "cưới"], id="vietnamese"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_words_are_parted_as_the_script_parts_them(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_an_empty_shelf_of_words_scores_nothing() -> None:
    assert LexicalIndex([]).scores("anything").tolist() == []


def test_queries_are_the_papers(tmp_path: Path) -> None:
    universe = read_universe(resource("data") / "universe")
    template = next(t for t in universe.templates if t.template_id == "TPL_CUL_HOST_01")
    persona = universe.personas[0]
    made = queries(template, "1_CULINARY_PRACTICES_&_SOCIAL_CONSUMPTION", "Hosting_and_Reciprocal_Hospitality", persona)
    sketch = "The user needs to host at for with . How to order is still open, as is where to p"[:80]
    topics = "gathering to be hosted place where it is held people who attend money"[:60]
    assert made.scenario == f"Hosting and Reciprocal Hospitality {sketch} {topics}"
    assert made.identity.startswith("Chinese Christian ")
    assert made.taboo == (
        "CULINARY PRACTICES & SOCIAL CONSUMPTION Hosting and Reciprocal Hospitality Chinese Christian SG"
    )


def test_what_was_embedded_once_is_not_embedded_again(tmp_path: Path) -> None:
    toy = Toy()
    cache = VectorCache(tmp_path / "v", 5)
    first = cache.embed(["a wedding", "an exam", "a wedding"], toy.passages)
    again = VectorCache(tmp_path / "v", 5).embed(["an exam", "a market", "a wedding"], toy.passages)
    assert toy.embedded == ["a wedding", "an exam", "a market"]
    assert (again[[2, 0]] == first[[0, 1]]).all()


def test_a_vector_torn_by_a_kill_is_embedded_again(tmp_path: Path) -> None:
    toy, path = Toy(), tmp_path / "v"
    VectorCache(path, 5).embed(["a wedding", "an exam"], toy.passages)
    path.write_bytes(path.read_bytes()[:-3])
    found = VectorCache(path, 5).embed(["a wedding", "an exam"], toy.passages)
    assert toy.embedded == ["a wedding", "an exam", "an exam"]
    assert (found == toy.passages(["a wedding", "an exam"])).all()
    assert path.stat().st_size == 2 * (16 + 5 * 4)


def test_vectors_that_ship_are_used_for_these_very_texts_only(tmp_path: Path) -> None:
    toy = Toy()
    texts = [p.text for p in sorted(PASSAGES, key=lambda p: p.region)]
    ranges = {"MY": (0, 1), "SG": (1, 6)}
    VectorIndex(toy.passages(texts), ranges).save(tmp_path / "ship", {"digest": vectors_of("toy", texts)})
    toy.embedded.clear()
    kwargs = {"embedder": toy, "lexical": False, "shipped": tmp_path / "ship", "cache": tmp_path / "cache"}
    build_shelf(PASSAGES, lambda p: p.text, **kwargs)  # type: ignore[arg-type]
    assert toy.embedded == []
    build_shelf(PASSAGES, lambda p: p.text + "!", **kwargs)  # type: ignore[arg-type]
    assert len(toy.embedded) == len(PASSAGES)
