"""What the translator says of a blueprint: its texts in the persona's language, and those back in English. Pure."""

from __future__ import annotations

from ccfw.authoring.blueprints import Native
from ccfw.forms import TEXT, an_object, text_fault
from ccfw.parsing import json_object
from ccfw.records import Failure, FailureKind

TRANSLATION_SCHEMA = an_object({"message": TEXT, "summary": TEXT})
BACK_SCHEMA = an_object({"english": TEXT})


def read_translation(text: str) -> Native | Failure:
    """Return the translated texts; raise ``Refusal`` when the text is no JSON object."""
    found = _texts(text, ("message", "summary"))
    return found if isinstance(found, Failure) else Native(found["message"], found["summary"])


def read_english(text: str) -> str | Failure:
    """Return the message that was put back into English; raise ``Refusal`` when the text is no JSON object."""
    found = _texts(text, ("english",))
    return found if isinstance(found, Failure) else found["english"]


def _texts(text: str, keys: tuple[str, ...]) -> dict[str, str] | Failure:
    reply = json_object(text)
    if set(reply) != set(keys):
        return Failure(kind=FailureKind.INCOMPLETE, detail=f"keys must be exactly {', '.join(keys)}, each with a text")
    for key, value in reply.items():
        if fault := text_fault(value.strip() if isinstance(value, str) else value):
            return Failure(kind=FailureKind.INCOMPLETE, detail=f"{key} must be {fault}")
    return {key: value.strip() for key, value in reply.items()}
