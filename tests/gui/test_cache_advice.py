"""Why little came from the cache: a quiet link in the status line, the words only for who asks, and what helps."""

from PySide6.QtWidgets import QPushButton, QWidget

from app.chat.model_state import Advice, AdviceKind, EngineStatus
from tests.gui.desk import until

TOO_SMALL = Advice(AdviceKind.TOO_SMALL, "The pool is too small.")
NEW_TEXT = Advice(AdviceKind.NEW_TEXT, "The rest is new text.")


def link(desk):
    return desk.find(QPushButton, "cacheAdviceButton")


def test_nothing_is_said_while_there_is_nothing_to_say(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        assert not link(desk).isVisible()
        desk.host.status = EngineStatus(advice=NEW_TEXT)
        await until(link(desk).isVisible)
        assert desk.window.banner.text() == "", "nobody has asked"
        assert "new text" in link(desk).toolTip()
        desk.host.status = EngineStatus()
        await until(lambda: not link(desk).isVisible())

    with_desk(scenario)


def test_who_asks_is_told_calmly_and_offered_what_helps(with_desk):
    async def scenario(desk):
        desk.host.status = EngineStatus(advice=TOO_SMALL)
        await until(link(desk).isVisible)
        desk.click(link(desk))
        notice = desk.window.banner.current
        assert (notice.text, notice.kind, notice.action) == (TOO_SMALL.text, "info", "Settings")
        desk.click(desk.find(QPushButton, "noticeAction"))
        await until(lambda: desk.window.findChild(QWidget, "settingsDialog"))
        pool = desk.find(QWidget, "settingsDialog").findChild(QWidget, "setting_pool_tokens")
        await until(pool.isVisible)

    with_desk(scenario)


def test_where_nothing_helps_nothing_is_offered_and_one_answer_is_shown(with_desk):
    async def scenario(desk):
        for advice in (TOO_SMALL, NEW_TEXT):
            desk.host.status = EngineStatus(advice=advice)
            await until(lambda advice=advice: advice.text in link(desk).toolTip())
            desk.click(link(desk))
        assert desk.window.banner.current.text == NEW_TEXT.text
        assert not desk.find(QPushButton, "noticeAction").isVisible()
        desk.click(desk.find(QWidget, "noticeDismiss"))
        assert desk.window.banner.current is None

    with_desk(scenario)
