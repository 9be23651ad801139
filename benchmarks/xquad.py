"""Whether a question finds its paragraph, in its own language and in another: XQuAD, a public set of questions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import yaml

from benchmarks.page import Bar, Section
from ccfw.knowledge.embedders import Embedder, open_embedder
from ccfw.knowledge.shelf import Shelf, build_shelf
from ccfw.knowledge.shipped import SHIPPED_WITH
from ccfw.resources import resource

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data" / "xquad"
CACHE = ROOT / "workspace" / "xquad"
LANGUAGES = ("en", "th", "vi", "zh")
PAIRS = (*((each, each) for each in LANGUAGES), *(("en", each) for each in LANGUAGES[1:]))
"""Languages of questions and of paragraphs."""
KINDS = {"e5": (True, False), "bm25": (False, True), "hybrid": (True, True)}
"""Which of vectors and words a retriever has."""
SACRIFICED = 0.05
"""Share of the right paragraphs that a least score may cost."""
POOLS = (31, 240)
"""Paragraphs of a region: as many as the passages of one that ship, and all there are."""
HEAD = (
    "Questions",
    "Paragraphs",
    *(f"{kind} @{k}" for kind in KINDS for k in (1, 5)),
    *(f"z of 95 %, {pool}" for pool in POOLS),
    "Right kept, %",
    "Others kept, %",
)
ABOUT = (
    "XQuAD: 240 paragraphs and 1,190 questions, the same in each language. A question is asked of the paragraphs of "
    "one language, as a query is of the passages of one region. First the share of questions, in per cent, whose "
    "paragraph is the first or among the first 5. Then the z (standard deviations above what the question scores in "
    "the region at large) that 95 % of the right paragraphs reach, in regions of 31 paragraphs drawn by chance and of "
    "all 240; and what the least score of `retriever=e5` keeps of 31. Vectors are kept in workspace/xquad; the first "
    "time they take ten minutes."
)
_REGION = "SG"
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Paragraph:
    """A text that may hold the answer."""

    text: str
    region: str = _REGION
    identities: tuple[str, ...] = ()


class Language(NamedTuple):
    """The set in one language."""

    paragraphs: tuple[Paragraph, ...]
    questions: tuple[str, ...]
    answers: Places
    """The paragraph of each question."""


class Asked(NamedTuple):
    """What the questions of a language found."""

    ranks: Places
    """The right paragraph's place from 1; 0 for one that was not found."""
    right: npt.NDArray[np.float64]
    """Its score; NaN for one that was not found."""

    def recall(self, k: int) -> float:
        """Return the share of questions whose paragraph is among the first ``k``."""
        return float(((self.ranks > 0) & (self.ranks <= k)).mean())


def read(language: str, paragraphs: int | None = None) -> Language:
    """Read a language; a number takes so many paragraphs with their questions, the same in each language."""
    articles = json.loads((DATA / f"xquad.{language}.json").read_text("utf-8"))["data"]
    found = [paragraph for article in articles for paragraph in article["paragraphs"]]
    chosen = sorted(np.random.default_rng(0).permutation(len(found))[:paragraphs].tolist())
    asked = [(qa["question"], place) for place, number in enumerate(chosen) for qa in found[number]["qas"]]
    return Language(
        tuple(Paragraph(found[number]["context"]) for number in chosen),
        tuple(question for question, _ in asked),
        np.array([place for _, place in asked]),
    )


def shelf(language: Language, kind: str, embedder: Embedder, cache: Path = CACHE) -> Shelf[Paragraph]:
    """Put the paragraphs of a language on a shelf."""
    vectors, lexical = KINDS[kind]
    return build_shelf(
        language.paragraphs,
        lambda paragraph: paragraph.text,
        embedder=embedder if vectors else None,
        lexical=lexical,
        shipped=None,
        cache=cache,
    )


def ask(questions: Language, of: Shelf[Paragraph]) -> Asked:
    """Ask every question."""
    found = of.hits([(question, (_REGION,)) for question in questions.questions], "")
    ranks, scores = [], []
    for question, answer in zip(questions.questions, questions.answers.tolist(), strict=True):
        hits = found[question, (_REGION,)]
        place = next((i for i, hit in enumerate(hits) if hit.position == answer), None)
        ranks.append(0 if place is None else place + 1)
        scores.append(float("nan") if place is None else hits[place].score)
    return Asked(np.array(ranks), np.array(scores))


class Kept(NamedTuple):
    """What a least score would leave of the right paragraphs among others."""

    least: float
    """The score that one in twenty right paragraphs lies below."""
    above: float
    """The share of right paragraphs that the default's least score keeps."""
    others: float
    """The share of the other paragraphs that it keeps."""


def kept(questions: Language, of: Shelf[Paragraph], pool: int) -> Kept:
    """Return where the right paragraphs' z lies in a region of that many paragraphs, the others drawn by chance."""
    assert of.vectors is not None
    assert of.queries is not None
    scores = of.queries.of(questions.questions, "") @ np.asarray(of.vectors.vectors).T
    keys = np.random.default_rng(0).random(scores.shape)
    np.put_along_axis(keys, questions.answers[:, None], -1.0, axis=1)  # the right one is always drawn, and first
    drawn = np.take_along_axis(scores, np.argsort(keys, axis=1)[:, :pool], axis=1)
    z = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, keepdims=True)
    least = min_score()
    return Kept(
        float(np.quantile(z[:, 0], SACRIFICED)), float((z[:, 0] >= least).mean()), float((z[:, 1:] >= least).mean())
    )


def min_score() -> float:
    """Return the least score of the default retriever."""
    return float(yaml.safe_load((resource("conf") / "retriever" / "e5.yaml").read_text("utf-8"))["min_score"])


Pair = tuple[str, str]


def _lines(found: dict[tuple[str, str, str], Asked], left: dict[tuple[Pair, int], Kept]) -> Iterator[tuple[str, ...]]:
    for pair in PAIRS:
        asked, held = pair
        shares = (found[kind, asked, held].recall(k) for kind in KINDS for k in (1, 5))
        yield (
            asked,
            held,
            *map(_percent, shares),
            *(f"{left[pair, pool].least:.2f}" for pool in POOLS),
            _percent(left[pair, POOLS[0]].above),
            _percent(left[pair, POOLS[0]].others),
        )


def _percent(share: float) -> str:
    return f"{share * 100:.1f}"


def _bars(found: dict[tuple[str, str, str], Asked], left: dict[tuple[Pair, int], Kept]) -> Iterator[Bar]:
    for asked, held in PAIRS:
        if asked != held:
            e5, bm25 = (found[kind, asked, held].recall(1) for kind in ("e5", "bm25"))
            what = f"English questions, paragraphs in {held}: recall@1"
            yield Bar(what, "e5 above bm25", f"{e5:.3f} against {bm25:.3f}", e5 > bm25)
    fewest = min(each.above for each in left.values())
    what = f"Right paragraphs that e5's `min_score` of {min_score():g} keeps"
    yield Bar(what, "≥ 95 %", f"{fewest * 100:.1f} % where it keeps fewest", fewest >= 1 - SACRIFICED)


def measure(quick: bool) -> Section:
    """Ask the questions of each language of its own paragraphs, and the English ones of all."""
    title = "Finding the right paragraph"
    if not DATA.exists():
        rows = tuple((*pair, *["–"] * (len(HEAD) - 2)) for pair in PAIRS)
        return Section(title, ABOUT, HEAD, rows, (Bar("XQuAD", "is there", "it is not", met=False),))
    embedder = open_embedder(SHIPPED_WITH)
    sets = {language: read(language, 12 if quick else None) for language in LANGUAGES}
    shelves = {(kind, each): shelf(sets[each], kind, embedder) for kind, each in product(KINDS, LANGUAGES)}
    found = {(kind, *pair): ask(sets[pair[0]], shelves[kind, pair[1]]) for kind, pair in product(KINDS, PAIRS)}
    left = {(pair, pool): kept(sets[pair[0]], shelves["e5", pair[1]], pool) for pair, pool in product(PAIRS, POOLS)}
    return Section(title, ABOUT, HEAD, tuple(_lines(found, left)), tuple(_bars(found, left)))
