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
from ccfw.report.sections import Report, TableView
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
    Filter(ended="shard cap"),
    Filter(fault="judge: no score"),
    Filter(clean="no"),
    Filter(least=3.0, order="lowest"),
    Filter(score="helpful", most=2.0, order="highest"),
    Filter(order="highest"),
    Filter(score="typicality", least=2.0, most=4.0, region="TH"),
)


SORTED = TableView(
    name="sorted",
    title="Sorted",
    note="",
    head=("Assistant", "Rank", "3H", "Lowest", "p", "Beyond"),
    rows=(
        ("All", "–", "3.00", "–", "–", "not tested"),
        ("A", "2 [1–4]", "3.90 [3.1, 4.2]", "18-34 3.70", "<0.001", "yes"),
        ("B", "1", "3.90 [3.0, 4.0]", "55+ 3.10", "0.040", "no"),
        ("C", "10", "–", "–", "–", "not tested"),
    ),
    breaks=((0, "In all"), (1, "By assistant")),
    keys=(
        (None, 3.0, None, None, None),
        (2, 3.9012, 3.7, 0.0004, 0.0004),
        (1, 3.9049, 3.1, 0.04, 0.04),
        (10, None, None, None, None),
    ),
)


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [
        pytest.param("Rank", "BAC", "CAB", id="a-rank-from-the-first"),
        pytest.param("3H", "BAC", "ABC", id="by-the-number-that-was-rounded"),
        pytest.param("Lowest", "ABC", "BAC", id="not-by-digits-in-a-name"),
        pytest.param("p", "ABC", "BAC", id="the-smallest-p-first"),
    ],
)
def test_a_column_is_sorted_by_what_its_cells_mean(show: Show, column: str, first: str, second: str) -> None:
    page = show(REPORT._replace(tables=(SORTED,)), SHELF).page
    names = page.locator("#table-sorted tbody tr th[scope=row]")
    for expected in (first, second):
        page.locator("#table-sorted thead button", has_text=re.compile(f"^{column}$")).click()
        expect(names).to_have_text(["All", *expected])


def test_without_keys_a_column_is_sorted_by_the_figures_that_it_shows(show: Show) -> None:
    table = SORTED._replace(keys=(), head=("Assistant", "Judged", "3H", "Group", "q", "Beyond"), breaks=())
    rows = (
        ("A", "9 of 116 (7.8%)", "3.50 (n=4)", "18-34 3.7", "<0.001", "yes"),
        ("B", "1,116", "−0.20 [−1, 9]", "7 3.1", "0.04", "no"),
    )
    page = show(REPORT._replace(tables=(table._replace(rows=rows),)), SHELF).page
    names = page.locator("#table-sorted tbody tr th[scope=row]")
    for column, expected in (("Judged", "BA"), ("3H", "AB"), ("Beyond", "AB")):
        page.locator("#table-sorted thead button", has_text=re.compile(f"^{column}$")).click()
        expect(names).to_have_text([*expected])


WIDE = REPORT.tables[0]._replace(
    name="wide", head=("Assistant", *[f"Column {n}" for n in range(20)]), rows=(("A", *["3.90 [3.10, 4.20]"] * 20),)
)


@pytest.mark.parametrize("window", [DESKTOP, (1280, 900), PHONE], ids=str)
def test_what_is_wider_than_the_page_says_that_there_is_more(show: Show, window: tuple[int, int]) -> None:
    svg = REPORT.figures[0].svg.replace('width="75pt"', 'width="1500pt"')
    figure = REPORT.figures[0]._replace(svg=svg)
    tables = (WIDE._replace(breaks=(), grey=frozenset()), REPORT.tables[0])
    screen = show(REPORT._replace(tables=tables, figures=(figure,)), SHELF, window=window)
    page = screen.page
    for place in ("#table-wide", *(["#figure-intervals"] if window == PHONE else [])):
        hint = page.locator(f"{place} .scroller > .hint").first
        expect(hint).to_be_visible()
        inner = page.locator(f"{place} .scroller > :is(.frame, .paper)").first
        inner.evaluate("element => element.scrollTo(1e6, 0)")
        expect(hint).not_to_be_visible()
    page.locator("#table-leaderboard summary").click()
    expect(page.locator("#table-leaderboard .hint")).not_to_be_visible()
    assert screen.overflow() == 0


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
        assert screen.tally == f"{len(expected)} of {len(HELD)} dialogues"
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
    screen.page.keyboard.type("jk")
    expect(screen.page.locator("#list button")).to_have_count(0)
    assert screen.page.locator("[name=text]").input_value() == "jk"


def opened(show: Show) -> str:
    """Return the address of the page without what it says of filters."""
    return show(REPORT, SHELF).page.url.split("#")[0]


ELSEWHERE = (
    ("n=99999", "dialogue 99999 (they are numbered from 0 to 23)"),
    ("n=-1", "dialogue -1 (they are numbered from 0 to 23)"),
    ("model=Dusk", "model “Dusk”"),
    ("clean=maybe&score=wit", "clean “maybe”, score “wit”"),
    ("model=Amber&n=1", "dialogue 1 among those that meet the filters"),
)


@pytest.mark.parametrize(("asked", "said"), ELSEWHERE, ids=[asked for asked, _ in ELSEWHERE])
def test_an_address_that_asks_for_what_is_not_there_says_so_and_shows_what_there_is(
    show: Show, asked: str, said: str
) -> None:
    address = opened(show)
    screen = show(f"{address}#{asked}")
    expect(screen.page.locator("#notice")).to_have_text(f"The address asks for what is not here: {said}.")
    expect(screen.page.locator("#opened")).to_have_attribute("data-episode", HELD[screen.listed[0]].entry.episode_id)


def test_filters_and_what_is_open_are_still_there_after_a_reload(show: Show) -> None:
    screen = show(REPORT, SHELF)
    wanted = Filter(model="Birch", language="English", score="helpful", least=1.5, order="lowest")
    put(screen, wanted)
    expected = meeting(SHELF.index, wanted).tolist()
    screen.open(expected[2])
    screen.page.reload()
    screen.page.locator(f'#list button[data-n="{expected[2]}"][aria-current="true"]').wait_for()
    assert screen.listed == expected
    again = show(screen.page.url)
    assert again.listed == expected
    with again.listing():
        again.page.get_by_role("button", name="Clear").click()
    assert "model" not in again.page.url


def test_what_is_open_is_among_what_is_listed(show: Show) -> None:
    screen = show(REPORT, SHELF)
    page = screen.page
    screen.open(0)
    screen.choose("model", "Birch")
    first = screen.listed[0]
    expect(page.locator("#opened")).to_have_attribute("data-episode", HELD[first].entry.episode_id)
    expect(page.locator(f'#list button[data-n="{first}"]')).to_have_attribute("aria-current", "true")
    other = screen.listed[3]
    screen.open(other)
    screen.choose("order", "lowest")  # it is still among them
    expect(page.locator(f'#list button[data-n="{other}"]')).to_have_attribute("aria-current", "true")


NOTHING = (
    ({"least": "4.5", "most": "3"}, "No score is at least 4.5 and at most 3: put the smaller number first."),
    ({"least": "6"}, "Scores are from 1 to 5."),
    ({"most": "0"}, "Scores are from 1 to 5."),
    ({"text": "nobody says so"}, "No dialogue meets all of these filters."),
)


@pytest.mark.parametrize(("filled", "said"), NOTHING, ids=[said for _, said in NOTHING])
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_where_nothing_is_found_no_dialogue_is_shown_and_the_reason_is(
    show: Show, window: tuple[int, int], filled: dict[str, str], said: str
) -> None:
    screen = show(REPORT, SHELF, window=window)
    for name, value in filled.items():
        screen.fill(name, value)
    page = screen.page
    assert (screen.tally, screen.listed) == (f"0 of {len(HELD)} dialogues", [])
    expect(page.locator("#opened .nothing")).to_have_text(said)
    expect(page.locator(".bubble")).to_have_count(0)
    expect(page.locator("#list")).to_be_hidden()
    assert "n=" not in page.url
    with screen.listing():
        page.get_by_role("button", name="Clear the filters").click()
    expect(page.locator("#opened")).to_have_attribute("data-episode", HELD[0].entry.episode_id)


def test_what_is_no_number_is_said_to_be_left_out(show: Show) -> None:
    screen = show(REPORT, SHELF)
    screen.page.locator("[name=least]").focus()
    with screen.listing():
        screen.page.keyboard.type("1e")
    expect(screen.page.locator("#notice")).to_have_text("What stands at “from” or “to” is no number, and is left out.")
    screen.fill("least", "2")
    expect(screen.page.locator("#notice")).to_be_hidden()


def test_faults_stand_in_the_list_by_name(show: Show) -> None:
    screen = show(REPORT, SHELF)
    expect(screen.page.locator('#list button[data-n="3"] .warn')).to_have_text("⚠ judge: no score")


RAW = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b|\b[A-Za-z]+_[A-Za-z_]+\b")


def test_no_name_is_as_programs_write_it(show: Show) -> None:
    """But for the dialogue's own id, and for what a judge was given to read in these very words."""
    screen = show(REPORT, SHELF)
    page = screen.page
    for tab in ("About", "Who saw what", "Plan", "Judgement"):
        page.get_by_role("tab", name=tab).click()
        for fold in page.locator("#opened details").all():
            fold.evaluate("element => (element.open = true)")
        said = page.locator("#conversations").inner_text().replace(HELD[0].entry.episode_id, "")
        assert RAW.findall(said) == (["ALL_SHARDS_CLEARED"] if tab == "Who saw what" else [])
    titles = page.locator(".scores dt").all_inner_texts()
    assert titles[4] == "TDQ"
    assert page.locator(".judgement h4").all_inner_texts() == [
        f"{1 + place % 5} {title}" for place, title in enumerate((*titles[1:4], *titles[5:]))
    ]


@pytest.mark.parametrize(("score", "colour"), [(4, "good"), (None, "soft")], ids=["clean", "unknown"])
def test_what_is_not_known_has_not_the_colour_of_what_is_good(show: Show, score: int | None, colour: str) -> None:
    page = show(REPORT, embedded([held(SHOWN[0], scores=[4, 4, score, 4, 4, 4])])).page
    found = page.locator(".head .flag").evaluate(
        """(element, name) => {
          const other = document.body.appendChild(document.createElement("i"));
          other.style.setProperty("color", `var(--${name})`);
          return [getComputedStyle(element).color, getComputedStyle(other).color];
        }""",
        colour,
    )
    assert found[0] == found[1]


def test_a_linked_conversation_is_opened_and_a_foreign_link_does_no_harm(show: Show, tmp_path: Path) -> None:
    address = opened(show)
    screen = show(f"{address}#n=7")
    expect(screen.page.locator("#opened")).to_have_attribute("data-episode", HELD[7].entry.episode_id)
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
    assert screen.tally == "5,000 of 5,000 dialogues"
    assert page.locator("body *").count() < 1000
    screen.choose("model", "Model 3")
    assert (screen.tally, len(screen.listed)) == ("278 of 5,000 dialogues", 40)
    with screen.listing():
        page.get_by_role("button", name="More").click()
    assert screen.listed[0] == 3 + 18 * 40
    expect(page.locator("#where")).to_have_text("41–80")
    screen.fill("text", "ผู้ใหญ่ในบ้าน")
    assert screen.tally == "278 of 5,000 dialogues"


def test_one_conversation_makes_a_page(show: Show) -> None:
    broken = held(SHOWN[0], answers=(), shard_outcomes=(), termination_reason=TerminationReason.ASSISTANT_ERROR)
    screen = show(Report("One", (), "", (), ()), embedded([broken]))
    expect(screen.page.locator(".chat")).to_contain_text("Nothing was said")
    screen.page.get_by_role("tab", name="Who saw what").click()
    expect(screen.page.locator("#panel-seen")).to_contain_text("Nothing was said.")


def test_a_page_without_conversations_says_so(show: Show) -> None:
    screen = show(Report("None", (), "", (), ()), embedded([]), wait=None)
    expect(screen.page.locator("#conversations")).to_contain_text("There are none.")


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
