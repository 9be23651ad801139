"""Scenarios of ours, written as the paper's authors publish theirs."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.samples import STARTER, raw_scenario

Row = dict[str, Any]
SEEDS = [path.stem for path in sorted(STARTER.glob("*.json"))]
FLAGS = {"Plausible": True, "Fair_Answerable": True, "Challenging": True, "Structured": True}


def whole(seed_id: str) -> Row:
    """Return a record in the sections of Figure 14 with the script of Figure 15, and in them all that ours have."""
    raw = raw_scenario(seed_id)
    blueprint, shards = raw["Blueprint"], raw["Interaction_Sequence"]
    parent = blueprint["Scenario_Instantiation"]["Parent_Template"]
    meta = blueprint.pop("Seed") | {"Domain": parent.pop("Domain"), "Subdomain": parent.pop("Subdomain")}
    meta |= {"Multi_Hop_Chain": blueprint.pop("Multi_Hop_Chain"), "Validation": blueprint.pop("Validation")}
    return {"Meta_Data": meta, **blueprint, "Simulation_Script": {"Interaction_Sequence": shards}}


def parted(seed_id: str) -> tuple[Row, Row]:
    """Return the blueprint and the shards of a scenario, as two records; the shards as Appendix G.3.1 spells them."""
    row = whole(seed_id)
    script = row.pop("Simulation_Script")
    for shard in script["Interaction_Sequence"]:
        shard["Transition_Logic"] = shard.pop("Transition_Guide")
    return row, {"Seed_ID": seed_id, "Simulation_Script": script, "Secondary_Subdomains": []}


def printed(seed_id: str) -> Row:
    """Return a record with the fields that Figures 14 and 15 print, and no other."""
    row = copy.deepcopy(whole(seed_id))
    meta, made = row["Meta_Data"], row["Scenario_Instantiation"]
    del meta["Persona"]["Native_Language"], row["Linguistic_Instruction"], row["User_Private_Context"]["Background"]
    for name in ("Cultural_Context", "Fairness_Justification", "Challenge_Rationale"):
        del row["Evaluator_Oracle_Context"][name]
    meta["Validation"] = {"Verdict": "PASS", "Issues": [], "Flags": FLAGS}
    meta["KB_Metadata"] = {"queries": 2, "articles": ["Thali"], "is_cross_cultural": True}
    template = made["Parent_Template"]
    made["Parent_Template"] = {key: template[key] for key in ("Template_ID", "template_text")}
    for shard in row["Simulation_Script"]["Interaction_Sequence"][1:]:
        del shard["User_Instruction"]["Linguistic_Directive"]
    return row


def as_text(row: Row) -> Row:
    """Return a row with every nested column as a string of JSON."""
    return {key: json.dumps(each) if isinstance(each, dict | list) else each for key, each in row.items()}


def write_parquet(path: Path, rows: Sequence[Row], schema: pa.Schema | None = None, group: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path, row_group_size=group)
    return path


def write_lines(path: Path, rows: Sequence[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path
