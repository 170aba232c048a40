"""A template of one's own at the window: it really changes what is fed, can be looked at, and goes without a trace."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QPushButton

from app.modelfile import fingerprint
from app.overrides import Overrides, templates_dir
from app.ui.prompt_control import AS_FED
from app.ui.prompt_view import PromptView
from app.ui.template_text import TemplateText
from tests.cases.whole import RealModel, over, pieces, put, settings, until
from tests.gui.desk import Desk

WORDS = "listen well: "


async def dialog(desk: Desk, key: Qt.Key, name: str) -> QDialog:
    """Open this dialog by its key."""
    desk.window.activateWindow()  # no window manager does it here
    await until(desk.window.isActiveWindow, "keys go to the window")
    desk.control(key, shift=True)
    await until(lambda: desk.window.findChild(QDialog, name), name)
    return desk.find(QDialog, name)


async def gone(desk: Desk, shown: QDialog) -> None:
    name = shown.objectName()
    shown.reject()
    await until(lambda: desk.window.findChild(QDialog, name) is None, f"{name} closes")


def button(shown: QDialog, name: str) -> QPushButton:
    found = shown.findChild(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


async def send(desk: Desk, text: str) -> None:
    desk.seen.clear()
    put(desk.front, text)
    await over(desk, desk.front)


def test_an_edited_template_changes_what_is_fed_and_restore_brings_the_old_prefix_back(
    at_work: Callable[..., None], talker: Path
) -> None:
    overrides = Overrides(templates_dir())
    model = RealModel(talker, overrides=overrides)

    async def scenario(desk: Desk, model: RealModel) -> None:
        def prompt(number: int) -> str:
            """What was fed, but for the control tokens."""
            return pieces(model).join(model.prompts.asked[number].tokens).decode()

        await send(desk, "one")
        assert prompt(0) == "user\none\nassistant\n"

        shown = await dialog(desk, Qt.Key.Key_P, "templateDialog")
        text = shown.findChild(TemplateText, "templateText")
        assert isinstance(text, TemplateText)
        own = text.template()
        text.setPlainText(own.replace("message['content']", f"'{WORDS}' + message['content']"))
        desk.click(button(shown, "applyTemplateButton"))
        await until(lambda: model.state.format_name == "edited by you", "the template is in use")
        await until(
            lambda: button(shown, "restoreTemplateButton").isEnabled(), "it can be restored"
        )
        await gone(desk, shown)
        assert "prompt format: edited by you" in desk.window.status.text()

        await send(desk, "two")
        assert prompt(1).startswith(f"user\n{WORDS}one\nassistant\n{WORDS}")
        assert prompt(1).endswith(f"user\n{WORDS}two\nassistant\n")
        fed = model.prompts.asked[1].tokens

        shown = await dialog(desk, Qt.Key.Key_P, "templateDialog")
        desk.click(button(shown, "restoreTemplateButton"))
        await until(lambda: model.state.format_name == "", "the model's own is in use")
        await gone(desk, shown)
        await send(desk, "three")
        first, third = model.prompts.asked[0].tokens, model.prompts.asked[2].tokens
        assert third[: len(first)] == first
        assert WORDS not in prompt(2)
        answers = [m for m in await desk.store.messages(desk.front.id) if m.role == "assistant"]
        # What the first prompt and its answer began with is found in the pool, though another template came between.
        assert answers[2].usage.cached_tokens >= len(first) + answers[0].usage.completion_tokens - 1

        # The turn in the middle is shown as it was fed, though the template is another one now.
        desk.front.transcript.promptRequested.emit(answers[1].id)
        await until(lambda: desk.window.findChild(QDialog, "promptDialog"), "the prompt")
        exact = desk.find(QDialog, "promptDialog")
        await until(lambda: desk.find(QLabel, "promptNote").text() == AS_FED, "what was fed")
        view = desk.find(PromptView, "promptView")
        await until(lambda: not view.busy, "all of it")
        assert view.toPlainText().startswith(f"⟦<|im_start|>⟧user\n{WORDS}one⟦<|im_end|>⟧\n")
        assert f"{len(fed):,} tokens" in desk.find(QLabel, "promptFigures").text()
        await gone(desk, exact)

    at_work(scenario, model, current=settings())


def test_it_is_there_after_a_restart_and_a_spoiled_one_is_not_used(
    at_work: Callable[..., None], talker: Path
) -> None:
    overrides = Overrides(templates_dir())
    name = fingerprint(talker)
    overrides.save(name, "{% for m in messages %}" + WORDS + "{{ m.content }}\n{% endfor %}")

    async def scenario(desk: Desk, model: RealModel) -> None:
        await send(desk, "one")
        fed = pieces(model).join(model.prompts.asked[0].tokens).decode()
        assert fed == f"{WORDS}one\n"
        overrides.save(name, "x\n{{ nosuch.attr }}")
        await model.open()
        assert model.state.format_name == ""
        assert any("Line 2: " in note for note in model.state.notes)
        await send(desk, "two")
        assert WORDS not in pieces(model).join(model.prompts.asked[1].tokens).decode()

    at_work(scenario, RealModel(talker, overrides=overrides), current=settings())
