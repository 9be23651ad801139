"""What a run of optimisation was asked for, and in what runs differ from each other. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ccfw.report.research.shelves import Shelf, hash_of, inside, mapping, placeless, tells, written
from ccfw.store import flat

_TOY = "toy"
_TRAINED = "trained"
_POLICY = "policy."
_MOST = 4
"""Settings that the name of a run tells."""
_SUPERVISOR = "supervisor"


def is_toy(shelf: Shelf) -> bool:
    """Whether a run is of the made-up task."""
    return bool(inside(shelf.content, "grpo", "task") == _TOY)


def reward_model(shelf: Shelf) -> str:
    """Return what the reward model of a run is called; empty where there is none."""
    return "" if is_toy(shelf) else _called(shelf, "reward_model", "reward")


def supervisor(shelf: Shelf) -> str:
    """Return who says whether a norm was met; empty where nobody is asked."""
    if is_toy(shelf) or not lam(shelf) or shelf.content.get("supervisor") is None:
        return ""
    members = inside(shelf.content, "supervisor", "members")
    if not isinstance(members, Mapping):
        return _called(shelf, "supervisor", "supervisor")
    named = inside(shelf.settings, "rewards", "judge", "name") or inside(shelf.settings, "judge", "name")
    return str(named or ", ".join(map(str, members)))


def _called(shelf: Shelf, key: str, stage: str) -> str:
    """Return the name of a model: of one trained here that of its option, of any other the end of its place."""
    place = inside(shelf.settings, "grpo", key)
    if place == _TRAINED:
        return str(inside(shelf.settings, stage, "name"))
    return PurePosixPath(str(place)).name if place else hash_of(shelf.content.get(key))[:6]


def lam(shelf: Shelf) -> float:
    """Return λ, the weight of norm grounding."""
    found = inside(shelf.content, "grpo", "lam")
    return float(found) if isinstance(found, int | float) else 0.0


def policy(shelf: Shelf) -> str:
    """Return what the policy of a run is called."""
    return str(inside(shelf.content, "policy", "name"))


def base(shelf: Shelf) -> str:
    """Return the hash of all that decided a run but λ, and who and how is asked where λ is above 0."""
    kept = {name: value for name, value in shelf.content.items() if name not in ("supervisor", "prompts", "grpo")}
    return hash_of({**kept, "grpo": _training(shelf)})


def _training(shelf: Shelf) -> dict[str, Any]:
    """Return the settings of training but λ."""
    found = mapping(shelf.content, "grpo")
    return {name: value for name, value in found.items() if name not in ("lam", "name")}


def asked(shelf: Shelf) -> tuple[str, str]:
    """Return the hashes of who is asked for norm grounding, and of how the policy is asked."""
    return hash_of(shelf.content.get("supervisor")), str(shelf.content.get("prompts"))


def names(shelves: Sequence[Shelf], *, with_lam: bool = False) -> list[str]:
    """Return a name for each of some runs: what tells them from each other, and a hash where that is too much."""
    every = [(policy(shelf), _terms(shelf)) for shelf in shelves]
    found = []
    for shelf, (name, own) in zip(shelves, every, strict=True):
        terms = [text for key, text in own.items() if tells(text, _peers(every, key, name), key == _SUPERVISOR)]
        found.append(", ".join([name, *([f"λ {lam(shelf):g}"] if with_lam else []), *terms[:_MOST]]))
    return [
        f"{name}, {shelf.name[:6]}" if found.count(name) > 1 else name
        for name, shelf in zip(found, shelves, strict=True)
    ]


def _peers(every: Sequence[tuple[str, Mapping[str, str]]], key: str, name: str) -> list[str | None]:
    """Return what a setting is in all runs that it can differ in; a policy's own settings: in those of one policy."""
    if key == _SUPERVISOR:
        return [own[key] for _, own in every if key in own]
    return [own.get(key) for policy, own in every if policy == name or not key.startswith(_POLICY)]


def _terms(shelf: Shelf) -> dict[str, str]:
    """Return everything by which a run may differ from others of its part but policy and λ, in words."""
    who = supervisor(shelf)
    found = {_SUPERVISOR: f"norms by {who}"} if who else {}
    for key, value in flat(_training(shelf)).items():
        found[key] = f"{key} {written(value)}"
    for key, value in flat(mapping(placeless(shelf.content), "policy")).items():
        if key != "name":
            found[f"{_POLICY}{key}"] = f"{key} {written(value)}"
    return found
