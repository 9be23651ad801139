"""What files hold is text in every table, never a command."""

from __future__ import annotations

import pytest

from ccfw.report.agreement import Table
from ccfw.report.latex import escaped, tabular
from ccfw.report.writing import as_markdown


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("50% & $5 #1_a", r"50\% \& \$5 \#1\_a"),
        ("a^b~c", r"a\textasciicircum{}b\textasciitilde{}c"),
        ("%±1", r"\%$\pm$1"),
        ("a\nb", "a b"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("帮助", "帮助"),
    ],
)
def test_text_is_escaped(text: str, latex: str) -> None:
    assert escaped(text) == latex


def test_a_row_that_begins_with_a_bracket_is_no_argument_of_the_line_break() -> None:
    text = tabular(("A", "B"), [("[x]", "1"), ("*", "2")], caption="c", label="tab:t")
    assert r"{}[x] & 1 \\" in text
    assert r"{}* & 2 \\" in text


def test_a_table_is_whole() -> None:
    table = Table("t", "Title", ("A", "B"), (("a_b", "1"),), "Note 5%.")
    assert table.latex().splitlines()[1:] == [
        r"\begin{table}",
        r"\caption{Title. Note 5\%.}",
        r"\label{tab:t}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"A & B \\",
        r"\midrule",
        r"a\_b & 1 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert table.markdown() == "## Title\n\n| A | B |\n| --- | ---: |\n| a_b | 1 |\n\nNote 5%.\n"
    assert table.csv() == "A,B\na_b,1\n"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a|b", r"a\|b"),
        ("[a](b)", r"[a\](b)"),
        ("<script>", r"\<script\>"),
        ("`x` **y** __z__", r"\`x\` \*\*y\*\* \_\_z\_\_"),
        ("scenario_plausibility", "scenario_plausibility"),
        ("0.5 [0.4, 0.6]", "0.5 [0.4, 0.6]"),
        ("two\nlines", "two lines"),
        ("&lt;", r"\&lt;"),
    ],
)
def test_markdown_shows_text_as_it_is(text: str, markdown: str) -> None:
    assert as_markdown(text) == markdown
