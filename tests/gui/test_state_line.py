"""The line above the composer: a hint can be read while an answer streams."""

import pytest
from PySide6.QtWidgets import QLabel

from app.chat.events import TurnState
from app.chat.models import TabState
from app.ui.state_line import StateLine


def writing(rate: float) -> TurnState:
    return TurnState(TabState.WRITING, tokens_per_second=rate)


@pytest.fixture
def line(qtbot):
    made = StateLine(None)
    qtbot.addWidget(made)
    made.show_turn(writing(30))
    return made


def test_a_hint_outlives_the_figures(line):
    line.hint("Stop the answer first.")
    for rate in range(31, 60):
        line.show_turn(writing(rate))
    assert line.text() == "Stop the answer first."
    line._hint.timeout.emit()
    assert line.text() == "Writing, 59 tok/s"


def test_a_hint_ends_with_the_state(line):
    line.hint("Stop the answer first.")
    line.show_turn(TurnState(TabState.FAILED, error="No room."))
    assert line.text() == "Failed: No room."
    line.show_turn(writing(5))
    assert line.text() == "Writing, 5.0 tok/s"


def test_a_newer_hint_takes_the_place_of_an_older(line):
    line.hint("one")
    line.hint("two")
    line.show_turn(writing(31))
    assert line.text() == "two"


def test_the_figures_are_whole_while_there_is_room_and_the_words_have_the_rest(line, qtbot):
    line.show_context(1_164, 8_192)
    line.show_turn(TurnState(TabState.FAILED, error="No room. " * 40))
    line.resize(400, 24)
    line.show()
    words, figures = (line.findChild(QLabel, name) for name in ("stateText", "contextText"))
    needed = figures.fontMetrics().horizontalAdvance(figures.text())
    assert needed <= figures.contentsRect().width() <= needed + 2
    assert words.geometry().right() >= figures.geometry().left() - 8
    line.show_context(0, 0)
    line.layout().activate()
    assert words.geometry().right() >= line.width() - 16
