"""Reply text → value, or a typed refusal. Strict: nothing is repaired into a meaning that was not written."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ccfw.records import Decision, FailureKind

_FENCE = re.compile(r"^```(?:json)?\s*\n(.*)\n```$", re.DOTALL)
_TAGGED = re.compile(
    r"^\s*<thinking>(?P<thinking>.*?)</thinking>\s*<decision>(?P<decision>.*?)</decision>[ \t]*(?:\n(?P<message>.*))?$",
    re.DOTALL,
)
_FORM = "the form is <thinking>…</thinking>, <decision>…</decision>, then the message on its own line"
THINKING_LINES = ("Goal", "Relevance", "Newness", "Actionable", "Decision")


class Refusal(Exception):  # noqa: N818 the reply is refused, nothing is in error
    """A reply that breaks a rule; ``detail`` is what the model is told on another try."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


def visible(text: str) -> str:
    """Return a reply without its thinking, which no other role may read.

    Closed blocks go, and what an unclosed tag leaves open on either side.
    """
    text = _unthought(text).rpartition("</think>")[2]  # some servers strip the opening tag only
    return text.partition("<think>")[0].strip()


def _unthought(text: str) -> str:
    """Cut out closed thinking blocks, in one pass whatever the text: a reply may be megabytes of opening tags."""
    kept, position = [], 0
    while (start := text.find("<think>", position)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[position:start])
        position = end + len("</think>")
    return "".join(kept) + text[position:]


def json_object(text: str) -> dict[str, Any]:
    """Read a reply that is one JSON object, fenced or bare; raise ``Refusal`` for anything else.

    The whole reply is tried first: a thinking tag inside one of its texts belongs to that text.
    """
    if not visible(text):
        raise Refusal(FailureKind.EMPTY, "the reply is empty")
    try:
        value = _loads(text.strip())
    except (ValueError, RecursionError):
        try:
            value = _loads(visible(text))
        except (ValueError, RecursionError) as error:
            raise Refusal(FailureKind.UNPARSED, f"not one JSON object: {error}") from None
    if not _is_unicode(value):
        raise Refusal(FailureKind.UNPARSED, "not valid Unicode: half a surrogate pair")
    if not isinstance(value, dict):
        raise Refusal(FailureKind.UNPARSED, f"not a JSON object but {type(value).__name__}")
    return value


def _loads(text: str) -> Any:
    fenced = _FENCE.match(text)
    return json.loads(fenced[1] if fenced else text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class SimulatorReply(NamedTuple):
    """The simulator's verdict on the last reply, its reasons and its next message."""

    decision: Decision
    message: str
    thinking: str


SIMULATOR_KEYS = ("goal", "relevance", "newness", "actionable", "decision", "message")
CORE_SIMULATOR_KEYS = ("decision", "message")


def read_simulator(text: str, protocol: str, keys: tuple[str, ...]) -> SimulatorReply:
    """Read the simulator's reply under the ``json`` or the ``tags`` protocol.

    ``keys`` are those that the JSON protocol asked for. Raises ``Refusal`` for a missing line, a second
    decision, text glued to a tag, an unknown decision or an empty message.
    """
    reply = _from_tags(text) if protocol == "tags" else _from_json(text, keys)
    if not reply.message.strip():
        raise Refusal(FailureKind.EMPTY, "the message is empty")
    return reply._replace(message=reply.message.strip())


def _from_json(text: str, keys: tuple[str, ...]) -> SimulatorReply:
    reply = json_object(text)
    if set(reply) != set(keys):
        raise Refusal(FailureKind.INCOMPLETE, f"keys must be exactly {', '.join(keys)}")
    for key in keys:
        if not isinstance(reply[key], str):
            raise Refusal(FailureKind.UNPARSED, f"{key} is not a text")
    thinking = "\n".join(f"{key}: {reply[key]}" for key in keys if key not in CORE_SIMULATOR_KEYS)
    return SimulatorReply(_decision(reply["decision"]), reply["message"], thinking)


def _from_tags(text: str) -> SimulatorReply:
    match = _TAGGED.match(_unthought(text))
    if not match or re.search(r"</?(thinking|decision)>", match["thinking"] + match["decision"]):
        raise Refusal(FailureKind.UNPARSED, _FORM)
    thinking, message = match["thinking"].strip(), match["message"] or ""
    found = [line.split(":", 1)[0].strip() for line in thinking.splitlines() if ":" in line]
    if [name for name in found if name in THINKING_LINES] != list(THINKING_LINES):
        raise Refusal(
            FailureKind.INCOMPLETE, f"<thinking> must hold these lines once each: {', '.join(THINKING_LINES)}"
        )
    if re.search(r"</?(thinking|decision)>", message):
        raise Refusal(FailureKind.UNPARSED, "a tag stands inside the message")
    return SimulatorReply(_decision(match["decision"]), message, thinking)


def _decision(text: str) -> Decision:
    try:
        return Decision(text.strip())
    except ValueError:
        raise Refusal(FailureKind.OUT_OF_RANGE, f"decision is none of: {', '.join(Decision)}") from None
