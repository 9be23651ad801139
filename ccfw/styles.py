"""How the simulated user writes: a style for every turn (paper G.4), and the ways of asking of ten regions.

The paper names a deterministic directive for every turn but its list (Appendix I) is not in our text; this one is
ours. Choices hang on a digest of the episode's id, so that a resumed or repeated run renders the same request and the
ledger answers it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

Dimension = Literal["opener", "length", "punctuation", "hesitation", "follow_up", "emotion"]


class Style(NamedTuple):
    """One way to write, as it reads inside a directive."""

    dimension: Dimension
    name: str
    says: str


STYLES: tuple[Style, ...] = (
    Style("opener", "reaction", "a word of reaction"),
    Style("opener", "fact", "a fact from your own situation"),
    Style("opener", "question", "the question itself"),
    Style("opener", "doubt", "a small doubt about what you read"),
    Style("opener", "quoted_person", "what somebody in your life says about it"),
    Style("opener", "picked_word", "one word you pick up from the answer"),
    Style("opener", "pressure", "what is pressing you right now"),
    Style("opener", "agreement", "a short nod to what fits"),
    Style("length", "short", "on the short side"),
    Style("length", "middle", "about two short clauses long"),
    Style("length", "long", "on the long side, a detail and a question"),
    Style("punctuation", "bare", "with no mark at the very end"),
    Style("punctuation", "commas", "with commas running the clauses together"),
    Style("punctuation", "question_mark", "with a question mark but few other marks"),
    Style("punctuation", "fragments", "in fragments with a stop between them"),
    Style("hesitation", "none", "straight to the point"),
    Style("hesitation", "filler", "with a filler word now and then"),
    Style("hesitation", "self_correction", "correcting yourself once in a while"),
    Style("hesitation", "softened", "softening what you ask a little"),
    Style("follow_up", "detail", "ask for one missing detail"),
    Style("follow_up", "what_if", "ask what to do if it goes differently"),
    Style("follow_up", "how", "ask how to go about it in practice"),
    Style("follow_up", "limit", "name a limit of money, time or room and ask how to fit it"),
    Style("follow_up", "objection", "raise what somebody might object to"),
    Style("follow_up", "reason", "ask why it is better that way"),
    Style("follow_up", "check", "check whether a plan of your own would do"),
    Style("emotion", "calm", "calm"),
    Style("emotion", "worried", "a bit worried"),
    Style("emotion", "hurried", "short of time"),
    Style("emotion", "curious", "curious"),
    Style("emotion", "tired", "somewhat tired of the matter"),
    Style("emotion", "hopeful", "hopeful"),
)
"""Every style; the list's order decides nothing."""

_OF: dict[Dimension, tuple[Style, ...]] = {
    style.dimension: tuple(other for other in STYLES if other.dimension == style.dimension) for style in STYLES
}


@dataclass(frozen=True)
class Directive:
    """How to write one message."""

    opener: Style
    length: Style
    punctuation: Style
    hesitation: Style
    follow_up: Style
    emotion: Style

    @property
    def styles(self) -> tuple[Style, ...]:
        """All six, one of each dimension."""
        return (self.opener, self.length, self.punctuation, self.hesitation, self.follow_up, self.emotion)

    @property
    def text(self) -> str:
        """The directive as the simulator reads it: three short sentences."""
        return (
            f"Open with {self.opener.says}, and keep it {self.length.says}. "
            f"Sound {self.emotion.says}, {self.hesitation.says}, {self.punctuation.says}. "
            f"Then {self.follow_up.says}."
        )


def _rank(episode_id: str, *parts: str) -> bytes:
    # The built-in hash of a string differs from one process to the next.
    return hashlib.sha256("\x1f".join((episode_id, *parts)).encode()).digest()


def _voice(episode_id: str, dimension: Dimension) -> Style:
    return min(_OF[dimension], key=lambda style: _rank(episode_id, dimension, style.name))


def _turning(episode_id: str, dimension: Dimension, turn: int) -> Style:
    """Walk through an episode's own order of a dimension, so that nothing comes twice before all have come."""
    order = sorted(_OF[dimension], key=lambda style: _rank(episode_id, dimension, style.name))
    return order[turn % len(order)]


def directive(episode_id: str, turn: int) -> Directive:
    """Return how the user of an episode writes its message of a turn, counted from 0.

    Emotion, punctuation and hesitation are the episode's voice and stay; opener, follow-up and length change.
    """
    if turn < 0:
        raise ValueError(f"turns count from 0, not {turn}")
    return Directive(
        opener=_turning(episode_id, "opener", turn),
        length=_turning(episode_id, "length", turn),
        punctuation=_voice(episode_id, "punctuation"),
        hesitation=_voice(episode_id, "hesitation"),
        follow_up=_turning(episode_id, "follow_up", turn),
        emotion=_voice(episode_id, "emotion"),
    )


_NATIVE_ONLY = "in your own language only, never in English"

_SPEECH = {
    "SG": "Come to the point quickly and give the practical limits, cost and time, along with the question. Call "
    "older people uncle or aunty and relatives by their place in the family. Everyday particles belong "
    f"{_NATIVE_ONLY}.",
    "MY": "Ask in a friendly, slightly roundabout way, with the reason before the request. Elders are uncle, aunty "
    "or the family's own kin words, and a refusal comes out as a wish to see how it goes first. Softening "
    f"particles belong {_NATIVE_ONLY}.",
    "ID": "Give some background first, then ask gently, often as whether something would be all right. Older people "
    "get the kin word for parent, elder brother or elder sister before the name, and doubt shows as not sure "
    f"yet. Particles that soften belong {_NATIVE_ONLY}.",
    "TH": "Stay polite and light, ask what people usually do, and avoid pressing a point twice. Speak of others as "
    "elder or younger relatives even when they are not, and turn things down by naming an obstacle. Polite "
    f"endings belong {_NATIVE_ONLY}.",
    "VN": "Say who is involved and how you are related, since that decides what is proper, then ask directly. A "
    "refusal tends to be a let me think or a reason from the family's side. The pronouns of kinship and "
    f"polite endings belong {_NATIVE_ONLY}.",
    "PH": "Be warm and a little apologetic about asking, and bring in what family members want. Elders are spoken "
    "of by kin title, and a yes can still mean a perhaps. Respect words and mixing of languages belong "
    f"{_NATIVE_ONLY}.",
    "CN": "Ask concretely and briefly, with numbers and dates, and say plainly when advice is too general. With "
    "elders, bosses and in-laws name the relation, and voice refusal as inconvenience. Sentence-final "
    f"particles belong {_NATIVE_ONLY}.",
    "JP": "Set out the situation first and leave the request for the end, worded as a wish or a worry. Name people "
    "by family name or role, and hint at disagreement by calling it a little difficult. Honorific endings "
    f"belong {_NATIVE_ONLY}.",
    "KR": "Give the relation and age of whoever is concerned, then ask what would be proper and be quick about it. "
    "Use titles and kin terms in place of names, and decline by pointing at circumstances. Speech levels and "
    f"their endings belong {_NATIVE_ONLY}.",
    "BN": "Be courteous and unhurried, and ask what is customary before asking what is quickest. Elders and "
    "officers keep their titles, and reluctance is put as needing to ask at home first. Local particles "
    f"belong {_NATIVE_ONLY}.",
}


def speech_guidance(region: str) -> str:
    """Return how a person of a region (``SG``, ``MY``, …) tends to ask for help in a chat, for both language modes."""
    if region not in _SPEECH:
        raise KeyError(f"no region {region!r}; there are {', '.join(_SPEECH)}")
    return _SPEECH[region]
