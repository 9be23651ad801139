"""The page as a person meets it in a browser: tables, figures, filters, many scripts, hostile text."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ccfw.records import LanguageMode, TerminationReason
from ccfw.report.page import Embedded
from ccfw.report.reader import Held
from ccfw.report.reader_index import Filter, meeting
from ccfw.report.sections import Report
from tests.browser.conftest import DESKTOP, PHONE, Screen, Show
from tests.browser.demo import SAID, SHOWN
from tests.report.shelves import embedded, held
from tests.report.test_page import REPORT
from tests.samples import raw_scenario

EVIL = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>\x1b[31m<b>bold</b> &amp;"
SHOWN_AS = EVIL.replace("\x1b", "⟨U+001B⟩")


def native(seed: str) -> str:
    language: str = raw_scenario(seed)["Blueprint"]["Seed"]["Persona"]["Native_Language"]
    return language


def conversations() -> list[Held]:
    """Return six scenarios by two assistants in two languages, with scores that differ and one that broke off."""
    found = []
    for number, (seed, language, label) in enumerate(product(SHOWN, LanguageMode, ("Amber", "Birch"))):
        said = SAID[native(seed) if language is LanguageMode.NATIVE else "English"]
        scores = [1 + (number + shift) % 5 for shift in range(6)]
        broke = "Tells him to leave the elders out" if scores[2] == 1 else None
        found.append(
            held(
                seed,
                label=label,
                language=language,
                later=said[0],
                answers=said[1:] if label == "Birch" else said[1:2],
                scores=[None, *scores[1:]] if number == 3 else scores,
                tripwires=[broke] if broke else [],
                termination_reason=TerminationReason.SHARD_CAP if number == 5 else TerminationReason.ALL_SHARDS_CLEARED,
            )
        )
    return found


HELD = conversations()
SHELF = embedded(HELD)


def place_of(seed: str, language: LanguageMode = LanguageMode.NATIVE, label: str = "Birch") -> int:
    return next(
        place
        for place, each in enumerate(HELD)
        if (each.episode.seed.seed_id, each.episode.language_mode, each.entry.model) == (seed, language, label)
    )


@pytest.mark.parametrize(("window", "dark"), [(DESKTOP, False), (PHONE, False), (PHONE, True)], ids=str)
def test_the_page_shows_tables_figures_and_a_conversation_at_any_width(
    show: Show, window: tuple[int, int], dark: bool
) -> None:
    screen = show(REPORT, SHELF, window=window, dark=dark)
    page = screen.page
    expect(page.locator("#table-leaderboard tbody tr th")).to_have_text(
        ["Amber", "Birch", "Published; does not compare", "GPT-5 mini"]
    )
    assert page.locator(".paper img").evaluate_all("all => all.map(each => each.naturalWidth > 0)") == [True]
    expect(page.locator(".bubble")).to_have_count(2)
    assert screen.overflow() == 0
    assert screen.asked == [page.url.split("#")[0]] + [each for each in screen.asked if each.startswith("data:")]


def test_a_table_sorts_within_the_rows_that_compare_and_a_missing_number_comes_last(show: Show) -> None:
    page = show(REPORT, SHELF).page
    head = page.locator("#table-leaderboard thead button")
    names = page.locator("#table-leaderboard tbody tr th[scope=row]")
    head.nth(2).click()
    expect(names).to_have_text(["Amber", "Birch", "GPT-5 mini"])
    expect(page.locator("#table-leaderboard thead th").nth(2)).to_have_attribute("aria-sort", "descending")
    head.nth(2).click()
    expect(names).to_have_text(["Birch", "Amber", "GPT-5 mini"])
    for _ in range(2):
        head.nth(1).click()
        expect(names).to_have_text(["Amber", "Birch", "GPT-5 mini"])


FILTERS = (
    Filter(),
    Filter(model="Birch"),
    Filter(region="CN"),
    Filter(identity="JP Okinawan"),
    Filter(tier="normative trap", clean="yes"),
    Filter(language="native: Tamil", model="Amber"),
    Filter(ended="SHARD_CAP"),
    Filter(fault="judge: no score"),
    Filter(clean="no"),
    Filter(least=3.0, order="lowest"),
    Filter(score="helpful", most=2.0, order="highest"),
    Filter(order="highest"),
    Filter(score="typicality", least=2.0, most=4.0, region="TH"),
)


def put(screen: Screen, wanted: Filter) -> None:
    """Fill the form in as a filter says."""
    for name, value in wanted._asdict().items():
        if value is None or value == Filter._field_defaults[name]:
            continue
        if name in {"least", "most", "text"}:
            screen.fill(name, str(value))
        else:
            screen.choose(name, str(value))


def test_the_script_means_by_a_filter_what_the_server_means(show: Show) -> None:
    screen = show(REPORT, SHELF)
    for wanted in FILTERS:
        put(screen, wanted)
        expected = meeting(SHELF.index, wanted).tolist()
        assert (wanted, screen.listed) == (wanted, expected)
        assert screen.tally == f"{len(expected)} of {len(HELD)} conversations"
        with screen.listing():
            screen.page.get_by_role("button", name="Clear").click()


def test_a_text_is_found_in_any_script_and_the_form_is_cleared_at_once(show: Show) -> None:
    screen = show(REPORT, SHELF)
    screen.fill("text", "ผู้ใหญ่ในบ้าน")
    thai = [place_of(SHOWN[0], label=label) for label in ("Amber", "Birch")]
    assert screen.listed == thai
    screen.fill("text", "ASK THE ELDEST")
    assert screen.listed == [place for place, each in enumerate(HELD) if "English" in each.entry.language]
    with screen.listing():
        screen.page.get_by_role("button", name="Clear").click()
    assert len(screen.listed) == len(HELD)


SCRIPTS = (
    (SHOWN[0], "th", "ltr", r"Noto Sans Thai|Leelawadee|Thonburi|Thai|Loma|Garuda"),
    (SHOWN[1], "ja", "ltr", r"CJK JP|Noto Sans JP|Hiragino|Gothic|Mincho"),
    (SHOWN[2], "ta", "ltr", r"Tamil|Nirmala"),
    (SHOWN[3], "ug", "rtl", r"Arab|Naskh|UKIJ|Uighur|DejaVu Sans"),
    (SHOWN[4], "bo", "ltr", r"Tibetan|Kailasa|Himalaya|Jomolhari"),
)


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_conversation_is_drawn_in_its_script_and_direction(show: Show, window: tuple[int, int]) -> None:
    screen = show(REPORT, SHELF, window=window)
    for seed, tag, direction, fonts in SCRIPTS:
        if not drawable(tag):
            pytest.skip(f"no font for {tag} is installed")
        screen.open(place_of(seed))
        said = screen.page.locator(".bubble .said")
        expect(said).to_have_count(4)
        for each in said.all():
            assert each.get_attribute("lang") == tag
            assert each.evaluate("element => getComputedStyle(element).direction") == direction
            assert re.search(fonts, max(used := screen.fonts(each), key=lambda name: used[name])), used
        assert screen.overflow() == 0


def drawable(tag: str) -> bool:
    """Whether the system has a font for a language."""
    return bool(subprocess.run(["fc-list", f":lang={tag}", "family"], capture_output=True, text=True).stdout.strip())


def test_what_each_role_saw_stands_beside_the_turn_that_is_asked_about(show: Show) -> None:
    screen = show(REPORT, SHELF)
    place = place_of(SHOWN[5], LanguageMode.ENGLISH)
    screen.open(place)
    page, scenario = screen.page, HELD[place].scenario
    assert scenario is not None
    page.locator(".look").nth(1).click()
    panel = page.locator("#panel-seen")
    expect(panel).to_be_visible()
    expect(panel).to_contain_text("Turn 2 of 2")
    expect(panel).to_contain_text("The chat up to the user’s message 2 (3 lines), and nothing else.")
    expect(panel).to_contain_text(scenario.blueprint.user_private_context.background)
    expect(panel).to_contain_text(scenario.interaction_sequence[2].user_instruction.current_surface_goal)
    roles = panel.locator("section.role").all_inner_texts()
    assert not [text for text in roles if scenario.blueprint.evaluator_oracle_context.cultural_context in text]
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator("#panel-plan h4").first).to_contain_text("✓ cleared, 1 turn")
    expect(page.locator("#panel-plan h4").nth(2)).to_contain_text("– not reached")


def test_a_judges_reasons_and_what_it_named_are_shown(show: Show) -> None:
    screen = show(REPORT, SHELF)
    screen.choose("clean", "no")
    screen.open(screen.listed[0])
    judged = screen.page.locator("#panel-judged")
    expect(judged).to_contain_text("It is specific.")
    expect(judged.locator(".named")).to_contain_text("Tripwires triggered")
    expect(judged.locator(".named")).to_contain_text("Tells him to leave the elders out")
    expect(screen.page.locator(".head .flag")).to_have_text("✗ not clean")


def test_a_missing_score_is_a_dash_with_its_reason(show: Show) -> None:
    screen = show(REPORT, SHELF)
    screen.choose("fault", "judge: no score")
    screen.open(3)
    expect(screen.page.locator(".scores dd").first).to_have_text("–")
    expect(screen.page.locator("#panel-judged .fault")).to_have_text("No score: unparsed: no JSON")


def test_the_list_and_the_tabs_are_worked_by_keys_alone(show: Show) -> None:
    page = show(REPORT, SHELF).page
    page.locator("#list button").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#list button").nth(1)).to_be_focused()
    expect(page.locator('#list button[data-n="1"]')).to_have_attribute("aria-current", "true")
    page.keyboard.press("j")
    expect(page.locator('#list button[data-n="2"]')).to_have_attribute("aria-current", "true")
    page.keyboard.press("k")
    expect(page.locator('#list button[data-n="1"]')).to_have_attribute("aria-current", "true")
    page.get_by_role("tab", name="Judgement").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Plan")).to_be_focused()
    expect(page.locator("#panel-plan")).to_be_visible()
    expect(page.locator("#panel-judged")).to_be_hidden()
    outline = page.get_by_role("tab", name="Plan").evaluate("element => getComputedStyle(element).outlineStyle")
    assert outline == "solid"


def test_a_letter_that_is_typed_into_the_search_turns_no_page(show: Show) -> None:
    screen = show(REPORT, SHELF)
    screen.page.locator("[name=text]").focus()
    with screen.listing():
        screen.page.keyboard.type("jk")
    assert screen.listed == []


def test_a_linked_conversation_is_opened_and_a_foreign_link_does_no_harm(show: Show, tmp_path: Path) -> None:
    first = show(REPORT, SHELF)
    address = first.page.url.split("#")[0]
    screen = show(f"{address}#n=7")
    expect(screen.page.locator("#opened")).to_have_attribute("data-episode", HELD[7].entry.episode_id)
    show(f"{address}#n=99999")
    show(f"{address}#%3Cimg%20src=x%20onerror=alert(1)%3E")


def test_what_models_write_is_text_and_runs_nothing(show: Show) -> None:
    hostile = held(
        SHOWN[5],
        label=EVIL,
        language=LanguageMode.ENGLISH,
        answers=(EVIL, EVIL),
        reasoning=EVIL,
        tripwires=[EVIL],
        simulator_model=EVIL,
    )
    table = REPORT.tables[0]._replace(rows=((EVIL, EVIL, EVIL),), breaks=((0, EVIL),), grey=frozenset())
    report = Report(EVIL, ((EVIL, EVIL),), EVIL, (table, table._replace(name="other", title=EVIL)), REPORT.figures)
    screen = show(report, embedded([hostile]))
    page = screen.page
    page.get_by_role("tab", name="About").click()
    for place in (
        ".said >> nth=1",
        "#panel-judged .prose >> nth=0",
        ".named li",
        "h1",
        ".grid tbody th[scope=row] >> nth=0",
    ):
        assert page.locator(place).text_content() == SHOWN_AS
    expect(page.locator("#panel-about")).to_contain_text(SHOWN_AS)
    expect(page.locator("#list button")).to_contain_text(SHOWN_AS)
    assert page.evaluate("window.owned") is None
    assert page.locator("img[src=x], .said *, .prose *").count() == 0
    screen.fill("text", "window.owned")
    assert screen.listed == [0]
    screen.fill("text", "<img src=x onerror=alert(1)>")
    assert screen.listed == []


def test_a_script_that_got_into_the_page_all_the_same_would_not_run(show: Show, tmp_path: Path) -> None:
    address = show(REPORT, SHELF).page.url.split("#")[0]
    path = tmp_path / "index.html"
    html = path.read_text("utf-8").replace(
        "<h1>", "<img src=x onerror='window.owned=1'><script>window.owned=1</script><h1>"
    )
    path.write_text(html, "utf-8")
    screen = show(address)
    assert screen.page.evaluate("window.owned") is None
    assert len(screen.complaints) >= 2
    assert all("Content Security Policy" in complaint for complaint in screen.complaints)
    screen.complaints.clear()


def big(count: int) -> Embedded:
    """Return many conversations, all alike but for their numbers."""
    one = held(SHOWN[0], answers=SAID["Thai"][1:])
    return embedded([one._replace(entry=one.entry._replace(model=f"Model {number % 18}")) for number in range(count)])


def test_of_five_thousand_conversations_few_are_drawn_and_one_is_read(show: Show) -> None:
    screen = show(REPORT, big(5000))
    page = screen.page
    assert screen.tally == "5,000 of 5,000 conversations"
    assert page.locator("body *").count() < 1000
    screen.choose("model", "Model 3")
    assert (screen.tally, len(screen.listed)) == ("278 of 5,000 conversations", 40)
    with screen.listing():
        page.get_by_role("button", name="More").click()
    assert screen.listed[0] == 3 + 18 * 40
    expect(page.locator("#where")).to_have_text("41–80")
    screen.fill("text", "ผู้ใหญ่ในบ้าน")
    assert screen.tally == "278 of 5,000 conversations"


def test_one_conversation_makes_a_page(show: Show) -> None:
    broken = held(SHOWN[0], answers=(), shard_outcomes=(), termination_reason=TerminationReason.ASSISTANT_ERROR)
    screen = show(Report("One", (), "", (), ()), embedded([broken]))
    expect(screen.page.locator(".chat")).to_contain_text("Nothing was said")
    screen.page.get_by_role("tab", name="Who saw what").click()
    expect(screen.page.locator("#panel-seen")).to_contain_text("Nothing was said.")


def test_a_page_without_conversations_says_so(show: Show) -> None:
    screen = show(Report("None", (), "", (), ()), embedded([]), wait=None)
    expect(screen.page.locator("#conversations")).to_contain_text("There is none.")


def test_print_shows_every_table_and_no_form(show: Show) -> None:
    other = REPORT.tables[0]._replace(name="other", title="Other")
    page = show(REPORT._replace(tables=(*REPORT.tables, other)), SHELF).page
    expect(page.locator("#table-other table")).to_be_hidden()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#table-other table")).to_be_visible()
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator(".bubble").first).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    expect(page.locator("#table-other table")).to_be_hidden()


def contrast(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the contrast of two colours (WCAG 2.1)."""

    def light(colour: Sequence[float]) -> float:
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (each / 255 for each in colour)]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


COLOURED = (
    *(".note", ".grey .number", ".facts dt", ".break th", ".list .what", ".flag", ".mark", ".outcome"),
    *(".bubble.user .said", ".bubble.user .who", ".bubble.assistant .said", ".verdict button"),
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(show: Show, dark: bool) -> None:
    screen = show(REPORT, SHELF, dark=dark)
    colours = screen.page.evaluate(
        """(selectors) => selectors.map((selector) => {
          const element = document.querySelector(selector);
          let behind = element;
          while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
          return [selector, getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
        })""",
        list(COLOURED),
    )
    found = {
        selector: contrast(*([float(each) for each in re.findall(r"[\d.]+", colour)[:3]] for colour in pair))
        for selector, *pair in colours
    }
    assert {selector: round(value, 2) for selector, value in found.items() if value < 4.5} == {}
