"""The first message in the persona's native language (paper G.2 and G.3, *full native scripts*)."""

from __future__ import annotations

from collections.abc import Iterator

from ccfw.checks.fields import NATIVE_MESSAGE, first_message
from ccfw.checks.issue import Check, Finding
from ccfw.checks.script import LANGUAGES, Writing, count_letters, han_forms, script_counts, script_share
from ccfw.checks.text import normalise, tokens
from ccfw.records import Scenario

LANGUAGE = "Blueprint.Seed.Persona.Native_Language"
MIN_SHARE = 0.7
"""Expected script's least share of letters: a short message may name a brand or two in Latin letters."""
MAX_WRONG_FORM = 0.2
"""Most of the one-form Han characters that may be of the other form: dialect words keep old characters."""
MAX_ENGLISH = 0.15
"""Most of the words that may be English function words before a text counts as left untranslated."""

_FUNCTION_WORDS = "the and of with for what is are my how should this that her his they from"
_ENGLISH = frozenset(_FUNCTION_WORDS.split())


def _message(scenario: Scenario) -> str:
    return scenario.blueprint.public_context.initial_user_message.native_language


def _writing(scenario: Scenario) -> Writing | None:
    return LANGUAGES.get(scenario.seed.persona.native_language)


def known_language(scenario: Scenario) -> Iterator[Finding]:
    """Know the persona's language as one of the paper's, or no script can be expected (G.3)."""
    if _writing(scenario) is None:
        yield Finding(LANGUAGE, scenario.seed.persona.native_language, f"one of {', '.join(LANGUAGES)}")


def native_script(scenario: Scenario) -> Iterator[Finding]:
    """Write the message in the full native script (G.2, *dual linguistic instructions*)."""
    writing, text = _writing(scenario), _message(scenario)
    if writing is None:
        return
    missing = writing.required is not None and not script_counts(text)[writing.required]
    if missing or script_share(text, writing.scripts) < MIN_SHARE:
        names = "+".join(sorted(writing.scripts))
        yield Finding(NATIVE_MESSAGE, text, f"at least {MIN_SHARE:.0%} of the letters in {names} script")


def native_han_form(scenario: Scenario) -> Iterator[Finding]:
    """Chinese is in the form that the language names: simplified in all of the paper's regions (G.3)."""
    writing = _writing(scenario)
    if writing is None or writing.han_form is None:
        return
    forms = han_forms(_message(scenario))
    wrong = forms["traditional" if writing.han_form == "simplified" else "simplified"]
    if len(wrong) >= 2 and len(wrong) > MAX_WRONG_FORM * sum(map(len, forms.values())):
        yield Finding(NATIVE_MESSAGE, wrong, f"{writing.han_form} characters")


def native_length(scenario: Scenario) -> Iterator[Finding]:
    """Both messages say the same (G.2), so the native one is of a length that 25–50 English words come to."""
    writing, text = _writing(scenario), _message(scenario)
    if writing is None:
        return
    least, most = writing.letters
    if not least <= count_letters(text) <= most:
        yield Finding(NATIVE_MESSAGE, text, f"{least}–{most} letters, not {count_letters(text)}")


def native_untranslated(scenario: Scenario) -> Iterator[Finding]:
    """Write it in the native language, which the script cannot show for Latin ones (G.2)."""
    if scenario.seed.persona.native_language == "English":
        return
    text = _message(scenario)
    found = tokens(text)
    english = sum(word in _ENGLISH for word in found)
    if normalise(text) == normalise(first_message(scenario)) or english > MAX_ENGLISH * len(found):
        yield Finding(NATIVE_MESSAGE, text, f"{scenario.seed.persona.native_language}, not English")


CHECKS: tuple[Check, ...] = (
    known_language,
    native_script,
    native_han_form,
    native_length,
    native_untranslated,
)
