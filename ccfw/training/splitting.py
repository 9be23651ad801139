"""Norms held out of what models learn from, in every culture in proportion. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar


class OfNorm(Protocol):
    """A pair, a grade: what is of one norm, and in one part of what is learnt from."""

    @property
    def norm_id(self) -> str:
        """The norm that it is of."""

    @property
    def culture(self) -> str:
        """The norm's culture."""

    @property
    def split(self) -> str:
        """*train*, *validation* or *test*, as it was given."""


T = TypeVar("T", bound=OfNorm)


class Split(NamedTuple, Generic[T]):
    """What is trained on, and what is of norms that training never sees."""

    train: tuple[T, ...]
    held_out: tuple[T, ...]

    @property
    def crossing(self) -> tuple[str, ...]:
        """Norms in both parts; there are some only where the items' own split has them so."""
        return tuple(sorted({each.norm_id for each in self.train} & {each.norm_id for each in self.held_out}))


class Sorted(NamedTuple, Generic[T]):
    """What can be learnt from, and how much cannot be, by reason."""

    sound: tuple[T, ...]
    faulty: Mapping[str, int]


def sorted_out(items: Iterable[T], fault_of: Callable[[T], str | None]) -> Sorted[T]:
    """Return the items without a fault in their order, and how many have which."""
    sound, faulty = [], Counter[str]()
    for each in items:
        fault = fault_of(each)
        if fault is None:
            sound.append(each)
        else:
            faulty[fault] += 1
    return Sorted(tuple(sound), dict(sorted(faulty.items())))


def split_by_norm(items: Sequence[T], share: float | None, seed: int) -> Split[T]:
    """Return items in two parts, by norm.

    Without a ``share`` the items' own split decides: *train* is trained on, *test* held out, *validation* in neither;
    look at ``crossing`` then. With it, so many of all norms are held out, drawn by the seed and in every culture in
    proportion, and no norm is in two parts.
    """
    if share is None:
        train, held_out = (tuple(each for each in items if each.split == name) for name in ("train", "test"))
        return Split(train, held_out)
    apart = held_out_norms([(each.norm_id, each.culture) for each in items], share, seed)
    train, held_out = (tuple(each for each in items if (each.norm_id in apart) == wanted) for wanted in (False, True))
    return Split(train, held_out)


def split_faults(split: Split[T], key: str, share: float | None, what: str) -> list[str]:
    """Return what is wrong with a split for training, a line each; ``key`` is the setting of its share."""
    given = "null" if share is None else f"{share:g}"
    if not (split.train and split.held_out):
        empty = "train on" if not split.train else "hold out"
        return [f"{key}={given}: no {what} is left to {empty}; give a share, as 0.25"]
    if crossing := split.crossing:
        named = ", ".join(crossing[:_NAMED]) + (f" and {len(crossing) - _NAMED} more" if len(crossing) > _NAMED else "")
        return [f"{key}={given}: norms both trained on and held out: {named}; give a share, as 0.25"]
    return []


_NAMED = 3


def held_out_norms(norms: Iterable[tuple[str, str]], share: float, seed: int) -> frozenset[str]:
    """Return which of (norm, culture) are held out: a share, drawn by the seed, in every culture in proportion."""
    held: set[str] = set()
    ordered = sorted({(culture, _order(seed, norm), norm) for norm, culture in norms})
    for number, (_, _, norm) in enumerate(ordered, 1):
        if share * number - len(held) >= 0.5:
            held.add(norm)
    return frozenset(held)


def _order(seed: int, norm: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{norm}".encode()).digest()
