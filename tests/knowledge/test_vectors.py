"""Neighbours within regions: exact, of the region, the same as a plain scan's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccfw.errors import StoreError
from ccfw.knowledge.nearest import Floats, nearest
from ccfw.knowledge.vectors import Hits, VectorIndex, sorted_by_region, unit
from ccfw.resources import resource

REGIONS = ("SG", "MY", "ID")


def drawn(rng: np.random.Generator, count: int, dimension: int = 8) -> Floats:
    return unit(rng.standard_normal((count, dimension)).astype(np.float32))


def made(seed: int, count: int) -> tuple[VectorIndex, list[str], np.random.Generator]:
    """Return an index of random vectors, and the region of each position."""
    rng = np.random.default_rng(seed)
    regions = [REGIONS[i] for i in rng.integers(0, len(REGIONS), count)]
    order, ranges = sorted_by_region(regions)
    return VectorIndex(drawn(rng, count), ranges), [regions[i] for i in order], rng


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 80),
    k=st.integers(1, 30),
    asked=st.lists(st.sampled_from([*REGIONS, "JP"]), min_size=1, max_size=4),
)
def test_a_search_finds_what_a_plain_scan_of_the_regions_finds(seed: int, count: int, k: int, asked: list[str]) -> None:
    index, region_of, rng = made(seed, count)
    query = drawn(rng, 1)
    (hits,) = index.search(query, asked, k)
    allowed = [i for i in range(count) if region_of[i] in asked]
    scores = index.vectors @ query[0]
    expected = sorted(-float(scores[i]) for i in allowed)[:k]
    assert len(hits.ids) == min(k, len(allowed))
    assert [region_of[i] in asked for i in hits.ids] == [True] * len(hits.ids)
    assert [-float(score) for score in hits.scores] == pytest.approx(expected, abs=1e-5)
    assert [float(scores[i]) for i in hits.ids] == pytest.approx([float(s) for s in hits.scores], abs=1e-5)


def test_z_is_the_distance_from_what_the_query_scores_in_its_region() -> None:
    index, region_of, rng = made(3, 60)
    query = drawn(rng, 1)
    (hits,) = index.search(query, ["SG"], 5)
    own = np.array([float(index.vectors[i] @ query[0]) for i in range(60) if region_of[i] == "SG"])
    expected = [(float(score) - own.mean()) / own.std() for score in hits.scores]
    assert [float(z) for z in hits.z] == pytest.approx(expected, rel=1e-3)


def plain(hits: Hits) -> tuple[list[int], list[float], list[float]]:
    return hits.ids.tolist(), hits.scores.tolist(), hits.z.tolist()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 200),
    different=st.integers(1, 200),
    k=st.integers(1, 40),
    asked=st.lists(st.sampled_from([*REGIONS, "JP"]), min_size=1, max_size=4),
)
def test_every_row_of_a_batch_is_what_it_is_alone_to_the_last_bit(
    seed: int, count: int, different: int, k: int, asked: list[str]
) -> None:
    index, _, rng = made(seed, count)
    index.vectors[:] = index.vectors[rng.integers(0, min(different, count), count)]  # many are as near as each other
    queries = drawn(rng, 300)
    together = index.search(queries, asked, k)
    alone = [index.search(queries[row : row + 1], asked, k)[0] for row in range(0, 300, 30)]
    assert [plain(hits) for hits in together[::30]] == [plain(hits) for hits in alone]


@pytest.mark.parametrize("count", [1, 9], ids=["alone", "together"])
def test_of_vectors_that_are_as_near_as_each_other_the_first_are_found(count: int) -> None:
    rng = np.random.default_rng(9)
    same, query = drawn(rng, 1, 384), drawn(rng, 1, 384)
    for ids, _ in nearest(np.repeat(query, count, axis=0), np.repeat(same, 500, axis=0), 5):
        assert ids.tolist() == [0, 1, 2, 3, 4]


def test_a_region_without_documents_has_no_neighbours() -> None:
    index, _, rng = made(5, 10)
    (hits,) = index.search(drawn(rng, 1), ["JP"], 3)
    assert (hits.ids.tolist(), hits.scores.tolist(), hits.z.tolist()) == ([], [], [])


def test_vectors_that_are_not_of_length_one_are_refused() -> None:
    with pytest.raises(ValueError) as caught:
        VectorIndex(np.full((3, 4), 1.0, dtype=np.float32), {"SG": (0, 3)})
    assert str(caught.value) == "the vectors are not of length 1"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
@pytest.mark.parametrize("row", [0, 1, 11_999])
def test_one_vector_of_many_that_is_none_is_found(value: float, row: int) -> None:
    vectors = np.repeat(drawn(np.random.default_rng(1), 1), 12_000, axis=0)
    vectors[row] = value
    with pytest.raises(ValueError, match="the vectors are not of length 1"):
        VectorIndex(vectors, {"SG": (0, 12_000)})


@pytest.mark.parametrize("name", ["vectors.npy", "spreads.npy"])
def test_a_file_that_is_not_what_was_written_is_found_by_its_hash(tmp_path: Path, name: str) -> None:
    index, _, _ = made(6, 40)
    index.save(tmp_path, {})
    content = bytearray((tmp_path / name).read_bytes())
    content[-1] ^= 1  # a sign or a bit of an exponent: a number still
    content[-5] ^= 128
    (tmp_path / name).write_bytes(bytes(content))
    with pytest.raises(StoreError) as caught:
        VectorIndex.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: not a vector index: not what was written: {name}"


def test_vectors_and_spreads_that_are_no_numbers_are_found_without_a_hash(tmp_path: Path) -> None:
    index, _, _ = made(6, 40)
    for name, reason in (
        ("vectors.npy", "the vectors are not of length 1"),
        ("spreads.npy", "its spreads are no numbers"),
    ):
        index.save(tmp_path, {})
        forget_hashes(tmp_path)
        held = np.load(tmp_path / name)
        held[1] = np.nan
        np.save(tmp_path / name, held)
        with pytest.raises(StoreError) as caught:
            VectorIndex.load(tmp_path)
        assert str(caught.value) == f"{tmp_path}: not a vector index: {reason}"


def test_the_hashes_are_those_of_the_files(tmp_path: Path) -> None:
    index, _, _ = made(6, 40)
    index.save(tmp_path, {})
    for folder in (tmp_path, *(resource("data") / "knowledge" / "vectors").glob("*/*")):
        known = json.loads((folder / "index.json").read_text("utf-8"))["sha256"]
        assert known == {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.glob("*.npy")}


def test_an_index_comes_back_from_disk_as_it_was(tmp_path: Path) -> None:
    index, _, rng = made(6, 40)
    index.save(tmp_path, {"embedder": "e5", "digest": "abc"})
    loaded, about = VectorIndex.load(tmp_path)
    query = drawn(rng, 1)
    assert about["metric"] == "inner_product_of_unit_vectors"
    assert (about["embedder"], about["digest"]) == ("e5", "abc")
    assert isinstance(loaded.vectors, np.memmap)
    assert loaded.search(query, ["MY"], 4)[0].ids.tolist() == index.search(query, ["MY"], 4)[0].ids.tolist()


def test_the_spreads_of_a_large_index_are_kept_with_it(tmp_path: Path) -> None:
    index, _, rng = made(6, 40)
    index.save(tmp_path, {})
    query = drawn(rng, 1)
    found, expected = VectorIndex.load(tmp_path)[0].search(query, ["MY"], 4), index.search(query, ["MY"], 4)
    assert found[0].z.tolist() == expected[0].z.tolist()
    forget_hashes(tmp_path)
    np.save(tmp_path / "spreads.npy", np.zeros((3, 9, 8), dtype=np.float32))
    assert (VectorIndex.load(tmp_path)[0].search(query, ["MY"], 4)[0].z > 1e3).all()  # as if nothing differed


def forget_hashes(folder: Path) -> None:
    """Make an index one that is too large to be read for its hashes."""
    about = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(about | {"sha256": {}}))


def test_a_small_index_is_kept_without_spreads(tmp_path: Path) -> None:
    index, _, _ = made(6, 24)  # as many numbers as the three covariances have, or fewer
    index.save(tmp_path, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.json", "vectors.npy"]


def test_what_is_no_index_is_said_to_be_none(tmp_path: Path) -> None:
    index, _, _ = made(7, 40)
    index.save(tmp_path, {})
    about = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(about | {"metric": "l2"}))
    with pytest.raises(StoreError) as caught:
        VectorIndex.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: not a vector index: its manifest is of another one"


def test_a_pickled_array_is_not_opened(tmp_path: Path) -> None:
    index, _, _ = made(8, 5)
    index.save(tmp_path, {})
    np.save(tmp_path / "vectors.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(StoreError):
        VectorIndex.load(tmp_path)
