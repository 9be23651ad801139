"""The routing controller: all 32 verdicts, and what follows from each (paper 2, Table 2). Pure.

The table is written out, so that it can be read and compared; ``Bounds`` makes both of its loops finite: a rerun uses
up one of ``reruns``, a revision uses up one of ``revisions`` and gives the reruns back, so that (revisions left, reruns
left) falls lexicographically with every step, and there are at most (1 + revisions) · (1 + reruns) answers.
"""

from __future__ import annotations

from typing import NamedTuple

from ccfw.crisp.records import Decision, Reason, Verdict

_K, _A, _Q = Decision.KEEP, Decision.RERUN_ANSWER, Decision.REVISE_QUESTION

TABLE: dict[tuple[int, int, int, int, int], Decision] = {
    # A  E  N  R  L
    (0, 0, 0, 0, 0): _Q,
    (0, 0, 0, 0, 1): _Q,
    (0, 0, 0, 1, 0): _Q,
    (0, 0, 0, 1, 1): _Q,
    (0, 0, 1, 0, 0): _Q,
    (0, 0, 1, 0, 1): _Q,
    (0, 0, 1, 1, 0): _Q,
    (0, 0, 1, 1, 1): _Q,
    (0, 1, 0, 0, 0): _Q,
    (0, 1, 0, 0, 1): _Q,
    (0, 1, 0, 1, 0): _Q,
    (0, 1, 0, 1, 1): _Q,
    (0, 1, 1, 0, 0): _Q,
    (0, 1, 1, 0, 1): _Q,
    (0, 1, 1, 1, 0): _Q,
    (0, 1, 1, 1, 1): _Q,
    (1, 0, 0, 0, 0): _Q,
    (1, 0, 0, 0, 1): _Q,
    (1, 0, 0, 1, 0): _Q,
    (1, 0, 0, 1, 1): _Q,
    (1, 0, 1, 0, 0): _A,
    (1, 0, 1, 0, 1): _Q,
    (1, 0, 1, 1, 0): _A,
    (1, 0, 1, 1, 1): _Q,
    (1, 1, 0, 0, 0): _Q,
    (1, 1, 0, 0, 1): _Q,
    (1, 1, 0, 1, 0): _Q,
    (1, 1, 0, 1, 1): _Q,
    (1, 1, 1, 0, 0): _A,
    (1, 1, 1, 0, 1): _Q,
    (1, 1, 1, 1, 0): _K,
    (1, 1, 1, 1, 1): _Q,
}
"""What follows from a verdict, by its values of A, E, N, R and L."""


def route(verdict: Verdict, *, leaks: bool = False) -> Decision:
    """Return what follows from a verdict; what the deterministic checks saw leak counts as ``L = 1``."""
    return TABLE[verdict.A, verdict.E, verdict.N, verdict.R, 1 if leaks else verdict.L]


def diagnosis(verdict: Verdict, *, leaks: bool = False) -> str:
    """Say what is wrong, as the controller tells planner and advisor."""
    found = []
    if verdict.L or leaks:
        found.append("the scenario or the question gives the target norm away")
    if not verdict.A:
        found.append("the proposed action is not appropriate in this situation")
    if not verdict.N:
        found.append("the norm that was inferred is not the target norm")
    if not verdict.E:
        found.append("the inferred norm does not rest on concrete cues of the scenario")
    if not verdict.R:
        found.append("the reasoning does not carry the action")
    return "; ".join(found)


class Bounds(NamedTuple):
    """How often each loop may still be gone through."""

    revisions: int
    """Of the question."""
    reruns: int
    """Of the answer to this version of it."""
    each: int
    """Reruns that every version has."""

    @classmethod
    def of(cls, revisions: int, reruns: int) -> Bounds:
        """Return the bounds of a new situation."""
        return cls(revisions, reruns, reruns)

    def after(self, decision: Decision) -> Bounds | Reason | None:
        """Return what is left after a decision: ``None`` when the situation is kept, the reason when it is given up."""
        match decision:
            case Decision.KEEP:
                return None
            case Decision.RERUN_ANSWER:
                return self._replace(reruns=self.reruns - 1) if self.reruns else Reason.RERUNS_SPENT
            case Decision.REVISE_QUESTION:
                more = Bounds(self.revisions - 1, self.each, self.each)
                return more if self.revisions else Reason.REVISIONS_SPENT
