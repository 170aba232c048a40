"""The window as a whole."""

from PySide6.QtWidgets import QPushButton

from tests.gui.desk import until


def test_opens_with_one_new_chat(with_desk):
    async def scenario(desk):
        assert desk.window.isVisible()
        assert len(desk.tabs) == 1
        await until(lambda: desk.front.blank)
        assert desk.find(QPushButton, "newChatButton").isVisible()

    with_desk(scenario)
