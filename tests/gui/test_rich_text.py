"""Paragraphs: the grounds of inline code stand off their neighbours, in both directions of writing."""

import re

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QApplication

from app.ui import theme
from app.ui.inline import runs
from app.ui.rich_text import RichText, extents, units
from app.ui.text_style import Style

SENTENCES = [
    "and`it`is",
    "why `decode` and `prefill` share",
    "(`paren`), `a`,`b`.",
    "`first` and `last`",
    "温度和`氮磷`营养",
    "😀`x`😀",
    "cafe\u0301`x`e\u0301",
    "شغّل الأمر `make test` (مرتين)",
    "הרץ את `ls -la` ואז",
    "an English `word` with עברית in it",
    "line one `code`\nand `more` of it",
    "**bold** `**code**` *slanted*`x`",
]


@pytest.fixture
def style(qapp: QApplication) -> Style:
    theme.apply(qapp, "light")
    return Style()


def laid_out(source: str, style: Style, width: int = 700) -> RichText:
    rich = RichText(runs(source, {}))
    rich.lay_out(width, style, style.body, style.pitch)
    return rich


def letters_outside(rich: RichText):
    """Edges of every run of letters that is not code, and the line on which it stands."""
    code = [(span.start, span.end) for span in rich._spans if "CODE" in str(span.run.look)]
    for found in re.finditer(r"[^\s\u2028\u2066\u2069]+", rich.text):
        start = units(rich.text[: found.start()])
        for at in range(start, start + units(found.group())):
            if any(first <= at < last for first, last in code):
                continue
            for line in rich._lines():
                if line.textStart() <= at < line.textStart() + line.textLength():
                    for left, right in extents(line, at, at + 1, mixed=True):
                        yield QRectF(left, line.y(), right - left, line.height())


@pytest.mark.parametrize("source", SENTENCES)
def test_code_does_not_touch_its_neighbours(style: Style, source: str) -> None:
    rich = laid_out(source, style)
    pills = list(rich.pills(style))
    assert pills
    for letter in letters_outside(rich):
        for pill in pills:
            assert not letter.adjusted(0.5, 1, -0.5, -1).intersects(pill), (source, letter, pill)


def test_the_text_stays_what_it_was(style: Style) -> None:
    rich = laid_out("and`it`is", style)
    assert rich.visible() == "anditis"
    assert rich.visible(3, 5) == "it"
    assert rich.length == 7


def test_the_ground_ends_with_its_letters(style: Style) -> None:
    rich = laid_out("`it` is", style)
    (pill,) = rich.pills(style)
    line = next(rich._lines())
    ((left, right),) = extents(line, 0, 2, mixed=False)
    assert pill.left() == left - style.pill_pad
    assert pill.right() == pytest.approx(right - style.pill_room + style.pill_pad)


def test_code_that_is_broken_has_a_ground_on_each_line(style: Style) -> None:
    rich = laid_out("`" + "word " * 40 + "` after", style, width=300)
    assert len(list(rich.pills(style))) == sum(1 for _ in rich._lines()) > 2
    assert all(pill.right() <= 300 + style.pill_pad for pill in rich.pills(style))
