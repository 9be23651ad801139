"""An answer to a question → tokens, with no end cut off in silence. Works on any Hugging Face tokenizer. Pure.

A reward model reads the end of the answer, so what does not fit is left out at the beginning of the question, and
counted; an answer that does not fit by itself is no text at all. Padding must differ from every token that a text may
end in: a classifier finds the end by looking for padding, and with ``pad = eos`` it would look one token too far back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

_NAMED = ("<|finetune_right_pad_id|>", "<|endoftext|>", "<|end_of_text|>", "<pad>", "[PAD]", "<unk>", "[UNK]")
"""Tokens that families keep for padding, or that no chat holds."""
_SAMPLE, _OTHER = "a", "b"


class Encoded(NamedTuple):
    """A text in tokens."""

    ids: list[int]
    cut: int
    """Tokens of the question left out, from its beginning."""


def chat(prompt: str, answer: str | None) -> list[dict[str, str]]:
    """Return a question, with its answer if there is one, as a chat."""
    turns = [{"role": "user", "content": prompt}]
    return turns if answer is None else [*turns, {"role": "assistant", "content": answer}]


def render(tokenizer: Any, prompt: str, answer: str | None) -> str:
    """Return the text that a model reads: by the tokenizer's own chat template, or plain where it has none.

    Special tokens are the template's alone: one that an answer spells, to take a turn that is not its, is broken up.
    """
    spelled = _spelled(tokenizer)
    prompt = spelled.sub(_broken_up, prompt)
    answer = answer and spelled.sub(_broken_up, answer)
    if tokenizer.chat_template:
        text: str = tokenizer.apply_chat_template(
            chat(prompt, answer), tokenize=False, add_generation_prompt=answer is None
        )
        return text
    start, end = tokenizer.cls_token or "", tokenizer.eos_token or tokenizer.sep_token or ""
    return f"{start}{prompt}\n\n" if answer is None else f"{start}{prompt}\n\n{answer}{end}"


def _spelled(tokenizer: Any) -> re.Pattern[str]:
    """Return what finds the special tokens of a tokenizer in a text, those of one character aside."""
    named = {str(each) for each in tokenizer.added_tokens_decoder.values() if each.special} | set(
        tokenizer.all_special_tokens
    )
    longest_first = sorted((each for each in named if len(each) > 1), key=lambda each: (-len(each), each))
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _broken_up(token: re.Match[str]) -> str:
    return f"{token[0][:1]} {token[0][1:]}"


def tokens_of(tokenizer: Any, text: str) -> list[int]:
    """Return a rendered text's tokens; it has its own special tokens, so none are added."""
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def encode(tokenizer: Any, prompt: str, answer: str, most: int) -> Encoded | None:
    """Return a question and answer in at most ``most`` tokens; ``None`` when the answer alone is longer than that."""
    ids = tokens_of(tokenizer, render(tokenizer, prompt, answer))
    if len(ids) <= most:
        return Encoded(ids, 0)
    words = tokens_of(tokenizer, prompt)
    cut = 0
    while len(ids) > most and cut < len(words):
        cut = min(len(words), cut + len(ids) - most)
        ids = tokens_of(tokenizer, render(tokenizer, tokenizer.decode(words[cut:]), answer))
    return Encoded(ids, cut) if len(ids) <= most else None


def ends_of_turn(tokenizer: Any) -> tuple[int, ...]:
    """Return the tokens that end an assistant's turn, the template's own first: ``<|im_end|>`` for Qwen, ``<|eot_id|>``
    for Llama, whatever the tokenizer calls its EOS.

    Generation has to stop at any of them, and an answer that ends in none of them was cut off.
    """
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    found: list[int] = []
    if tokenizer.chat_template:
        after = tokens_of(tokenizer, render(tokenizer, _SAMPLE, _SAMPLE).rpartition(_SAMPLE)[2])
        found = [each for each in after if each in special][:1]
    eos = tokenizer.eos_token_id
    return tuple(dict.fromkeys([*found, *([] if eos is None else [eos])]))


def opening_of(tokenizer: Any) -> tuple[int | None, int]:
    """Return the token that opens an assistant's turn, and how many of it a chat of one question has up to the answer.

    Without a chat template, or with one that opens turns by no special token, there is none: ``(None, 0)``.
    """
    if not tokenizer.chat_template:
        return None, 0
    asked, answered = (tokens_of(tokenizer, render(tokenizer, _SAMPLE, answer)) for answer in (None, _OTHER))
    shared = [one for one, other in takewhile(lambda both: both[0] == both[1], zip(asked, answered, strict=False))]
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    opening = next((each for each in reversed(shared) if each in special), None)
    return opening, 0 if opening is None else shared.count(opening)


def padding_of(tokenizer: Any) -> int:
    """Return a token for padding that no chat of the tokenizer ends in or holds.

    Raises ``ValueError`` when there is none, and one would have to be added to model and tokenizer.
    """
    ends = set(ends_of_turn(tokenizer))
    used = ends | set(tokens_of(tokenizer, render(tokenizer, _SAMPLE, _SAMPLE)))
    own = tokenizer.pad_token_id
    if own is not None and own not in used:
        return int(own)
    vocabulary = tokenizer.get_vocab()
    named = [vocabulary[name] for name in _NAMED if name in vocabulary]
    spare = [each for each in sorted(tokenizer.added_tokens_decoder) if each in set(tokenizer.all_special_ids)]
    for each in [*named, *spare]:
        if each not in used:
            return int(each)
    raise ValueError("the tokenizer has no token for padding that is not one of its ends; add one to it and the model")


def padded(rows: Sequence[Sequence[int]], padding: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return rows of equal length, filled up on the right, and which tokens are there (1) or padding (0)."""
    longest = max(map(len, rows))
    ids = [[*row, *[padding] * (longest - len(row))] for row in rows]
    return ids, [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
