"""A chat remembers its model: what is said where another is loaded, and what the user's choice changes."""

import pytest
from PySide6.QtWidgets import QPushButton, QToolButton

from app.chat.model_state import ModelPhase, ModelState
from app.chat.ports import Ended, Text
from app.ui.chat_model import sentence
from app.wire import FinishReason, Usage
from tests.fakes import FakeGenerator
from tests.gui.desk import turns_of_the_loop, until


async def asked(desk, path):
    """A chat that had its first answer from the model in this file."""
    desk.generator.model = path
    await desk.say("hello")
    await desk.answered()
    await until(lambda: desk.front.conversation.model == path)


def offer(desk):
    return desk.front.state_line.model_offer


def test_a_chat_says_that_it_goes_on_with_its_own_model(with_desk, tmp_path):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF")

    async def scenario(desk):
        desk.host.move(path=str(mine), name="mine")
        await asked(desk, str(mine))
        await turns_of_the_loop()
        assert offer(desk).isHidden(), "nothing is said where it is the one that is loaded"
        desk.host.move(path="/models/other.gguf", name="other")
        await until(offer(desk).isVisible)
        assert offer(desk).text() == "mine answers here, and is loaded when you send."
        await desk.say("and now?")
        await until(lambda: len(desk.generator.requests) == 2)
        assert desk.generator.requests[1].model == str(mine)
        await desk.answered()
        desk.host.move(path=str(mine), name="mine")
        await until(offer(desk).isHidden)

    with_desk(scenario, generator=FakeGenerator())


def test_one_click_goes_on_with_the_loaded_model_and_keeps_the_chat(with_desk, tmp_path):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF")

    async def scenario(desk):
        await asked(desk, str(mine))
        desk.host.move(path="/models/other.gguf", name="other")
        await until(offer(desk).isVisible)
        use = desk.find(QPushButton, "modelOfferButton")
        await until(lambda: use.text() == "Use other")
        desk.click(use)
        await until(offer(desk).isHidden)
        assert desk.front.conversation.model == "/models/other.gguf"
        assert "hello" in desk.front.transcript.plain_text()
        await desk.say("more")
        await until(lambda: len(desk.generator.requests) == 2)
        request = desk.generator.requests[1]
        assert request.model == "/models/other.gguf"
        assert [line.content for line in request.messages] == ["hello", "Hello.", "more"]

    with_desk(scenario)


def test_a_file_that_is_gone_is_said_and_the_present_one_offered(with_desk, tmp_path):
    async def scenario(desk):
        await asked(desk, str(tmp_path / "gone.gguf"))
        await until(offer(desk).isVisible)
        assert offer(desk).text() == "gone is not on this computer any more."
        assert desk.find(QPushButton, "modelOfferButton").text() == "Use Fake 1B"

    with_desk(scenario)


def test_a_model_chosen_by_hand_is_that_of_the_chat_in_front_unless_it_fails(with_desk, tmp_path):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF")

    async def scenario(desk):
        await asked(desk, str(mine))
        await desk.window.workspace.new()
        back, front = desk.tabs
        await asked(desk, str(mine))
        for path, end in (
            ("/models/bad.gguf", ModelPhase.FAILED),
            ("/models/new.gguf", ModelPhase.READY),
        ):
            desk.window.model.load(path)
            await until(lambda path=path: desk.host.loads[-1:] == [path])
            await until(lambda path=path: front.conversation.model == path)
            desk.host.move(phase=end, name="new", error="")
            kept = str(mine) if end is ModelPhase.FAILED else path
            await until(lambda kept=kept: front.conversation.model == kept)
        assert back.conversation.model == str(mine)

    with_desk(scenario)


def test_a_chat_without_a_question_takes_what_there_is(with_desk):
    async def scenario(desk):
        desk.window.model.load("/models/new.gguf")
        await until(lambda: desk.host.loads)
        desk.host.move(phase=ModelPhase.READY)
        await turns_of_the_loop()
        assert desk.front.conversation.model == ""

    with_desk(scenario)


def test_a_file_that_goes_meanwhile_is_said_once_it_was_wanted(with_desk, tmp_path):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF")
    refused = Ended(FinishReason.ERROR, Usage(), "There is no file “mine.gguf” any more.")

    async def scenario(desk):
        await asked(desk, str(mine))
        await until(lambda: "is loaded when you send" in offer(desk).text())
        mine.unlink()
        await desk.say("and now?")
        await until(lambda: offer(desk).text() == "mine is not on this computer any more.")
        composer = desk.front.composer
        await until(lambda: composer.text() == "and now?", "what was refused is given back")
        retry = desk.find(QToolButton, "retryButton")
        desk.click(retry)
        await until(lambda: len(desk.generator.requests) == 3)
        assert composer.text() == "", "and is not there to be sent twice"

    with_desk(scenario, generator=FakeGenerator([[Text("Hello.")], [refused], [Text("Yes.")]]))


@pytest.mark.parametrize(
    ("own", "phase", "gone", "said"),
    [
        ("", ModelPhase.READY, False, ("", "")),
        ("/b.gguf", ModelPhase.READY, False, ("", "")),
        ("/b.gguf", ModelPhase.FAILED, False, ("", "")),
        ("/a.gguf", ModelPhase.LOADING, False, ("a answers here, and is loaded when you send.", "Use B")),
        ("/a.gguf", ModelPhase.FAILED, False, ("a answers here, and is loaded when you send.", "")),
        ("/a.gguf", ModelPhase.NONE, True, ("a is not on this computer any more. Choose another model.", "")),
        ("/a.gguf", ModelPhase.UNLOADED, True, ("a is not on this computer any more.", "Use B")),
    ],
)  # fmt: skip
def test_what_is_said(own, phase, gone, said):
    assert sentence(own, ModelState(phase, path="/b.gguf", name="B"), gone=gone) == said
