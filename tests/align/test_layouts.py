"""The same ratings in every layout and kind of file; exports as Label Studio and Argilla write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ccfw.errors import RequestError
from tests.align.files import config, flat, read, table

EXPECTED = {
    ("d1", "helpful", "ann"): "4",
    ("d1", "honest", "ann"): "5",
    ("d1", "helpful", "bo"): "3",
    ("d2", "helpful", "bo"): "2",
}
ROWS = [(item, rater, metric, score) for (item, metric, rater), score in EXPECTED.items()]
RECORDS = [dict(zip(("item", "rater", "metric", "score"), row, strict=True)) for row in ROWS]
WHOLE = [record | {"score": int(record["score"])} for record in RECORDS]
BOTH = {"metrics": {"helpful": "helpful", "honest": "honest"}}


def test_long_csv_with_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"\xef\xbb\xbf" + table("item rater metric score", ROWS).replace("\n", "\r\n").encode())
    assert flat(read("long", path)) == EXPECTED


def test_long_tsv(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    path.write_text("\n".join("\t".join(row) for row in [("item", "rater", "metric", "score"), *ROWS]), "utf-8")
    assert flat(read("long", path)) == EXPECTED


@pytest.mark.parametrize("records", [RECORDS, WHOLE], ids=["texts", "numbers"])
def test_long_json_lines(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n\n", "utf-8")
    assert flat(read("long", path)) == EXPECTED


def test_long_json(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(WHOLE), "utf-8")
    assert flat(read("long", path)) == EXPECTED


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_long_parquet(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "r.parquet"
    pd.DataFrame(WHOLE).astype({"score": kind}).to_parquet(path)
    assert flat(read("long", path)) == EXPECTED


def test_a_column_for_each_metric(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(table("item rater helpful honest", [("d1", "ann", 4, 5), ("d1", "bo", 3, ""), ("d2", "bo", 2, "")]))
    assert flat(read("wide", path, **BOTH)) == EXPECTED


def test_a_column_for_each_rater(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    rows = [("d1", "helpful", 4, 3), ("d1", "honest", 5, ""), ("d2", "helpful", "", 2)]
    path.write_text(table("item metric score_1 score_2", rows))
    columns = {"rater": None, "metric": "metric", "score": "score_{rater}"}
    assert flat(read("wide", path, columns=columns, raters={1: "ann", 2: "bo"}, metrics={})) == EXPECTED


def test_a_column_for_each_rater_and_metric_and_an_item_in_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        table("set no ann:helpful ann:honest bo:helpful bo:honest", [("d", 1, 4, 5, 3, ""), ("d", 2, "", "", 2, "")])
    )
    columns = {"item": ["set", "no"], "rater": None, "score": "{rater}:{metric}"}
    found = read("wide", path, columns=columns, raters={"ann": "ann", "bo": "bo"}, **BOTH)
    assert flat(found) == {(item.replace("d", "d/"), *rest): score for (item, *rest), score in EXPECTED.items()}


def answer(name: str, kind: str, value: object) -> dict[str, Any]:
    return {"id": "x1", "from_name": name, "to_name": "chat", "type": kind, "origin": "manual", "value": {kind: value}}


LABEL_STUDIO = [
    {
        "id": 7,
        "data": {"episode_id": "d1", "region": "SG", "chat": [{"role": "user", "text": "hi"}]},
        "annotations": [
            {
                "id": 1001,
                "completed_by": {"id": 3, "email": "ann", "first_name": ""},
                "result": [
                    answer("helpful", "rating", 4),
                    answer("honest", "choices", ["5"]),
                    answer("why", "textarea", ["clear"]),
                ],
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": "2026-03-09T22:16:08.728353Z",
                "lead_time": 4.288,
                "task": 7,
            },
            {"id": 1002, "completed_by": "bo", "result": [answer("helpful", "number", 3)], "was_cancelled": False},
            {"id": 1003, "completed_by": "cy", "result": [answer("helpful", "rating", 1)], "was_cancelled": True},
        ],
        "predictions": [{"model_version": "m", "result": [answer("helpful", "rating", 5)]}],
        "drafts": [],
        "project": 83,
    },
    {
        "id": 8,
        "data": {"episode_id": "d2", "region": "MY"},
        "annotations": [{"id": 1004, "completed_by": "bo", "result": [answer("helpful", "rating", 2)]}],
    },
]


def test_label_studio(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(LABEL_STUDIO), "utf-8")
    found = read("label_studio", path, columns={"region": "region"})
    assert flat(found) == EXPECTED
    assert found.regions == {"d1": "SG", "d2": "MY"}


def test_label_studio_by_its_own_number_of_the_task(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(LABEL_STUDIO), "utf-8")
    found = read("label_studio", path, columns={"item": ["id"]}, metrics={"helpful": "helpful", "honest": None})
    assert flat(found) == {("7", "helpful", "ann"): "4", ("7", "helpful", "bo"): "3", ("8", "helpful", "bo"): "2"}


def test_a_choice_of_several_answers_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    task = {
        "id": 1,
        "data": {"episode_id": "d1"},
        "annotations": [{"completed_by": 1, "result": [answer("helpful", "choices", ["4", "5"])]}],
    }
    path.write_text(json.dumps([task]), "utf-8")
    with pytest.raises(RequestError) as caught:
        read("label_studio", path)
    assert caught.value.problems == (f"""{path}, record 1: helpful of d1 by 1 is "['4', '5']", no number""",)


NESTED = [
    {
        "id": "d1",
        "status": "completed",
        "_server_id": "3f0c",
        "fields": {"chat": "hi"},
        "metadata": {"region": "SG"},
        "suggestions": {"helpful": {"value": 5, "score": None, "agent": "judge"}},
        "responses": {
            "helpful": [{"value": 4, "user_id": "ann"}, {"value": 3, "user_id": "bo"}],
            "honest": [{"value": 5, "user_id": "ann"}],
        },
        "vectors": {},
    },
    {"id": "d2", "fields": {"chat": "ho"}, "metadata": {}, "responses": {"helpful": [{"value": 2, "user_id": "bo"}]}},
]
FLAT = [
    {
        "id": "d1",
        "status": "completed",
        "chat": "hi",
        "region": "SG",
        "helpful.responses": [4, 3, 1],
        "helpful.responses.users": ["ann", "bo", "cy"],
        "helpful.responses.status": ["submitted", "submitted", "draft"],
        "honest.responses": [5, 1],
        "honest.responses.users": ["ann", "cy"],
        "honest.responses.status": ["submitted", "discarded"],
        "helpful.suggestion": 5,
        "helpful.suggestion.agent": "judge",
    },
    {
        "id": "d2",
        "chat": "ho",
        "region": None,
        "helpful.responses": [2],
        "helpful.responses.users": ["bo"],
        "helpful.responses.status": ["submitted"],
        "honest.responses": None,
    },
]


@pytest.mark.parametrize("records", [NESTED, FLAT], ids=["nested", "flat"])
def test_argilla(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = tmp_path / "records.json"
    path.write_text(json.dumps(records), "utf-8")
    found = read("argilla", path, columns={"region": "region"})
    assert flat(found) == EXPECTED
    assert found.regions == {"d1": "SG"}


@pytest.mark.parametrize("option", ["label_studio", "argilla"])
@pytest.mark.parametrize(
    "content", [[{}], [{"annotations": 3, "responses": []}], [{"annotations": [None, {"result": "x"}]}]], ids=str
)
def test_an_export_of_another_shape_holds_no_ratings(tmp_path: Path, option: str, content: object) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(RequestError) as caught:
        read(option, path)
    assert caught.value.problems == (f"ratings.path={path}: holds no ratings",)


def test_names_are_mapped_and_put_in_the_mappings_order(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(table("item rater metric score", ROWS))
    found = read("long", path, metrics={"honest": "Honesty", "helpful": "Help"}, raters={"bo": "B", "ann": "A"})
    assert found.metrics == ("Honesty", "Help")
    assert flat(found)["d1", "Help", "A"] == "4"


def test_the_digest_hangs_on_content_and_mapping_and_not_on_the_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in (first, second):
        path.write_text(table("item rater metric score", ROWS))
    renamed = read("long", first, metrics={"honest": "honest", "helpful": "h"})
    assert read("long", first).digest == read("long", second).digest != renamed.digest
    second.write_text(table("item rater metric score", ROWS[:-1]))
    assert read("long", first).digest != read("long", second).digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"columns": {"score": "{metric}"}},
            "columns.metric or {metric} in columns.score says who or what; exactly one",
        ),
        (
            {"columns": {"rater": None}},
            "columns.rater or {rater} in columns.score says who or what; exactly one of them",
        ),
        (
            {"columns": {"rater": None, "score": "{rater}"}},
            "raters must name those whose columns columns.score={rater}",
        ),
        ({"scale": {"low": 5}}, "low=5 is not below high=5"),
    ],
    ids=["metric twice", "no rater", "unnamed columns", "scale"],
)
def test_a_mapping_that_cannot_be_followed_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="Value error") as caught:
        config("long", "r.csv", **changes)
    assert message in str(caught.value)
