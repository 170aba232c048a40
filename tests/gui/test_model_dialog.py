"""The dialog that finds and downloads models, by mouse and keyboard, over a hub that a script plays."""

import asyncio

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QToolButton,
    QWidget,
)

from app.errors import HubError, HubProblem
from app.hub.offers import Listed
from app.hub.standing import State
from app.ui import theme
from app.ui.card_view import CardView, readable
from app.ui.download_list import DownloadRow
from app.ui.facts_painter import FactsPainter, expect
from tests.fakes import FakeModelHost
from tests.gui.desk import turns_of_the_loop, until
from tests.gui.hubs import FakeHub, sources
from tests.gui.test_model import without_model
from tests.gui.test_names import nameless


async def opened(desk):
    menu = desk.find(QToolButton, "modelButton").menu()
    next(a for a in menu.actions() if a.objectName() == "findModelsAction").trigger()
    await until(lambda: desk.window.findChild(QWidget, "modelDialog"))
    return desk.find(QWidget, "modelDialog")


def part(dialog, kind, name):
    found = dialog.findChild(kind, name)
    assert found is not None, name
    return found


def lines(widget):
    return [widget.item(n).text().split("\n")[0] for n in range(widget.count())]


def choose(widget, row):
    rect = widget.visualItemRect(widget.item(row))
    QTest.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())


def said(dialog):
    return part(dialog, QLabel, "hubHeading").text()


def test_it_opens_with_what_is_recommended_and_asks_nothing(with_desk):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        assert lines(part(dialog, QListWidget, "hubResults")) == ["Small 1B"]
        assert said(dialog) == "Recommended for this machine"
        assert dialog.focusWidget() is part(dialog, QLineEdit, "hubSearchField")
        await turns_of_the_loop()
        assert hub.asked == []
        assert nameless(dialog) == []
        # A second wish brings the same one forward.
        assert await opened(desk) is dialog

    with_desk(scenario, sources=sources(hub=hub))


def test_the_first_screen_leads_to_it_also_before_the_hub_is_there(with_desk):
    async def scenario(desk):
        button = desk.find(QPushButton, "findModelButton")
        await until(button.isVisible)
        assert button.text() == "Find a better model…"
        desk.click(button)
        await turns_of_the_loop()
        assert desk.window.findChild(QWidget, "modelDialog") is None
        desk.window.offer_models(sources())
        await until(lambda: desk.window.findChild(QWidget, "modelDialog"))
        desk.find(QWidget, "modelDialog").reject()
        desk.click(button)
        await until(lambda: desk.find(QWidget, "modelDialog").isVisible())

    with_desk(scenario, host=without_model())


def test_from_search_to_chat(with_desk):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        results = part(dialog, QListWidget, "hubResults")
        QTest.keyClicks(part(dialog, QLineEdit, "hubSearchField"), "tiny-0")
        await until(lambda: results.count() == 10)
        assert [query.text for query in hub.asked] == ["tiny-0"]
        choose(results, 1)
        button = part(dialog, QPushButton, "downloadButton")
        await until(lambda: button.isVisible() and button.text() == "Download 2.0 GB")
        offers = part(dialog, QListWidget, "hubOffers")
        assert lines(offers) == ["Q2_K  ·  1.0 GB", "Q4_K_M  ·  2.0 GB", "F16  ·  8.0 GB, 2 parts"]
        assert "balanced" in offers.item(1).text()
        await until(
            lambda: any(
                "6 chats of 8k for m-Q4_K_M.gguf" in label.text()
                for label in dialog.findChildren(QLabel)
            )
        )
        desk.click(button)
        assert hub.downloads.asked == [("add", "m-Q4_K_M.gguf")]
        row = dialog.findChild(DownloadRow)
        await until(row.isVisible)
        assert nameless(dialog) == []
        hub.downloads.move(State.RUNNING, 0.5, speed=12e6, seconds_left=83.0)
        await until(
            lambda: "50 % · 1.0 GB of 2.0 GB · 12.0 MB/s · 83 s left" in row.accessibleName()
        )
        main = part(row, QPushButton, "downloadMainButton")
        desk.click(main)
        await until(lambda: main.text() == "Resume")
        desk.click(main)
        await until(lambda: main.text() == "Pause")
        hub.downloads.move(State.DONE, 1.0)
        await until(lambda: main.text() == "Chat with it")
        desk.click(main)
        await until(lambda: desk.host.loads == ["/models/o/tiny-01/m-Q4_K_M.gguf"])
        await until(lambda: not desk.window.findChild(QWidget, "modelDialog"))

    with_desk(scenario, sources=sources(hub=hub), host=FakeModelHost())


def test_only_the_last_of_what_was_typed_is_asked_and_the_stale_is_cut(with_desk):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        field = part(dialog, QLineEdit, "hubSearchField")
        hub.gate.clear()
        QTest.keyClicks(field, "tin")
        await until(lambda: hub.asked)
        assert said(dialog) == "Asking hub.example…"
        QTest.keyClicks(field, "y-1")
        await until(lambda: hub.cancelled)
        hub.gate.set()
        await until(lambda: said(dialog) == "10 found")
        assert [query.text for query in hub.asked] == ["tin", "tiny-1"]
        field.clear()
        assert said(dialog) == "Recommended for this machine"

    with_desk(scenario, sources=sources(hub=hub))


def test_more_comes_when_the_list_is_scrolled_to_its_end(with_desk):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        results = part(dialog, QListWidget, "hubResults")
        QTest.keyClicks(part(dialog, QLineEdit, "hubSearchField"), "tiny")
        await until(lambda: results.count() == 20)
        for count in (40, 45):
            results.scrollToBottom()
            await until(lambda count=count: results.count() == count)
        assert len(set(lines(results))) == 45

    with_desk(scenario, sources=sources(hub=hub))


def test_filters_narrow_the_search(with_desk):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        QTest.keyClicks(part(dialog, QLineEdit, "hubSearchField"), "tiny")
        part(dialog, QComboBox, "hubLicence").setCurrentIndex(1)
        part(dialog, QComboBox, "hubSize").setCurrentIndex(2)
        part(dialog, QComboBox, "hubLanguage").setCurrentText("German")
        part(dialog, QComboBox, "hubSort").setCurrentIndex(1)
        await until(lambda: hub.asked)
        query = hub.asked[-1]
        assert (query.licence, query.size, query.language, query.sort) == (
            "apache-2.0",
            "min:2B,max:6B",
            "de",
            "downloads",
        )

    with_desk(scenario, sources=sources(hub=hub))


@pytest.mark.parametrize(
    "text", ["o/r", "https://hub.example/o/r", "https://huggingface.co/o/r/tree/main"]
)
def test_an_address_opens_its_repository(with_desk, text):
    hub = FakeHub(gated=True)

    async def scenario(desk):
        dialog = await opened(desk)
        field = part(dialog, QLineEdit, "hubSearchField")
        field.setText(text)
        QTest.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: part(dialog, QPushButton, "downloadButton").isVisible())
        assert [what for what in hub.asked if isinstance(what, tuple)] == [("repository", "o/r")]
        assert any(
            "https://hub.example/o/r first" in label.text() for label in dialog.findChildren(QLabel)
        )
        assert await opened(desk) is dialog

    with_desk(scenario, sources=sources(hub=hub))


def test_a_failure_is_told_in_place_and_can_be_tried_again(with_desk):
    hub = FakeHub(
        error=HubError("hub.example is busy.", "Try <b>later</b>.", problem=HubProblem.BUSY)
    )

    async def scenario(desk):
        dialog = await opened(desk)
        QTest.keyClicks(part(dialog, QLineEdit, "hubSearchField"), "tiny")
        await until(lambda: said(dialog) == "hub.example is busy. Try <b>later</b>.")
        assert not lines(part(dialog, QListWidget, "hubResults")), "what stood there is no answer"
        again = part(dialog, QPushButton, "hubAgainButton")
        hub.error = None
        desk.click(again)
        await until(lambda: said(dialog) == "20 found")
        assert not again.isVisible()
        hub.error = HubError("It is gone.", problem=HubProblem.NOT_FOUND)
        choose(part(dialog, QListWidget, "hubResults"), 0)
        await until(
            lambda: any(label.text() == "It is gone." for label in dialog.findChildren(QLabel))
        )

    with_desk(scenario, sources=sources(hub=hub))


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        (State.DONE, None, "m-Q4_K_M.gguf is downloaded."),
        (State.FAILED, HubError("The disk is full.", problem=HubProblem.DISK), "The download of m-Q4_K_M.gguf stopped: The disk is full."),
    ],
)  # fmt: skip
def test_a_download_that_ends_behind_a_closed_dialog_is_told(with_desk, state, error, words):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        choose(part(dialog, QListWidget, "hubResults"), 0)
        button = part(dialog, QPushButton, "downloadButton")
        await until(button.isVisible)
        desk.click(button)
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: not desk.window.findChild(QWidget, "modelDialog"))
        hub.downloads.move(state, 1.0, error)
        await until(lambda: desk.window.banner.text() == words)

    with_desk(scenario, sources=sources(hub=hub))


def test_a_download_that_one_chats_with_is_not_offered_again(with_desk):
    """Its check ends after the click; the keyboard is where the chat goes on."""
    hub = FakeHub()

    async def scenario(desk):
        desk.host.examine_gate = asyncio.Event()
        dialog = await opened(desk)
        choose(part(dialog, QListWidget, "hubResults"), 0)
        button = part(dialog, QPushButton, "downloadButton")
        await until(button.isVisible)
        desk.click(button)
        main = part(dialog.findChild(DownloadRow), QPushButton, "downloadMainButton")
        hub.downloads.move(State.DONE, 1.0)
        await until(lambda: desk.host.examined)
        await until(lambda: main.text() == "Chat with it")
        desk.click(main)
        await until(lambda: not desk.window.findChild(QWidget, "modelDialog"))
        await until(lambda: desk.window.focusWidget() is desk.front.composer.edit)
        desk.host.examine_gate.set()
        await until(lambda: desk.host.loads == ["/models/o/small/m-Q4_K_M.gguf"])
        await turns_of_the_loop()
        assert "is downloaded" not in desk.window.banner.text()

    with_desk(scenario, sources=sources(hub=hub), host=without_model())


def test_closing_the_dialog_ends_what_was_asked(with_desk):
    hub = FakeHub()

    async def scenario(desk):
        dialog = await opened(desk)
        hub.gate.clear()
        choose(part(dialog, QListWidget, "hubResults"), 0)
        await until(lambda: hub.asked)
        dialog.reject()
        await until(lambda: hub.cancelled)

    with_desk(scenario, sources=sources(hub=hub))


# --- the card ------------------------------------------------------------------------------------------------

CARD = """---
license: mit
---
# Title
<script>alert(1)</script><img src="file:///dev/zero" onerror="x"> <!-- hidden --> text
![picture](file:///dev/random) [link](file:///etc/passwd)
"""


def test_files_of_the_same_quantisation_are_told_apart(with_desk):
    hub = FakeHub(more=(Listed("other/n-Q4_K_M.gguf", 3 * 10**9, "5" * 64),))

    async def scenario(desk):
        dialog = await opened(desk)
        choose(part(dialog, QListWidget, "hubResults"), 0)
        offers = part(dialog, QListWidget, "hubOffers")
        await until(lambda: offers.count() == 4)
        assert lines(offers) == [
            "Q2_K  ·  1.0 GB",
            "Q4_K_M  ·  m-Q4_K_M.gguf  ·  2.0 GB",
            "Q4_K_M  ·  other/n-Q4_K_M.gguf  ·  3.0 GB",
            "F16  ·  8.0 GB, 2 parts",
        ]

    with_desk(scenario, sources=sources(hub=hub))


def test_a_long_list_is_laid_out_bit_by_bit(qtbot):
    view = QListWidget()
    qtbot.addWidget(view)
    FactsPainter.paint_rows_of(view)
    expect(view, 2000)
    view.addItems([f"m-{number}\nsome facts" for number in range(2000)])
    view.resize(300, 400)
    view.show()
    last = view.item(1999)
    assert view.visualItemRect(view.item(0)).isValid()
    assert not view.visualItemRect(last).isValid()
    qtbot.waitUntil(lambda: view.visualItemRect(last).isValid())


def test_a_card_is_read_without_facts_markup_and_pictures():
    text = readable(CARD)
    assert text.startswith("# Title")
    for absent in ("license", "<", "dev/zero", "dev/random", "hidden"):
        assert absent not in text
    assert readable(f"---\nlicense: {'x' * 50_000}\n---\n# Title") == "# Title"
    assert readable("\n--- \n# no end") == "--- \n# no end"
    assert readable("a\r\nb \u202egpj.exe") == "a\nb \ufffdgpj.exe"
    assert len(readable("a" * 10**6)) <= 10_001
    assert readable("- a\n" * 5000).count("\n") <= 300
    assert readable("|a|b|\n|-|-|\n" + "|x|y|\n" * 3000).count("|") <= 400


def test_a_card_loads_nothing(qtbot):
    view = CardView()
    qtbot.addWidget(view)
    view.show_text(readable(CARD))
    assert "Title" in view.toPlainText()
    assert "picture" in view.toPlainText()
    for kind in (QTextDocument.ResourceType.ImageResource, QTextDocument.ResourceType.HtmlResource):
        assert view.loadResource(kind.value, QUrl("file:///etc/hostname")) is None
    assert not view.openLinks()
    assert not view.openExternalLinks()


def test_a_cards_headings_are_no_larger_than_the_name_of_the_model(qtbot):
    view = CardView()
    qtbot.addWidget(view)
    view.show_text("# Title\n\ntext\n\n## Part\n\ntext")
    sizes = {
        text: view.document().find(text).charFormat().font().pixelSize()
        for text in ("Title", "Part")
    }
    assert sizes == {"Title": theme.px(theme.HEADING_PX), "Part": theme.px(theme.BODY_PX)}


def test_a_row_has_room_for_its_name_and_all_that_is_known(qtbot):
    rows = QListWidget()
    qtbot.addWidget(rows)
    rows.setItemDelegate(FactsPainter(rows))
    rows.setWordWrap(True)
    rows.resize(240, 300)
    for text in ("Name", "Name\nfacts", "Name\n" + "many words " * 12, "N" * 60 + "\nfacts"):
        rows.addItem(text)
    rows.show()
    one, two, wrapped, long_name = (rows.sizeHintForRow(n) for n in range(4))
    assert one < two < wrapped
    assert long_name > two
    assert not rows.grab().toImage().isNull()


def test_a_huge_or_broken_card_is_bounded(qtbot):
    view = CardView()
    qtbot.addWidget(view)
    for card in (
        "---\n" * 10_000,
        "---" + "\n" * 40_000,
        "<" * 100_000,
        "![" * 50_000,
        "<!--" * 10_000,
        "[a](" * 20_000,
    ):
        view.show_text(readable(card))
        assert len(view.toPlainText()) <= 10_001
