"""Every table of the chapter that compares the outputs of one stage, and how it is made of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ccfw.report.agreement import percent, signed
from ccfw.report.research.columns import (
    HARD,
    Column,
    bounded,
    by_level,
    count,
    gain,
    in_percent,
    in_points,
    p_values,
    signed_percents,
    spread,
)
from ccfw.report.research.shelves import Common, Row, Shelf, hash_of, origins
from ccfw.training.best_of_n import ORACLE, RANDOM
from ccfw.training.external_tables import MEASURES
from ccfw.training.tables import RANKINGS


class Kind(NamedTuple):
    """How one table is made of the outputs of one stage."""

    name: str
    title: str
    stage: str
    csv: str
    texts: tuple[tuple[str, str], ...]
    """Heading and column of names."""
    columns: tuple[Column, ...]
    note: str
    compares: frozenset[str]
    """Parts of what decided an output that may differ within one part of the table."""
    judged: bool = True
    """Whether a judge stands behind the figures."""
    of_dataset: bool = True
    """Whether the dataset of the job does."""
    takes: Callable[[Row], bool] = lambda _: True
    called: Mapping[str, str] = {}
    """What is written for names in the CSV."""

    def groups(self, shelves: Iterable[Shelf]) -> list[tuple[str, list[Shelf]]]:
        """Return the outputs of its stage that compare with each other, under what they rest on and differ in."""
        found: dict[Common, list[Shelf]] = {}
        for shelf in shelves:
            if shelf.stage == self.stage:
                found.setdefault(self._common(shelf), []).append(shelf)
        ordered = sorted(found.items())
        told = origins(
            [common.named for common, _ in ordered],
            [self._kept(own[0]) for _, own in ordered],
            [common.rest for common, _ in ordered],
        )
        return [(origin, own) for origin, (_, own) in zip(told, ordered, strict=True)]

    def own(self, shelf: Shelf) -> dict[str, Any]:
        """Return what decided an output and may differ within one part of the table."""
        return {name: value for name, value in shelf.content.items() if name in self.compares}

    def _kept(self, shelf: Shelf) -> dict[str, Any]:
        return {name: value for name, value in shelf.content.items() if name not in self.compares}

    def _common(self, shelf: Shelf) -> Common:
        """Return what an output has in common with those that it stands together with."""
        dataset, judge = shelf.dataset if self.of_dataset else "", shelf.judge if self.judged else ""
        return Common(dataset, judge, hash_of(self._kept(shelf)))


def _is_whole(row: Row) -> bool:
    return (row.get("partition"), row.get("group")) == ("all", "all")


_METHODS = (
    in_points("Outcome", "outcome"),
    gain("Δ", "outcome_gain"),
    in_points("Norm Match", "norm_match"),
    gain("Δ Norm Match", "norm_match_gain"),
    in_percent("Valid", "valid"),
    count("n", "n"),
    count("n Norm Match", "norm_match_n"),
    count("Invalid", "invalid"),
    count("No outcome", "outcome_unscored"),
    count("No Norm Match", "norm_match_unscored"),
    count("Missing", "missing"),
)
_LEVELS = (
    by_level("Mean@k", "mean"),
    by_level("Pass@k", "best"),
    spread("SD", "deviation"),
    spread("Gap", "gap"),
    count("k", "k"),
    count("Items", "items"),
    count("Unread", "unread"),
    count("Missing", "missing"),
)
_DIFFERENCES = (
    "First minus second over what both have, the better one first. p: adjusted over all differences of one output, by "
    "the signs of whole norms or questions."
)
KINDS = (
    Kind(
        "responses",
        "Policies' answers",
        "responses",
        "policies",
        (("Policy", "label"),),
        (
            in_points("Outcome", "outcome"),
            in_points("Norm Match", "norm_match"),
            in_percent("Valid", "valid"),
            count("n", "n"),
            count("Unscored", "unscored"),
        ),
        "Outcome: 1 to 5; Norm Match: 0 to 2; means over valid answers.",
        frozenset({"policies"}),
    ),
    Kind(
        "reward_models",
        "Reward models on held-out pairs",
        "reward",
        "accuracy",
        (("Reward model", "model"),),
        (
            in_percent("Right", "own"),
            in_percent("Words alone", "words alone"),
            in_percent("Longer", "longer"),
            count("Pairs", "pairs"),
        ),
        "Per cent of held-out pairs whose chosen answer gets the higher reward; 50 is chance. Words alone and the "
        "longer answer are controls that never read the question.",
        frozenset({"reward"}),
        judged=False,
        takes=_is_whole,
    ),
    Kind(
        "supervisors",
        "Norm-grounding supervisors",
        "supervisor",
        "agreement",
        (("Grader", "grader"),),
        (
            in_percent("Exact", "accuracy"),
            in_points("Error", "mae"),
            in_points("κ", "kappa"),
            count("Reasonings", "reasonings"),
        ),
        "Against the Norm Match, 0 to 2, that the judge or the file gives, on norms not trained on. Exact: per cent "
        "whose nearest score is that one. Error: mean distance in points. κ: quadratic-weighted kappa.",
        frozenset({"supervisor"}),
    ),
    Kind(
        "triplets",
        "Rankings of triplets",
        "triplets",
        "triplets",
        (("Reward model", "scorer"),),
        (
            in_percent("Appropriate > generic", "appropriate_generic"),
            in_percent("Appropriate > opposite", "appropriate_opposite"),
            in_percent("Generic > opposite", "generic_opposite"),
            in_percent("Appropriate first", "top_1"),
            in_percent("Complete order", "order"),
            count("Triplets", "triplets"),
        ),
        "Figure 3 of the paper. Chance: 50, 50, 50, 33.3 and 16.7 per cent.",
        frozenset({"scorers"}),
        judged=False,
        takes=_is_whole,
    ),
    Kind(
        "triplets_differences",
        "Differences between reward models, by their rankings of triplets",
        "triplets",
        "differences",
        (("Ranking", "measure"), ("First", "first"), ("Second", "second")),
        (signed_percents("Difference", "difference"), p_values("p", "p"), count("Shared", "shared")),
        _DIFFERENCES,
        frozenset({"scorers"}),
        judged=False,
        called=RANKINGS,
    ),
    Kind(
        "best_of_n",
        "Best of N",
        "best_of_n",
        "best_of_n",
        (("Policy", "policy"), ("N", "n"), ("Selector", "selector")),
        (
            in_points("Score", "score"),
            Column("Gain", lambda row: "" if row["selector"] == RANDOM else signed(bounded("gain", row))),
            Column(
                "Of oracle", lambda row: "" if row["selector"] in (RANDOM, ORACLE) else percent(bounded("share", row))
            ),
            count("Questions", "questions"),
        ),
        "Tables 4, 22 and 23 of the paper. The mean over every choice of N; the random baseline is exact, the oracle "
        "chooses by the score itself.",
        frozenset({"scorers", "sizes"}),
    ),
    Kind(
        "best_of_n_differences",
        "Differences between selectors of Best of N",
        "best_of_n",
        "differences",
        (("N", "measure"), ("First", "first"), ("Second", "second")),
        (gain("Difference", "difference"), p_values("p", "p"), count("Shared", "shared")),
        _DIFFERENCES,
        frozenset({"scorers", "sizes"}),
    ),
    Kind(
        "methods_valid",
        "Methods, over valid answers",
        "norm_match",
        "table_27",
        (("Policy", "policy"), ("Method", "method")),
        _METHODS,
        "Tables 24 and 27 of the paper. Δ: over the first method, item by item.",
        frozenset(),
    ),
    Kind(
        "methods_all",
        "Methods, over all answers",
        "norm_match",
        "table_5",
        (("Policy", "policy"), ("Method", "method")),
        _METHODS,
        "Table 5 of the paper. An answer that cannot be read counts as the least score.",
        frozenset(),
    ),
    Kind(
        "strata",
        "Quality by the Norm Match of the base policy",
        "norm_match",
        "table_28",
        (("Base", "base"), ("Method", "method")),
        (in_points("Outcome", "outcome"), gain("Δ", "gain"), count("n", "n")),
        "Table 28 of the paper. Part of a gain at 0 and of a loss at 2 is regression to the mean.",
        frozenset(),
    ),
    Kind(
        "culshield",
        "CulShield, Knowledge Coverage",
        "external",
        "models_culshield",
        (("Model", "model"),),
        (
            in_percent("Of resolved", "resolved"),
            in_percent("Of all", "every_reply"),
            count("Unresolved", "unresolved"),
            count("Questions", "questions"),
            count("Missing", "missing"),
            spread("SD", "deviation"),
            spread("Gap", "gap"),
        ),
        "Per cent right, of the replies that say yes or no, as published, and of all.",
        frozenset({"own", "models", "verdicts", "levels", "samples"}),
        judged=False,
        of_dataset=False,
    ),
    Kind(
        "cultureforest",
        "CultureForest, easy and medium",
        "external",
        "models_cultureforest",
        (("Level", "level"), ("Model", "model")),
        _LEVELS,
        "Per cent right; a reply in another form is wrong. SD and gap: over countries.",
        frozenset({"own", "models", "verdicts", "levels"}),
        judged=False,
        of_dataset=False,
        takes=lambda row: row["level"] != HARD,
    ),
    Kind(
        "cultureforest_hard",
        "CultureForest, hard",
        "external",
        "models_cultureforest",
        (("Model", "model"),),
        _LEVELS,
        "Between −100 and 100, by the log-probabilities of the judge, which stands for the benchmark's own verifier, "
        "or of a file. SD and gap: over countries.",
        frozenset({"own", "models", "verdicts", "levels"}),
        of_dataset=False,
        takes=lambda row: row["level"] == HARD,
    ),
    Kind(
        "external_differences",
        "Differences between models on other benchmarks",
        "external",
        "differences",
        (("Figure", "measure"), ("First", "first"), ("Second", "second")),
        (signed_percents("Difference", "difference"), p_values("p", "p"), count("Shared", "shared")),
        _DIFFERENCES,
        frozenset({"own", "models", "verdicts", "levels", "samples"}),
        of_dataset=False,
        called=MEASURES,
    ),
)
"""In the order of the chapter."""


def kind(name: str) -> Kind:
    """Return one of them by its name."""
    return next(each for each in KINDS if each.name == name)
