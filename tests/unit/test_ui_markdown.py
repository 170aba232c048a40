"""What a text falls into, that nothing of it is lost, and that the work grows in step with the text."""

import pytest

from app.ui.inline import Look, Run, is_web, runs, shown_address
from app.ui.leaves import INLINE_LIMIT, SLICE, Code, Paragraph, Plain, Row, Rule
from app.ui.markdown import Dialect, Markdown


def parse(source: str, dialect: Dialect = Dialect.MARKDOWN) -> Markdown:
    document = Markdown(dialect)
    document.append(source)
    return document


def shown(source: str) -> str:
    """What a reader sees of this text, inline phase and all."""
    document = parse(source)
    parts: list[str] = []
    for leaf in document.leaves:
        if isinstance(leaf, Paragraph):
            parts.append("".join(run.text for run in runs(leaf.text, document.references)))
        elif isinstance(leaf, Plain):
            parts.append(leaf.text)
        elif isinstance(leaf, Code):
            parts.append(leaf.text())
        elif isinstance(leaf, Row):
            parts += ["".join(run.text for run in runs(cell, {})) for cell in leaf.cells]
    return "\n".join(parts)


# --- structure ---------------------------------------------------------------------------------------------------


def test_headings_paragraphs_and_rules() -> None:
    leaves = parse("# One\n\ntext\nmore\n\n---\n\nTwo\n===\n").leaves
    assert [(leaf.text, leaf.level) for leaf in leaves if isinstance(leaf, Paragraph)] == [
        ("One", 1),
        ("text\nmore", 0),
        ("Two", 1),
    ]
    assert isinstance(leaves[2], Rule)


def test_a_list_is_a_row_of_paragraphs_with_markers() -> None:
    leaves = parse("3. three\n   more\n4. four\n   - deep\n\n     second\n").leaves
    assert [(leaf.place.path, leaf.place.markers) for leaf in leaves] == [
        ("l", ((0, "3."),)),
        ("l", ((0, "4."),)),
        ("ll", ((1, "◦"),)),
        ("ll", ()),
    ]


def test_an_ordered_list_counts_on_when_its_items_have_left_the_tail() -> None:
    document = Markdown()
    for number in range(1, 30):
        document.append(f"{number}. item\n")
    assert [leaf.place.markers[0][1] for leaf in document.leaves] == [f"{n}." for n in range(1, 30)]


def test_task_boxes() -> None:
    leaves = parse("- [x] done\n- [ ] open\n- [y] none\n").leaves
    assert [
        (leaf.place.markers[0][1], leaf.text) for leaf in leaves if isinstance(leaf, Paragraph)
    ] == [
        ("☑", "done"),
        ("☐", "open"),
        ("•", "[y] none"),
    ]


def test_an_empty_item_and_an_empty_quote_still_show() -> None:
    leaves = parse("-\n- a\n\n>\n").leaves
    assert [leaf.place.path for leaf in leaves] == ["l", "l", "q"]


def test_table_rows_share_their_table() -> None:
    leaves = parse("intro\n\n| a | b |\n|:--|--:|\n| 1 | `x` |\n| 2 |\n\nend").leaves
    rows = [leaf for leaf in leaves if isinstance(leaf, Row)]
    assert [row.cells for row in rows] == [("a", "b"), ("1", "`x`"), ("2", "")]
    assert [row.head for row in rows] == [True, False, False]
    assert {row.table for row in rows} == {2}
    assert rows[1].aligns == ("left", "right")
    assert (rows[0].place.start, rows[0].place.end) == (2, 4)


def test_a_table_that_streams_keeps_its_identity() -> None:
    document = Markdown()
    for line in ("x\n\n", "|a|b|\n", "|-|-|\n", "|1|2|\n", "|3|4|\n", "\n", "after\n"):
        document.append(line)
    rows = [leaf for leaf in document.leaves if isinstance(leaf, Row)]
    assert [row.cells for row in rows] == [("a", "b"), ("1", "2"), ("3", "4")]
    assert {row.table for row in rows} == {2}
    assert isinstance(document.leaves[-1], Paragraph)


def test_typed_text_stays_as_it_was_written() -> None:
    source = "# not a heading\n  1) indented\n* star\n\n```py\nx = 1\n```\n<b>after</b>"
    leaves = parse(source, Dialect.TYPED).leaves
    assert leaves[0] == Plain(leaves[0].place, "# not a heading\n  1) indented\n* star")
    assert isinstance(leaves[1], Code)
    assert leaves[1].text() == "x = 1\n"
    assert isinstance(leaves[2], Plain)
    assert leaves[2].text == "<b>after</b>"


def test_a_link_defined_late_means_drawing_again() -> None:
    document = parse("see [x]\n\n")
    assert document.finish() == len(document.leaves)
    document.append("[x]: https://example.org\n")
    assert document.finish() == 0
    assert runs("[x]", document.references) == [Run("x", Look.LINK, "https://example.org")]


# --- case 34: angle brackets -------------------------------------------------------------------------------------

ANGLES = {
    "<wink> pancakes <waves>": "<wink> pancakes <waves>",
    "a List<String> x = new ArrayList<>();": "a List<String> x = new ArrayList<>();",
    "use <div> & <span>": "use <div> & <span>",
    "if a < b and c > d": "if a < b and c > d",
    "<!-- hi -->": "<!-- hi -->",
    "<script>alert(1)</script>after": "<script>alert(1)</script>after",
    "<details><summary>s</summary>t</details>": "<details><summary>s</summary>t</details>",
    "&lt;b&gt; &copy; &#65;": "<b> © A",
}


@pytest.mark.parametrize(("source", "expected"), ANGLES.items())
def test_nothing_in_angle_brackets_disappears(source: str, expected: str) -> None:
    assert shown(source) == expected


# --- case 35: fences in fences -----------------------------------------------------------------------------------


def codes(source: str) -> list[str]:
    return [leaf.text() for leaf in parse(source).leaves if isinstance(leaf, Code)]


def test_a_fence_of_four_holds_a_fence_of_three() -> None:
    source = "````\na\n```py\nx\n```\nb\n````\nafter"
    assert codes(source) == ["a\n```py\nx\n```\nb\n"]
    assert shown(source).endswith("after")


def test_a_tagged_fence_inside_a_fence_of_the_same_length_loses_nothing() -> None:
    source = "```markdown\ntext\n```py\nx = 1\n```\nbetween\n```\nafter"
    assert codes(source)[0] == "text\n```py\nx = 1\n"
    assert "between" in shown(source)
    assert shown(source).rstrip().endswith("after")


@pytest.mark.parametrize(
    ("source", "code", "prose"),
    [
        ("~~~\n```\nx\n```\n~~~\nafter", "```\nx\n```\n", "after"),
        ("- item\n  ```\n  x\n  ```\n\nafter", "x\n", "after"),
        ("   ```\n   x\n   ```\nafter", "x\n", "after"),
        ("    ```\n    x\n    ```\nafter", "```\nx\n```\n", "after"),
        ("```\nx\n```   \nafter", "x\n", "after"),
    ],
)
def test_fences_follow_commonmark(source: str, code: str, prose: str) -> None:
    assert codes(source) == [code]
    assert shown(source).endswith(prose)


def test_backticks_in_the_middle_of_a_line_open_nothing() -> None:
    assert codes("say ``` three and go on\nafter") == []


# --- case 37: the work grows in step with the text ---------------------------------------------------------------


def mixed(size: int) -> str:
    part = (
        "## Part\n\nSome words with `code` and **bold** text that go on for a while.\n\n- one\n- two\n  - deep\n\n"
        "```python\ndef f(x):\n    return x\n```\n\n| a | b |\n|---|---|\n| 1 | x |\n\n> quote\n\n"
    )
    return (part * (size // len(part) + 1))[:size]


LONG = {
    "mixed": mixed,
    "fence": lambda size: "```python\n" + "x = 1 + 2\n" * (size // 10),
    "list": lambda size: "- an item of the list\n" * (size // 22),
    "ordered": lambda size: "1. an item of the list\n" * (size // 23),
    "table": lambda size: "|a|b|\n|-|-|\n" + "|cell one|cell two|\n" * (size // 20),
}


def parsed_while_streaming(source: str) -> int:
    document = Markdown()
    for at in range(0, len(source), 27):
        document.append(source[at : at + 27])
    return document.parsed


@pytest.mark.parametrize("kind", LONG)
def test_parsing_a_stream_grows_in_step_with_its_length(kind: str) -> None:
    short, long = (parsed_while_streaming(LONG[kind](size)) for size in (10_000, 20_000))
    assert long <= 2.2 * short + 1_000
    assert long <= 10 * 20_000


def test_an_open_fence_is_not_parsed() -> None:
    document = parse("```\n")
    before = document.parsed
    document.append("line\n" * 1_000)
    assert document.parsed == before


# --- case 38: inputs that make a text engine crawl ---------------------------------------------------------------

HUGE = {
    "unbroken": "x" * 1_000_000,
    "angles": "<" * 200_000,
    "brackets": "[" * 50_000,
    "quotes": ">" * 50_000,
    "links": "[a](b) " * 20_000,
    "base64": "QUJD" * 170_000,
}


@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_line_becomes_slices_and_is_never_parsed(kind: str) -> None:
    document = parse(HUGE[kind])
    assert document.parsed == 0
    assert all(isinstance(leaf, Plain) and len(leaf.text) <= SLICE for leaf in document.leaves)
    assert "".join(leaf.text for leaf in document.leaves if isinstance(leaf, Plain)) == HUGE[kind]
    assert document.source == HUGE[kind]


def test_a_long_paragraph_has_no_inline_markup_and_loses_nothing() -> None:
    source = "\n".join(["[a](b) *c " * 20] * 40)
    assert len(source) > INLINE_LIMIT
    leaves = parse(source).leaves
    assert all(isinstance(leaf, Plain) for leaf in leaves)
    assert "\n".join(leaf.text for leaf in leaves if isinstance(leaf, Plain)) == source.rstrip()


def test_what_is_nested_too_deep_is_shown_as_written() -> None:
    source = ">" * 60 + " bottom"
    assert "bottom" in shown(source)
    deep = "\n".join("  " * depth + f"- level{depth}" for depth in range(60))
    assert all(f"level{depth}" in shown(deep) for depth in range(60))


# --- the inline phase --------------------------------------------------------------------------------------------


def test_looks_of_runs() -> None:
    assert runs("a **b `c`** ~~d~~ *e*", {}) == [
        Run("a "),
        Run("b ", Look.BOLD),
        Run("c", Look.BOLD | Look.CODE),
        Run(" "),
        Run("d", Look.STRIKE),
        Run(" "),
        Run("e", Look.ITALIC),
    ]


def test_bare_addresses_become_links_without_the_full_stop() -> None:
    assert runs("see https://example.org/a_b. Or", {}) == [
        Run("see "),
        Run("https://example.org/a_b", Look.LINK, "https://example.org/a_b"),
        Run(". Or"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("![x](http://127.0.0.1:1/p?q=SECRET)", "x (http://127.0.0.1:1/p?q=SECRET)"),
        ("![](//127.0.0.1/x)", "(//127.0.0.1/x)"),
        ("[![i](http://h/a.png)](http://h/b)", "i (http://h/a.png)"),
        ("![x](file:///dev/zero)", "![x](file:///dev/zero)"),
        ("![x](/dev/random)", "x (/dev/random)"),
        ("<img src=http://h/x>", "<img src=http://h/x>"),
    ],
)
def test_a_picture_is_its_description_and_its_address(source: str, expected: str) -> None:
    assert "".join(run.text for run in runs(source, {})) == expected


def test_a_long_address_is_shown_in_part() -> None:
    address = "https://example.org/" + "a" * 5_000
    assert len(shown_address(address)) == 300
    assert shown_address("https://example.org") == "https://example.org"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://a.b", True),
        ("HTTP://a.b", True),
        ("file:///etc/passwd", False),
        ("javascript:x", False),
        ("/x", False),
    ],
)
def test_only_web_addresses_may_be_opened(address: str, expected: bool) -> None:
    assert is_web(address) is expected
