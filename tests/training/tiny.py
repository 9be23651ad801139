"""Models and tokenizers small enough to train in seconds, with the chat templates of the families in short form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccfw.crisp.records import PairKind, Preference
from ccfw.settings.training import RewardConfig

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


def classifier(family: str = "smollm2", kind: str = "llama", layers: int = 3, seed: int = 0) -> Loaded:
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
    )
    model = AutoModelForSequenceClassification.from_config(config).eval()
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
        "weights": weights | {"parameters": 0.1, "layers": 3, "hidden": 32, "vocabulary": 60},
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
