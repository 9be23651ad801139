"""Seeds and episodes are spelled as in the paper."""

from __future__ import annotations

import pytest

from ccfw.universe.seed_id import Challenge, episode_id, seed_id

PUBLISHED = [
    pytest.param(
        ("SG", "Chinese_Christian", "Female", "18-34", "TPL_CUL_DINE_05", "TRAP__CTX", "MY"),
        "SG_Chinese_Christian_F_18_34__TPL_CUL_DINE_05__TRAP__CTX__XCULTURE_MY",
        id="appendix-E-cross-cultural-contextual",
    ),
    pytest.param(
        ("MY", "Borneo_Bumiputera_Christian", "Female", "35-54", "TPL_CUL_HOST_07", "TRAP__NORM", None),
        "MY_Borneo_Bumiputera_Christian_F_35_54__TPL_CUL_HOST_07__TRAP__NORM",
        id="low-scoring-normative",
    ),
    pytest.param(
        ("ID", "Batak_Christian", "Male", "55+", "TPL_ECO_CASH_01", "STANDARD", None),
        "ID_Batak_Christian_M_55p__TPL_ECO_CASH_01__STANDARD",
        id="low-scoring-standard",
    ),
]


@pytest.mark.parametrize(("fields", "published"), PUBLISHED)
def test_seed_ids_are_the_published_ones(
    fields: tuple[str, str, str, str, str, Challenge, str | None], published: str
) -> None:
    assert seed_id(*fields) == published


@pytest.mark.parametrize(
    ("language", "published"),
    [
        pytest.param("global_english", "ID_Batak_Christian_M_55p__TPL_ECO_CASH_01__STANDARD__EN", id="english"),
        pytest.param("native_language", "ID_Batak_Christian_M_55p__TPL_ECO_CASH_01__STANDARD__NATIVE", id="native"),
    ],
)
def test_episode_ids_end_in_their_language(language: str, published: str) -> None:
    assert episode_id("ID_Batak_Christian_M_55p__TPL_ECO_CASH_01__STANDARD", language) == published
