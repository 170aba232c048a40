"""The models on this computer, in the model dialog: by mouse and keyboard, over real files."""

import os
import shutil
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)

from app.chat.model_state import ModelPhase
from app.hub import places
from app.hub.library import Library
from app.hub.shelf import Shelf
from app.inuse import Uses
from app.remembered import LoadChoice, Remembered, remembered_path
from app.settings import Settings
from app.ui.folders_dialog import FoldersDialog
from app.ui.library_view import Shows
from app.ui.same_search import _Run
from tests import tiny_models
from tests.gui.desk import until
from tests.gui.hubs import sources
from tests.gui.test_model_dialog import lines, opened, part
from tests.gui.test_names import nameless
from tests.model_folders import head


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / "my & models"
    folder.mkdir()
    return folder


def library(own, mine):
    made = Library(own)
    made.look_in([mine])
    return made


def remembered():
    return Remembered(remembered_path())


async def on_this_computer(desk, count):
    dialog = await opened(desk)
    desk.click(part(dialog, QPushButton, "modelsHere"))
    rows = part(dialog, QListWidget, "libraryList")
    await until(lambda: rows.count() == count, f"{count} models")
    return dialog, rows


def heading(dialog):
    return part(dialog, QLabel, "libraryHeading").text()


def show(dialog, what):
    part(dialog, QComboBox, "libraryShown").setCurrentIndex(what)


def choose(rows, name):
    rows.setCurrentRow(lines(rows).index(name))


def words(dialog):
    return " ".join(label.text() for label in dialog.library.page.findChildren(QLabel))


def test_what_can_chat_is_listed_with_its_details_and_used_with_one_click(with_desk, own, mine):
    tiny_models.talker(own / "<b>a-Q4_K_M.gguf")
    head(mine / "w.gguf", general__name="Writer", general__file_type=7, general__size_label="8B", llama__context_length=32768, general__license="mit", tokenizer__chat_template="x")  # fmt: skip
    head(own / "mmproj-w.gguf", "clip", general__type="mmproj")
    (own / "broken.gguf").write_bytes(b"GGUF\x03")

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 2)
        assert lines(rows) == ["<b>a-Q4_K_M", "w"]
        assert heading(dialog).startswith("2 models, ")
        choose(rows, "w")
        for fact in ("Q8_0", "llama", "8B", "Writer", "context 32,768", "licence mit", "Never used", str(mine)):  # fmt: skip
            assert fact in words(dialog), fact
        assert nameless(dialog) == []
        show(dialog, Shows.ALL)
        assert lines(rows) == ["<b>a-Q4_K_M", "broken", "mmproj-w", "w"]
        choose(rows, "mmproj-w")
        assert "vision projector" in words(dialog)
        assert not part(dialog, QPushButton, "libraryUseButton").isVisible()
        choose(rows, "broken")
        assert "cannot be loaded" in words(dialog)
        choose(rows, "w")
        desk.click(part(dialog, QPushButton, "libraryUseButton"))
        await until(lambda: desk.host.loads == [str(mine / "w.gguf")])
        await until(lambda: not desk.window.findChild(QWidget, "modelDialog"))

    with_desk(scenario, sources=sources(library(own, mine)))


@pytest.mark.parametrize(
    ("kind", "architecture", "values"),
    [
        ("vision projector", "clip", {"general__type": "mmproj"}),
        ("adapter", "llama", {"general__type": "adapter", "adapter__type": "lora"}),
        ("draft model", "eagle3", {}),
        ("importance matrix", "llama", {"general__type": "imatrix"}),
        ("embedding model", "nomic-bert", {}),
    ],
)
def test_what_is_no_chat_model_says_what_it_is(with_desk, own, mine, kind, architecture, values):
    head(own / "chat.gguf", architecture, **values)

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 0)
        await until(lambda: heading(dialog).startswith("There is none yet"))
        show(dialog, Shows.ALL)
        choose(rows, "chat")
        assert kind in words(dialog)
        for name in ("libraryUseButton", "libraryLoadButton"):
            assert not part(dialog, QPushButton, name).isVisible()

    with_desk(scenario, sources=sources(library(own, mine)))


def test_a_name_is_given_by_keyboard_and_escape_leaves_it(with_desk, own, mine):
    path = head(own / "m.gguf")

    async def scenario(desk):
        desk.host.state = replace(desk.host.state, path=str(path), phase=ModelPhase.UNLOADED)
        dialog, rows = await on_this_computer(desk, 1)
        field = part(dialog, QLineEdit, "libraryNameField")
        desk.click(part(dialog, QPushButton, "libraryRenameButton"))
        assert field.hasFocus()
        QTest.keyClicks(field, "Quick & <b>good</b>")
        QTest.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: lines(rows) == ["Quick & <b>good</b>"])
        await until(lambda: desk.host.retitled == 1)
        assert remembered().title(path) == "Quick & <b>good</b>"
        assert path.exists()
        desk.click(part(dialog, QPushButton, "libraryRenameButton"))
        QTest.keyClicks(field, "other")
        QTest.keyClick(field, Qt.Key.Key_Escape)
        assert not field.isVisible()
        assert dialog.isVisible()
        assert lines(rows) == ["Quick & <b>good</b>"]
        menu = desk.find(QToolButton, "modelButton").menu()
        named = desk.window.findChild(QWidget, "localModelsMenu")
        assert named.menuAction() in menu.actions()
        named.aboutToShow.emit()
        await until(lambda: named.actions()[0].text().startswith("Quick && <b>good</b>  ·  "))

    with_desk(scenario, sources=sources(library(own, mine)))


def test_removal_asks_first_and_says_how_large_and_whose_it_is(with_desk, own, mine):
    ours, yours = head(own / "ours.gguf"), head(mine / "yours.gguf")

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 2)
        remove = part(dialog, QPushButton, "libraryRemoveButton")
        question = part(dialog, QWidget, "removal")
        keep = part(dialog, QPushButton, "libraryKeep")
        choose(rows, "yours")
        desk.click(remove)
        said = question.accessibleName()
        assert str(mine) in said
        assert "did not put it there" in said
        assert keep.hasFocus()
        desk.click(keep)
        assert not question.isVisible()
        assert yours.exists()
        choose(rows, "ours")
        desk.click(remove)
        assert "another program" not in question.accessibleName()
        choose(rows, "yours")
        assert not question.isVisible()
        for path, left in ((ours, ["yours"]), (yours, [])):
            choose(rows, path.stem)
            desk.click(remove)
            desk.click(part(dialog, QPushButton, "libraryRemoveNow"))
            await until(lambda left=left: lines(rows) == left)
            assert not path.exists()

    with_desk(scenario, sources=sources(library(own, mine)))


def test_what_another_process_uses_is_asked_about_again(with_desk, own, tmp_path):
    path = head(own / "m.gguf")
    folder = tmp_path / "in-use"

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 1)
        remove, now = (
            part(dialog, QPushButton, f"libraryRemove{name}") for name in ("Button", "Now")
        )
        question, keep = part(dialog, QWidget, "removal"), part(dialog, QPushButton, "libraryKeep")

        async def ask():
            desk.click(remove)
            desk.click(now)
            await until(lambda: "in use by tutti serve" in question.accessibleName())
            assert question.isVisible()
            assert keep.hasFocus()
            assert now.text() == "Remove all the same"

        with Uses(folder, "tutti serve").use(path):
            await ask()
            desk.click(keep)
            assert not question.isVisible()
            assert path.exists()
            await ask()
            desk.click(now)
            await until(lambda: rows.count() == 0)
        assert not path.exists()

    with_desk(scenario, sources=sources(Library(own, uses=Uses(folder, "the window"))))


def test_what_is_loaded_or_anothers_cannot_be_removed(with_desk, own, mine, tmp_path):
    path = head(own / "m.gguf")
    theirs = head(tmp_path / "theirs" / "t.gguf")
    place = replace(places.named([theirs.parent])[0], named=False)

    async def scenario(desk):
        desk.host.state = replace(desk.host.state, path=str(path))
        dialog, rows = await on_this_computer(desk, 2)
        for name in ("m", "t"):
            choose(rows, name)
            assert not part(dialog, QPushButton, "libraryRemoveButton").isVisible()
        assert "loaded" in rows.item(0).text()

    with_desk(scenario, sources=sources(Library(own, [place])))


def test_unused_ones_and_those_with_the_same_content_are_found(with_desk, own, mine):
    tiny_models.talker(own / "a.gguf")
    shutil.copy(own / "a.gguf", mine / "b.gguf")
    head(own / "c.gguf")
    os.utime(own / "c.gguf", (1e9, 1e9))

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 3)
        show(dialog, Shows.UNUSED)
        assert lines(rows) == ["c"]
        assert "not loaded for 30 days" in heading(dialog)
        show(dialog, Shows.SAME)
        await until(lambda: lines(rows) == ["a", "b"])
        assert "2 models hold what another one holds too" in heading(dialog)
        assert not part(dialog, QPushButton, "librarySameStop").isVisible()
        choose(rows, "b")
        desk.click(part(dialog, QPushButton, "libraryRemoveButton"))
        desk.click(part(dialog, QPushButton, "libraryRemoveNow"))
        await until(lambda: heading(dialog) == "Nothing is there twice.")

    with_desk(scenario, sources=sources(library(own, mine)))


def test_the_search_for_the_same_content_can_be_stopped(with_desk, own, mine):
    tiny_models.talker(own / "a.gguf")
    shutil.copy(own / "a.gguf", mine / "b.gguf")

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 2)
        show(dialog, Shows.SAME)
        desk.click(part(dialog, QPushButton, "librarySameStop"))
        assert heading(dialog) == "Stopped before everything was compared."
        show(dialog, Shows.CHATS)
        show(dialog, Shows.SAME)
        await until(lambda: lines(rows) == ["a", "b"])

    with_desk(scenario, sources=sources(library(own, mine)))


def test_a_search_that_was_stopped_reads_no_further(own, mine):
    tiny_models.talker(own / "a.gguf")
    shutil.copy(own / "a.gguf", mine / "b.gguf")
    shelf = Shelf(library(own, mine), remembered())
    searches = [_Run(shelf, shelf.models()) for _ in range(2)]
    searches[0].cancel()
    assert [len(one.work()) for one in searches] == [0, 1]
    assert searches[0].done == 0
    assert searches[1].done == searches[1].total


def test_a_model_is_loaded_as_was_set_for_it(with_desk, own, mine):
    path = tiny_models.talker(own / "a.gguf") or own / "a.gguf"

    async def scenario(desk):
        dialog, _rows = await on_this_computer(desk, 1)
        load = part(dialog, QPushButton, "libraryLoadButton")
        desk.click(load)
        await until(lambda: desk.window.findChild(QWidget, "loadDialog"))
        asked = desk.find(QWidget, "loadDialog")
        pool = part(asked, QSpinBox, "setting_pool_tokens")
        assert not pool.isEnabled()
        assert nameless(asked) == []
        part(asked, QCheckBox, "load_own").click()
        pool.setValue(2048)
        part(asked, QComboBox, "setting_kv_type").setCurrentIndex(1)
        part(asked, QSpinBox, "setting_threads").setValue(3)
        desk.click(part(asked, QPushButton, "saveButton"))
        await until(lambda: "settings of its own" in words(dialog))
        choice = LoadChoice(pool_tokens=2048, kv_type="q8_0", threads=3)
        assert remembered().of(path).load == choice
        assert desk.preferences.current == Settings()
        await until(lambda: not desk.window.findChild(QWidget, "loadDialog"))
        desk.click(load)
        await until(lambda: desk.window.findChild(QWidget, "loadDialog"))
        asked = desk.find(QWidget, "loadDialog")
        assert part(asked, QSpinBox, "setting_pool_tokens").value() == 2048
        part(asked, QCheckBox, "load_own").click()
        desk.click(part(asked, QPushButton, "saveButton"))
        await until(lambda: "settings of its own" not in words(dialog))
        assert remembered().of(path).load is None

    with_desk(scenario, sources=sources(library(own, mine)), current=Settings())


def test_the_loaded_model_offers_to_be_loaded_again_and_the_settings_say_so(with_desk, own, mine):
    path = head(own / "m.gguf")
    found = sources(library(own, mine))

    async def scenario(desk):
        desk.host.move(path=str(path), name="Mine")
        menu = desk.find(QToolButton, "modelButton").menu()
        action = next(a for a in menu.actions() if a.objectName() == "loadSettingsAction")
        assert action.isVisible()
        action.trigger()
        await until(lambda: desk.window.findChild(QWidget, "loadDialog"))
        asked = desk.find(QWidget, "loadDialog")
        part(asked, QCheckBox, "load_own").click()
        part(asked, QSpinBox, "setting_threads").setValue(3)
        desk.click(part(asked, QPushButton, "saveButton"))
        await until(lambda: "count from the next load" in desk.window.banner.text())
        desk.click(desk.find(QPushButton, "noticeAction"))
        await until(lambda: desk.host.loads == [str(path)])
        desk.window.settings()
        await until(lambda: desk.window.findChild(QWidget, "settingsDialog"))
        dialog = desk.find(QWidget, "settingsDialog")
        said = [label.text() for label in dialog.findChildren(QLabel)]
        assert any(text.startswith("Mine has load settings of its own") for text in said)

    with_desk(scenario, sources=found)


def test_the_last_use_is_remembered(with_desk, own, mine):
    path = head(own / "m.gguf")

    async def scenario(desk):
        desk.host.move(path=str(path), phase=ModelPhase.LOADING)
        desk.host.move(phase=ModelPhase.READY)
        await until(lambda: remembered().of(path).used > 1e9)
        dialog, _rows = await on_this_computer(desk, 1)
        assert "Last used 20" in words(dialog)

    with_desk(scenario, sources=sources(library(own, mine)))


def test_folders_are_added_and_taken_from_the_list(with_desk, own, mine, tmp_path):
    head(own / "a.gguf")
    head(mine / "b.gguf")
    more = head(tmp_path / "more" / "c.gguf").parent

    async def scenario(desk):
        dialog, rows = await on_this_computer(desk, 2)
        desk.click(part(dialog, QPushButton, "libraryFoldersButton"))
        await until(lambda: desk.window.findChild(FoldersDialog))
        folders = desk.window.findChild(FoldersDialog)
        assert folders.value() == (str(mine),)
        assert nameless(folders) == []
        folders.add(str(more))
        folders.add(str(more))
        part(folders, QListWidget, "folderList").setCurrentRow(0)
        desk.click(part(folders, QPushButton, "removeFolderButton"))
        desk.click(part(folders, QPushButton, "saveButton"))
        await until(lambda: lines(rows) == ["a", "c"])
        assert desk.preferences.current.model_folders == (str(more),)
        assert (mine / "b.gguf").exists()

    with_desk(
        scenario,
        sources=sources(library(own, mine)),
        current=Settings(model_folders=(str(mine),)),
    )
