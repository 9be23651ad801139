"""MLflow, written by one hand: the only import of mlflow.

Explicit run ids through ``MlflowClient`` (fluent runs are process-wide and mix under concurrency), the
database migrated once under a lock (several processes on a fresh one crash), ``log_batch`` and no call a metric. A
tracker that fails never fails the job: what could not be logged stays on disk and is said in one line.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from ccfw.judging.score_table import COLUMNS
from ccfw.outcome import Outcome
from ccfw.records import Episode, Judgement
from ccfw.report.board import LANGUAGES
from ccfw.report.tables import Row
from ccfw.secrets import scrub
from ccfw.settings import Settings
from ccfw.store import digest, fingerprint

log = logging.getLogger(__name__)

_LONGEST_PARAM = 500
"""Longer values go to an artifact: MLflow cuts parameters, at best with a warning."""
_LONGEST_TAG = 5000
"""MLflow refuses a run whose tag is longer."""
_LONGEST_NAME = 250
_NO_NAME = re.compile(r"[^\w\-./: ]")
"""What MLflow takes in no name of a metric or a parameter."""
_MOST_METRICS, _MOST_PARAMS = 1000, 100
"""MLflow refuses a batch of more."""
_BOUNDS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "4",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}
"""MLflow would try a server for four minutes, or as long as that asks to wait, when all the work is done already."""
_DATABASE_TRIES = 2
"""MLflow would try ten times, within two minutes, and has no setting for it."""
_LOCK_S = 60.0
"""How long other processes may set up the database, or write a run that is not to be written twice."""
_ENOUGH = 2
"""Runs of a sweep in a row that a tracker may refuse before it is asked no more: each costs seconds of waiting."""


class Tracked(NamedTuple):
    """A run to be logged once, whoever comes first: its fingerprint tells whether it was."""

    name: str
    fingerprint: str
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    files: Sequence[Path] = ()
    curves: Mapping[str, Sequence[tuple[int, float]]] = {}
    """By metric: steps with what it was at each. Its last value is then the run's, whatever ``metrics`` says of it."""


_PARENTS: dict[tuple[str, str, str], str] = {}
"""Ids of the runs above others that this process has found or made, by tracker, experiment and fingerprint."""
_REFUSED: Counter[str] = Counter()
"""How many runs in a row each tracker did not take, in this process."""


class Conversation(NamedTuple):
    """A dialogue with what was judged of it, to be shown in MLflow."""

    episode: Episode
    judgements: Sequence[Judgement]


class Reported(NamedTuple):
    """What the rows of a report have in common."""

    fingerprint: str
    """Of all that the report says: the same again needs no logging."""
    subject: str
    """Of the episodes and judgements that it is about, whatever they hold by now: a rebuilt report has the same."""
    folder: Path
    files: Sequence[Path]
    """Under the folder, whose layout they keep."""
    cost: str
    dataset: str
    """The hash of the scenarios."""
    prompts: Mapping[str, str]
    """Roles → the hash of what they were told."""
    conversations: Sequence[Conversation] = ()


def track_rows(settings: Settings, rows: Sequence[Row], reported: Reported) -> None:
    """Log one run per row (model × language × judge); a report that is built anew brings its rows' runs up to date.

    Of several processes one writes at a time, so that none logs what another is logging.
    """
    with _whatever_happens(settings, "the results", f"; they stay in {reported.folder}"):
        client = _client(settings)
        with FileLock(_runs_lock(settings), timeout=_LOCK_S):
            experiment = _experiment(client, settings)
            for row in rows:
                _log_row(client, experiment, settings, row, reported)


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


def track_nested(settings: Settings, parent: Tracked, run: Tracked) -> None:
    """Log a run under the run of what it has in common with others; each of the two is logged once.

    Of several processes one writes at a time, so that none writes what another is writing. A tracker that has refused
    several runs in a row is asked no more by this process: what it did not take stays on disk, and is logged when the
    same job is run again.
    """
    if _REFUSED[settings.tracking.uri] >= _ENOUGH:
        return
    where = run.files[0].parent if run.files else settings.workspace
    _REFUSED[settings.tracking.uri] += 1
    last = _REFUSED[settings.tracking.uri] == _ENOUGH
    rest = "; it is asked no more: the same line again logs what is missing" if last else ""
    with _whatever_happens(settings, "the results", f"; they stay in {where}{rest}"):
        client = _client(settings)
        with FileLock(_runs_lock(settings), timeout=_LOCK_S):
            experiment = _experiment(client, settings)
            above = _parent(client, experiment, parent, settings.tracking.uri)
            if _logged(client, experiment, run) is None:
                _log(client, experiment, run, {"mlflow.parentRunId": above})
        _REFUSED[settings.tracking.uri] = 0


def _parent(client: Any, experiment: str, run: Tracked, uri: str) -> str:
    """Return the id of the run above others, logged if nobody has logged it yet."""
    key = uri, experiment, run.fingerprint
    if key not in _PARENTS:
        _PARENTS[key] = _logged(client, experiment, run) or _log(client, experiment, run)
    return _PARENTS[key]


def _runs_lock(settings: Settings) -> Path:
    uri = settings.tracking.uri
    if uri.startswith("sqlite:///"):
        database = Path(uri.removeprefix("sqlite:///"))
        return database.with_name(f".{database.name}.runs.lock")
    return Path(settings.workspace) / ".mlflow.runs.lock"


def _logged(client: Any, experiment: str, run: Tracked) -> str | None:
    """Return the id of a run that was logged whole."""
    own = f"tags.fingerprint = '{run.fingerprint}' and attributes.status = 'FINISHED'"
    found = client.search_runs([experiment], filter_string=own, max_results=1)
    return str(found[0].info.run_id) if found else None


def _log(client: Any, experiment: str, run: Tracked, more: Mapping[str, str] = {}) -> str:
    """Log a run whole, going on with what an attempt before left of it; return its id."""
    tags = {key: scrub(value)[:_LONGEST_TAG] for key, value in run.tags.items()}
    made = _begun(client, experiment, run) or client.create_run(
        experiment, run_name=run.name, tags=tags | {"fingerprint": run.fingerprint} | dict(more)
    )
    name, long = str(made.info.run_id), {key: text for key, text in run.params.items() if len(text) > _LONGEST_PARAM}
    _log_numbers(client, name, made.info.start_time, run)
    for path in run.files:
        client.log_artifact(name, str(path))
    if long:
        client.log_text(name, json.dumps(long, indent=2, ensure_ascii=False), "long_params.json")
    client.set_terminated(name)
    return name


def _begun(client: Any, experiment: str, run: Tracked) -> Any | None:
    """Return the run that an attempt to log the same left unfinished."""
    own = f"tags.fingerprint = '{run.fingerprint}' and attributes.status = 'RUNNING'"
    return next(iter(client.search_runs([experiment], filter_string=own, max_results=1)), None)


def _log_numbers(client: Any, name: str, stamp: int, run: Tracked) -> None:
    """Log parameters and metrics; a value with the same stamp and step is one value, however often it is logged."""
    from mlflow.entities import Metric, Param

    single = {key: [(0, value)] for key, value in run.metrics.items() if not run.curves.get(key)}
    metrics = [
        Metric(_named(key), value, stamp, step)
        for key, points in (single | dict(run.curves)).items()
        for step, value in points
        if math.isfinite(value)
    ]
    params = [Param(_named(key), scrub(text)) for key, text in run.params.items() if len(text) <= _LONGEST_PARAM]
    for start in range(0, len(params), _MOST_PARAMS):
        client.log_batch(name, params=params[start : start + _MOST_PARAMS])
    for start in range(0, len(metrics), _MOST_METRICS):
        client.log_batch(name, metrics=metrics[start : start + _MOST_METRICS])


def _named(key: str) -> str:
    """Return a name as MLflow takes it."""
    return _NO_NAME.sub("_", key)[:_LONGEST_NAME]


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


def _log_row(client: Any, experiment: str, settings: Settings, row: Row, reported: Reported) -> None:
    from mlflow.entities import Metric, Param, RunTag

    cost, language = reported.cost, row.language.value
    long, short = _params(settings, row.model, row.judge, language)
    subject = fingerprint({"of": reported.subject, "params": short | long})
    same = f"tags.subject = '{subject}' and attributes.status = 'FINISHED'"
    found = client.search_runs([experiment], filter_string=same, max_results=1)
    if found and found[0].data.tags.get("fingerprint") == reported.fingerprint:
        return
    tags = {"language": language, "model": row.model, "judge": row.judge, "subject": subject}
    tags |= {f"prompts.{role}": each for role, each in reported.prompts.items()}
    name = f"{row.model} {LANGUAGES[row.language]} {row.judge}"
    run = found[0] if found else client.create_run(experiment, run_name=name, tags=tags)
    for tag in {"status", "reason"} & run.data.tags.keys():  # of the job before
        client.delete_tag(run.info.run_id, tag)
    stamp = int(time.time() * 1000) if found else run.info.start_time
    client.log_batch(
        run.info.run_id,
        metrics=[Metric(key, value, stamp, 0) for key, value in _metrics(row, cost)],
        params=[] if found else [Param(k, v) for k, v in short.items()],
        tags=[RunTag("job_cost_usd", cost)],
    )
    if not found:
        client.log_inputs(run.info.run_id, [_dataset(settings, reported.dataset)])
    for path in reported.files:
        parts = path.relative_to(reported.folder).parent.parts
        client.log_artifact(run.info.run_id, str(path), "/".join(parts) or None)
    if long:
        client.log_text(run.info.run_id, json.dumps(long, indent=2, ensure_ascii=False), "long_params.json")
    client.set_tag(run.info.run_id, "fingerprint", reported.fingerprint)
    client.set_terminated(run.info.run_id)
    own = [each for each in reported.conversations if each.episode.language_mode is row.language]
    with _whatever_happens(settings, "the conversations"):  # the numbers are safe by now
        for conversation in own:
            _log_conversation(client, settings.tracking.uri, experiment, run.info.run_id, conversation)


def _dataset(settings: Settings, digest: str) -> Any:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = {"path": str(settings.dataset.path) if settings.dataset.path else f"shipped: {settings.dataset.name}"}
    found = Dataset(settings.dataset.name, digest, "local", json.dumps(source))
    return DatasetInput(found, [InputTag("mlflow.data.context", "evaluation")])


def _log_conversation(client: Any, uri: str, experiment: str, run: str, conversation: Conversation) -> None:
    """Log a dialogue as a trace of the run, and every judgement of it: each once, whatever report shows it.

    Spans go where the process's tracking URI points, whatever the client's, and in a thread unless told otherwise.
    """
    os.environ.setdefault("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")
    import mlflow

    if mlflow.get_tracking_uri() != uri:
        mlflow.set_tracking_uri(uri)
    dialogue = digest([conversation.episode.model_dump_json()])
    own = f"tags.dialogue = '{dialogue}'"
    found = client.search_traces([experiment], filter_string=own, max_results=1, include_spans=False)
    there = set()
    if found:
        trace = found[0].info.trace_id
        there = {_known(each) for each in found[0].info.assessments}
        if found[0].info.request_metadata.get("mlflow.sourceRun") != run:
            client.link_traces_to_run([trace], run)
    else:
        trace = _trace(client, experiment, run, dialogue, conversation)
    for judgement in conversation.judgements:
        feedback = _feedback(judgement)
        wrong = feedback.get("error")
        key = feedback["name"], feedback["source"].source_id, feedback.get("value"), wrong and wrong.error_code
        if key not in there:
            mlflow.log_feedback(trace_id=trace, **feedback)


def _known(assessment: Any) -> tuple[Any, ...]:
    """Return what tells an assessment of a trace from others."""
    wrong = assessment.error
    return assessment.name, assessment.source.source_id, assessment.value, wrong and wrong.error_code


def _trace(client: Any, experiment: str, run: str, dialogue: str, conversation: Conversation) -> str:
    """Log the chat as the root of a trace of the run, and a span for each turn; return the trace's id."""
    episode = conversation.episode
    said = [
        {"role": role, "content": scrub(text)}
        for turn in episode.turns
        for role, text in (("user", turn.user), ("assistant", turn.assistant))
    ]
    persona = episode.seed.persona
    root = client.start_trace(
        episode.episode_id,
        span_type="AGENT",
        inputs={"messages": said[:-1]},
        tags={
            "model": episode.target_model,
            "language": episode.language_mode.value,
            "region": persona.region.value,
            "identity": persona.identity,
            "tier": episode.seed.challenge_config.challenge_type.value,
            "ended": episode.termination_reason.value,
            "dialogue": dialogue,
        },
        experiment_id=experiment,
        run_id=run,
    )
    for number, (asked, answered) in enumerate(zip(said[::2], said[1::2], strict=True), 1):
        span = client.start_span(
            f"turn {number}",
            trace_id=root.trace_id,
            parent_id=root.span_id,
            span_type="CHAT_MODEL",
            inputs={"messages": [asked]},
        )
        client.end_span(root.trace_id, span.span_id, outputs=_chosen(answered))
    client.end_trace(root.trace_id, outputs=_chosen(said[-1]) if said else None)
    return str(root.trace_id)


def _chosen(message: Mapping[str, str]) -> dict[str, Any]:
    return {"choices": [{"message": dict(message)}]}


def _feedback(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as MLflow's assessments are given: a score with its reasons, or why there is none."""
    from mlflow.entities import AssessmentError, AssessmentSource

    named = (*judgement.tripwires_triggered, *judgement.taboos_violated)
    broke = f"\nBroken: {'; '.join(named)}" if named else ""
    found: dict[str, Any] = {
        "name": judgement.metric.value,
        "source": AssessmentSource("LLM_JUDGE", judgement.judge),
        "rationale": scrub(judgement.reasoning + broke),
    }
    if judgement.failure is None:
        return found | {"value": judgement.score}
    return found | {"error": AssessmentError(judgement.failure.kind.value, scrub(judgement.failure.detail))}


def _metrics(row: Row, cost: str) -> Iterator[tuple[str, float]]:
    for column in COLUMNS:
        interval = row.intervals[column]
        for suffix, value in (("", interval.mean), ("_lo", interval.low), ("_hi", interval.high)):
            if value is not None:
                yield f"{column}{suffix}", value
    for name in ("episodes", "judged", "not_judged", "broken", "not_run"):
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
