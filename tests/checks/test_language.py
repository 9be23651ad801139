"""The language of a turn: scripts, the identifier for Latin ones, and where it says nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.checks import corpus
from ccfw.checks.language import MALAY, detect_language, family, language_fault
from ccfw.checks.script import LANGUAGES
from tests.checks.test_starter import FILES, load
from tests.samples import ROOT

TURNS = {
    "English": "hmm and what do i bring if the kids come along too",
    "Vietnamese": "nhà em không có sân, vậy bày mâm ở đâu thì được ạ",
    "Filipino": "hindi ko pa rin alam kung paano sasabihin sa biyenan ko",
    "Indonesian": "budgetnya sekitar lima juta, cukup nggak ya buat 40 orang",
    "Malay": "macam mana nak bagitahu bos yang saya balik awal hari tu",
    "Simplified Chinese": "这个钱要不要单独算，我怕他们嫌烦",
    "Traditional Chinese": "門口是走道，桌子擺半小時會不會太久",
    "Japanese": "何を持っていけばいいでしょうか",
    "Korean": "면회 시간이 짧은데 뭘 사 갈까요",
    "Thai": "ต้องเตรียมของว่างทุกคืนไหมครับ",
    "Tamil": "உறையில் கொடுத்தால் குறைவாக நினைப்பாரா",
    "Tibetan": "ཁ་བཏགས་ཁོ་ནས་འགྲིག་གི་རེད་དམ།",
    "Uyghur": "رەخت ئورنىغا پۇل بەرسەم قانداق بولار",
}
LATIN = ("English", "Vietnamese", "Filipino", "Indonesian", "Malay")


def test_every_language_has_a_sample() -> None:
    assert set(TURNS) == set(LANGUAGES)


@pytest.mark.parametrize(("language", "text"), TURNS.items(), ids=TURNS)
def test_detects(language: str, text: str) -> None:
    assert detect_language(text) == family(language)


@pytest.mark.parametrize("expected", TURNS)
@pytest.mark.parametrize(("language", "text"), TURNS.items(), ids=TURNS)
def test_faults_exactly_the_other_languages(language: str, text: str, expected: str) -> None:
    assert (language_fault(text, expected) is None) == (family(language) == family(expected))


def test_malay_and_indonesian_are_one_and_filipino_is_not() -> None:
    assert family("Malay") == family("Indonesian") == MALAY
    assert family("Filipino") == "Filipino"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "😊👍",
        "ok",
        "boleh jugak",
        "sige po opo",
        "Nasi Minyak, Ayam Masak Merah, Acar",
        "is RM50 per head ok at Restoran Seri Melayu",
        "ok lah boss, tapi can we book the venue first ke",
        "pano ba yung booking, like do i pay online or what",
        "gue already told him, tapi he keeps ghosting gue",
        "https://example.com/kenduri/rumah/terbuka/sekali",
        "三十人左右",
    ],
)
def test_says_nothing_about_short_mixed_or_nameful_turns(text: str) -> None:
    assert detect_language(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LINE Pay跟街口支付哪個比較好", "Traditional Chinese"),
        ("Grab หรือ Bolt ดีคะ", "Thai"),
        ("GoFood aja deh, gimana", "Indonesian"),
        ("what does 忌中 mean on the envelope, do i write it too", "English"),
        ("三十人程度", "Japanese"),
        ("ok thanks", "Korean"),
        ("the wedding is in june", "Klingon"),
        ("12/3, 45", "Thai"),
    ],
)
def test_lets_brands_quotes_and_short_answers_pass(text: str, expected: str) -> None:
    assert language_fault(text, expected) is None


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("these words are plain english all along", "Thai", "Latin script"),
        ("名单找谁要比较好，前任班长已经搬走了", "Japanese", "no Kana"),
        ("香蕉不行的话，苹果跟橘子可以吗", "Traditional Chinese", "not in traditional form"),
        ("香蕉不行的話，蘋果跟橘子可以嗎", "Simplified Chinese", "not in simplified form"),
        ("what should i bring to the temple ครับ", "Thai", "Latin script"),
        ("何を持っていけばいいですか", "Korean", "Kana script"),
        (TURNS["Malay"], "English", MALAY),
    ],
)
def test_says_what_is_wrong(text: str, expected: str, found: str) -> None:
    fault = language_fault(text, expected)
    assert fault is not None
    assert found in fault


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_agrees_with_the_starter_scenarios(path: Path) -> None:
    scenario = load(path)
    message = scenario.blueprint.public_context.initial_user_message
    native = scenario.seed.persona.native_language
    assert detect_language(message.global_english) == "English"
    assert detect_language(message.native_language) == family(native)
    assert language_fault(message.native_language, native) is None


def test_never_takes_a_good_labelled_turn_for_another_language() -> None:
    good = [turn for turn in corpus() if "wrong_language" not in turn.expected]
    wrong = {turn.id: found for turn in good if (found := language_fault(turn.message, turn.language))}
    assert wrong == {}
    silent = sum(detect_language(turn.message) is None for turn in good if turn.language in LATIN)
    assert silent < 0.25 * sum(turn.language in LATIN for turn in good)


@given(st.text(max_size=200), st.sampled_from(sorted(LANGUAGES)))
def test_reads_any_text(text: str, expected: str) -> None:
    assert detect_language(text) in {None, *map(family, LANGUAGES)}
    assert language_fault(text, expected) is None or text


def test_the_identifier_is_imported_when_a_latin_turn_is_long_enough() -> None:
    source = (
        "import sys\n"
        "from ccfw.checks.turns import check_turn\n"
        "from ccfw.checks.language import detect_language\n"
        "detect_language('ok'); detect_language('ต้องเตรียมของว่างทุกคืนไหมครับ')\n"
        "print('py3langid' in sys.modules)\n"
        "detect_language('what do i bring if the kids come along')\n"
        "print('py3langid' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
