"""How a first message may open (paper G.2, *opener variety*): two ways for every seed, drawn by its id.

The paper gives ten kinds with a few examples each; kinds and examples here are ours. That no two blueprints of a
batch open alike is left to the draw: with 24 ways there are 276 pairs.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Opener(NamedTuple):
    """A way to open, as a generator is told of it."""

    name: str
    says: str


OPENERS: tuple[Opener, ...] = (
    Opener("asks whether it works", "the question whether something would do: 'would it be odd to …', 'can i just …'"),
    Opener("asks how others do it", "what people usually do: 'how do families normally …', 'what do people bring …'"),
    Opener("asks around", "as if into a group chat: 'anyone ever had to …', 'does anybody know if …'"),
    Opener("asks what the point is", "a puzzled question: 'what's the thing with …', 'why does everyone tell me to …'"),
    Opener("somebody first", "a person and what is up with them: 'my landlord wants …', 'grandpa is home from …'"),
    Opener("place first", "where it happens: 'in the village hall on friday …', 'our flat has no balcony and …'"),
    Opener("thing first", "an object on the table: 'this huge fish i was given …', 'the form they sent me …'"),
    Opener("half a thought", "thinking aloud: 'been wondering about …', 'still thinking whether to …'"),
    Opener("in the middle of it", "an action under way: 'sorting out …', 'trying to fit …', 'packing for …'"),
    Opener("about to begin", "a plan that starts soon: 'going to cook for …', 'will be driving up to …'"),
    Opener("clock is ticking", "the time left: 'three days to go and …', 'by friday i have to …'"),
    Opener("date first", "the day it falls on: 'sunday is my turn to …', 'on the 15th we move …'"),
    Opener("nerves", "a feeling about it: 'bit nervous about …', 'not sleeping well over …'"),
    Opener("good news", "something to be glad about: 'finally got the keys …', 'she said yes and now …'"),
    Opener("grumble", "a complaint under the breath: 'honestly this queue for …', 'third time they changed …'"),
    Opener("surprise", "something that came unawares: 'turns out i'm the one who …', 'didn't expect to be asked …'"),
    Opener("quick one", "small and fast: 'quick one about …', 'tiny question, …'"),
    Opener("handed a job", "a duty that was passed on: 'they put me in charge of …', 'boss just gave me …'"),
    Opener("first time", "being new to it: 'never done this before but …', 'first year that i …'"),
    Opener("money first", "the sum that there is: 'with about 200 to spend …', 'the quote came in at …'"),
    Opener("picks one of two", "torn between ways: 'either the big hall or …', 'can't decide between …'"),
    Opener("heard something", "what somebody said: 'my sister says we have to …', 'a neighbour told me …'"),
    Opener("has tried already", "what did not work: 'asked two shops already and …', 'tried to book but …'"),
    Opener("flat statement", "how things stand: 'we're eleven people and one bathroom …', 'there's no oven here …'"),
)
"""Every way; the list's order decides nothing."""


def opener_pair(seed_id: str) -> tuple[Opener, Opener]:
    """Return the two ways in which the first message of a seed is to open."""
    first, second, *_ = sorted(OPENERS, key=lambda opener: _rank(seed_id, opener.name))
    return first, second


def _rank(seed_id: str, name: str) -> bytes:
    return hashlib.sha256(f"{seed_id}\x1f{name}".encode()).digest()
