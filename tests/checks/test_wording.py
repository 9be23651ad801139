"""How the fields of shards are worded."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Findings

USER = "Interaction_Sequence[0].User_Instruction"
GOAL, GUIDANCE = f"{USER}.Current_Surface_Goal", f"{USER}.Prompt_Guidance"
ENGLISH, NATIVE = f"{USER}.Linguistic_Directive.Global_English", f"{USER}.Linguistic_Directive.Native_Language"
SUCCESS = "Interaction_Sequence[0].Transition_Guide.Success_Exit_Conditions"
TAMIL = {"Blueprint.Seed.Persona.Identity": "Tamil_Hindu", "Blueprint.Seed.Persona.Native_Language": "Tamil"}


def words(count: int) -> str:
    return " ".join(["Ask", *["word"] * (count - 1)])


@pytest.mark.parametrize(
    ("path", "most"),
    [
        pytest.param("Interaction_Sequence[0].Phase_Label", 8, id="label"),
        pytest.param(GOAL, 30, id="goal"),
        pytest.param(f"{USER}.Required_Signifier_Usage[0]", 25, id="cue"),
        pytest.param(ENGLISH, 25, id="directive"),
        pytest.param(GUIDANCE, 40, id="guidance"),
        pytest.param(f"{SUCCESS}[0]", 16, id="success"),
        pytest.param("Interaction_Sequence[0].Transition_Guide.Failure_Loop_Conditions[0]", 16, id="failure"),
    ],
)
def test_a_field_is_no_longer_than_it_may_be(findings: Findings, path: str, most: int) -> None:
    assert findings("shard_length", {path: words(most)}) == []
    (issue,) = findings("shard_length", {path: words(most + 1)})
    assert (issue.where, issue.says) == (path, f"at most {most} words, not {most + 1}")


def test_a_goal_is_one_sentence(findings: Findings) -> None:
    (issue,) = findings("shard_length", {GOAL: "Ask what to cook. Ask when to eat."})
    assert issue.says == "one sentence"
    assert findings("shard_length", {GOAL: "Ask what to cook when Mr. Lim comes, e.g. at 7 p.m. on Friday"}) == []


@pytest.mark.parametrize("path", [GOAL, ENGLISH, GUIDANCE, f"{SUCCESS}[0]", "Interaction_Sequence[0].Phase_Label"])
def test_what_is_english_is_in_latin_letters(findings: Findings, path: str) -> None:
    assert [issue.found for issue in findings("shard_script", {path: "Ask for nasi lemak 椰浆饭"})] == ["椰浆饭"]
    assert findings("shard_script", {path: "Ask for bánh chưng"}) == []


@pytest.mark.parametrize(
    ("directive", "changes", "faults"),
    [
        pytest.param("Casual Mandarin, one question", {}, 0, id="another-name"),
        pytest.param("简短口语", {}, 0, id="own-script"),
        pytest.param("Casual, one question", {}, 1, id="none"),
        pytest.param("Casual Malay, one question", {}, 1, id="another-language"),
        pytest.param("Spoken Tamil, e.g. “சரியா”", TAMIL, 0, id="tamil"),
        pytest.param("Casual Chinese", TAMIL, 1, id="not-tamil"),
    ],
)
def test_the_native_directive_names_its_language(
    findings: Findings, directive: str, changes: dict[str, str], faults: int
) -> None:
    found = findings("directive_language", changes | {NATIVE: directive})
    assert [issue.found for issue in found if issue.where == NATIVE] == [directive] * faults


@pytest.mark.parametrize(
    ("path", "directive", "found"),
    [
        pytest.param(ENGLISH, "Short Singlish; one question.", "singlish", id="singlish"),
        pytest.param(ENGLISH, "Casual, with a few particles.", "particles", id="particles"),
        pytest.param(ENGLISH, "Casual, no particles.", None, id="denied"),
        pytest.param(ENGLISH, "Plain, no Singlish and no local particles.", None, id="denied-twice"),
        pytest.param(ENGLISH, "Plain, without dialect, slang or particles.", None, id="denied-list"),
        pytest.param(ENGLISH, "Not stiff, some lah at the ends.", "lah", id="another-denied"),
        pytest.param(ENGLISH, "No Singlish but with particles.", "particles", id="denied-and-wanted"),
        pytest.param(NATIVE, "Casual Chinese mixed with English", "mixed with", id="mixture"),
        pytest.param(NATIVE, "Casual Chinese, code-switching now and then", "code-switching", id="code-switching"),
        pytest.param(NATIVE, "Casual Chinese, never mixed with English", None, id="not-mixed"),
        pytest.param(NATIVE, "Casual Chinese with a sigh at the end", None, id="plain"),
    ],
)
def test_no_directive_asks_for_a_mixture(findings: Findings, path: str, directive: str, found: str | None) -> None:
    assert [issue.found for issue in findings("directive_mixture", {path: directive})] == ([found] if found else [])


@pytest.mark.parametrize(
    ("guidance", "faults"),
    [
        pytest.param("Say: my kitchen is tiny", 1, id="say"),
        pytest.param("Open with “my kitchen is far too tiny for that many”", 1, id="long-quote"),
        pytest.param("Start 'we do not know what to cook here' and go on", 1, id="single-quotes"),
        pytest.param('Tell of the "tiny" wok, the cousins and the hour; then ask how to begin.', 0, id="closing-quote"),
        pytest.param("Tell of the cousins' wok and the guests' many wishes about dinner.", 0, id="possessives"),
        pytest.param("Give the limits, then ask one question: what fits.", 0, id="colon"),
        pytest.param("Say that the kitchen is tiny; mention the word “kampung”.", 0, id="short-quote"),
    ],
)
def test_guidance_steers_and_does_not_dictate(findings: Findings, guidance: str, faults: int) -> None:
    assert len(findings("guidance_script", {GUIDANCE: guidance})) == faults


@pytest.mark.parametrize(
    ("goal", "faults"),
    [
        pytest.param("Ask about the history of Kelantan cooking", 1, id="history"),
        pytest.param("Ask for the symbolic meaning of each dish", 1, id="symbols"),
        pytest.param("Request a detailed comparison of two faiths", 1, id="comparison"),
        pytest.param("Ask how to compare the two caterers", 0, id="caterers"),
        pytest.param("Ask what it means when he says he will see", 0, id="meaning"),
    ],
)
def test_nobody_asks_for_a_lecture(findings: Findings, goal: str, faults: int) -> None:
    assert len(findings("lecture_request", {GOAL: goal})) == faults
