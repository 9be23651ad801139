"""Models and tokenizers small enough to train in seconds, with the chat templates of the families in short form."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from ccfw.crisp.records import PairKind, Preference
from ccfw.settings.training import RewardConfig
from ccfw.training.supervising import Grade

if TYPE_CHECKING:
    from ccfw.training.weights import Loaded

QWEN = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA = (
    "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
FAMILIES: dict[str, tuple[str, list[str], str, str]] = {
    # template, special tokens, what the tokenizer calls EOS, what it pads with
    "qwen": (QWEN, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "<|im_end|>", "<|endoftext|>"),
    "qwen_base": (QWEN, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "<|endoftext|>", "<|endoftext|>"),
    "smollm2": (QWEN, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "<|im_end|>", "<|im_end|>"),
    "llama": (
        LLAMA,
        [
            *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
            "<|finetune_right_pad_id|>",
        ],
        "<|eot_id|>",
        "<|eot_id|>",
    ),
}
WORDS = [
    "culture",
    ":",
    "japan",
    "user",
    "assistant",
    "stand",
    "sit",
    "bow",
    "wave",
    "now",
    "later",
    "please",
    "a",
    ".",
]
WORDS += [f"w{i}" for i in range(40)]
WORDS += ["mark", *"012345"]


def tokenizer(family: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    template, special, eos, pad = FAMILIES[family]
    vocabulary = {word: place for place, word in enumerate([*special, "<unk>", "\n", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    made.decoder = decoders.Fuse()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Punctuation()]
    )
    made.decoder = decoders.Sequence([decoders.Replace("", ""), decoders.WordPiece(prefix="##", cleanup=False)])
    made.add_special_tokens(special)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=eos, pad_token=pad, unk_token="<unk>")
    fast.chat_template = template
    return fast


def classifier(
    family: str = "smollm2", kind: str = "llama", layers: int = 3, seed: int = 0, spread: float = 0.02
) -> Loaded:
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from ccfw.training.weights import Loaded, set_ends

    tokens = tokenizer(family)
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        num_labels=1,
        pad_token_id=tokens.pad_token_id,
        initializer_range=spread,
    )
    model = AutoModelForSequenceClassification.from_config(config).eval()
    set_ends(tokens, model)
    return Loaded(tokens, model)


def pooled(family: str = "smollm2", kind: str = "llama", layers: int = 3, seed: int = 0) -> Loaded:
    """Return the same model with a head that reads the whole answer."""
    from ccfw.training.weights import Loaded, with_pooling

    loaded = classifier(family, kind, layers, seed)
    return Loaded(loaded.tokenizer, with_pooling(loaded.tokenizer, loaded.model.base_model).eval())


def language_model(family: str) -> Loaded:
    """Return a model that finds all its tokens equally likely."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from ccfw.training.weights import Loaded, set_ends

    tokens = tokenizer(family)
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        "llama",
        vocab_size=len(tokens),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        pad_token_id=tokens.pad_token_id,
        tie_word_embeddings=False,
    )
    model = AutoModelForCausalLM.from_config(config)
    model.lm_head.weight.data.zero_()
    set_ends(tokens, model)
    return Loaded(tokens, model)


def preference(number: int, chosen: str, rejected: str, *, norm: str = "", scenario: str = "w1 w2 .") -> Preference:
    return Preference(
        pair_id=f"p{number}",
        situation_id=f"s{number}",
        norm_id=norm or f"n{number}",
        culture="japan",
        split="train",
        kind=PairKind.APPROPRIATE_OPPOSITE,
        scenario=scenario,
        question="stand sit .",
        chosen=chosen,
        rejected=rejected,
        chosen_from="appropriate",
        rejected_from="opposite",
        gap=None,
    )


def pairs(count: int) -> list[Preference]:
    """Return pairs in which the better answer bows, whatever else is in it."""
    return [
        preference(i, f"w{i % 30} bow now w{(7 * i) % 30} .", f"w{(5 * i) % 30} wave now w{(3 * i) % 30} .")
        for i in range(count)
    ]


def config(**changes: Any) -> RewardConfig:
    weights = {"path": "unused", "package": None, "scratch": None, "gguf": None, "revision": None, "dtype": "float32"}
    content: dict[str, Any] = {
        "name": "tiny",
        "weights": weights | {"parameters": 0.1, "layers": 3, "hidden": 32, "key_width": 32, "vocabulary": 60},
        "pooling": "last",
        "lora": None,
        "top": None,
        "epochs": 2,
        "learning_rate": 1e-3,
        "batch": 8,
        "micro_batch": 8,
        "max_tokens": 64,
        "optimizer": "adamw_torch",
        "schedule": "linear",
        "warmup": 0.0,
        "weight_decay": 0.0,
        "centre": None,
        "gradient_checkpointing": False,
        "autocast": "none",
        "save_every": 3,
        "pairs": None,
        "kinds": [],
        "held_out": None,
    }
    return RewardConfig.model_validate(content | changes)


def whole_answer(outcome: int, match: int) -> str:
    """Return an answer in form whose marks ``Grading`` reads."""
    return f'{{"answer": "Follow mark {outcome}.", "reasoning": "It says mark {match}."}}'


ANSWERS = [whole_answer(outcome, match) for outcome in (1, 3, 5) for match in (0, 1, 2)]
FORMLESS = ["Just wait.", "It depends."]


def answering_policy(folder: Path, seed: int = 0) -> Path:
    """Save a language model whose every token is a whole answer: nine in form and two that are not."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AddedToken, AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<pad>", "<eos>", "<unk>"])
    tokens = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", model_max_length=4096
    )
    tokens.add_tokens([AddedToken(each, normalized=False) for each in (*ANSWERS, *FORMLESS)])
    tokens.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        "llama",
        vocab_size=len(tokens),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = AutoModelForCausalLM.from_config(config)
    model.lm_head.weight.data[:3] = 0.0
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def reward_model(folder: Path) -> Path:
    """Save a reward model that nobody trained."""
    loaded = classifier()
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder


ACTS = ("bow", "wave")


def grades(count: int, norms: int = 30) -> list[Grade]:
    """Return reasonings that name the norm's act (2), the other one (0), or both (1), whatever else is in them."""
    rng, found = Random(0), []
    for i in range(count):
        norm, own, score = rng.randrange(norms), rng.randrange(2), rng.randrange(3)
        act, other = ACTS[own], ACTS[1 - own]
        said = ((other,), (act, other), (act,))[score]
        found.append(
            Grade(
                grade_id=f"g{i}",
                norm_id=f"n{norm}",
                culture="japan",
                split="train",
                norm=f"w{norm} {act} .",
                reasoning=" ".join([*said, f"w{rng.randrange(40)}"]),
                score=score,
            )
        )
    return found
