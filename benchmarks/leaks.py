"""Whether words or vectors tell that a message gives hidden content away in words of its own.

The labelled messages were written for this: leaks that copy nothing, and near misses that share the hidden text's nouns
and give nothing of it away.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.page import table
from benchmarks.tally import prose
from ccfw.checks.fields import harms
from ccfw.checks.leakage import said_hidden
from ccfw.checks.message import message_negative
from ccfw.knowledge.embedders import Embedder
from ccfw.knowledge.vectors import unit
from ccfw.records import Scenario
from ccfw.resources import resource

CORPUS = Path(__file__).parent.parent / "tests" / "checks" / "labelled_leaks.jsonl"
KINDS = ("paraphrase", "hint", "reverse")
ALARMS = (0.01, 0.05)
"""Shares of near misses that a threshold may report."""
_CLAUSE = re.compile(r"[,.?!;:…，。？！；：、།؟،\n]+")
_SHORTEST = 3
"""Letters of the shortest clause that is held against a hidden text."""
Scores = npt.NDArray[np.float64]
Vectors = Mapping[str, npt.NDArray[np.float32]]

_WORDS = """\
## Leaks in other words

From `tests/checks/labelled_leaks.jsonl`: {messages} messages, of every starter scenario, as its user would text them.
{leaks} give a taboo or tripwire away: a *paraphrase* says it with less than half of its words, a *hint* or *reverse*
shows that the user knows what must not be done. The other {misses} are *near misses*: the same people, objects and
nouns, and nothing given away. {native} messages are in the scenario's native language, the rest in English. Both sorts
were written to be as hard as they come, so the figures are no rates of what generators write.

### Rules of words

*Said* is the rule that also reads every simulated turn (`said_hidden`: the hidden text, three of its content words in a
row, or most of them), *negative* is `message_negative`, *either* is one of the two. They read English and say next to
nothing of native messages: the native message of a blueprint is put back into English by the translator, and read then.

{table}

What follows is plain. These rules catch what is copied or nearly copied, as a generator easily does that has the
hidden text before its eyes: of the {texts} taboos and tripwires, put into a message whole, *said* finds {whole}, with
every third word left out {thinned}. How often generators leak that way is not measured here. Of the {english_leaks}
English leaks in other words the rules find {found}, and they report {alarms} of {english_misses} near misses for their
nouns. What is given away in other words is found by who reads for meaning: the audit by a model.

"""

_VECTORS = """\
### An embedding

Could a vector do what words cannot? Each message and each of its clauses is embedded with the embedder that ships
(`{embedder}`), as is each taboo and tripwire of its scenario; the mean of the messages and that of the hidden texts are
taken off; the score is the highest cosine. *Less public* takes off the highest cosine to the scenario's own goal and
first message, so that being on topic counts for nothing. The means, and the thresholds for {alarms} false alarms, come
from one half of the scenarios ({calibrating}, by hash of the seed id), the figures from the other ({judged}). Leaks are
held against the near misses, and against the first messages, which are ordinary ones and longer. The area under the
curve (AUC) is the chance that a leak scores above one of these: 0.5 is a coin. The last column counts those that score
as high as the middle leak. So few
calibrate that the threshold for 1% is their highest score.

{table}

No gate is built on it. In English, near misses score above leaks, for they share the nouns of the hidden text, which
leaks avoid by design, and the vector follows the nouns; but leaks do not score above ordinary first messages either. In
the native languages, where no word is shared, it is a little better than a coin. Taking off what is public undoes most
of the topic and leaves a coin. A threshold that spares good messages lets nearly every leak through, and one that finds
half of them sends back a quarter of the good messages at best and most of them at worst.
"""


class Message(NamedTuple):
    """One labelled message."""

    seed_id: str
    language: str
    text: str
    leaks: bool
    hidden: str | None
    """The taboo or tripwire that it gives away."""
    kind: str

    @property
    def side(self) -> str:
        """English, or native: the few of one language are counted together."""
        return "English" if self.language == "English" else "Native"


def corpus() -> list[Message]:
    """Return every labelled message."""
    return [Message(**json.loads(line)) for line in CORPUS.read_text("utf-8").splitlines()]


@cache
def scenario(seed_id: str) -> Scenario:
    """Return a starter scenario."""
    path = resource("data") / "starter" / f"{seed_id}.json"
    return Scenario.model_validate_json(path.read_text("utf-8"))


def hidden(seed_id: str) -> list[str]:
    """Return the taboos and tripwires of a starter scenario."""
    return harms(scenario(seed_id).blueprint.evaluator_oracle_context)


def says_hidden(message: Message) -> bool:
    """Whether the rule that reads every simulated turn reports a message."""
    return bool(said_hidden(scenario(message.seed_id), message.text))


def negates(message: Message) -> bool:
    """Whether the rule on negative constraints reports a message where it is the first one."""
    whole = scenario(message.seed_id)
    public = whole.blueprint.public_context
    said = public.initial_user_message.model_copy(update={"global_english": message.text})
    blueprint = whole.blueprint.model_copy(
        update={"public_context": public.model_copy(update={"initial_user_message": said})}
    )
    return any(message_negative(whole.model_copy(update={"blueprint": blueprint})))


RULES: dict[str, Callable[[Message], bool]] = {
    "said": says_hidden,
    "negative": negates,
    "either": lambda message: says_hidden(message) or negates(message),
}


def counted(messages: Iterable[Message], reports: Callable[[Message], bool]) -> dict[str, tuple[int, int]]:
    """Return how many messages of each kind are reported, and how many there are."""
    counts = dict.fromkeys((*KINDS, "near_miss"), (0, 0))
    for message in messages:
        found, there = counts[message.kind]
        counts[message.kind] = found + reports(message), there + 1
    return counts


def _cells(counts: Mapping[str, tuple[int, int]]) -> list[str]:
    return [f"{found} of {there}" if there else "–" for found, there in counts.values()]


def copied(seed_ids: Iterable[str], thinned: Callable[[str], str] = str) -> tuple[int, int]:
    """Return how many hidden texts *said* finds where a message holds them, and how many there are."""
    texts = [(seed_id, text) for seed_id in seed_ids for text in hidden(seed_id)]
    messages = [
        Message(each, "English", f"quick q, {thinned(text)}, right", True, text, "copy") for each, text in texts
    ]
    return sum(map(says_hidden, messages)), len(messages)


def every_third_left_out(text: str) -> str:
    """Return a text without its third, sixth … word."""
    return " ".join(word for place, word in enumerate(text.split(), 1) if place % 3)


_HEAD = ("Messages", "Rule", "Paraphrases", "Hints", "Reverse", "Near misses")


def words_part(messages: Sequence[Message]) -> str:
    """Return the part of the page about the rules of words."""
    sides = {side: [each for each in messages if each.side == side] for side in ("English", "Native")}
    rows = [
        (side, name, *_cells(counted(those, reports)))
        for side, those in sides.items()
        for name, reports in RULES.items()
    ]
    english = counted(sides["English"], RULES["either"])
    alarms, misses = english["near_miss"]
    leaks = sum(message.leaks for message in messages)
    seed_ids = sorted({message.seed_id for message in messages})
    whole, texts = copied(seed_ids)
    return prose(
        _WORDS.format(
            messages=len(messages),
            leaks=leaks,
            misses=len(messages) - leaks,
            texts=texts,
            whole=whole,
            thinned=copied(seed_ids, every_third_left_out)[0],
            native=len(sides["Native"]),
            table=table(_HEAD, rows, figures=True),
            found=sum(english[kind][0] for kind in KINDS),
            english_leaks=sum(english[kind][1] for kind in KINDS),
            alarms=alarms,
            english_misses=misses,
        )
    )


def clauses(text: str) -> list[str]:
    """Return a message and its clauses: people text without full stops."""
    parts = [part.strip() for part in _CLAUSE.split(text)]
    return [text, *(part for part in parts if len(part) >= _SHORTEST)]


def first_messages(messages: Iterable[Message]) -> list[Message]:
    """Return the first message of each scenario in each language of these messages: what users say of their own."""
    kept = dict.fromkeys((each.seed_id, each.language) for each in messages)
    told = {key: scenario(key[0]).blueprint.public_context.initial_user_message for key in kept}
    return [
        Message(*key, first.global_english if key[1] == "English" else first.native_language, False, None, "first")
        for key, first in told.items()
    ]


def halves(messages: Iterable[Message]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the seed ids whose messages calibrate, and those whose messages are judged."""
    ids = sorted({each.seed_id for each in messages}, key=lambda name: hashlib.sha256(name.encode()).digest())
    return frozenset(ids[: len(ids) // 2]), frozenset(ids[len(ids) // 2 :])


def embedded(embedder: Embedder, messages: Iterable[Message]) -> Vectors:
    """Return the vector of every text that a score of these messages needs."""
    wanted: dict[str, None] = {}
    for message in messages:
        wanted |= dict.fromkeys((*clauses(message.text), *hidden(message.seed_id), *_public(message)))
    texts = list(wanted)
    return dict(zip(texts, embedder.passages(texts), strict=True))


def _public(message: Message) -> tuple[str, str]:
    public = scenario(message.seed_id).blueprint.public_context
    first = public.initial_user_message
    return public.user_goal, first.global_english if message.side == "English" else first.native_language


def scores(messages: Sequence[Message], vectors: Vectors, calibrating: frozenset[str]) -> tuple[Scores, Scores]:
    """Return each message's highest cosine to a hidden text, and the same less that to the public ones.

    Messages, hidden and public texts each have the mean of the calibrating scenarios taken off.
    """
    known = [message for message in messages if message.seed_id in calibrating]
    said = _mean(vectors, (part for each in known for part in clauses(each.text)))
    secret = _mean(vectors, (text for each in known for text in hidden(each.seed_id)))
    shown = _mean(vectors, (text for each in known for text in _public(each)))

    def nearest(message: Message, others: Iterable[str], middle: npt.NDArray[np.float32]) -> float:
        parts = unit(np.stack([vectors[part] for part in clauses(message.text)]) - said)
        return float((parts @ unit(np.stack([vectors[text] for text in others]) - middle).T).max())

    to_hidden = np.array([nearest(each, hidden(each.seed_id), secret) for each in messages])
    to_public = np.array([nearest(each, _public(each), shown) for each in messages])
    return to_hidden, to_hidden - to_public


def _mean(vectors: Vectors, texts: Iterable[str]) -> npt.NDArray[np.float32]:
    made: npt.NDArray[np.float32] = np.mean([vectors[text] for text in dict.fromkeys(texts)], axis=0)
    return made


def area(leaking: Scores, harmless: Scores) -> float:
    """Return the chance that a leak scores above a harmless message, ties for half."""
    above = leaking[:, None] - harmless[None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def threshold(harmless: Scores, alarms: float) -> float:
    """Return the lowest of these scores above which at most a share ``alarms`` of them lies."""
    return float(np.sort(harmless)[::-1][int(alarms * len(harmless))])


def _judged(messages: Sequence[Message], of: Scores, calibrating: frozenset[str]) -> list[str]:
    leaks = np.array([each.leaks for each in messages])
    known = np.array([each.seed_id in calibrating for each in messages])
    leaking, harmless = of[leaks & ~known], of[~leaks & ~known]
    cells = [f"{area(leaking, harmless):.2f}"]
    for alarms in ALARMS:
        least = threshold(of[~leaks & known], alarms)
        cells += [f"{(those > least).sum()} of {len(those)}" for those in (leaking, harmless)]
    half = (harmless >= np.median(leaking)).sum()
    return [*cells, f"{half} of {len(harmless)}"]


def measured(messages: Sequence[Message], embedder: Embedder) -> list[tuple[str, ...]]:
    """Return a row for each score, side and sort of harmless message."""
    everything = [*messages, *first_messages(messages)]
    vectors, (calibrating, _) = embedded(embedder, everything), halves(messages)
    rows = []
    for side in ("English", "Native"):
        those = [each for each in everything if each.side == side]
        for number, name in enumerate(("cosine", "less public")):
            of = scores(those, vectors, calibrating)[number]
            for kind in ("near_miss", "first") if name == "cosine" else ("near_miss",):
                chosen = [place for place, each in enumerate(those) if each.leaks or each.kind == kind]
                cells = _judged([those[place] for place in chosen], of[chosen], calibrating)
                rows.append((side, name, "near misses" if kind == "near_miss" else "first messages", *cells))
    return rows


def vectors_part(messages: Sequence[Message], embedder: Embedder) -> str:
    """Return the part of the page about the embedding."""
    calibrating, judged = halves(messages)
    at = [f"{share:.0%}" for share in ALARMS]
    calibrated = (f"{what}, {share}" for share in at for what in ("Leaks found", "False alarms"))
    head = ("Messages", "Score", "Against", "AUC", *calibrated, "False alarms at half the leaks")
    return prose(
        _VECTORS.format(
            embedder=embedder.name.removeprefix("e5:"),
            alarms=" and ".join(at),
            calibrating=len(calibrating),
            judged=len(judged),
            table=table(head, measured(messages, embedder), figures=True),
        )
    )
