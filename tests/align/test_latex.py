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
        ("-0.50 [-0.61, 3-4] to -1, a-1", "$-$0.50 [$-$0.61, 3-4] to $-$1, a-1"),
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
        r"\centering",
        r"\caption{Title}",
        r"\label{tab:t}",
        r"\normalsize\setlength{\tabcolsep}{3pt}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"A & B \\",
        r"\midrule",
        r"a\_b & 1 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"{\footnotesize\raggedright Note 5\%.\par}",
        r"\end{table}",
    ]
    assert table.markdown() == "## Title\n\n| A | B |\n| --- | ---: |\n| a_b | 1 |\n\nNote 5%.\n"
    assert table.csv() == "A,B\na_b,1\n"


WIDE = ("Assistant", *["4.28 [4.28, 4.29]"] * 9)


def test_a_wide_table_has_its_intervals_below_and_stands_on_its_side() -> None:
    text = tabular(("A", *"bcdefghij"), [WIDE] * 3, caption="c", label="tab:t")
    assert text.splitlines()[0].startswith(r"% needs \usepackage{booktabs,rotating}, ")
    assert text.count(r"\begin{sidewaystable}") == text.count(r"\end{sidewaystable}") == 1
    assert r"Assistant & \shortstack[r]{4.28\\{\tiny [4.28, 4.29]}} & " in text


def test_a_table_too_wide_for_any_page_becomes_parts_that_each_begin_with_the_names() -> None:
    count = 60
    text = tabular(
        ("A", *(f"c{n}" for n in range(count))), [("x", *["1.00 [1.00, 1.00]"] * count)], caption="c", label="t"
    )
    heads = [line for line in text.splitlines() if line.startswith("A & ")]
    parts = len(heads)
    assert parts > 1
    assert [name for head in heads for name in head.removesuffix(r" \\").split(" & ")[1:]] == [
        f"c{n}" for n in range(count)
    ]
    assert [rf"\caption{{c, part {n} of {parts}}}" in text for n in range(1, parts + 1)] == [True] * parts
    assert r"\label{t}" in text
    assert r"\label{t:2}" in text


@pytest.mark.parametrize(("rows", "long"), [(20, False), (80, True)])
def test_a_long_table_goes_on_over_pages_with_its_head(rows: int, long: bool) -> None:
    text = tabular(("A", "B"), [("a", "1")] * rows, caption="c", label="t", note="A note.")
    assert (r"\begin{longtable}" in text, r"\begin{table}" in text) == (long, not long)
    assert text.count(r"A & B \\") == 1 + long
    assert text.count("A note.") == 1


def test_a_break_wider_than_its_table_is_set_in_lines() -> None:
    text = tabular(
        ("A", "B"), [("a", "1")], caption="c", label="t", breaks=[(0, "Not comparable: " + "other data, " * 9)]
    )
    assert r"\multicolumn{2}{p{" in text


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
