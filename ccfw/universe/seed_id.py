"""Names of seeds and episodes, spelled as in the paper (Appendix E).

``SG_Chinese_Christian_F_18_34__TPL_CUL_DINE_05__TRAP__CTX__XCULTURE_MY`` is a seed and the same with
``__EN`` is its English episode.
"""

from __future__ import annotations

from typing import Literal

Challenge = Literal["STANDARD", "TRAP__CTX", "TRAP__NORM"]

_AGE = {"18-34": "18_34", "35-54": "35_54", "55+": "55p"}
_LANGUAGE = {"global_english": "EN", "native_language": "NATIVE"}


def seed_id(
    region: str,
    identity: str,
    gender: str,
    age_cohort: str,
    template_id: str,
    challenge: Challenge,
    secondary_region: str | None,
) -> str:
    """Spell the id of a seed from its fields."""
    parts = [f"{region}_{identity}_{gender[0]}_{_AGE[age_cohort]}", template_id, challenge]
    if secondary_region:
        parts.append(f"XCULTURE_{secondary_region}")
    return "__".join(parts)


def episode_id(seed: str, language_mode: str) -> str:
    """Spell the id of an episode of a seed in one language mode."""
    return f"{seed}__{_LANGUAGE[language_mode]}"
