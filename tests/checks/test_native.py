"""The first message in the native language."""

from __future__ import annotations

import pytest

from .conftest import GOOD, Findings

BILINGUAL = "Blueprint.Public_Context.Initial_User_Message"
NATIVE = f"{BILINGUAL}.Native_Language"
LANGUAGE = "Blueprint.Seed.Persona.Native_Language"
ENGLISH = GOOD["Blueprint"]["Public_Context"]["Initial_User_Message"]["Global_English"]
CHINESE = GOOD["Blueprint"]["Public_Context"]["Initial_User_Message"]["Native_Language"]

GOOD_TEXTS = {
    "Simplified Chinese": CHINESE,
    "Traditional Chinese": (
        "明天晚上有個客戶要來家裡吃飯，我廚房很小，只有一個炒鍋和電鍋，不知道做什麼菜，有什麼建議嗎"
    ),
    "Japanese": (
        "明日の夜に取引先の人がうちに来るんだけど、台所が狭くて鍋と炊飯器しかなくて、何を作ればいいか迷ってます"
    ),
    "Korean": ("내일 저녁에 거래처 손님이 집에 오는데 부엌이 좁고 냄비랑 밥솥밖에 없어서 뭘 만들면 좋을지 모르겠어요"),
    "Thai": ("พรุ่งนี้เย็นมีลูกค้ามากินข้าวที่ห้อง ครัวเล็กมาก มีแค่กระทะกับหม้อหุงข้าว ไม่รู้จะทำอะไรดีครับ"),
    "Tamil": ("நாளை இரவு ஒரு வாடிக்கையாளர் வீட்டுக்கு சாப்பிட வருகிறார், சமையலறை சிறியது, என்ன சமைக்கலாம் என்று தெரியவில்லை"),
    "Vietnamese": (
        "tối mai có khách từ Kelantan qua ăn cơm mà bếp nhỏ xíu, chỉ có cái "
        "chảo với nồi cơm điện, không biết nấu món gì cho hợp nữa"
    ),
    "Malay": (
        "malam esok ada pelanggan dari kelantan datang makan di rumah, dapur "
        "saya kecil, cuma ada kuali dan periuk nasi, nak masak apa ya"
    ),
    "Filipino": (
        "may bisita akong kliyente bukas ng gabi, maliit lang ang kusina "
        "ko, kawali at rice cooker lang ang gamit, ano kayang magandang lutuin"
    ),
    "English": ENGLISH,
}


@pytest.mark.parametrize(("language", "text"), GOOD_TEXTS.items(), ids=GOOD_TEXTS)
def test_good_native_message(findings: Findings, language: str, text: str) -> None:
    changes = {LANGUAGE: language, NATIVE: text}
    checks = ["known_language", "native_script", "native_han_form", "native_length", "native_untranslated"]
    assert [issue for check in checks for issue in findings(check, changes)] == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        pytest.param("Simplified Chinese", ENGLISH, id="english for chinese"),
        pytest.param("Thai", GOOD_TEXTS["Malay"], id="malay for thai"),
        pytest.param("Japanese", CHINESE, id="chinese for japanese"),
        pytest.param("Uyghur", CHINESE, id="chinese for uyghur"),
        pytest.param("Malay", CHINESE, id="chinese for malay"),
        pytest.param("Korean", "내일 client가 dinner 먹으러 오는데 kitchen이 tiny해요", id="mixed korean"),
        pytest.param("Tibetan", "123", id="no letters"),
    ],
)
def test_wrong_script(findings: Findings, language: str, text: str) -> None:
    [issue] = findings("native_script", {LANGUAGE: language, NATIVE: text})
    assert (issue.where, issue.found) == (NATIVE, text)


def test_a_brand_in_latin_letters_is_no_fault(findings: Findings) -> None:
    assert findings("native_script", {NATIVE: CHINESE + "，他在 WhatsApp 上说的"}) == []


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        pytest.param("Simplified Chinese", GOOD_TEXTS["Traditional Chinese"], "個", id="traditional"),
        pytest.param("Traditional Chinese", CHINESE, "从", id="simplified"),
        pytest.param("Simplified Chinese", "這個客戶要来吃饭", "這個", id="mixed"),
    ],
)
def test_wrong_han_form(findings: Findings, language: str, text: str, found: str) -> None:
    [issue] = findings("native_han_form", {LANGUAGE: language, NATIVE: text})
    assert found in issue.found


def test_one_dialect_character_is_no_fault(findings: Findings) -> None:
    assert findings("native_han_form", {NATIVE: CHINESE + "，还有娘惹粿"}) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        pytest.param("Simplified Chinese", "吃什么好", id="too short"),
        pytest.param("Simplified Chinese", CHINESE * 4, id="too long"),
        pytest.param("Thai", "ทำอะไรดีครับ", id="short thai"),
        pytest.param("Malay", "nak masak apa", id="short malay"),
    ],
)
def test_length_out_of_hand(findings: Findings, language: str, text: str) -> None:
    assert len(findings("native_length", {LANGUAGE: language, NATIVE: text})) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ENGLISH, id="copied"),
        pytest.param("a client is coming with his wife, what should i cook for them and how", id="other english"),
    ],
)
def test_english_left_untranslated(findings: Findings, text: str) -> None:
    assert len(findings("native_untranslated", {LANGUAGE: "Malay", NATIVE: text})) == 1


def test_unknown_language_is_said_once_and_checked_no_further(findings: Findings) -> None:
    changes = {LANGUAGE: "Klingon", NATIVE: "short"}
    assert [issue.found for issue in findings("known_language", changes)] == ["Klingon"]
    assert [findings(name, changes) for name in ("native_script", "native_han_form", "native_length")] == [
        [],
        [],
        [],
    ]
