"""Exact nearest neighbours of unit vectors: the only import of faiss.

Cosines are summed in another order for one query than for many, so their last bits differ. Here those only choose the
candidates, with a margin; candidates are scored anew, each by itself, and sorted by score, then place. So what is found
for a query depends on nothing but the query and the vectors.
"""

from __future__ import annotations

import logging
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
_BLOCK = 256
"""Queries of one matrix product: the scores of a region of 20,000 then take 20 MB."""
_FEW = 2
"""Queries, those of one seed, that faiss scans; for a hundred it takes four times as long as a matrix product."""
_MARGIN = 8
"""Candidates beyond those that are wanted, at first."""
_ROUNDING = 2e-5
"""Most by which two sums of the same products may differ: a few times what is seen at 384 dimensions."""


def nearest(queries: Floats, vectors: Floats, k: int) -> list[tuple[Ints, Floats]]:
    """Return for each query the places and cosines of its ``k`` nearest, fewer only where there are fewer."""
    wanted = min(k, len(vectors))
    if not wanted:
        return [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)) for _ in queries]
    found: list[tuple[Ints, Floats]] = []
    for start in range(0, len(queries), _BLOCK):
        block = np.ascontiguousarray(queries[start : start + _BLOCK], dtype=np.float32)
        ids, scores = _candidates(block, vectors, wanted + _MARGIN)
        found += [_sure(block[row], vectors, wanted, ids[row], scores[row]) for row in range(len(block))]
    return found


def _sure(query: Floats, vectors: Floats, wanted: int, ids: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """Score candidates anew; look further first where one that was left out may be as near as the last one wanted."""
    while len(ids) < len(vectors) and scores.min() >= np.partition(scores, -wanted)[-wanted] - _ROUNDING:
        (ids,), (scores,) = _candidates(query[None], vectors, 2 * len(ids))
    exact = (vectors[ids].astype(np.float64) * query.astype(np.float64)).sum(axis=1).astype(np.float32)
    best = np.lexsort((ids, -exact))[:wanted]
    return ids[best], exact[best]


def _candidates(queries: Floats, vectors: Floats, k: int) -> tuple[Ints, Floats]:
    """Return the places and rounded cosines of the ``k`` nearest in any order."""
    k = min(k, len(vectors))
    if len(queries) <= _FEW:
        return _by_faiss(queries, vectors, k)
    scores = queries @ vectors.T
    ids = np.argpartition(scores, len(vectors) - k, axis=1)[:, len(vectors) - k :]
    return ids, np.take_along_axis(scores, ids, axis=1)


@lru_cache(1)
def one_thread() -> ThreadpoolController:
    """Return what holds the linear algebra library to one thread: when anything else runs, more wait for each other."""
    return ThreadpoolController().select(user_api="blas")


def _by_faiss(queries: Floats, vectors: Floats, k: int) -> tuple[Ints, Floats]:
    logging.getLogger("faiss.loader").setLevel(logging.WARNING)
    import faiss

    faiss.omp_set_num_threads(1)  # a few milliseconds of work do not pay for waking others
    contiguous = np.ascontiguousarray(vectors, dtype=np.float32)
    scores, ids = faiss.knn(queries, contiguous, k, metric=faiss.METRIC_INNER_PRODUCT)
    return ids, scores
