"""A setting → the ratings that it names, read once a process."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ccfw.errors import RequestError
from ccfw.humans.checking import ratings_of
from ccfw.humans.files import files_of, read_rows
from ccfw.humans.layouts import FLATTEN
from ccfw.humans.records import Ratings
from ccfw.settings.align import RatingsConfig
from ccfw.store import digest

VERSION = 2
"""Raised when the same file is read as other ratings."""


def read_ratings(config: RatingsConfig, key: str) -> Ratings:
    """Return the ratings of a file, or of a folder's files; ``key`` is the setting that ``config`` is under.

    Raises ``RequestError`` with everything that is wrong, a line each.
    """
    if config.path is None:
        raise RequestError([f"{key}.path: must be given, as in {key}.path=my/ratings.csv (docs/align.md)"])
    path = Path(config.path)
    try:
        files = [path, *(files_of(path) if path.is_dir() else ())]
        states = tuple((str(each.resolve()), each.stat().st_size, each.stat().st_mtime_ns) for each in files)
    except OSError as error:
        raise RequestError([f"{key}.path={config.path}: {error.strerror or error}"]) from None
    return _read(config.model_dump_json(), key, states)


@lru_cache(maxsize=4)
def _read(config_json: str, key: str, _states: tuple[tuple[str, int, int], ...]) -> Ratings:
    config = RatingsConfig.model_validate_json(config_json)
    rows = read_rows(Path(config.path or ""), f"{key}.path")
    flat = list(FLATTEN[config.layout](rows))
    decides = config.model_dump_json(exclude={"name", "path"})
    content = (f"{row.where}{sorted((name, str(cell)) for name, cell in row.cells.items())}" for row in flat)
    return ratings_of(flat, config, key, digest([str(VERSION), decides, *content]))
