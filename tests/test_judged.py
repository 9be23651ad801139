"""Manifests of *evaluate* are read strictly, and what is none stops nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ccfw.stages.judged import Paid, folders, paid
from ccfw.store import Output, fingerprint


def manifest(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "model": "m",
        "label": "M",
        "member": "j",
        "stopped": None,
        "fingerprint_of": {
            "episodes": {"seed": 0},
            "member": {"size": "large", "extra": [1]},
            "prompts": "4567",
            "x": 1.5,
        },
        "settings": {"prompt": {"name": "auto", "version": "v1", "large": "paper", "small": "compact"}},
    }
    return fields | changes


def put(root: Path, content: object, name: str = "one") -> Path:
    path = root / "evaluate" / name / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_what_decided_the_judgements_is_read_whole(tmp_path: Path) -> None:
    put(tmp_path, manifest())
    [folder] = folders(tmp_path)
    assert folder.manifest.content == manifest()["fingerprint_of"]
    assert folder.output.folder == tmp_path / "evaluate" / "one"


def episodes(**changes: Any) -> dict[str, Any]:
    return {"fingerprint_of": manifest()["fingerprint_of"] | {"episodes": {"seed": 0} | changes}}


PART = "fingerprint_of.episodes"


@pytest.mark.parametrize(("size", "style"), [("large", "v1/paper"), ("small", "v1/compact")])
def test_the_style_is_the_one_for_the_members_size(tmp_path: Path, size: str, style: str) -> None:
    put(tmp_path, manifest(fingerprint_of={"episodes": {}, "member": {"size": size}, "prompts": "4567"}))
    [folder] = folders(tmp_path)
    assert folder.manifest.style == style


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"member": None}, "member Input should be a valid string", id="member"),
        pytest.param({"fingerprint_of": {}}, "fingerprint_of.episodes Field required", id="parts"),
        pytest.param({"stopped": {"n": "many"}}, "stopped.n Input should be a valid integer", id="stopped"),
        pytest.param({"paid": 3}, "paid Input should be an object", id="paid"),
        pytest.param(
            {"paid": {"usd": -5.0, "unpriced_calls": 0}},
            "paid.usd Input should be greater than or equal to 0",
            id="paid-less-than-nothing",
        ),
        pytest.param(episodes(mode="weird"), f"{PART} mode: Input should be 'eval' or 'gold'", id="mode"),
        pytest.param(episodes(mode=None), f"{PART} mode: Input should be 'eval' or 'gold'", id="no-mode"),
        pytest.param(episodes(simulator="gpt"), f"{PART} simulator: Input should be a valid dictionary", id="user"),
        pytest.param(episodes(simulator=[1]), f"{PART} simulator: Input should be a valid dictionary", id="users"),
        pytest.param(episodes(model=3), f"{PART} model: Input should be a valid dictionary", id="model"),
        pytest.param(episodes(dataset=["d"]), f"{PART} dataset: Input should be a valid string", id="dataset"),
        pytest.param(
            episodes(gold_prompts={}), f"{PART} gold_prompts: Input should be a valid string", id="gold-prompts"
        ),
    ],
)
def test_a_manifest_of_another_form_is_left_out_and_the_next_one_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], reason: str
) -> None:
    path = put(tmp_path, manifest(**changes))
    put(tmp_path, manifest(), "two")
    assert [folder.output.folder.name for folder in folders(tmp_path)] == ["two"]
    assert caplog.messages == [f"{path}: left out, not a manifest of stage=evaluate: {reason}"]


@pytest.mark.parametrize("name", ["0_before", "zzz_backup"])
def test_a_copy_of_a_folder_is_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    own = fingerprint(manifest()["fingerprint_of"])
    for place in (own, name):
        put(tmp_path, manifest(), place)
    assert [folder.output.folder.name for folder in folders(tmp_path)] == [own]
    assert caplog.messages == [f"{tmp_path / 'evaluate' / name}: left out, a copy of {own}"]


def test_a_folder_in_a_manifests_place_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "evaluate" / "one" / "manifest.json"
    path.mkdir(parents=True)
    assert list(folders(tmp_path)) == []
    assert caplog.messages == [f"{path}: left out: Is a directory"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        pytest.param(
            '{"paid": {"usd": 0.5, "unpriced_calls": 1, "lost_calls": 2}}', Paid(usd=0.5, unpriced_calls=1), id="paid"
        ),
        pytest.param("{}", None, id="silent"),
        pytest.param('{"paid": {"usd": "much"}}', None, id="no-number"),
        pytest.param('{"paid": {"usd": 1e999, "unpriced_calls": 0}}', None, id="without-end"),
        pytest.param('{"paid": {"usd": NaN, "unpriced_calls": 0}}', None, id="not-a-number"),
        pytest.param('{"paid": {"usd": -5.0, "unpriced_calls": 0}}', None, id="less-than-nothing"),
        pytest.param('{"paid": {"usd": 0.5, "unpriced_calls": -1}}', None, id="fewer-calls-than-none"),
        pytest.param("{", None, id="damaged"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_what_a_manifest_does_not_say_was_paid_is_unknown(
    tmp_path: Path, content: str | None, found: Paid | None
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content, "utf-8")
    assert paid(Output(tmp_path)) == found
