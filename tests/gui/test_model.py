"""The model from the window: one click, waiting for a load, unload, what goes wrong."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPushButton, QToolButton

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.chat.models import FinishReason
from app.chat.ports import Ended, Text, Usage, Waiting
from app.settings import Settings
from app.ui.status import describe
from tests.fakes import FakeGenerator, FakeModelHost
from tests.gui.desk import turns_of_the_loop, until


def without_model():
    host = FakeModelHost()
    host.state = ModelState()
    return host


def action(desk, name):
    menu = desk.find(QToolButton, "modelButton").menu()
    return next(item for item in menu.actions() if item.objectName() == name)


def test_one_click_chats_with_the_starter(with_desk):
    async def scenario(desk):
        button = desk.find(QPushButton, "starterButton")
        await until(button.isVisible)
        desk.click(button)
        await until(lambda: desk.host.loads == ["/models/starter.gguf"])
        assert desk.front.composer.edit.hasFocus()
        assert not button.isVisible()
        desk.host.move(phase=ModelPhase.LOADING, name="SmolLM2", fraction=0.43)
        chip = desk.find(QToolButton, "modelButton")
        assert chip.text() == "SmolLM2, loading 43 %"
        assert chip.accessibleName() == "Model: SmolLM2, loading 43 %"
        desk.host.move(phase=ModelPhase.READY, name="SmolLM2")
        assert chip.text() == "SmolLM2"
        assert desk.preferences.current.model_path == "/models/starter.gguf"

    with_desk(scenario, host=without_model())


def test_the_first_model_is_not_looked_at_before_its_load_for_which_a_message_can_wait(with_desk):
    async def scenario(desk):
        desk.host.refusals["/models/first.gguf"] = "This is no model."
        desk.window.model.load("/models/first.gguf")
        await until(lambda: desk.host.loads == ["/models/first.gguf"])
        assert desk.host.state.phase is ModelPhase.LOADING

    with_desk(scenario, host=without_model())


def test_a_message_waits_for_the_model(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(lambda: "the model is loading" in desk.front.state_line.text())
        desk.generator.gate.release()
        desk.generator.gate.release()
        await until(lambda: "ready now" in desk.front.transcript.plain_text())

    import asyncio

    gate = asyncio.Semaphore(1)
    script = [Waiting(0, "the model is loading"), Text("ready now")]
    host = FakeModelHost()
    host.state = ModelState(ModelPhase.LOADING, path="/m.gguf", name="M", fraction=0.1)
    with_desk(scenario, host=host, generator=FakeGenerator([script], gate=gate))


def test_without_a_model_the_message_stays_and_one_is_offered(with_desk):
    async def scenario(desk):
        desk.type("hello")
        desk.key(Qt.Key.Key_Return)
        offer = desk.find(QPushButton, "noticeAction")
        await until(offer.isVisible)
        assert desk.front.composer.text() == "hello"
        assert desk.generator.requests == []
        desk.click(offer)
        await until(lambda: desk.host.loads == ["/models/starter.gguf"])
        assert desk.front.composer.edit.hasFocus()

    with_desk(scenario, host=without_model())


def test_unloading_and_loading_again(with_desk):
    async def scenario(desk):
        action(desk, "unloadModelAction").trigger()
        await until(lambda: desk.host.unloads == 1)
        assert not action(desk, "unloadModelAction").isVisible()
        action(desk, "reloadModelAction").trigger()
        await until(lambda: desk.host.loads == ["/models/fake.gguf"])
        assert action(desk, "unloadModelAction").text() == "Cancel loading"

    with_desk(scenario)


def test_a_load_says_what_it_does_and_is_cancelled_by_one_click(with_desk):
    async def scenario(desk):
        cancel = desk.find(QPushButton, "cancelLoadButton")
        assert not cancel.isVisible()
        desk.host.move(phase=ModelPhase.LOADING, fraction=0.43, doing="Reading the model file")
        assert desk.window.status.text() == "Fake 1B · loading 43 % · reading the model file"
        desk.click(cancel)
        await until(lambda: desk.host.unloads == 1)
        assert not cancel.isVisible()

    with_desk(scenario)


def test_answers_are_not_ended_without_asking(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        action(desk, "unloadModelAction").trigger()
        await turns_of_the_loop()
        assert desk.host.unloads == 0
        assert desk.window.banner.text().startswith("A chat is answering")
        desk.click(desk.find(QPushButton, "noticeAction"))
        await until(lambda: desk.host.unloads == 1)

    import asyncio

    with_desk(scenario, generator=FakeGenerator([[Text("x")]], gate=asyncio.Semaphore(0)))


def test_answers_that_wait_for_the_next_engine_are_not_ended_without_asking(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        desk.host.move(phase=ModelPhase.LOADING, context_tokens=1024)
        action(desk, "unloadModelAction").trigger()
        await turns_of_the_loop()
        assert desk.host.unloads == 0
        assert desk.window.banner.text().startswith("A chat is answering")

    import asyncio

    with_desk(scenario, generator=FakeGenerator([[Text("x")]], gate=asyncio.Semaphore(0)))


def test_answers_that_wait_for_a_model_are_not_ended_by_another_without_asking(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        desk.host.move(phase=ModelPhase.LOADING)
        desk.window.model.load("/other.gguf")
        await until(lambda: desk.window.banner.text().startswith("A chat is answering"))
        assert desk.host.loads == []
        desk.click(desk.find(QPushButton, "noticeAction"))
        await until(lambda: desk.host.loads == ["/other.gguf"])
        desk.window.model.load_again()
        await until(lambda: len(desk.host.loads) == 2)

    import asyncio

    with_desk(scenario, generator=FakeGenerator([[Text("x")]], gate=asyncio.Semaphore(0)))


def test_any_file_can_be_opened(with_desk, tmp_path):
    path = tmp_path / "some model.gguf"
    path.write_bytes(b"GGUF")

    async def scenario(desk):
        action(desk, "openModelAction").trigger()
        await until(lambda: desk.window.findChild(QFileDialog, "modelFileDialog"))
        dialog = desk.find(QFileDialog, "modelFileDialog")
        await until(dialog.isVisible)
        name = dialog.findChild(QLineEdit, "fileNameEdit")
        name.setText(str(path))
        QTest.keyClick(name, Qt.Key.Key_Return)
        await until(lambda: desk.host.loads == [str(path)])
        # Closed without a choice, nothing is loaded.
        action(desk, "openModelAction").trigger()
        await until(lambda: desk.window.findChild(QFileDialog, "modelFileDialog"))
        desk.find(QFileDialog, "modelFileDialog").reject()
        await turns_of_the_loop()
        assert len(desk.host.loads) == 1

    with_desk(scenario, host=without_model())


def test_a_failed_load_says_why(with_desk):
    async def scenario(desk):
        desk.host.move(phase=ModelPhase.LOADING)
        desk.host.move(phase=ModelPhase.FAILED, error="This is not a <b>GGUF</b> file.")
        assert desk.window.banner.text() == "This is not a <b>GGUF</b> file."
        assert desk.window.banner.isVisible()
        desk.host.move(phase=ModelPhase.READY, error="")
        assert not desk.window.banner.isVisible()

    with_desk(scenario)


def test_the_chat_that_waited_tells_why_and_the_notice_what_can_be_done(with_desk):
    why = "“broken.gguf” is damaged (its head ends early). Get it again."

    async def scenario(desk):
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        desk.host.move(phase=ModelPhase.LOADING, path="/broken.gguf", name="broken")
        desk.host.move(phase=ModelPhase.FAILED, error=why)
        assert desk.window.banner.text() == "broken could not be loaded."
        assert desk.find(QPushButton, "noticeAction").text() == "Back to fake"
        desk.generator.gate.release()
        await desk.answered()
        assert desk.front.transcript.plain_text().count("its head ends early") == 1
        short = "Failed: “broken.gguf” is damaged (its head ends early)."
        assert desk.front.state_line.text() == short

    import asyncio

    script = [[Ended(FinishReason.ERROR, Usage(), why)]]
    with_desk(scenario, generator=FakeGenerator(script, gate=asyncio.Semaphore(0)))


def test_a_file_that_is_no_model_ends_nothing(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(desk.window.workspace.busy)
        desk.host.refusals["/letter.gguf"] = "“letter.gguf” is not a model."
        desk.window.model.load("/letter.gguf")
        await until(lambda: desk.window.banner.text() == "“letter.gguf” is not a model.")
        assert desk.find(QPushButton, "noticeAction").text() == "Open another file…"
        assert desk.host.loads == []
        assert desk.host.state.phase is ModelPhase.READY
        assert desk.window.workspace.busy()
        desk.window.model.load("/models/other.gguf")
        await until(lambda: "loading other ends" in desk.window.banner.text())
        assert desk.host.loads == []

    import asyncio

    with_desk(scenario, generator=FakeGenerator([[Text("x")]], gate=asyncio.Semaphore(0)))


def test_of_two_files_the_later_is_loaded(with_desk):
    async def scenario(desk):
        desk.window.model.load("/one.gguf")
        desk.window.model.load("/two.gguf")
        await until(lambda: desk.host.loads)
        await turns_of_the_loop()
        assert desk.host.loads == ["/two.gguf"]

    with_desk(scenario)


def test_from_a_model_that_cannot_be_loaded_one_click_leads_back(with_desk):
    async def scenario(desk):
        desk.host.move(phase=ModelPhase.LOADING, path="/broken.gguf", name="broken")
        desk.host.move(phase=ModelPhase.FAILED, error="“broken.gguf” is damaged.")
        back = desk.find(QPushButton, "noticeAction")
        assert back.text() == "Back to fake"
        desk.click(back)
        await until(lambda: desk.host.loads == ["/models/fake.gguf"])

    with_desk(scenario)


def test_settings_of_the_model_offer_a_reload(with_desk):
    async def scenario(desk):
        desk.preferences.update(theme="dark")
        assert not desk.window.banner.isVisible()
        desk.preferences.update(pool_tokens=4096)
        assert "next load" in desk.window.banner.text()
        desk.click(desk.find(QPushButton, "noticeAction"))
        await until(lambda: desk.host.loads == ["/models/fake.gguf"])

    with_desk(scenario, current=Settings(theme="light"))


def test_what_was_loaded_otherwise_than_asked_is_said(with_desk):
    async def scenario(desk):
        desk.host.move(phase=ModelPhase.LOADING)
        desk.host.move(phase=ModelPhase.READY, notes=("Flash attention is off.",))
        assert desk.window.banner.text() == "Flash attention is off."
        assert desk.window.banner.current.kind == "info"

    with_desk(scenario)


def test_the_status_line_in_words():
    ready = ModelState(ModelPhase.READY, name="M", device="CPU")
    assert describe(ModelState(), EngineStatus()) == "No model"
    assert describe(ready, EngineStatus()) == "M · CPU · idle"
    busy = EngineStatus(4, 1, 2, 118.4, 0.79)
    words = "M · CPU · 4 writing, 1 reading, 2 waiting · 118 tok/s · 79 % cached"
    assert describe(ready, busy) == words
    full = EngineStatus(cells_used=1_020, cells_total=4_096)
    assert describe(ready, full) == "M · CPU · idle · pool 25 % full"
    loading = ModelState(ModelPhase.LOADING, name="M", fraction=0.5)
    assert describe(loading, EngineStatus()) == "M · loading 50 %"


def test_the_status_line_follows_the_engine(with_desk):
    async def scenario(desk):
        desk.host.status = EngineStatus(running=2, tokens_per_second=50.0)
        await until(lambda: "2 writing · 50 tok/s" in desk.window.status.text())

    with_desk(scenario)
