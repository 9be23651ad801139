"""Adjusted p-values: by hand, against scipy and the principle that they rest on, and by their properties."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.stats.multiplicity import benjamini_hochberg, holm
from tests.stats.samples import NAN

scipy_stats: Any = import_module("scipy.stats")  # has no stubs
P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20).map(np.array)


def test_holm_by_hand() -> None:
    """Of four tests: .01 · 4, .02 · 3, .03 · 2 which may not fall below .06, .5 · 1."""
    assert holm(np.array([0.5, 0.01, 0.03, 0.02])) == pytest.approx([0.5, 0.04, 0.06, 0.06])


def test_benjamini_hochberg_by_hand() -> None:
    """.5 · 4/4, .03 · 4/3, .02 · 4/2, .01 · 4/1: the smallest may not exceed those above it."""
    assert benjamini_hochberg(np.array([0.5, 0.01, 0.03, 0.02])) == pytest.approx([0.5, 0.04, 0.04, 0.04])


def test_a_test_that_was_not_made_does_not_count() -> None:
    table = np.array([[0.01, NAN], [0.04, NAN]])
    np.testing.assert_allclose(holm(table), [[0.02, NAN], [0.04, NAN]])
    np.testing.assert_allclose(benjamini_hochberg(table), [[0.02, NAN], [0.04, NAN]])
    assert np.isnan(holm(np.array([NAN]))).all()
    assert benjamini_hochberg(np.zeros(0)).shape == (0,)


@given(p=P_VALUES)
def test_benjamini_hochberg_is_scipys(p: Any) -> None:
    np.testing.assert_allclose(benjamini_hochberg(p), scipy_stats.false_discovery_control(p), atol=1e-12)


@given(p=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7))
def test_holm_closes_bonferronis_test(p: list[float]) -> None:
    """A hypothesis is rejected when Bonferroni's test rejects every set of hypotheses that it is in."""
    sets = [each for size in range(1, len(p) + 1) for each in combinations(range(len(p)), size)]
    of_set = {each: min(1.0, len(each) * min(p[test] for test in each)) for each in sets}
    closed = [max(value for each, value in of_set.items() if test in each) for test in range(len(p))]
    assert holm(np.array(p)) == pytest.approx(closed)


@given(p=P_VALUES)
def test_adjusting_makes_no_test_surer_and_changes_no_order(p: Any) -> None:
    family, discovery = holm(p), benjamini_hochberg(p)
    assert (p <= discovery + 1e-12).all()
    assert (discovery <= family + 1e-12).all()
    assert (family <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(family[order]) >= 0).all()
    assert (np.diff(discovery[order]) >= 0).all()


def test_holm_seldom_rejects_what_is_true_and_the_other_keeps_its_share() -> None:
    """1,000 families of 20 tests, five of them of something: at 5 % a family errs at most so often, and of what is
    found a twentieth is false (more exactly 15/20 of it)."""
    rng = np.random.default_rng(1)
    p = rng.random((1000, 20))
    p[:, :5] /= 500
    family = np.array([holm(row) for row in p]) <= 0.05
    discovery = np.array([benjamini_hochberg(row) for row in p]) <= 0.05
    assert family[:, 5:].any(axis=1).mean() <= 0.065
    false = discovery[:, 5:].sum(axis=1) / np.maximum(discovery.sum(axis=1), 1)
    assert false.mean() == pytest.approx(0.05 * 15 / 20, abs=0.012)
    assert (discovery >= family).all()
