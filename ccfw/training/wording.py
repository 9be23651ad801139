"""What wording alone gives: a Bradley–Terry model over bags of words that never reads the question. Pure.

The control beside a reward model: pairs whose better answer can be told from its words, in whatever situation, teach
words. Only what a reward model orders better than this control it may have learnt about conduct.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ccfw.crisp.records import Preference

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_FEWEST = 2
_STEPS = 300
_RATE = 0.5
_RIDGE = 0.01


def wording_margins(train: Sequence[Preference], held_out: Sequence[Preference]) -> list[float]:
    """Return the margins of held-out pairs by the words of their answers, learnt from the training pairs.

    Logistic regression without intercept on differences of square-rooted counts, with a ridge penalty, by gradient
    descent from zero: the same pairs give the same margins.
    """
    answers = Counter(word for pair in train for text in (pair.chosen, pair.rejected) for word in set(_words(text)))
    places = {word: place for place, word in enumerate(sorted(w for w, n in answers.items() if n >= _FEWEST))}
    if not places or not train:
        return [0.0] * len(held_out)
    features = _differences(train, places)
    weights = np.zeros(len(places))
    for _ in range(_STEPS):
        wrong = 1.0 / (1.0 + np.exp(np.clip(features @ weights, -500, 500)))
        weights += _RATE * (features.T @ wrong / len(features) - _RIDGE * weights)
    return [float(each) for each in _differences(held_out, places) @ weights]


def _differences(pairs: Sequence[Preference], places: dict[str, int]) -> NDArray[np.float64]:
    rows = np.zeros((len(pairs), len(places)))
    for row, pair in zip(rows, pairs, strict=True):
        for sign, text in ((1.0, pair.chosen), (-1.0, pair.rejected)):
            for word, count in Counter(_words(text)).items():
                if word in places:
                    row[places[word]] += sign * count**0.5
    return rows


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
