"""MLflow, written by one hand: the only import of mlflow.

Explicit run ids through ``MlflowClient`` (fluent runs are process-wide and mix under concurrency), the
database migrated once under a lock (several processes on a fresh one crash), one ``log_batch`` a run. A tracker that
fails never fails the job: what could not be logged stays on disk and is said in one line.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from ccfw.report.tables import COLUMNS, Row
from ccfw.settings import Settings

log = logging.getLogger(__name__)

_LONGEST_PARAM = 500
"""Longer values go to an artifact: MLflow cuts parameters, at best with a warning."""


def track_rows(settings: Settings, rows: Sequence[Row], fingerprint: str, files: Sequence[Path], *, cost: str) -> None:
    """Log one run per row (model × language × judge); the same row of the same report is logged once."""
    try:
        client = _client(settings)
        experiment = _experiment(client, settings)
        for row in rows:
            _log_row(client, experiment, settings, row, fingerprint, files, cost)
    except Exception as error:  # noqa: BLE001 whatever a tracker may raise must not lose the job
        where = files[0].parent if files else settings.workspace
        reason = " ".join(str(error).split())[:300]
        log.warning("MLflow at %s did not take the results (%s); they stay in %s", settings.tracking.uri, reason, where)


def _client(settings: Settings) -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    from mlflow.tracking import MlflowClient

    uri = settings.tracking.uri
    if not uri.startswith("sqlite:///"):
        return MlflowClient(tracking_uri=uri)
    database = Path(uri.removeprefix("sqlite:///"))
    database.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(database.with_name(f".{database.name}.lock")):
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    return client


def _experiment(client: Any, settings: Settings) -> str:
    from mlflow.exceptions import MlflowException

    name = settings.tracking.experiment
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(
                client.create_experiment(name, artifact_location=Path(settings.tracking.artifacts).resolve().as_uri())
            )
        except MlflowException:  # another process was quicker
            found = client.get_experiment_by_name(name)
    return str(found.experiment_id)


def _log_row(
    client: Any, experiment: str, settings: Settings, row: Row, fingerprint: str, files: Sequence[Path], cost: str
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    same = (
        f"tags.fingerprint = '{fingerprint}' and tags.language = '{row.language.value}' and tags.model = '{row.model}'"
    )
    if client.search_runs([experiment], filter_string=f"{same} and attributes.status = 'FINISHED'", max_results=1):
        return
    name = f"{row.model} {row.language.value} {row.judge}"
    tags = {"fingerprint": fingerprint, "language": row.language.value, "model": row.model, "judge": row.judge}
    run = client.create_run(experiment, run_name=name, tags=tags)
    stamp = run.info.start_time
    long, short = _params(settings, row)
    metrics = [Metric(key, value, stamp, 0) for key, value in _metrics(row, cost)]
    client.log_batch(
        run.info.run_id,
        metrics=metrics,
        params=[Param(k, v) for k, v in short.items()],
        tags=[RunTag("job_cost_usd", cost)],
    )
    for path in files:
        client.log_artifact(run.info.run_id, str(path), "transcripts" if path.parent.name == "transcripts" else None)
    if long:
        client.log_text(run.info.run_id, json.dumps(long, indent=2, ensure_ascii=False), "long_params.json")
    client.set_terminated(run.info.run_id)


def _metrics(row: Row, cost: str) -> Iterator[tuple[str, float]]:
    for column in COLUMNS:
        interval = row.intervals[column]
        for suffix, value in (("", interval.mean), ("_lo", interval.low), ("_hi", interval.high)):
            if value is not None:
                yield f"{column}{suffix}", value
    for name in ("episodes", "judged", "not_judged", "broken"):
        yield name, float(getattr(row, name))
    if cost != "unknown":
        yield "job_cost_usd", float(cost)


def _params(settings: Settings, row: Row) -> tuple[dict[str, str], dict[str, str]]:
    """Return (long, short) parameters; the language is the row's own."""
    everything: Mapping[str, Any] = {
        "model": row.model,
        "provider_model": settings.model.provider_model,
        "simulator": settings.simulator.name,
        "judge": row.judge,
        "judge_members": ",".join(settings.judge.members),
        "aggregation": settings.judge.aggregation,
        "language": row.language.value,
        "mode": settings.mode.name.value,
        "trap": settings.trap.name,
        "prompt": f"{settings.prompt.version} {settings.prompt.name}",
        "dataset": settings.dataset.name,
        "seed": settings.seed,
        "limit": settings.limit,
        "bootstrap": f"{settings.bootstrap.name} {settings.bootstrap.resamples} {settings.bootstrap.level}",
        "turn_caps": f"{settings.simulation.caps.turns_per_shard} {settings.simulation.caps.turns_per_episode}",
    }
    texts = {key: str(value) for key, value in everything.items()}
    long = {key: value for key, value in texts.items() if len(value) > _LONGEST_PARAM}
    return long, {key: value for key, value in texts.items() if key not in long}
