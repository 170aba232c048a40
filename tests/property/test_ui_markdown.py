"""Whatever is appended in whatever pieces, the leaves are those of parsing the whole text at once."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it.token import Token

from app.ui.leaves import (
    Code,
    Leaf,
    Origin,
    Paragraph,
    Place,
    Plain,
    Row,
    flatten,
    slices,
    verbatim,
)
from app.ui.markdown import LINE_LIMIT, TAIL_LIMIT, Dialect, Markdown, parser

FRAGMENTS = (
    "a", "b c", "word ", "- ", "- x\n", "* ", "+ ", "1. ", "1. x\n", "2) ", "7. seven\n", "> ", ">", "```", "```py\n",
    "````", "~~~", "~~~~\n", "\n", "\n\n", "    ", "  ", " ", "   ```\n", "\t", "|", "a|b", "a|b\n", "-|-", "-|-\n",
    "|---|:-:|\n", "| x | y |\n", "- a|b\n", "3. a|b\n", "> a|b\n", "```x|y\n", "# ", "## h\n", "---", "---\n", "===\n",
    "[x]: /u", "[x]: /u\n", "[x]", "'t'\n", "`", "***", "[ ] ", "- [x] ", "<b>", "<!-- ", "&amp;", "\\", "\\|", "é", "😀",
)  # fmt: skip

COMMONMARK = (
    "\tfoo\tbaz\t\tbim\n", "  - foo\n\n\tbar\n", ">\t\tfoo\n", "-\t\tfoo\n", "- `one\n- two`\n", "* Foo\n* * *\n* Bar\n",
    "Foo\n---\nbar\n", "> foo\n---\n", "- foo\nbar\n===\n", "```\n<\n >\n```\n", "``\nfoo\n``\n", "````\naaa\n```\n``````\n",
    "> ```\n> aaa\n\nbbb\n", "   ```\n   aaa\n    aaa\n  aaa\n   ```\n", "    ```\n    aaa\n    ```\n", "```\naaa\n    ```\n",
    "``` ```\naaa\n", "foo\n```\nbar\n```\nbaz\n", "~~~~    ruby startline=3 $%@#$\nx\n~~~~~~~\n", "``` aa ```\nfoo\n",
    "[foo]: /url 'title'\n\n[foo]\n", "[foo]: \n   /url  \n           'the title'  \n\n[foo]\n", "[foo]: /url 'title\n\nwith\n",
    "[foo]\n\n[foo]: first\n[foo]: second\n", "[foo]: /foo-url \"foo\"\n[bar]: /bar-url\n  \"bar\"\n[baz]: /baz-url\n\n[foo],\n",
    "# [Foo]\n[foo]: /url\n> bar\n", "| foo | bar |\n| --- | --- |\n| baz | bim |\n", "| abc | def |\n| --- |\n| bar |\n",
    "| f\\|oo  |\n| ------ |\n| b `\\|` az |\n", "| abc | def |\n| --- | --- |\n| bar | baz |\n> bar\n",
    "| abc | def |\n| --- | --- |\n| bar | baz |\nbar\n\nbar\n", "> # Foo\n> bar\n> baz\n", "> bar\nbaz\n> foo\n", "> - foo\n- bar\n",
    ">     foo\n    bar\n", "> ```\nfoo\n```\n", ">\n> foo\n>  \n", "> > > foo\nbar\n", "A paragraph\nwith two lines.\n\n    code\n\n> q\n",
    "1.  A paragraph\n    with two lines.\n\n        code\n\n    > q\n", "- one\n\n two\n", " -    one\n\n     two\n", "-one\n\n2.two\n",
    "- foo\n\n\n  bar\n", "123456789. ok\n", "1234567890. not ok\n", "-1. not ok\n", "- foo\n\n      bar\n", "1.     indented\n",
    "-\n  foo\n-\n  ```\n  bar\n  ```\n-\n      baz\n", "-\n\n  foo\n", "*\n", "foo\n*\n\nfoo\n1.\n", "- foo\n  - bar\n    - baz\n",
    "10) foo\n    - bar\n", "- - foo\n", "1. - 2. foo\n", "- foo\n- bar\n+ baz\n", "1. foo\n2. bar\n3) baz\n", "Foo\n- bar\n- baz\n",
    "The number is\n14.  The rain.\n", "- a\n - b\n  - c\n   - d\n  - e\n - f\n- g\n", "- a\n - b\n  - c\n   - d\n    - e\n",
    "- a\n- b\n\n- c\n", "* a\n*\n\n* c\n", "- a\n- b\n\n  [ref]: /url\n- d\n", "- a\n- ```\n  b\n\n\n  ```\n- c\n", "- a\n  > b\n  ```\n  c\n  ```\n",
)  # fmt: skip

documents = st.lists(st.sampled_from(FRAGMENTS) | st.sampled_from(COMMONMARK), max_size=30).map(
    "".join
)


def top_level(tokens: list[Token]) -> list[list[Token]]:
    blocks: list[list[Token]] = [[]]
    for token in tokens:
        blocks[-1].append(token)
        if token.level == 0 and token.nesting <= 0:
            blocks.append([])
    return blocks[:-1]


def whole(source: str, dialect: Dialect) -> list[Leaf]:
    """The leaves of one parse of everything."""
    lines = source.split("\n")
    if max(map(len, lines)) > LINE_LIMIT:
        return list(slices(source, Place(0, 0)))
    md = parser(dialect)
    tokens: list[Token] = []
    md.block.parse(source, md, {"references": {}}, tokens)
    make = flatten if dialect is Dialect.MARKDOWN else verbatim

    def cut(start: int, end: int) -> str:
        return "\n".join(lines[start:end])

    return [leaf for block in top_level(tokens) for leaf in make(block, cut, Origin())]


def pieces_of(source: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(source) + 1) for cut in cuts} | {0, len(source)})
    return [source[start:end] for start, end in pairwise(places)]


@pytest.mark.slow
@given(documents, st.lists(st.integers(0, 2_000), max_size=40), st.sampled_from(Dialect))
@example("- x\n- a|b\n-|-\n", list(range(20)), Dialect.MARKDOWN)
@example("- item\na|b\n    -|-x\n", list(range(25)), Dialect.MARKDOWN)
@example("para\n\n```x|y\n|---|\nrow\n", list(range(25)), Dialect.MARKDOWN)
@example("para\na|b\n-|-x\n", list(range(20)), Dialect.MARKDOWN)
@example("```\na\n    ```\nb\n", list(range(20)), Dialect.TYPED)
@settings(max_examples=400)
def test_appending_equals_parsing_at_once(source: str, cuts: list[int], dialect: Dialect) -> None:
    document = Markdown(dialect)
    so_far = ""
    for piece in pieces_of(source, cuts):
        before = [repr(leaf) for leaf in document.leaves]
        changed = document.append(piece)
        so_far += piece
        assert document.leaves == whole(so_far, dialect)
        assert document.source == so_far
        assert [repr(leaf) for leaf in document.leaves[:changed]] == before[:changed]


@pytest.mark.slow
@given(st.sampled_from(COMMONMARK), st.sampled_from(COMMONMARK))
@settings(max_examples=150)
def test_every_prefix_of_two_examples(first: str, second: str) -> None:
    document = Markdown()
    for end, character in enumerate(first + second, 1):
        document.append(character)
        assert document.leaves == whole((first + second)[:end], Dialect.MARKDOWN)


@given(st.lists(st.sampled_from(["x" * 7_000, "\n", "word ", "y" * 13_000]), max_size=12))
@settings(max_examples=60)
def test_long_lines_are_sliced_the_same_way_in_any_pieces(pieces: list[str]) -> None:
    document = Markdown()
    so_far = ""
    for piece in pieces:
        document.append(piece)
        so_far += piece
        closed_by_force = (
            len(so_far) > TAIL_LIMIT and max(map(len, so_far.split("\n"))) <= LINE_LIMIT
        )
        if not closed_by_force:
            assert document.leaves == whole(so_far, Dialect.MARKDOWN)
        assert letters_of(document.leaves) == letters(so_far)


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def letters_of(leaves: list[Leaf]) -> str:
    parts: list[str] = []
    for leaf in leaves:
        match leaf:
            case Paragraph(text=text) | Plain(text=text):
                parts.append(text)
            case Code(lines=lines):
                parts.extend(lines)
            case Row(cells=cells):
                parts.extend(cells)
    return letters("".join(parts))


HUGE = (
    "word word\n" * 6_000, "  - nested\n" * 6_000, "> quote\n" * 8_000, "> > > deep\n" * 6_000, "- item\n" * 3_000,
    "- x\n\n  ```\n" + "  code\n" * 8_000, "  after\n\n", "\n\n", "text", "| a | b |\n|--|--|\n" + "| 1 | 2 |\n" * 3_000,
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(HUGE), min_size=1, max_size=4),
    st.lists(st.integers(0, 200_000), max_size=12),
    st.sampled_from(Dialect),
)
@settings(max_examples=25)
def test_of_huge_blocks_nothing_is_lost_and_nothing_is_read_for_ever(
    parts: list[str], cuts: list[int], dialect: Dialect
) -> None:
    source = "".join(parts)
    document = Markdown(dialect)
    for piece in pieces_of(source, cuts):
        before = document.parsed
        document.append(piece)
        # What is appended is read twice at most, and once more what was left in the tail.
        assert document.parsed - before <= 3 * (len(piece) + TAIL_LIMIT)
    assert letters_of(document.leaves) == letters(source)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))
def test_every_leaf_stands_on_the_lines_it_names(source: str) -> None:
    document = Markdown()
    document.append(source)
    lines = source.split("\n")
    for leaf in document.leaves:
        assert 0 <= leaf.place.start < leaf.place.end <= len(lines) + 1
