"""How often intervals hold what they should: ``python -m benchmarks.coverage`` writes its table into the documentation.

Judges and people score the same dialogues over and over, in a world whose true agreement is known from a very large
sample; the table counts how often a 95 % interval holds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.stats.agreement import Target, differences, exact_scores
from ccfw.stats.figures import figure_intervals
from ccfw.stats.intervals import Bounds, Method, bca, percentile, ratio_intervals
from ccfw.stats.reliability import alpha, alpha_features, table_features, weighted_kappa
from ccfw.stats.resampling import Array, Ints, Statistic, resampled

PAGE = Path(__file__).parent.parent / "docs" / "statistics.md"
BEGIN, END = "<!-- coverage -->", "<!-- /coverage -->"
LEVEL, RESAMPLES = 0.95, 1_000
AT_ONCE = 50
"""Samples that share their resamples."""
TRUE_DIALOGUES = 200_000
"""Dialogues of the sample that stands for the truth."""
RELIABILITIES = ("kappa", "alpha")
WAYS: dict[str, tuple[Method, bool]] = {
    "naive": ("percentile", False),
    "percentile": ("percentile", True),
    "bca": ("bca", True),
    "studentised": ("studentised", True),
}
"""Ways of making intervals, and whether they draw dialogues."""


class Case(NamedTuple):
    """What is estimated from what."""

    figure: str
    dialogues: int
    sizes: tuple[int, ...]
    """Items of a dialogue, in turn."""
    shared: float
    """Share of the variance that items of a dialogue have in common."""


CASES = (
    *(Case(figure, dialogues, (1,), 0.0) for figure in ("mae", "within_one", "bias") for dialogues in (40, 200, 1_000)),
    *(
        Case(figure, dialogues, (6,), 0.5)
        for figure in ("mae", "within_one", "bias", "difference")
        for dialogues in (40, 200)
    ),
    *(Case(figure, 100, (1, 2, 12), 0.5) for figure in ("mae", "bias")),
    *(Case(figure, dialogues, (6,), 0.5) for figure in ("kappa", "alpha") for dialogues in (40, 200)),
)
NAMES = {
    "mae": "MAE",
    "within_one": "±1",
    "bias": "bias",
    "difference": "MAE, two judges' difference",
    "kappa": "kappa of two judges",
    "alpha": "alpha of three people",
}


class World(NamedTuple):
    """Scores of two judges and three people (items × … × samples), and the dialogue of each item."""

    judges: Array
    people: Array
    dialogue: Ints


def drawn(case: Case, dialogues: int, samples: int, rng: np.random.Generator) -> World:
    """Draw samples of one world; what a dialogue's items have in common moves judges apart from people."""
    sizes = np.resize(case.sizes, dialogues)
    dialogue = np.repeat(np.arange(dialogues), sizes)

    def mixed(raters: int) -> Array:
        own, common = rng.normal(size=(len(dialogue), raters, samples)), rng.normal(size=(dialogues, raters, samples))
        mixture: Array = np.sqrt(1 - case.shared) * own + np.sqrt(case.shared) * common[dialogue]
        return mixture

    true = 3.4 + 0.8 * mixed(1)
    judges = true + np.array([-0.2, 0.0])[:, None] + np.array([0.7, 0.9])[:, None] * mixed(2)
    return World(_rated(judges), _rated(true + 0.8 * mixed(3)), dialogue)


def _rated(values: Array) -> Array:
    return np.clip(np.rint(values), 1.0, 5.0)


def of_sums(case: Case, world: World, method: Method, clusters: Ints | None, rng: np.random.Generator) -> Bounds:
    """Return intervals of a mean over items, one for each sample (1 × samples), all from the same resamples."""
    people = Target(world.people.sum(axis=1).astype(np.int64), np.array([[3]], dtype=np.int64))
    first, second = (differences(exact_scores(world.judges[:, judge]), people) for judge in (0, 1))
    if case.figure != "difference":
        found = figure_intervals(first, rng, resamples=RESAMPLES, level=LEVEL, clusters=clusters, method=method)
        bounds: Bounds = getattr(found, case.figure)
        return bounds
    apart = np.abs(first.numerators) - np.abs(second.numerators)
    thirds = ratio_intervals(
        apart, first.present, rng, resamples=RESAMPLES, level=LEVEL, method=method, clusters=clusters
    )
    return Bounds(*(each / 3.0 for each in thirds))


def of_tables(case: Case, world: World, method: Method, clusters: Ints | None, rng: np.random.Generator) -> Bounds:
    """Return intervals of kappa or alpha, sample by sample (1 × samples)."""
    found = []
    for sample in range(world.judges.shape[2]):
        features, statistic = reliability(case, world, sample)
        drawn = resampled(features, statistic, rng, resamples=RESAMPLES, clusters=clusters, accelerate=method == "bca")
        found.append(bca(drawn, LEVEL) if method == "bca" else percentile(drawn, LEVEL))
    return Bounds(*(np.concatenate(ends, axis=1) for ends in zip(*found, strict=True)))


def reliability(case: Case, world: World, sample: int) -> tuple[NDArray[np.int64 | np.float64], Statistic]:
    """Return the features of kappa or alpha and what turns their sums into it."""
    levels = np.arange(1.0, 6.0)
    if case.figure == "alpha":
        people = exact_scores(world.people[:, :, sample])
        return alpha_features(people, levels), lambda sums: alpha(sums, levels, "ordinal")[..., None]
    first, second = (exact_scores(world.judges[:, [judge], sample]) for judge in (0, 1))
    return table_features(first, second, levels), lambda sums: weighted_kappa(sums, levels)[..., None]


def truth(case: Case) -> float:
    """Return the figure of a very large sample."""
    world = drawn(case, TRUE_DIALOGUES, 1, np.random.default_rng(99))
    if case.figure in RELIABILITIES:
        features, statistic = reliability(case, world, 0)
        return float(statistic(features.sum(axis=0, dtype=np.float64)).item())
    errors = world.judges[:, :, 0] - world.people[:, :, 0].mean(axis=1, keepdims=True)
    found = {
        "mae": np.abs(errors[:, 0]),
        "within_one": np.abs(errors[:, 0]) < 1.0 + 1e-9,
        "bias": errors[:, 0],
        "difference": np.abs(errors[:, 0]) - np.abs(errors[:, 1]),
    }
    return float(found[case.figure].mean())


def coverage(case: Case, samples: int, seed: int) -> dict[str, float]:
    """Return the share of intervals that hold the truth, by way of making them."""
    true, rng = truth(case), np.random.default_rng(seed)
    intervals = of_tables if case.figure in RELIABILITIES else of_sums
    held = {name: 0 for name, (method, _) in WAYS.items() if intervals is of_sums or method != "studentised"}
    for _ in range(samples // AT_ONCE):
        world = drawn(case, case.dialogues, AT_ONCE, rng)
        for name in held:
            method, clustered = WAYS[name]
            clusters = world.dialogue if clustered and case.sizes != (1,) else None
            bounds = intervals(case, world, method, clusters, rng)
            held[name] += int(((bounds.low <= true) & (true <= bounds.high)).sum())
    return {name: count / (samples // AT_ONCE * AT_ONCE) for name, count in held.items()}


def table(samples: int, few: int) -> str:
    """Return the table, ``few`` being the samples of figures that are not means."""
    rows = ["| Figure | Dialogues × items | Naive | Percentile | BCa | Studentised |", "|---|---|---:|---:|---:|---:|"]
    for number, case in enumerate(CASES):
        found = coverage(case, few if case.figure in RELIABILITIES else samples, number)
        cells = [f"{100 * found[name]:.1f}" if name in found else "–" for name in WAYS]
        sizes = " or ".join(map(str, case.sizes))
        rows.append(f"| {NAMES[case.figure]} | {case.dialogues:,} × {sizes} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    """Simulate, print and write."""
    found = table(4_000, 1_000)
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{found}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
