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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from ccfw.outcome import Outcome
from ccfw.report.tables import COLUMNS, Row
from ccfw.secrets import scrub
from ccfw.settings import Settings

log = logging.getLogger(__name__)

_LONGEST_PARAM = 500
"""Longer values go to an artifact: MLflow cuts parameters, at best with a warning."""
_LONGEST_TAG = 5000
"""MLflow refuses a run whose tag is longer."""
_BOUNDS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "4",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}
"""MLflow would try a server for four minutes, or as long as that asks to wait, when all the work is done already."""
_DATABASE_TRIES = 2
"""MLflow would try ten times, within two minutes, and has no setting for it."""
_LOCK_S = 60.0
"""How long other processes may set up the database."""


def track_rows(settings: Settings, rows: Sequence[Row], fingerprint: str, files: Sequence[Path], *, cost: str) -> None:
    """Log one run per row (model × language × judge); the same row of the same report is logged once."""
    where = files[0].parent if files else settings.workspace
    with _whatever_happens(settings, "the results", f"; they stay in {where}"):
        client = _client(settings)
        experiment = _experiment(client, settings)
        for row in rows:
            _log_row(client, experiment, settings, row, fingerprint, files, cost)


def track_failure(settings: Settings, outcome: Outcome, overrides: Sequence[str]) -> None:
    """Log a job that failed before it had a row to log: its reason, and what it was asked for with."""
    with _whatever_happens(settings, "the failure"):
        client = _client(settings)
        from mlflow.entities import Param, RunTag

        model, judge, language = settings.model.name, settings.judge.name, settings.language.name
        tags = {"language": language, "model": model, "judge": judge, "reason": outcome.reason[:_LONGEST_TAG]}
        tags["overrides"] = scrub(" ".join(overrides))[:_LONGEST_TAG]
        name = f"{model} {language} {judge} {settings.stage.name}"
        run = client.create_run(_experiment(client, settings), run_name=name, tags=tags)
        _, short = _params(settings, model, judge, language)
        client.log_batch(
            run.info.run_id,
            params=[Param(key, scrub(value)) for key, value in short.items()],
            tags=[RunTag("job_cost_usd", outcome.cost)],
        )
        client.set_terminated(run.info.run_id, status="FAILED")


def mark_partial(settings: Settings, report: Path, outcome: Outcome) -> None:
    """Tag the runs of a report whose job could not do all that was asked."""
    with _whatever_happens(settings, "that the job is partial"):
        client = _client(settings)
        own = f"tags.fingerprint = '{report.name}' and tags.model = '{settings.model.name}'"
        for run in client.search_runs([_experiment(client, settings)], filter_string=own):
            client.set_tag(run.info.run_id, "status", outcome.status)
            client.set_tag(run.info.run_id, "reason", outcome.reason[:_LONGEST_TAG])


@contextmanager
def _whatever_happens(settings: Settings, what: str, consolation: str = "") -> Iterator[None]:
    """Make a warning of whatever the tracker raises."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 whatever a tracker may raise must not lose the job
        reason = scrub(" ".join(str(error).split()))[:300]
        log.warning("MLflow at %s did not take %s (%s)%s", settings.tracking.uri, what, reason, consolation)


def _client(settings: Settings) -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    for name, value in _BOUNDS.items():
        os.environ.setdefault(name, value)
    for tries_again in ("urllib3.connectionpool", "mlflow.store.db.utils"):  # what comes of it is said in our line
        logging.getLogger(tries_again).setLevel(logging.ERROR)
    from mlflow.tracking import MlflowClient

    uri = settings.tracking.uri
    if uri.startswith(("http://", "https://")):
        return MlflowClient(tracking_uri=uri)
    from mlflow.store.db import utils

    utils.MAX_RETRY_COUNT = _DATABASE_TRIES
    if not uri.startswith("sqlite:///"):
        return MlflowClient(tracking_uri=uri)
    database = Path(uri.removeprefix("sqlite:///"))
    database.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(database.with_name(f".{database.name}.lock"), timeout=_LOCK_S):
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
    long, short = _params(settings, row.model, row.judge, row.language.value)
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


def _params(settings: Settings, model: str, judge: str, language: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return (long, short) parameters; model, judge and language are those of the run."""
    everything: Mapping[str, Any] = {
        "model": model,
        "provider_model": settings.model.provider_model,
        "simulator": settings.simulator.name,
        "judge": judge,
        "judge_members": ",".join(settings.judge.members),
        "aggregation": settings.judge.aggregation,
        "language": language,
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
