"""What has to be the same for two runs to compare, and in what those that do not differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ccfw.records import SimulationMode
from ccfw.stages.judged import Folder
from ccfw.store import fingerprint


def alike(content: Mapping[str, Any]) -> str:
    """Return the hash of what has to be the same for two assistants to share a table, given what decided judgements.

    Everything but the assistant, and but for where judge and simulated user were reached: the address names an output,
    since another server may answer otherwise, and says nothing of the model.
    """
    episodes = content["episodes"] | {"model": None, "simulator": _placeless(content["episodes"].get("simulator"))}
    return fingerprint({**content, "episodes": episodes, "member": _placeless(content["member"])})


def _placeless(model: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**(model or {}), "api_base": None}


def several_places(role: str, models: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each model that was reached at several addresses."""
    places: dict[str, set[str]] = {}
    for model in models:
        where = str(model.get("api_base") or "its provider's own")
        places.setdefault(str(model.get("provider_model")), set()).add(where)
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield (
                f"The {role} {name} was reached at several addresses ({', '.join(sorted(found))}): that it is the same "
                "model at all of them is taken on trust."
            )


def but_for_mode(content: Mapping[str, Any]) -> str:
    """Return the hash of what two modes of one assistant share, given what decided judgements."""
    blank = dict.fromkeys(("mode", "gold_prompts"))
    return alike({**content, "episodes": content["episodes"] | blank})


def mode_of(folder: Folder) -> SimulationMode:
    """Return the mode in which the dialogues of some judgements were held."""
    return SimulationMode(folder.manifest.fingerprint_of.episodes.get("mode", SimulationMode.EVAL))


_EPISODES: Mapping[str, str] = {
    "dataset": "other data",
    "simulation": "other rules of the dialogue",
    "simulator_prompts": "other prompts of the simulated user",
    "styles": "other styles of the simulated user",
    "turn_checks": "other checks of turns",
    "seed": "another seed of the dialogues",
}
_JUDGING: Mapping[str, str] = {
    "prompts": "other prompts of the judge",
    "rubric": "another rubric",
    "judging": "other rules of judging",
    "seed": "another seed of judging",
    "parser": "another reading of verdicts",
}


def differs(folder: Folder, reference: Sequence[Mapping[str, Any]]) -> str:
    """Say in what a run differs from those that compare, whose members' contents are given."""
    content, name = folder.manifest.content, folder.manifest.member
    base = min(reference, key=lambda each: len(_unlike(content["member"], each["member"])))
    found = []
    if _unlike(content["member"], base["member"]):
        found.append(_other("judge", name, content["member"], base["member"]))
    elif len(reference) > 1:
        found.append(f"one member of the judge alone ({name})")
    found += [text for key, text in _JUDGING.items() if content.get(key) != base.get(key)]
    episodes, other = content["episodes"], base["episodes"]
    if episodes.get("mode") != other.get("mode"):
        found.append(f"{mode_of(folder).value} mode")
    simulators = episodes.get("simulator") or {}, other.get("simulator") or {}
    if _unlike(*simulators):
        found.append(_other("simulated user", str(simulators[0].get("provider_model", "unknown")), *simulators))
    found += [text for key, text in _EPISODES.items() if episodes.get(key) != other.get(key)]
    return ", ".join(found) or f"the same once more, the judge reached at {content['member'].get('api_base')}"


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return in what two models differ but for where they were reached."""
    one, other = _placeless(one), _placeless(other)
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


def _other(role: str, name: str, one: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """Say that another model plays a role, or the same with other settings."""
    unlike = _unlike(one, base)
    if {"provider_model", "embedded"} & set(unlike):
        return f"another {role} ({name})"
    return f"other settings of the {role} ({name}: {', '.join(unlike)})"
