"""Flat rows → ratings that passed every check, or everything that is wrong with them at once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ccfw.errors import RequestError
from ccfw.humans.printed import brief, exact, shown
from ccfw.humans.records import Key, Rating, Ratings, Row
from ccfw.settings.align import RatingsConfig

LISTED = 20
"""Problems of one kind of place that a message lists; the rest are counted."""
NO_SCORE = "no score given"
OFF_SCALE = "off the scale"
_NOTHING = frozenset({"", "nan", "na", "n/a", "null", "none"})


def ratings_of(rows: Sequence[Row], config: RatingsConfig, key: str, digest: str) -> Ratings:
    """Return the ratings that flat rows hold; ``key`` is the setting that ``config`` is under.

    Raises ``RequestError`` with one line for each missing column, unknown rater or metric, score that is no number or
    off the scale (unless ``scale.outside`` says that it is missing), second rating of the same thing by the same rater,
    and item that is in two regions, languages or clusters.
    """
    check = _Check(config, key)
    if check.lacks_no_column(rows):
        for row in rows:
            check.add(row)
    return check.passed(digest)


@dataclass
class _Check:
    config: RatingsConfig
    key: str
    problems: list[str] = field(default_factory=list)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    scores: dict[Key, dict[str, Rating]] = field(default_factory=dict)
    dropped: dict[tuple[Key, str], str] = field(default_factory=dict)
    raters: dict[str, None] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)
    about: dict[str, dict[str, str]] = field(default_factory=lambda: {"region": {}, "language": {}, "cluster": {}})

    def lacks_no_column(self, rows: Sequence[Row]) -> bool:
        """Say which columns no row has; return whether there is none such."""
        if not rows:
            self.problems.append(f"{self.key}.path={self.config.path}: holds no ratings")
            return False
        there = dict.fromkeys(name for row in rows for name in row.cells)
        found = ", ".join(map(brief, there))
        for name, column in dict.fromkeys(self._columns()):
            if column not in there:
                self.problems.append(
                    f"{self.key}.columns.{name}={column}: no such column in {self.config.path}; it has {found}"
                )
        return not self.problems

    def _columns(self) -> Iterator[tuple[str, str]]:
        columns = self.config.columns
        for name in columns.item:
            yield "item", name
        for kind in ("rater", "metric", "region", "language", "cluster"):
            if (column := getattr(columns, kind)) is not None:
                yield kind, column
        for column, rater, metric in self._score_columns({}):
            if self.config.raters.get(rater, rater) is not None and self.config.metrics.get(metric, metric) is not None:
                yield "score", column

    def _score_columns(self, cells: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
        """Yield every column that holds scores, with the rater and the metric that the file names for it."""
        columns = self.config.columns
        raters = self.config.raters if "{rater}" in columns.score else (_text(cells.get(columns.rater or "")),)
        metrics = self.config.metrics if "{metric}" in columns.score else (_text(cells.get(columns.metric or "")),)
        for rater in raters:
            for metric in metrics:
                yield columns.score.replace("{rater}", rater).replace("{metric}", metric), rater, metric

    def add(self, row: Row) -> None:
        """Take what a row holds."""
        parts = {name: _text(row.cells.get(name)) for name in self.config.columns.item}
        if empty := [name for name, part in parts.items() if not part]:
            self._wrong(row, "names no item" + (f": nothing in {', '.join(empty)}" if len(parts) > 1 else ""))
            return
        item = _joined(list(parts.values()))
        about = {kind: self._about(row, item, kind) for kind in self.about}
        for column, said_rater, said_metric in self._score_columns(row.cells):
            rater = self._named(row, "raters", said_rater, self.config.raters)
            metric = self._named(row, "metrics", said_metric, self.config.metrics)
            if rater is not None and metric is not None:
                self._score(row, _text(row.cells.get(column)), item, rater, metric, about)

    def _named(self, row: Row, kind: str, said: str, names: Mapping[str, str | None]) -> str | None:
        if said in names:
            return names[said]
        if not said:
            self._wrong(row, f"names no {kind.removesuffix('s')}")
            return None
        if not names:
            return said
        self.unknown[kind, said] += 1
        return None

    def _about(self, row: Row, item: str, kind: str) -> str:
        column = getattr(self.config.columns, kind)
        value = _text(row.cells.get(column)) if column is not None else ""
        before = self.about[kind].setdefault(item, value) if value else ""
        if value != before:
            self._wrong(row, f"{brief(item)} is in {kind} {brief(value)}, and in {kind} {brief(before)} before")
        return value

    def _score(self, row: Row, text: str, item: str, rater: str, metric: str, about: Mapping[str, str]) -> None:
        what, scale = f"{brief(metric)} of {brief(item)} by {brief(rater)}", self.config.scale
        if text.lower() in _NOTHING:
            self.dropped[(item, metric), rater] = NO_SCORE
            return
        score = exact(text)
        if score is None:
            self._wrong(row, f"{what} is {text[:40]!r}, no number")
        elif not scale.low <= score <= scale.high:
            if scale.outside == "missing":
                self.dropped[(item, metric), rater] = OFF_SCALE
            else:
                self._wrong(row, f"{what} is {shown(score)}, off the scale of {scale.low:g} to {scale.high:g}")
        else:
            self.raters.setdefault(rater)
            self.metrics.setdefault(metric)
            mine = self.scores.setdefault((item, metric), {})
            rating = Rating(item, rater, metric, score, about["region"], about["language"], about["cluster"], row.where)
            if (first := mine.setdefault(rater, rating)) is not rating:
                self._wrong(row, f"{what} is rated a second time; the first is at {first.where}")

    def _wrong(self, row: Row, what: str) -> None:
        self.problems.append(f"{self.config.path}, {row.where}: {what}")

    def passed(self, digest: str) -> Ratings:
        """Return the ratings, or raise with all that is wrong."""
        problems = self.problems[:LISTED]
        if len(self.problems) > LISTED:
            problems.append(f"{self.config.path}: and {len(self.problems) - LISTED} more like these")
        for (kind, said), times in sorted(self.unknown.items()):
            known = ", ".join(getattr(self.config, kind)) or "any that is named"
            problems.append(
                f"{self.config.path}: {kind.removesuffix('s')} {brief(said)!r}, {times} times, is not in "
                f"{self.key}.{kind}; there are {known}; null leaves one out"
            )
        if not problems and not self.scores:
            problems.append(f"{self.key}.path={self.config.path}: holds no score")
        if problems:
            raise RequestError(problems)
        order = [name for name in self.config.metrics.values() if name is not None] or list(self.metrics)
        return Ratings(
            scores={key: {rater: rating.score for rater, rating in by.items()} for key, by in self.scores.items()},
            metrics=tuple(name for name in dict.fromkeys(order) if name in self.metrics),
            raters=tuple(self.raters),
            regions=self.about["region"],
            languages=self.about["language"],
            clusters=self.about["cluster"],
            dropped=self.dropped,
            digest=digest,
        )


def _joined(parts: Sequence[str]) -> str:
    """Return one id of the parts of an item; different parts never give the same."""
    if len(parts) == 1:
        return parts[0]
    return "/".join(part.replace("\\", "\\\\").replace("/", "\\/") for part in parts)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
