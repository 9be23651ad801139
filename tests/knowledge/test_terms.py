"""Niche terms: which words may be one, and which are rare enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.knowledge.records import NicheTerm
from ccfw.knowledge.terms import Rarity, Sketch, candidates, counted, niche

ALL = Rarity(share=1.0, articles=1, most=50)


def found(text: str, marked: tuple[str, ...] = (), links: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
    return [(each.term, each.native) for each in candidates(text, marked, links)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Families visit Linxia and then Iban Dayak homes.", ["Linxia", "Iban Dayak"]),
        ("Families eat. Guests eat. They leave.", []),
        ("The UNESCO list, BBC News and a B.", ["BBC News"]),
        ("In George Town, Penang they eat.", ["George Town", "Penang"]),
        (
            "They read Morihei Ueshiba's book and Rossum's Universal Robots.",
            ["Morihei Ueshiba", "Rossum's Universal Robots"],
        ),
        ("", []),
    ],
)
def test_capitalised_runs_in_mid_sentence_may_be_terms(text: str, terms: list[str]) -> None:
    assert [term for term, _ in found(text)] == terms


@pytest.mark.parametrize(
    ("text", "marked", "pair"),
    [
        ("They keep Losar (Tibetan: ལོ་གསར་) at home.", (), ("Losar", "ལོ་གསར་")),
        ("Lễ Vu Lan (盂蘭盆) là lễ.", (), ("Lễ Vu Lan", "盂蘭盆")),
        ("They ate bánh chưng (粽) then.", ("bánh chưng",), ("bánh chưng", "粽")),
        ("The Chuseok (추석; Hanja: 秋夕) is.", (), ("Chuseok", "추석")),
        ("Some songkran （สงกรานต์） too.", (), ("songkran", "สงกรานต์")),
    ],
)
def test_a_name_with_its_script_in_brackets_is_a_pair(
    text: str, marked: tuple[str, ...], pair: tuple[str, str]
) -> None:
    assert pair in found(text, marked)


def test_words_that_writers_marked_count_where_the_passage_holds_them() -> None:
    assert found("They cook rendang daily.", ("rendang", "satay")) == [("rendang", None)]
    assert found("a, b", (", then", "x" * 50, "one two three four five six")) == []


def test_labels_of_links_count_in_scripts_without_capitals_only() -> None:
    assert found("วันสงกรานต์เป็นวันปีใหม่", (), ("สงกรานต์", "Songkran")) == [("สงกรานต์", None)]
    assert found("they pound rice cakes", (), ("rice cakes",)) == []


@pytest.mark.parametrize(
    ("text", "links", "terms"),
    [
        ("It is run by the Ministry of Education now.", ("Ministry of Education",), ["Education"]),
        ("Theo Bộ Giáo dục thì không.", ("Bộ Giáo dục",), []),
        ("Chợ ở Hà Giang thì đông.", ("chợ ở Hà Giang",), ["Hà Giang"]),
        ("The Ministry of Education is a Ministry of two.", ("Ministry of Education",), ["Ministry", "Education"]),
        ("They visit Linxia often.", ("Linxia",), ["Linxia"]),
    ],
)
def test_a_piece_of_a_name_that_a_link_shows_whole_is_none(text: str, links: tuple[str, ...], terms: list[str]) -> None:
    assert [term for term, _ in found(text, links=links)] == terms


def test_names_that_articles_link_to_are_counted_whole() -> None:
    wikitext = "See [[Hà Lan]], [[Đông Nam Á|vùng]], [[Tập tin:x.jpg]] and [[Tết#Lễ|Tết]]."
    assert {"hà lan", "đông nam á", "tết", "vùng"} <= counted(wikitext, ())
    assert "tập tin:x.jpg" not in counted(wikitext, ())


def test_a_sketch_goes_on_where_it_was_left() -> None:
    whole, half = Sketch(64), Sketch(64)
    for sketch in (whole, half):
        sketch.add(["a", "b"])
    half = Sketch.of_bytes(b"".join(half.parts()))
    for sketch in (whole, half):
        sketch.add(["b"])
    assert half.articles == whole.articles == 2
    assert half.count(["a", "b", "c"]).tolist() == whole.count(["a", "b", "c"]).tolist()


def test_terms_stand_in_the_order_of_the_text_once_each() -> None:
    assert found("See Tuen Ng and Losar, Tuen Ng again, and Losar.") == [("Tuen Ng", None), ("Losar", None)]


@given(st.lists(st.sets(st.text(max_size=4), max_size=6), max_size=30))
def test_the_sketch_never_counts_too_little(articles: list[set[str]]) -> None:
    sketch = Sketch(width=32)  # so narrow that words do meet
    for each in articles:
        sketch.add(each)
    words = sorted(set().union(*articles))
    if words:
        true = [sum(word in each for each in articles) for word in words]
        assert all(count >= least for count, least in zip(sketch.count(words).tolist(), true, strict=True))


def test_the_sketch_is_exact_where_words_do_not_meet() -> None:
    sketch = Sketch()
    for number in range(50):
        sketch.add(f"w{word}" for word in range(number))
    assert sketch.count([f"w{word}" for word in range(50)]).tolist() == [49 - word for word in range(50)]
    assert sketch.articles == 50


def test_a_term_in_few_articles_is_niche_and_a_common_one_is_not() -> None:
    sketch = Sketch()
    for number in range(100):
        sketch.add(
            counted(
                f"People of Malaysia visit. {'They keep Gawai Dayak.' if number < 2 else ''}",
                ["Gawai Dayak"] * (number < 2),
            )
        )
    terms = candidates("They of Malaysia keep Gawai Dayak.", (), ())
    assert [each.term for each in niche(terms, sketch, Rarity(0.02, 1, 8))] == ["Gawai Dayak"]
    assert [each.term for each in niche(terms, sketch, Rarity(0.019, 1, 8))] == []
    assert [each.term for each in niche(terms, sketch, Rarity(0.0, 2, 8))] == ["Gawai Dayak"]
    assert [each.term for each in niche(terms, sketch, ALL)] == ["Malaysia", "Gawai Dayak"]


def test_a_word_that_is_common_in_small_letters_is_not_niche_when_it_is_capitalised() -> None:
    sketch = Sketch()
    for _ in range(100):
        sketch.add(counted("the law of the land", []))
    assert niche(candidates("They read the Law there.", (), ()), sketch, Rarity(0.01, 3, 8)) == ()


def test_of_too_many_the_rarest_are_taken_in_the_order_of_the_text() -> None:
    sketch = Sketch()
    for number in range(9):
        sketch.add(f"t{letter}" for letter in range(9) if letter <= number)
    terms = [NicheTerm(term=f"t{letter}", native=None) for letter in (0, 8, 4, 7)]
    assert [each.term for each in niche(terms, sketch, Rarity(1.0, 1, 2))] == ["t8", "t7"]
    assert niche((), sketch, ALL) == ()
