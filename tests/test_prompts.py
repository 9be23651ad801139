"""Prompt files are found by style and role, rendered strictly, and known by their hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ccfw.errors import PromptError
from ccfw.prompts import PromptSet
from ccfw.records import LanguageMode, Message, Metric, Scenario, ShardOutcome
from ccfw.stages.simulate import assistant_messages, simulator_messages
from ccfw.views import assistant_view, gold_view, judge_view, simulator_view
from tests.samples import IDENTITY, NATIVE_LANGUAGE, ROOT, canaries, episode_of

PROMPTS = ROOT / "prompts"
STYLES = ["v1/paper", "v1/compact"]
HISTORY = (Message(role="user", content="hi"), Message(role="assistant", content="hello"))
ORACLE = "Blueprint.Evaluator_Oracle_Context"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "v9/short/role.system.md.j2": "Be {{ mood }}.\n",
        "v9/short/role.examples.md.j2": "ask one\n---\nsay one\n---\nask two\n---\nsay two\n",
        "v9/short/role.user.md.j2": "{% for line in lines %}\n- {{ line }}\n{% endfor %}\n",
        "v9/short/judge/helpful.user.md.j2": "{% include 'judge/_rules.md.j2' %}judge",
        "v9/short/judge/_rules.md.j2": "strictly ",
        "v9/long/role.user.md.j2": "hello",
    }.items():
        path = tmp_path / "prompts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "prompts"


def test_a_role_speaks_in_system_examples_and_user_parts(root: Path) -> None:
    messages = PromptSet(root, "v9/short").render("role", {"mood": "kind", "lines": ["a", "b"]})
    assert [(message.role, message.content) for message in messages] == [
        ("system", "Be kind."),
        ("user", "ask one"),
        ("assistant", "say one"),
        ("user", "ask two"),
        ("assistant", "say two"),
        ("user", "- a\n- b"),
    ]


def test_an_absent_part_is_left_out(root: Path) -> None:
    assert PromptSet(root, "v9/long").render("role", {}) == (Message(role="user", content="hello"),)


def test_parts_can_include_others_of_their_style(root: Path) -> None:
    assert PromptSet(root, "v9/short").render("judge/helpful", {})[0].content == "strictly judge"


def test_a_text_that_looks_like_a_template_stays_text(root: Path) -> None:
    hostile = ["{{ mood }}", "{% include 'judge/_rules.md.j2' %}", "<b>&amp;</b>", "\n---\n"]
    last = PromptSet(root, "v9/short").render("role", {"mood": "kind", "lines": hostile})[-1]
    assert last.content == "- " + "\n- ".join(hostile).rstrip()


def test_a_name_that_the_view_lacks_is_an_error(root: Path) -> None:
    with pytest.raises(PromptError) as caught:
        PromptSet(root, "v9/short").render("role", {"lines": []})
    assert str(caught.value) == "prompts/v9/short/role.system.md.j2: 'mood' is undefined"


def test_a_broken_template_names_its_file(root: Path) -> None:
    (root / "v9/long/role.user.md.j2").write_text("{% if %}", "utf-8")
    with pytest.raises(PromptError) as caught:
        PromptSet(root, "v9/long").render("role", {})
    assert str(caught.value) == "prompts/v9/long/role.user.md.j2: Expected an expression, got 'end of statement block'"


def test_a_role_without_a_file_is_an_error(root: Path) -> None:
    with pytest.raises(PromptError) as caught:
        PromptSet(root, "v9/long").render("judge/helpful", {})
    assert str(caught.value) == "prompts/v9/long/judge/helpful.*.md.j2: no such file"


def test_a_style_that_is_not_there_is_an_error_with_the_options(root: Path) -> None:
    with pytest.raises(PromptError) as caught:
        PromptSet(root, "v9/medium")
    assert str(caught.value) == "prompt=v9/medium: no such prompts; options: v9/long, v9/short"


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        pytest.param("role.user.md.j2", {"role"}, id="a-role"),
        pytest.param("judge/helpful.user.md.j2", {"judge/"}, id="a-judge"),
        pytest.param("judge/_rules.md.j2", {"judge/"}, id="what-a-judge-includes"),
    ],
)
def test_a_hash_moves_with_its_own_files_only(root: Path, changed: str, moved: set[str]) -> None:
    prefixes = ("role", "judge/")
    before = {prefix: PromptSet(root, "v9/short").digest(prefix) for prefix in prefixes}
    path = root / "v9/short" / changed
    path.write_text(path.read_text("utf-8") + ".", "utf-8")
    after = {prefix: PromptSet(root, "v9/short").digest(prefix) for prefix in prefixes}
    assert {prefix for prefix in prefixes if before[prefix] != after[prefix]} == moved


def test_a_hash_moves_when_text_wanders_between_files(root: Path) -> None:
    before = PromptSet(root, "v9/short").digest("judge/")
    (root / "v9/short/judge/_rules.md.j2").write_text("strictly", "utf-8")
    (root / "v9/short/judge/helpful.user.md.j2").write_text(" {% include 'judge/_rules.md.j2' %}judge", "utf-8")
    assert PromptSet(root, "v9/short").digest("judge/") != before


def test_a_hash_does_not_depend_on_where_the_prompts_lie(root: Path, tmp_path: Path) -> None:
    before = PromptSet(root, "v9/short").digest("judge/")
    assert PromptSet(root.rename(tmp_path / "elsewhere"), "v9/short").digest("judge/") == before


@pytest.mark.parametrize("style", STYLES)
def test_shipped_prompts_show_the_eval_assistant_the_chat_alone(style: str) -> None:
    chat = (*HISTORY, Message(role="user", content="and then?"))
    assert assistant_messages(assistant_view(chat), PromptSet(PROMPTS, style)) == chat


@pytest.mark.parametrize("style", STYLES)
def test_shipped_prompts_show_the_gold_teacher_all_that_it_is_granted(planted: Scenario, style: str) -> None:
    view = gold_view(planted, planted.interaction_sequence[1], HISTORY[:1])
    messages = assistant_messages(view, PromptSet(PROMPTS, style))
    assert [message.role for message in messages] == ["system", "user"]
    assert canaries(messages) == {
        IDENTITY,
        "Interaction_Sequence.1.User_Instruction.Current_Surface_Goal",
        *(f"{ORACLE}.Success_Criteria.{i}" for i in range(5)),
        *(f"{ORACLE}.Failure_Criteria.{i}" for i in range(4)),
        *(f"{ORACLE}.Cultural_Taboos.{i}" for i in range(2)),
    }


@pytest.mark.parametrize("protocol", ["json", "tags"])
@pytest.mark.parametrize("last", [False, True], ids=["first-shard", "last-shard"])
@pytest.mark.parametrize("style", STYLES)
def test_shipped_prompts_show_the_simulator_no_oracle(planted: Scenario, style: str, protocol: str, last: bool) -> None:
    shards = planted.interaction_sequence
    shard, following = (shards[3], None) if last else (shards[0], shards[1])
    view = simulator_view(planted, shard, following, HISTORY, LanguageMode.NATIVE)
    messages = simulator_messages(view, PromptSet(PROMPTS, style), protocol)
    seen = canaries(messages)
    number = shard.shard_id - 1
    assert {IDENTITY, NATIVE_LANGUAGE, f"Interaction_Sequence.{number}.User_Instruction.Current_Surface_Goal"} <= seen
    assert not [path for path in seen if "Oracle" in path or "Transition_Guide" in path or "Multi_Hop" in path]
    assert messages[0].role == "system"
    assert messages[-1].role == "user"
    assert '"hello"' in messages[-1].content


@pytest.mark.parametrize("metric", Metric, ids=lambda metric: metric.value)
@pytest.mark.parametrize("style", STYLES)
def test_shipped_prompts_show_each_judge_all_of_its_view(planted: Scenario, style: str, metric: Metric) -> None:
    outcomes = (ShardOutcome(shard_id=1, outcome="OPEN", turns=1),)
    view = judge_view(planted, episode_of(planted, shard_outcomes=outcomes), metric)
    messages = PromptSet(PROMPTS, style).render(f"judge/{metric.value}", view.fields)
    text = "\n".join(message.content for message in messages)
    assert canaries(messages) == canaries(view)
    assert text.count(view.fields["conversation"]) == 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("metric", Metric, ids=lambda metric: metric.value)
def test_no_shipped_judge_prompt_reaches_past_its_view(planted: Scenario, style: str, metric: Metric) -> None:
    fields: dict[str, Any] = dict(judge_view(planted, episode_of(planted), metric).fields)
    PromptSet(PROMPTS, style).render(f"judge/{metric.value}", fields)
    del fields["conversation"]
    with pytest.raises(PromptError, match="'conversation' is undefined"):
        PromptSet(PROMPTS, style).render(f"judge/{metric.value}", fields)


# ---- includes


@pytest.fixture
def borrowing(root: Path) -> Path:
    """A style whose judge includes a file of another style, which includes a third one's."""
    for name, text in {
        "v9/lent/judge/helpful.system.md.j2": "{% include 'other/rubric.md.j2' %}\n# The reply\n",
        "v9/other/rubric.md.j2": "Rules:\n{% include 'third/scale.md.j2' %}\n",
        "v9/third/scale.md.j2": "- 5, good\n- 1, bad\n",
        "v9/third/other.md.j2": "unused",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.mark.parametrize(
    ("changed", "moves"),
    [
        pytest.param("other/rubric.md.j2", True, id="included"),
        pytest.param("third/scale.md.j2", True, id="included-by-the-included"),
        pytest.param("third/other.md.j2", False, id="not-included"),
        pytest.param("long/role.user.md.j2", False, id="another-style"),
    ],
)
def test_a_hash_follows_includes_across_styles(borrowing: Path, changed: str, moves: bool) -> None:
    before = PromptSet(borrowing, "v9/lent").digest("judge/")
    path = borrowing / "v9" / changed
    path.write_text(path.read_text("utf-8") + ".", "utf-8")
    assert (PromptSet(borrowing, "v9/lent").digest("judge/") != before) is moves


def test_an_own_file_hides_the_one_that_another_style_lends(borrowing: Path) -> None:
    before = PromptSet(borrowing, "v9/lent").digest("judge/")
    own = borrowing / "v9/lent/third/scale.md.j2"
    own.parent.mkdir()
    own.write_text("- own scale\n", "utf-8")
    prompts = PromptSet(borrowing, "v9/lent")
    assert prompts.digest("judge/") != before
    assert prompts.render("judge/helpful", {})[0].content == "Rules:\n- own scale\n# The reply"


def test_files_that_include_each_other_have_a_hash(borrowing: Path) -> None:
    (borrowing / "v9/third/scale.md.j2").write_text("{% include 'other/rubric.md.j2' %}", "utf-8")
    assert len(PromptSet(borrowing, "v9/lent").digest("judge/")) == 16


def test_text_after_an_include_starts_on_its_own_line(borrowing: Path) -> None:
    assert PromptSet(borrowing, "v9/lent").render("judge/helpful", {})[0].content.split("\n") == [
        "Rules:",
        "- 5, good",
        "- 1, bad",
        "# The reply",
    ]


@pytest.mark.parametrize("metric", Metric, ids=lambda metric: metric.value)
def test_the_papers_judge_prompts_keep_what_they_include_apart(planted: Scenario, metric: Metric) -> None:
    folder = PROMPTS / "v1" / "paper" / "judge"
    view = judge_view(planted, episode_of(planted), metric)
    system = PromptSet(PROMPTS, "v1/paper").render(f"judge/{metric.value}", view.fields)[0].content.split("\n")
    source = (folder / f"{metric.value}.system.md.j2").read_text("utf-8").split("\n")
    for name in ("_transcript_rules", "_reply_rules"):
        included = (folder / f"{name}.md.j2").read_text("utf-8").strip().split("\n")
        start = system.index(included[0])
        place = next(n for n, line in enumerate(source) if f"judge/{name}.md.j2" in line)
        following = next(line for line in source[place + 1 :] if line)
        rest = [line for line in system[start + len(included) :] if line]
        assert system[start : start + len(included)] == included
        assert rest[0] == following


def test_a_style_has_the_roles_whose_user_part_it_has(root: Path) -> None:
    (root / "v9/short/lone.system.md.j2").write_text("alone", "utf-8")
    prompts = PromptSet(root, "v9/short")
    asked = ["role", "judge/helpful", "judge/honest", "judge/_rules", "lone", ""]
    assert [role for role in asked if prompts.has(role)] == ["role", "judge/helpful"]


def test_the_joint_prompt_is_that_of_one_style_alone() -> None:
    styles = sorted(path.name for path in (PROMPTS / "v1").iterdir())
    assert [name for name in styles if PromptSet(PROMPTS, f"v1/{name}").has("judge/joint")] == ["joint"]
