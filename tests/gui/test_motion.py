"""The dot that beats while a chat writes, and when it stands still."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

from app.chat.events import TurnChanged, TurnState
from app.chat.models import TabState
from app.ui import motion
from app.ui.motion import BEAT_MS, Pulse
from tests.gui.desk import turns_of_the_loop

WRITING = TurnChanged(0, TurnState(TabState.WRITING, tokens_per_second=31.2))


class Painted(QObject):
    """How large the parts of a widget were that were painted."""

    def __init__(self, widget):
        super().__init__()
        self.areas = []
        widget.installEventFilter(self)

    def eventFilter(self, _, event):  # noqa: N802
        if event.type() == QEvent.Type.Paint:
            self.areas.append(event.region().boundingRect())
        return False


@pytest.fixture
def pulse(qapp):
    parent = QObject()
    made = Pulse(parent)
    made.parent_kept = parent
    yield made
    made.allow(False)


def test_it_is_slower_than_two_beats_a_second():
    assert BEAT_MS >= 500


def test_it_beats_only_where_it_may_and_somebody_writes(pulse):
    assert not pulse.running
    pulse.want(True)
    assert not pulse.running, "nothing moves before the system was asked"
    pulse.allow(True)
    assert pulse.running
    pulse._turn()
    assert pulse.swollen
    pulse.want(False)
    assert not pulse.running
    assert not pulse.swollen, "it rests at its usual size"


def test_a_beat_paints_the_marks_and_nothing_else(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        await turns_of_the_loop()
        page = desk.front
        desk.window.workspace.handle(TurnChanged(page.id, WRITING.turn))
        assert desk.window.pulse._wanted
        await turns_of_the_loop(50)
        sidebar, transcript = desk.window.sidebar.list.viewport(), page.transcript.viewport()
        watched = {part: Painted(part) for part in (sidebar, transcript)}
        desk.window.pulse.allow(True)
        desk.window.pulse._turn()
        QApplication.sendPostedEvents(desk.window, QEvent.Type.UpdateRequest.value)
        assert watched[transcript].areas == []
        (area,) = watched[sidebar].areas
        assert area.width() <= 24
        assert area.height() <= 24

    with_desk(scenario)


def test_a_new_state_paints_the_row_of_its_chat_and_nothing_else_of_the_list(with_desk):
    async def scenario(desk):
        for _ in range(3):
            await desk.window.workspace.new()
        await turns_of_the_loop(50)
        chats = desk.window.sidebar.list
        QApplication.sendPostedEvents(desk.window, QEvent.Type.UpdateRequest.value)
        watched = Painted(chats.viewport())
        desk.window.workspace.handle(TurnChanged(desk.front.id, WRITING.turn))
        await turns_of_the_loop(50)
        QApplication.sendPostedEvents(desk.window, QEvent.Type.UpdateRequest.value)
        row = chats.visualRect(chats.model().index_of(desk.front.id))
        assert watched.areas
        assert all(row.contains(area) for area in watched.areas)

    with_desk(scenario)


def test_the_pulse_rests_when_nobody_writes(with_desk):
    async def scenario(desk):
        desk.window.workspace.handle(TurnChanged(desk.front.id, WRITING.turn))
        assert desk.window.pulse._wanted
        desk.window.workspace.handle(TurnChanged(desk.front.id, TurnState()))
        assert not desk.window.pulse._wanted

    with_desk(scenario)


@pytest.mark.parametrize(
    ("file", "text", "still"),
    [
        ("kdeglobals", "[KDE]\nAnimationDurationFactor=0\n", True),
        ("kdeglobals", "[KDE]\nAnimationDurationFactor=0.5\n", False),
        ("kdeglobals", "[KDE]\nAnimationDurationFactor=never\n", False),
        ("gtk-3.0/settings.ini", "[Settings]\ngtk-enable-animations=false\n", True),
        ("gtk-4.0/settings.ini", "[Settings]\ngtk-enable-animations=0\n", True),
        ("gtk-4.0/settings.ini", "[Settings]\ngtk-enable-animations=1\n", False),
        ("gtk-4.0/settings.ini", "gtk-enable-animations=0\n[[[\x00", False),
    ],
)
def test_what_the_desktop_asks_for(tmp_path: Path, file: str, text: str, still: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert motion.is_reduced({"XDG_CONFIG_HOME": str(tmp_path), "PATH": ""}, "linux") is still


@pytest.mark.parametrize(("answer", "still"), [("false", True), ("true", False), ("", False)])
@pytest.mark.skipif(sys.platform == "win32", reason="the tool is a shell script")
def test_gnome_is_asked_by_its_own_tool(tmp_path: Path, answer: str, still: bool) -> None:
    tool = tmp_path / "gsettings"
    tool.write_text(f'#!/bin/sh\n[ "$3" = enable-animations ] && echo {answer}\n')
    tool.chmod(0o755)
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": f"{tmp_path}:/bin:/usr/bin"}
    assert not motion.is_reduced(environment, "linux"), "another desktop is not asked"
    environment["XDG_CURRENT_DESKTOP"] = "ubuntu:GNOME"
    assert motion.is_reduced(environment, "linux") is still


def test_other_systems_move_unless_they_say_otherwise() -> None:
    assert not motion.is_reduced({}, "darwin")
