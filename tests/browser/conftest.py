"""A real browser, where one is installed, and pages that say what they asked for and what went wrong in them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from ccfw.report.page import Embedded, Served, write
from ccfw.report.sections import Report

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = (1440, 1000), (390, 844)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for one module: the driver's event loop runs until it is closed, and no other test may meet it."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no Chromium is installed (looked for {', '.join(PROGRAMS)})")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


@dataclass
class Screen:
    """An opened page."""

    page: Page
    asked: list[str] = field(default_factory=list)
    """Addresses that were asked for, the page's own among them."""
    complaints: list[str] = field(default_factory=list)
    """What the console was told, and errors that nobody caught."""

    def listen(self) -> None:
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def choose(self, name: str, value: str) -> None:
        """Set a filter to a value that it offers, and wait until the list is that of the filter."""
        with self.listing():
            self.page.locator(f"#filters [name={name}]").select_option(value)

    def fill(self, name: str, value: str) -> None:
        """Write into a filter, and wait until the list is that of the filter."""
        with self.listing():
            self.page.locator(f"#filters [name={name}]").fill(value)

    def listing(self) -> Any:
        """Wait for the list to be drawn anew after what is done inside."""
        return _Redrawn(self.page)

    @property
    def listed(self) -> list[int]:
        """The places of the conversations on this part of the list."""
        rows = self.page.locator("#list button").all()
        return [int(row.get_attribute("data-n") or "-1") for row in rows]

    @property
    def tally(self) -> str:
        return self.page.locator("#tally").inner_text()

    def open(self, place: int) -> None:
        """Open a conversation of the list."""
        self.page.locator(f'#list button[data-n="{place}"]').click()
        self.page.locator(f'#list button[data-n="{place}"][aria-current="true"]').wait_for()

    def fonts(self, place: Locator) -> dict[str, int]:
        """Return the fonts that an element's text is really drawn in, with how many glyphs."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("DOM.enable")
        session.send("CSS.enable")
        place.evaluate("element => element.setAttribute('data-asked', '')")
        root = session.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
        node = session.send("DOM.querySelector", {"nodeId": root, "selector": "[data-asked]"})["nodeId"]
        found = session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        place.evaluate("element => element.removeAttribute('data-asked')")
        session.detach()
        return {font["familyName"]: int(font["glyphCount"]) for font in found}

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))


class _Redrawn:
    """Waits until the list was drawn anew."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def __enter__(self) -> None:
        self._page.evaluate(
            "document.getElementById('list').append(Object.assign(document.createElement('i'), {id: 'old'}))"
        )

    def __exit__(self, *_: object) -> None:
        self._page.locator("#old").wait_for(state="detached")


Show = Callable[..., Screen]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Open a report, or an address, in a window; afterwards nothing may have gone wrong, nor left the machine."""
    screens = []

    def opened(
        what: Report | str,
        conversations: Embedded | Served | None = None,
        *,
        window: tuple[int, int] = DESKTOP,
        dark: bool = False,
        wait: str | None = "#list button",
    ) -> Screen:
        if isinstance(what, Report):
            assert conversations is not None
            write(tmp_path / "index.html", what, conversations)
            what = (tmp_path / "index.html").as_uri()
        context = browser.new_context(
            viewport={"width": window[0], "height": window[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(20_000)
        screen = Screen(context.new_page())
        screens.append(screen)
        screen.listen()
        screen.page.goto(what)
        if wait:
            screen.page.locator(wait).first.wait_for()
        return screen

    yield opened
    for screen in screens:
        screen.page.context.close()
    assert [complaint for screen in screens for complaint in screen.complaints] == []
    asked = [address for screen in screens for address in screen.asked]
    assert [address for address in asked if not re.match(r"file:///|data:|http://127\.0\.0\.1:\d+/", address)] == []
