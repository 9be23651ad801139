"""Stage external as a user runs it: models asked, or files of replies in; tables and figures out."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Run, ccfw, read_lines, scripted
from tests.e2e.test_tracking import logged
from tests.fakes.provider import FakeProvider
from tests.training.benches import forest, play, shield

CHEAP = ("tracking=none", "report.shown=0", "bootstrap.resamples=50")


def table(run: Run, name: str) -> list[dict[str, Any]]:
    """The rows of a CSV by column, numbers as numbers."""
    path = run.folder / run.closings["external"]["out"] / f"{name}.csv"
    found = csv.DictReader(path.read_text("utf-8").splitlines())
    return [{key: _number(value) for key, value in row.items()} for row in found]


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell or None


def test_replies_are_scored_by_the_rules_of_each_benchmark(tmp_path: Path) -> None:
    (tmp_path / "shield.csv").write_text(
        "country,query_en,answer,reply\nJapan,q,Yes,Yes.\nJapan,q,No,perhaps\nItaly,q,No,yes\n", "utf-8"
    )
    (tmp_path / "easy.csv").write_text(
        'question_id,country,answer,reply\na,Japan,B,"{""Answer"": ""B""}"\nb,Japan,B,B\n', "utf-8"
    )
    (tmp_path / "medium.csv").write_text(
        "question_id,country,option_1,option_2,option_3,option_4\n"
        "a,Japan,false,False.,false,true\nb,Italy,false,false,true,true\nc,Italy,false,perhaps,false,true\n"
        "d,Japan,true,false,false,true\n",
        "utf-8",
    )
    (tmp_path / "hard.csv").write_text(
        "question_id,country,answer,norm_id,acceptability,satisfy,neutral,violate\n"
        "a,Japan,1,n,No,0,-inf,-inf\nb,Italy,1,m,No,-inf,-inf,0\n",
        "utf-8",
    )
    files = ("cultureforest_easy=easy.csv", "cultureforest_medium=medium.csv", "cultureforest_hard=hard.csv")
    run = ccfw(tmp_path, "stage=external", "external.culshield=shield.csv", *(f"external.{f}" for f in files), *CHEAP)
    assert (run.code, run.err, run.closings["external"]["done"]) == (0, "", 11)
    found = {row["country"]: row for row in table(run, "culshield")}
    columns = ("resolved", "every_reply", "unresolved", "questions")
    assert {name: [row[column] for column in columns] for name, row in found.items()} == {
        "all": pytest.approx([1 / 2, 1 / 3, 1, 3]),
        "Italy": [0, 0, 0, 1],
        "Japan": [1, 1 / 2, 1, 2],
    }
    by_country = {
        name: {row["country"]: (row["mean"], row["unread"]) for row in table(run, f"cultureforest_{name}")}
        for name in ("easy", "medium")
    }
    assert by_country["easy"] == {"all": (0.5, 1), "Japan": (0.5, 1)}  # of b no object names an option
    assert by_country["medium"] == {"all": (0.25, 1), "Italy": (0, 1), "Japan": (0.5, 0)}
    assert [row["mean"] for row in table(run, "cultureforest_hard")] == pytest.approx([0, -100, 100])
    report = (tmp_path / run.closings["external"]["out"] / "report.md").read_text("utf-8")
    assert "| all countries | 50.0 | 33.3 | 1 | 3 |" in report  # of fewer than ten questions no interval
    assert "| all countries | 25.0 | 25.0 | 4 | 1 |" in report
    assert "Unread: samples with an option's reply in another form, which count as wrong." in report
    assert "Cost" not in report


def test_every_fault_of_every_file_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "shield.csv").write_text("country,answer,reply\nJapan,Maybe,Yes\n", "utf-8")
    (tmp_path / "hard.csv").write_text("question_id,country\na,Japan\n", "utf-8")
    given = (
        "external.culshield=shield.csv",
        "external.cultureforest_hard=hard.csv",
        "external.cultureforest_easy=no.csv",
    )
    run = ccfw(tmp_path, "stage=external", *given, *CHEAP)
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: external.culshield=shield.csv: line 2: answer is 'Maybe', and must be Yes or No",
        "ccfw: external.cultureforest_easy=no.csv: No such file or directory",
        "ccfw: external.cultureforest_hard=hard.csv: lacks answer, norm_id, acceptability, satisfy, neutral, violate; "
        "its columns must be question_id, country, answer, norm_id, acceptability, satisfy, neutral, violate",
    ]


def test_what_is_no_log_probability_or_stands_twice_is_refused_with_its_row(tmp_path: Path) -> None:
    rows = [
        "a,Japan,1,n,No,0.8,0.15,0.05",
        "a,Japan,one,n,No,-1,-2,-3",
        "a,Japan,1,n,No,-1,,-3",
        "a,Japan,1,n,No,-inf,-inf,-inf",
        "a,Japan,1,n,No,-1,-2,-3",
        "a,Japan,1,n,No,-1,-2,-3",
    ]
    columns = "question_id,country,answer,norm_id,acceptability,satisfy,neutral,violate"
    (tmp_path / "hard.csv").write_text("\n".join([columns, *rows]) + "\n", "utf-8")
    run = ccfw(tmp_path, "stage=external", "external.cultureforest_hard=hard.csv", *CHEAP)
    assert run.code == 2
    number = "must be a log-probability: a number up to 0, or -inf"
    assert run.err.splitlines() == [
        f"ccfw: external.cultureforest_hard=hard.csv: {each}"
        for each in (
            f"line 2: satisfy is '0.8', and {number}",
            "line 3: answer is 'one', and must be a number from 1",
            f"line 4: neutral is '', and {number}",
            "line 5: log-probabilities cannot all be −∞",
            "line 7: answer 1 to a of Japan stands twice under n",
        )
    ]
    kinds = [f"a,Japan,{n},n,{kind},-1,-2,-3" for n, kind in ((1, "No"), (2, "Sometimes"))]
    (tmp_path / "hard.csv").write_text("\n".join([columns, *kinds]) + "\n", "utf-8")
    run = ccfw(tmp_path, "stage=external", "external.cultureforest_hard=hard.csv", *CHEAP)
    told = "line 3: acceptability of n is Sometimes here, and No before"
    assert (run.code, run.err) == (2, f"ccfw: external.cultureforest_hard=hard.csv: {told}\n")


# ---- models asked


def test_two_models_are_held_against_each_other_question_by_question(tmp_path: Path) -> None:
    asked = shield(tmp_path, [("Japan", told, "Yes") for told in ["No"] * 9 + ["maybe", "Yes", "Yes"]])
    with FakeProvider(lambda request: "Yes" if request.model == "other" else play(request)) as provider:
        line = scripted(provider, "stage=external", asked, "bootstrap.resamples=200")
        ccfw(tmp_path, *line, provider=provider)
        run = ccfw(tmp_path, *line, "model.name=other", "model.provider_model=openai/other", provider=provider)
    assert run.code == 0, run.err
    found = {row["measure"]: row for row in table(run, "differences")}
    assert {name: (row["first"], row["second"], row["difference"], row["shared"]) for name, row in found.items()} == {
        "culshield_resolved": ("other", "scripted", pytest.approx(9 / 11, abs=1e-6), 11),
        "culshield_all": ("other", "scripted", pytest.approx(10 / 12, abs=1e-6), 12),
    }
    assert all(row["p"] < 0.05 and row["difference_lo"] > 0 for row in found.values())
    report = (tmp_path / run.closings["external"]["out"] / "report.md").read_text("utf-8")
    holds = re.findall(r"^\| CulShield, (of \w+) \| other \| scripted \| .* \| yes \| \d+ \|$", report, re.MULTILINE)
    assert holds == ["of resolved", "of all"]
    paid = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("workspace/crisp/external/*/manifest.json")]
    spent = [each["paid"]["usd"] for each in paid if "paid" in each]
    assert len(spent) == 2
    assert f"Cost: {sum(spent):.4f} USD for what is compared, whichever job paid it." in report
    assert min(spent) > 0


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(play) as opened:
        yield opened


SHIELD = [
    ("Japan", "Yes", "Yes"),
    ("Japan", "thinksyes", "No"),
    ("Italy", "maybe", "Yes"),
    ("Italy", "empty", "No"),
    ("Italy", "No", "No"),
    ("Japan", "down", "Yes"),
]
FOREST: dict[str, dict[str, Any]] = {
    "q1": {
        "country": "Japan",
        "easy": "B/C/chat",
        "medium": ("false", "false", "false", "true"),
        "hard": "sat/neu/vio",
        "norms": "abc",
    },
    "q2": {
        "country": "Italy",
        "easy": "thinks",
        "medium": ("false", "False", "false", "escaped"),
        "hard": "sat",
        "norms": "ade",
    },
    "q3": {
        "country": "Japan",
        "easy": "filtered",
        "medium": ("false", "perhaps", "false", "true/chat/down"),
        "hard": "mute/wordy/rare",
        "norms": "abc",
    },
}
STRICT = {"a": "No", "b": "Sometimes", "c": "No", "d": "Sometimes", "e": "No"}


def line(folder: Path, provider: FakeProvider, *more: str) -> tuple[str, ...]:
    given = (shield(folder, SHIELD), *forest(folder, FOREST, STRICT))
    return scripted(provider, "stage=external", *given, "model.attempts=1", "bootstrap.resamples=50", *more)


def test_a_model_that_errs_in_each_way_gets_what_the_published_rules_give(
    tmp_path: Path, provider: FakeProvider
) -> None:
    asked = line(tmp_path, provider)
    plan = ccfw(tmp_path, *asked, "dry_run=true", provider=provider)
    assert (plan.code, plan.requests) == (0, ())
    # 6 + 3 × (1 + 4 + 1) × 3 calls of the model; 3 × 3 × 3 verdicts
    assert "external=87..87 calls=87..87" in plan.out.splitlines()[0]
    rows = [row.split()[:4] for row in plan.out.splitlines() if row.split()[:1] == ["external"]]
    assert rows == [["external", "policy", "scripted", "60"], ["external", "verifier", "scripted", "27"]]

    run = ccfw(tmp_path, *asked, provider=provider)
    closing = run.closings["external"]
    assert (run.code, closing["done"], closing["failed"], len(run.requests)) == (
        1,
        58 + 27,
        2,
        87 - 6,
    )  # q2's answers are alike
    (of_shield,) = table(run, "models_culshield")
    assert {key: of_shield[key] for key in ("resolved", "every_reply", "unresolved", "questions", "missing")} == {
        "resolved": pytest.approx(2 / 3, abs=1e-6),
        "every_reply": pytest.approx(2 / 5),
        "unresolved": 2,
        "questions": 5,
        "missing": 1,
    }
    assert (of_shield["deviation"], of_shield["gap"]) == (0.25, 0.5)  # Italy 1 of 1, Japan 1 of 2

    levels = {row["level"]: row for row in table(run, "models_cultureforest")}
    # easy: 1/3, 1, 0 by question; a reply in another form or none is wrong
    easy, medium, hard = (levels[name] for name in ("easy", "medium", "hard"))
    assert (easy["mean"], easy["best"]) == pytest.approx((4 / 9, 2 / 3), abs=1e-6)
    assert (easy["deviation"], easy["gap"]) == pytest.approx(((1 - 1 / 6) / 2, 1 - 1 / 6), abs=1e-6)
    assert (easy["k"], easy["items"], easy["unread"], easy["missing"]) == (3, 3, 1 + 3, 0)
    # medium: 1, 1, and of q3 one wrong word, one reply without form, one call failed
    assert (medium["mean"], medium["best"], medium["gap"]) == pytest.approx((2 / 3, 2 / 3, 0.5), abs=1e-6)
    assert (medium["unread"], medium["missing"]) == (1, 1)
    # hard: credits under a strict norm .675, −.4 and −.825, half of it under another; q3 has no verdict
    q1 = (0.675 - 0.4 - 0.825) / 3
    assert (hard["mean"], hard["best"]) == pytest.approx((100 * (q1 + 0.675) / 2, 67.5), abs=1e-4)
    assert (hard["deviation"], hard["gap"]) == pytest.approx((50 * (0.675 - q1), 100 * (0.675 - q1)), abs=1e-4)
    assert (hard["items"], hard["unread"], hard["missing"]) == (6, 9, 0)

    folder = tmp_path / closing["out"]
    names = {path.name for path in folder.iterdir()}
    drawn = {f"{name}{end}" for name in ("levels", "regions_hard") for end in (".svg", ".png", ".csv")}
    assert drawn < names
    reasons = {each["failure"]["detail"] for each in stored(tmp_path, "verdicts") if each["failure"]}
    assert reasons == {
        "the reply came without log-probabilities",
        'the reply has no {"Answer": "…"}',
        "Violate: not among the likeliest tokens, and perhaps not unlikely",
    }
    assert "stage=external: 9 of 27 verdicts hold no score: incomplete 6, unparsed 3" in run.err

    again = ccfw(tmp_path, *asked, provider=provider)
    assert (len(again.requests), again.closings["external"]["cached"]) == (2, 0)  # those that failed, and no other


def stored(folder: Path, name: str) -> list[dict[str, Any]]:
    (path,) = folder.glob(f"workspace/crisp/external/*/{name}/*/records.jsonl")
    return read_lines(path)


def test_requests_are_as_published(tmp_path: Path, provider: FakeProvider) -> None:
    run = ccfw(
        tmp_path, *line(tmp_path, provider, "external.limit=1", "external.levels=[easy,hard]"), provider=provider
    )
    assert run.code == 0, run.err
    verdicts = [each for each in run.requests if each.schema_name]
    others = [each for each in run.requests if not each.schema_name]
    assert {(each.body["temperature"], each.body["top_p"]) for each in others} == {(0.7, 0.95)}
    assert not any("logprobs" in each.body for each in others)
    assert {(each.body["temperature"], each.body["logprobs"], each.body["top_logprobs"]) for each in verdicts} == {
        (0.0, True, 20)
    }
    said = [each.said("user")[-1] for each in others]
    forest_said = sorted(text for text in said if "open" in text or "easy" in text)
    assert forest_said == ["q2 easy #thinks"] * 3 + ["q2 open #sat"] * 3  # folders in order: Italy is first
    (shielded,) = [text for text in said if text not in forest_said]
    assert shielded.splitlines()[0] == "Is it so? #0-Yes"
    assert 'Norm: "norm a"\n' in verdicts[0].said("user")[-1]
    assert "The background of q2." in verdicts[0].said("user")[-1]


@pytest.mark.long
def test_models_of_one_workspace_stand_in_one_table(tmp_path: Path, provider: FakeProvider) -> None:
    asked = [each for each in line(tmp_path, provider, "external.levels=[easy]") if each != "tracking=none"]
    ccfw(tmp_path, *asked, provider=provider)
    other = ccfw(tmp_path, *asked, "model.name=other", "model.provider_model=openai/other", provider=provider)
    elsewhere = ccfw(tmp_path, *asked, "model.name=warm", "external.temperature=1", provider=provider)
    assert [row["model"] for row in table(other, "models_cultureforest")] == ["other", "scripted"]
    assert [row["model"] for row in table(other, "models_culshield")] == ["other", "scripted"]
    assert [row["model"] for row in table(elsewhere, "models_cultureforest")] == ["warm"]
    told = ccfw(tmp_path, "stage=report", *CHEAP)
    assert told.code == 0, told.err
    folder = tmp_path / told.closings["report"]["out"]
    found = list(csv.DictReader((folder / "tables" / "crisp_culshield.csv").read_text("utf-8").splitlines()))
    assert [row["Model"] for row in found] in (["scripted", "other", "warm"], ["warm", "scripted", "other"])
    assert len({row["section"] for row in found}) == 2  # another temperature stands apart
    levels = list(csv.DictReader((folder / "tables" / "crisp_cultureforest.csv").read_text("utf-8").splitlines()))
    assert len({row["section"] for row in levels}) == 2
    page = (folder / "index.html").read_text("utf-8")
    assert {"chapter-crisp", "table-crisp_cultureforest", "figure-crisp_cultureforest"} <= set(
        re.findall('id="([^"]+)"', page)
    )
    runs = [run for run in logged(tmp_path / "mlflow.db") if run.name == "external"]
    assert [run.metrics["easy/mean_3"] for run in runs] == pytest.approx([4 / 9] * 3)
    artifacts = {path.name for path in runs[0].artifacts.rglob("*")}
    assert {"levels.svg", "levels.png", "levels.csv", "models_cultureforest.csv"} < artifacts


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            (),
            [
                f"stage=external: questions or replies? external.{name}=…"
                for name in (
                    "culshield_questions",
                    "cultureforest_questions",
                    "culshield",
                    "cultureforest_easy",
                    "cultureforest_medium",
                    "cultureforest_hard",
                )
            ],
        ),
        (
            ("external.culshield_questions=no.json", "external.culshield=x.csv"),
            ["external.culshield: replies in files and questions to ask are two requests; leave one out"],
        ),
        (
            ("external.culshield_questions=[no.json,bad.json]", "external.cultureforest_questions=bad.jsonl"),
            [
                "external.culshield_questions=no.json: No such file or directory",
                "external.culshield_questions=bad.json: entry 1: answer is 'Perhaps', and must be Yes or No",
                "external.culshield_questions=bad.json: entry 2: lacks query_en",
                "external.cultureforest_questions=bad.jsonl: line 1: lacks uuid",
                "external.cultureforest_norms: the hard level needs the file that says whether breaking a norm is ever "
                "acceptable; without it: external.levels=[easy,medium]",
            ],
        ),
        (
            ("external.culshield_questions=[yes.json,denied.json]",),
            ["external.culshield_questions: answer to Japan::q is both Yes and No"],
        ),
        (
            ("external.cultureforest_questions=forest", "external.cultureforest_norms=few.json"),
            ["external.cultureforest_norms=few.json: lacks 4 norms of the questions: b, c, d, e"],
        ),
        (
            (
                "external.cultureforest_questions=forest",
                "external.cultureforest_norms=norms.json",
                "judge=trio_gpt54mini_gpt54nano_gpt5mini",
            ),
            [
                "judge=trio_gpt54mini_gpt54nano_gpt5mini: the hard level is verified by one model, and this judge "
                "has 3",
            ],
        ),
    ],
)
def test_what_is_wrong_with_questions_is_said_at_once(
    tmp_path: Path, arguments: tuple[str, ...], says: list[str]
) -> None:
    forest(tmp_path, FOREST, STRICT)
    (tmp_path / "few.json").write_text('{"a": {"acceptability": "No"}}', "utf-8")
    bad = [{"country": "Japan", "query_en": "q", "answer": "Perhaps"}, {"country": "Japan", "answer": "Yes"}]
    (tmp_path / "bad.json").write_text(json.dumps(bad), "utf-8")
    for name, right in (("yes.json", "Yes"), ("denied.json", "No")):
        one = {"country": "Japan", "query_en": "q", "answer": right}
        (tmp_path / name).write_text(json.dumps([one]), "utf-8")
    (tmp_path / "bad.jsonl").write_text('{"country": "Japan"}\n', "utf-8")
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "x")
    run = ccfw(tmp_path, "stage=external", *arguments, *CHEAP, env=keys)
    assert (run.code, run.err.splitlines()) == (2, [f"ccfw: {each}" for each in says])


@pytest.mark.embedded
@pytest.mark.long
def test_the_embedded_model_answers_and_verifies_for_real(tmp_path: Path) -> None:
    given = (shield(tmp_path, SHIELD), *forest(tmp_path, FOREST, STRICT))
    few = ("external.limit=1", "external.levels=[hard]", "external.samples=1", "model.max_output_tokens=24")
    run = ccfw(tmp_path, "stage=external", *given, *few, *CHEAP)
    assert run.code == 0, run.err
    (hard,) = table(run, "models_cultureforest")
    assert (hard["k"], hard["items"] + hard["unread"], hard["missing"]) == (1, 3, 0)
    found = stored(tmp_path, "verdicts")
    assert all((each["failure"] is None) == (each["satisfy"] is not None) for each in found)
    assert any(each["failure"] is None for each in found)
    assert re.search(r"small model", (tmp_path / run.closings["external"]["out"] / "report.md").read_text("utf-8"))
