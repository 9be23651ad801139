"""What a generator reads of a passage: its beginning, and the sentences that explain the terms it is told of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.knowledge.files import read_passages
from ccfw.knowledge.records import NicheTerm, Passage
from ccfw.knowledge.shown import excerpt
from ccfw.records import Region
from ccfw.resources import resource

MOST = 420 + len(" …")


def passage(text: str, *terms: str) -> Passage:
    return Passage(
        passage_id="MY_1",
        region=Region.MY,
        title="Title",
        tags=(),
        identities=(),
        niche_terms=tuple(NicheTerm(term=term, native=None) for term in terms),
        text=text,
        check=None,
    )


def shown(of: Passage) -> str:
    return excerpt(of, of.niche_terms)


FILLER = "Somebody cooks rice at home every day of the year. " * 12
LAST = "Guests press salam kaut into a palm."


def test_a_term_that_is_explained_late_is_explained() -> None:
    assert shown(passage(FILLER + LAST, "salam kaut")) == (
        "Somebody cooks rice at home every day of the year. " * 7 + f"Somebody cooks rice at … {LAST}"
    )


def test_a_passage_without_terms_or_with_early_ones_is_its_beginning() -> None:
    beginning = ("Somebody cooks rice at home every day of the year. " * 9)[:420].rsplit(" ", 1)[0] + " …"
    assert shown(passage(FILLER + LAST)) == beginning
    assert shown(passage(FILLER + LAST, "rice")) == beginning
    assert excerpt(passage(FILLER + LAST, "salam kaut"), ()) == beginning
    assert shown(passage(LAST, "salam kaut")) == LAST


def test_what_does_not_fit_is_left_out() -> None:
    long = "Then " + "very " * 100 + "late comes salam kaut."
    assert "salam kaut" not in shown(passage(FILLER + long, "salam kaut"))


def test_a_script_without_blanks_is_cut_where_the_room_ends() -> None:
    text = "红包 " + "宾客把礼金放进红包里面" * 60
    assert excerpt(passage(text), ()) == text[:420] + " …"


@given(
    st.lists(st.text("abc .\n", min_size=1, max_size=200), min_size=1, max_size=12),
    st.lists(st.sampled_from(["ab", "c a", "bc", "zz"]), max_size=4, unique=True),
)
def test_no_excerpt_is_longer_than_the_bound_and_each_piece_is_of_the_text(parts: list[str], terms: list[str]) -> None:
    text = ". ".join(parts).strip() or "x"
    of = passage(text, *terms)
    found = shown(of)
    assert len(found) <= MOST
    assert all(piece.strip() in of.text for piece in found.split(" …"))
    assert sum(term in found for term in terms) >= sum(term in excerpt(of, ()) for term in terms)


def test_of_what_ships_fewer_terms_go_unexplained_than_by_the_beginning_alone() -> None:
    ours = read_passages(resource("data") / "knowledge" / "passages")
    pairs = [(each, term.term.casefold()) for each in ours for term in each.niche_terms]
    by_beginning = [term for each, term in pairs if term not in excerpt(each, ()).casefold()]
    lacking = [term for each, term in pairs if term not in shown(each).casefold()]
    assert len(lacking) < len(by_beginning) / 2


@pytest.mark.parametrize("term", ["salam kaut", "rewang", "kad kahwin digital"])
def test_the_money_packet_of_a_malay_wedding_is_explained(term: str) -> None:
    ours = read_passages(resource("data") / "knowledge" / "passages")
    (card,) = [each for each in ours if any(known.term == "salam kaut" for known in each.niche_terms)]
    assert card.region == "MY"
    assert term in shown(card)
