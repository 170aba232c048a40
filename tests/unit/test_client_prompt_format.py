"""Templates tried, used and kept, over children played by the test."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.chat.model_state import ModelPhase
from app.chat.models import ChatMessage, Role
from app.chat.ports import Request
from app.client.fed import FedPrompts
from app.client.local import LocalModel
from app.dialogue import ChatLine
from app.errors import ContextFull, ModelError, StoreError, TextError
from app.modelfile import fingerprint
from app.overrides import Overrides
from app.prompting import (
    EDITED,
    OWN,
    Adopted,
    FedPrompt,
    ListTemplates,
    NameTokens,
    PromptSpan,
    TemplateSet,
    TokenNames,
    Trial,
    TryTemplate,
    UseTemplate,
)
from app.wire import Inspect, Inspected, Render, Rendered, Submit, TextFailed
from tests.played_model import collect
from tests.scripted_children import (
    END,
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    begin,
    fake_means,
    run,
    turns,
)

LINE = ChatLine("user", "hi")
MINE = "{{ mine }}"


class Made:
    """A model whose children the test plays, over the user's templates in a folder."""

    def __init__(
        self,
        folder: Path,
        path: str = "/models/scripted.gguf",
        overrides: Callable[[Path], Overrides] = Overrides,
    ) -> None:
        self.path = path
        self.overrides = overrides(folder)
        self.engines = FakeLinks(LOADED)
        self.texts = FakeLinks(VOCABULARY, name="text-worker")
        self.clock = FakeClock()
        self.model = LocalModel(
            lambda path: replace(PARAMS, path=path),
            overrides=self.overrides,
            means=fake_means(self.engines, self.texts, self.clock),
        )
        self.prompts = self.model.prompt_format

    async def open(self) -> None:
        await self.model.load(self.path)
        assert self.model.state.phase is ModelPhase.READY

    @property
    def text(self) -> FakeLink:
        return self.texts.last

    @property
    def asked(self) -> Any:
        """What the text worker was asked last."""
        message = self.text.sent[-1]
        assert isinstance(message, Inspect)
        return message.question

    async def told(self, finding: Any) -> None:
        """Answer it."""
        self.text.say(Inspected(self.text.sent[-1].request_id, finding))  # type: ignore[union-attr]
        await turns(50)

    async def refused(self, reason: str) -> None:
        self.text.say(TextFailed(self.text.sent[-1].request_id, reason))  # type: ignore[union-attr]
        await turns(50)


class Broken(Overrides):
    """Fails at every write as only a bug does."""

    def save(self, fingerprint: str, text: str) -> None:
        raise ZeroDivisionError(fingerprint, text)


class Counted(Overrides):
    """Writes down what it was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: list[str] = []

    def load(self, fingerprint: str) -> str:
        self.asked.append(fingerprint)
        return super().load(fingerprint)


def adopted(name: str = EDITED, **facts: Any) -> Adopted:
    told = {
        "notes": (),
        "stop": (),
        "thinking": VOCABULARY.thinking,
        "calling": VOCABULARY.calling,
        **facts,
    }
    return Adopted((END,), name, **told)


def test_a_template_that_works_is_used_and_kept_for_this_model_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        using = begin(made.prompts.use_template(MINE))
        await turns(50)
        assert made.asked == UseTemplate(MINE)
        await made.told(adopted(notes=("a word",)))
        await using
        assert made.model.state.format_name == EDITED
        assert "a word" in made.model.state.notes
        assert made.overrides.load(LOADED.fingerprint) == MINE
        # A worker that is started later has it too; the engine never hears of it.
        begun = begin(made.prompts.render(Request((ChatMessage(Role.USER, "hi"),))))
        await turns(50)
        made.text.die()
        await turns(50)
        assert made.text.params == replace(PARAMS, path=made.path, template=MINE)
        assert made.engines.last.params == replace(PARAMS, path=made.path)
        request_id = made.text.sent[-1].request_id  # type: ignore[union-attr]
        made.text.say(Rendered(request_id, (1, 2)))
        assert await begun == FedPrompt(LOADED.fingerprint, (1, 2))
        back = begin(made.prompts.use_template(""))
        await turns(50)
        await made.told(adopted(OWN))
        await back
        assert made.model.state.format_name == ""
        assert made.overrides.load(LOADED.fingerprint) == ""
        await made.model.close()

    run(scenario())


def test_the_new_formats_stop_strings_and_end_tokens_count(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        using = begin(made.prompts.use_template(MINE))
        await turns(50)
        made.text.say(
            Inspected(made.text.sent[-1].request_id, replace(adopted(), end_tokens=(END, 7)))  # type: ignore[union-attr]
        )
        await using
        assert made.model._pair is not None
        assert made.model._pair._facts[0].end_tokens == (END, 7)
        await made.model.close()

    run(scenario())


def test_a_refused_template_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        using = begin(made.prompts.use_template("{{ bad"))
        await turns(50)
        await made.refused("Line 1: It says: no")
        with pytest.raises(TextError, match="Line 1"):
            await using
        assert made.model.state.format_name == "scripted"
        assert made.overrides.load(LOADED.fingerprint) == ""
        await made.model.close()

    run(scenario())


def test_one_that_cannot_be_kept_is_not_used_either(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "file").write_text("no folder")
        made = Made(tmp_path / "file")
        await made.open()
        using = begin(made.prompts.use_template(MINE))
        await turns(50)
        await made.told(adopted())
        while not isinstance(made.asked, UseTemplate) or made.asked.text:
            await turns()
        await made.told(adopted(OWN))
        with pytest.raises(StoreError, match="could not be saved"):
            await using
        assert made.model._pair is not None
        assert (made.model._pair.template, made.model._pair.format_name) == ("", OWN)
        await made.model.close()

    run(scenario())


def test_a_fault_while_it_is_kept_takes_it_back_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path, overrides=Broken)
        await made.open()
        using = begin(made.prompts.use_template(MINE))
        await turns(50)
        await made.told(adopted())
        while not isinstance(made.asked, UseTemplate) or made.asked.text:
            assert not using.done()
            await turns()
        await made.told(adopted(OWN))
        with pytest.raises(ZeroDivisionError):
            await using
        assert made.model._pair is not None
        assert (made.model._pair.template, made.model._pair.format_name) == ("", OWN)
        await made.model.close()

    run(scenario())


def test_a_file_is_not_read_for_a_name_that_nobody_asks_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        model = tmp_path / "model.gguf"
        model.write_bytes(b"GGUF" + b"x" * 100)
        made = Made(tmp_path / "templates", str(model), Counted)
        assert isinstance(made.overrides, Counted)
        await made.open()
        assert made.overrides.asked == []
        made.overrides.save("f00d", MINE)
        await made.open()
        assert made.overrides.asked == [fingerprint(model)]
        await made.model.close()

    run(scenario())


def test_a_load_brings_the_users_template_and_says_where_it_is_spoiled(tmp_path: Path) -> None:
    async def scenario() -> None:
        model = tmp_path / "model.gguf"
        model.write_bytes(b"GGUF" + b"x" * 100)
        folder = tmp_path / "templates"
        made = Made(folder, str(model))
        made.overrides.save(fingerprint(model), MINE)
        await made.open()
        assert made.text.params == replace(PARAMS, path=str(model), template=MINE)
        (folder / f"{fingerprint(model)}.jinja").write_bytes(b"\xff")
        await made.open()
        assert made.text.params == replace(PARAMS, path=str(model))
        assert any("not valid text" in note for note in made.model.state.notes)
        await made.model.close()

    run(scenario())


def test_a_trial_is_told_in_words_and_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        trying = begin(made.prompts.try_template(MINE, [LINE]))
        await turns(50)
        assert made.asked == TryTemplate(MINE, (LINE,))
        await made.told(Trial((END, *b"hi")))
        assert made.asked == NameTokens((END,))
        await made.told(TokenNames(("<|end|>",)))
        found = await trying
        assert found.problem == ""
        assert found.prompt.spans == (PromptSpan("<|end|>", control=True), PromptSpan("hi"))
        trying = begin(made.prompts.try_template("{{ bad", [LINE]))
        await turns(50)
        await made.told(Trial(problem="It says: no", line=3))
        found = await trying
        assert (found.problem, found.line, found.prompt.spans) == ("It says: no", 3, ())
        assert made.model.state.format_name == "scripted"
        await made.model.close()

    run(scenario())


def test_a_trial_that_nobody_waits_for_is_not_begun(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        first, second, third = (
            begin(made.prompts.try_template(text, [LINE])) for text in ("a", "b", "c")
        )
        await turns(50)
        second.cancel()
        await turns(50)
        await made.told(Trial())
        assert made.asked == TryTemplate("c", (LINE,))
        first.cancel()
        third.cancel()
        await made.model.close()

    run(scenario())


def test_a_template_that_never_ends_costs_its_trial_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        trying = begin(made.prompts.try_template("{{ endless }}", [LINE]))
        await turns(50)
        made.clock.advance(2.1)
        with pytest.raises(TextError, match="took longer"):
            await trying
        await turns(50)
        listing = begin(made.prompts.templates())
        await turns(50)
        assert made.asked == ListTemplates()
        await made.told(TemplateSet((("", "x"),), (OWN, "x"), (OWN, "x")))
        assert (await listing).present == (OWN, "x")
        assert made.text.params == replace(PARAMS, path=made.path)
        await made.model.close()

    run(scenario())


def test_a_prompt_of_another_model_is_not_read_as_this_ones(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        with pytest.raises(ModelError, match="No model is loaded"):
            await made.prompts.spell(FedPrompt(LOADED.fingerprint, (104,)))
        await made.open()
        with pytest.raises(ModelError, match="another model"):
            await made.prompts.spell(FedPrompt("beef", (104,)))
        reading = begin(made.prompts.spell(FedPrompt(LOADED.fingerprint, (104, 105))))
        assert (await reading).text == "hi"
        await made.model.close()

    run(scenario())


def test_what_does_not_fit_is_refused_instead_of_shown_as_what_would_be_fed(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        await made.open()
        render = begin(made.prompts.render(Request((ChatMessage(Role.USER, "hi"),))))
        await turns()
        tokens = LOADED.context_tokens
        made.text.say(Rendered(_id(made.text), (1,) * tokens, ((0, tokens),)))
        with pytest.raises(ContextFull, match=r"1,024 tokens, but a chat holds at most 1,024"):
            await render
        await made.model.close()

    run(scenario())


def _id(link: FakeLink) -> int:
    (asked,) = link.sent
    assert isinstance(asked, Render)
    return asked.request_id


def test_the_prompt_of_a_request_is_known_from_the_moment_it_is_fed(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = Made(tmp_path)
        made.texts.replies = True
        await made.open()
        request = Request((ChatMessage(Role.USER, "hi"),), owner=7)
        answering = begin(collect(made.model.generate(request)))
        await turns(50)
        (submit,) = [m for m in made.engines.last.sent if isinstance(m, Submit)]
        assert made.model.fed_prompt(7) == FedPrompt(LOADED.fingerprint, submit.tokens)
        assert made.model.fed_prompt(8) is None
        await made.model.forget(7)
        assert made.model.fed_prompt(7) is None
        answering.cancel()
        await made.model.close()

    run(scenario())


def test_of_many_chats_the_oldest_prompts_go_first() -> None:
    kept = FedPrompts(budget=10)
    for owner in (1, 2, 3):
        kept.remember(owner, FedPrompt("f00d", (1, 2, 3, 4)))
    kept.remember(0, FedPrompt("f00d", (1,)))
    assert [kept.get(owner) is not None for owner in (0, 1, 2, 3)] == [False, False, True, True]
    kept.remember(3, FedPrompt("f00d", (1,)))
    kept.remember(4, FedPrompt("f00d", (1, 2, 3, 4, 5)))
    assert [kept.get(owner) is not None for owner in (2, 3, 4)] == [True, True, True]
