"""The menu of the models on this computer: what can chat is there, one click loads it."""

from html import unescape

from PySide6.QtWidgets import QMenu, QToolButton

from app.hub import places
from app.hub.library import Library
from tests import tiny_models
from tests.gui.desk import until
from tests.gui.hubs import sources


def menu(desk):
    top = desk.find(QToolButton, "modelButton").menu()
    (found,) = top.findChildren(QMenu, "localModelsMenu") or desk.window.findChildren(
        QMenu, "localModelsMenu"
    )
    assert found.menuAction() in top.actions()
    return found


def texts(found):
    return [action.text() for action in found.actions()]


def test_models_of_all_places_are_offered_and_one_click_loads_one(with_desk, tmp_path):
    own, other = tmp_path / "own", tmp_path / "a & b"
    own.mkdir()
    other.mkdir()
    tiny_models.talker(own / "<b>mine.gguf")
    tiny_models.attention(other / "theirs.gguf")
    (own / "damaged.gguf").write_bytes(b"GGUF\x03")
    (own / "mmproj.gguf").write_bytes(b"no")

    async def scenario(desk):
        found = menu(desk)
        assert texts(found) == ["Looking…"]
        found.aboutToShow.emit()
        await until(lambda: len(found.actions()) == 2)
        first, second = found.actions()
        assert first.text().startswith("<b>mine  ·  ")
        assert second.text().startswith("theirs  ·  ")
        assert str(own) in first.toolTip()
        assert "a & b" in unescape(second.toolTip())
        second.trigger()
        await until(lambda: desk.host.loads == [str(other / "theirs.gguf")])

    with_desk(scenario, sources=sources(Library(own, places.named([other]))))


def test_a_computer_without_models_says_so_and_sees_one_that_comes(with_desk, tmp_path):
    own = tmp_path / "own"

    async def scenario(desk):
        found = menu(desk)
        found.aboutToShow.emit()
        await until(lambda: texts(found) == ["There is none yet"])
        assert not found.actions()[0].isEnabled()
        own.mkdir()
        tiny_models.talker(own / "new.gguf")
        found.aboutToShow.emit()
        await until(lambda: texts(found)[0].startswith("new  ·  "))

    with_desk(scenario, sources=sources(Library(own)))
