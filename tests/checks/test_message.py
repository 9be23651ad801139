"""The first message in English."""

from __future__ import annotations

import pytest

from .conftest import Findings

MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Global_English"
TAIL = (
    " got a client from kelantan coming over tmr night and my kitchen is tiny,"
    " just a wok and a rice cooker, no idea what dishes would suit, any tips"
)

BAD = [
    ("message_length", "24 words", " ".join(["word"] * 24), "word word"),
    ("message_length", "51 words", " ".join(["word"] * 51), "word word"),
    ("message_opener", "need", "need quick advice," + TAIL, "need"),
    ("message_opener", "so", "So my in-laws are here," + TAIL, "so"),
    ("message_opener", "ok so", "ok so my cousin," + TAIL, "ok so"),
    ("message_opener", "okay, so", "Okay, so" + TAIL, "okay, so"),
    ("message_opener", "hi", "Hi," + TAIL, "hi"),
    ("message_opener", "good day", "Good day" + TAIL, "good day"),
    ("message_opener", "dear", "dear assistant" + TAIL, "dear"),
    ("message_punctuation", "em dash", "quick one —" + TAIL, "—"),
    ("message_punctuation", "en dash", "tmr 7–8pm" + TAIL, "–"),
    ("message_punctuation", "semicolon", "quick q;" + TAIL, ";"),
    ("message_list", "bullets", "dinner\n- rice\n- fish\n" + TAIL, "-"),
    ("message_list", "numbers on lines", "dinner\n1. rice\n2. fish\n" + TAIL, "1."),
    ("message_list", "numbers in a row", "help with 1) rice 2) fish" + TAIL, "1) rice 2)"),
    ("message_script", "han", "planning 坐月子" + TAIL, "坐月子"),
    ("message_script", "mixed", "planning 49재" + TAIL, "재"),
    ("message_script", "cyrillic look-alike", "planning dinnеr" + TAIL, "е"),
    ("message_as_a", "faith", "as a Muslim," + TAIL, "as a muslim"),
    ("message_as_a", "people noun", "as a young Buddhist woman" + TAIL, "as a young buddhist"),
    ("message_as_a", "two words", "as a chinese christian i wonder" + TAIL, "as a chinese"),
    ("message_identity", "i am", "I am Muslim and" + TAIL, "i am muslim"),
    ("message_identity", "curly quote", "i’m buddhist," + TAIL, "i'm buddhist"),
    ("message_identity", "degree", "im a devout catholic," + TAIL, "im a devout catholic"),
    ("message_identity", "we", "we're hindus but" + TAIL, "we're hindus"),
    (
        "message_deliverables",
        "project brief",
        "plan for notice wording, final pay, visa cancellation, and private vs public messages" + TAIL,
        "visa cancellation",
    ),
    (
        "message_deliverables",
        "menu budget seating",
        "sort out menu, budget and seating" + TAIL,
        "menu, budget and seating",
    ),
    (
        "message_deliverables",
        "three questions",
        "what to cook, when to eat and who to invite" + TAIL,
        "what to, when to, who to",
    ),
    ("message_negative", "no alcohol", "no alcohol at the table" + TAIL, "no alcohol"),
    ("message_negative", "nothing with", "nothing with shrimp" + TAIL, "nothing with"),
    ("message_negative", "avoid anything", "wanna avoid anything with number 4" + TAIL, "avoid anything"),
    ("message_negative", "make sure", "make sure there’s no awkward moment" + TAIL, "make sure there's no"),
    ("message_negative", "non-alcoholic", "non-alcoholic drinks" + TAIL, "non-alcoholic"),
    ("message_negative", "without pork", "a menu without any pork" + TAIL, "without any pork"),
    ("message_negative", "steer clear", "i should steer clear of bananas" + TAIL, "steer clear of"),
    ("message_negative", "off the table", "beef is off the table" + TAIL, "is off the table"),
    ("message_negative", "just not a", "just not a friday please" + TAIL, "just not a"),
    ("message_negative", "anywhere near", "don't want it anywhere near the toilet" + TAIL, "anywhere near"),
    ("message_negative", "must have no", "it must have no pork in it" + TAIL, "no pork"),
    ("message_negative", "anything but", "anything but red" + TAIL, "anything but"),
    ("message_as_a", "job", "as a young malay officer i wonder" + TAIL, "as a young malay"),
    ("message_as_a", "from", "as an iban from limbang" + TAIL, "as an iban"),
    ("message_as_a", "being", "being a cebuana i never write it down" + TAIL, "being a cebuana"),
    ("message_identity", "happen to be", "i happen to be hui," + TAIL, "i happen to be hui"),
    ("message_identity", "us catholics", "us catholics always pass the hat" + TAIL, "us catholics"),
    ("message_identity", "raised", "i was raised buddhist, you see," + TAIL, "i was raised buddhist"),
    ("message_formal", "organising", "I need help organising a dinner" + TAIL, "i need help organising"),
    ("message_formal", "appreciate", "I would appreciate advice" + TAIL, "i would appreciate"),
    (
        "message_formal",
        "all clauses closed",
        "My client comes tomorrow. The kitchen is small. What should I cook for him?",
        "My client comes",
    ),
]

GOOD = [
    ("message_length", "25 words", " ".join(["word"] * 25)),
    ("message_length", "50 words, a dash between", " ".join(["word"] * 25 + ["-"] + ["word"] * 25)),
    ("message_opener", "sorting", "sorting out dinner," + TAIL),
    ("message_opener", "hi as part of a word", "hi-fi set arrived and" + TAIL),
    ("message_opener", "needs later", "my sister said so," + TAIL),
    ("message_opener", "history", "history repeats," + TAIL),
    ("message_punctuation", "hyphen", "quick q - hosting my co-worker" + TAIL),
    ("message_list", "minus sign", "it's -2 outside and 1.5 km away" + TAIL),
    ("message_list", "time", "at 7. then at 8." + TAIL),
    ("message_script", "diacritics and emoji", "bánh chưng for my café 😅 n’est-ce pas" + TAIL),
    ("message_as_a", "object", "as a chinese new year gift" + TAIL),
    ("message_as_a", "dish", "serve it as a thai dessert" + TAIL),
    ("message_as_a", "role", "came as a client" + TAIL),
    ("message_identity", "festival", "i'm chinese new year shopping" + TAIL),
    ("message_identity", "food", "we're thai food fans" + TAIL),
    ("message_identity", "third person", "my boss is korean and" + TAIL),
    ("message_identity", "place", "i'm in a malay kampung" + TAIL),
    ("message_deliverables", "people", "mum, dad and my sister come" + TAIL),
    ("message_deliverables", "ingredients", "i have rice, eggs and oil" + TAIL),
    ("message_deliverables", "two questions", "idk what colour to wear or what to bring" + TAIL),
    (
        "message_deliverables",
        "one thing of the assistant's",
        "the menu, my aunt and my cousin worry me" + TAIL,
    ),
    ("message_negative", "no idea", "no idea, nothing works" + TAIL),
    ("message_negative", "avoid a crowd", "trying to avoid the crowd" + TAIL),
    ("message_negative", "make sure positive", "want to make sure it works" + TAIL),
    ("message_negative", "empty larder", "got no eggs and no milk left" + TAIL),
    ("message_negative", "lack of an eater", "one tante has no eggs till friday" + TAIL),
    ("message_negative", "poor market", "there was nothing with a decent price" + TAIL),
    ("message_negative", "open question", "it's all still on the table" + TAIL),
    ("message_negative", "temper", "i'm just not a morning person" + TAIL),
    ("message_negative", "far from done", "not anywhere near done" + TAIL),
    ("message_as_a", "habit", "as a rule i cook thai food" + TAIL),
    ("message_identity", "neighbours", "the catholics next door lent us a van" + TAIL),
    ("message_formal", "ellipses", "Client comes tmr... Kitchen is small... What now?"),
    ("message_formal", "writing", "i am writing to my landlord" + TAIL),
    ("message_negative", "shop", "there's no meat stall nearby" + TAIL),
    ("message_formal", "casual need", "i need a hand" + TAIL),
    ("message_formal", "one sentence", "My client comes tomorrow."),
    ("message_formal", "lower case", "client comes tmr. kitchen is small. what do i cook?"),
]


@pytest.mark.parametrize(("check", "text", "found"), [pytest.param(c, t, f, id=f"{c}: {i}") for c, i, t, f in BAD])
def test_bad_message(findings: Findings, check: str, text: str, found: str) -> None:
    [issue] = findings(check, {MESSAGE: text})
    assert issue.where == MESSAGE
    assert found in issue.found


@pytest.mark.parametrize(("check", "text"), [pytest.param(c, t, id=f"{c}: {i}") for c, i, t in GOOD])
def test_good_message(findings: Findings, check: str, text: str) -> None:
    assert findings(check, {MESSAGE: text}) == []


@pytest.mark.parametrize(
    "text",
    [
        "got a client from Kelantan visiting tmr for dinner at my tiny flat, only got a wok"
        " and rice cooker, not sure"
        " what to cook or whether to wait for them to start eating, any tips",
        "my lola in tondo turns 80 next month, thinking bout menu for the party but budget"
        " tight, where do ppl even"
        " start with this kind of thing, we're maybe 40 heads",
        "trying to pick a venue for the wedding reception in johor, need somewhere that does"
        " halal catering and isn't"
        " too far from the mosque, how early do ppl book these",
    ],
    ids=["paper E.2", "lola", "venue"],
)
def test_the_papers_own_good_messages_pass(findings: Findings, text: str) -> None:
    names = {check for check, *_ in BAD}
    assert [issue for name in names for issue in findings(name, {MESSAGE: text})] == []
