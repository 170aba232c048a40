"""Short texts beside long ones, over workers played by the test."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.client.text import Deadline
from app.client.texts import IDLE_SECONDS, LONG, Texts
from app.dialogue import Calling, ChatLine, Thinking
from app.errors import ModelError, TextError
from app.prompting import Adopted, UseTemplate
from app.wire import (
    Inspect,
    Inspected,
    LoadParams,
    Render,
    Rendered,
    TextFailed,
    Tokenize,
    Tokenized,
)
from tests.scripted_children import (
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    begin,
    run,
    turns,
)

SHORT = [ChatLine("user", "hello")]
HUGE = [ChatLine("user", "x" * LONG)]


class Made:
    def __init__(self, *greetings: Any) -> None:
        self.clock = FakeClock()
        self.links = FakeLinks(*(greetings or (VOCABULARY,)), name="text-worker")
        self.texts = Texts(self.links, PARAMS, clock=self.clock, deadline=Deadline(2.0, 20.0))

    async def load(self) -> None:
        assert await self.texts.load(lambda _: None) == VOCABULARY

    async def long_one(self) -> Any:
        """A long text that its worker has begun with."""
        task = begin(self.texts.render(HUGE))
        await turns()
        return task

    async def load_both(self) -> None:
        """A long text has come before, so that there is a second worker."""
        await self.load()
        long = await self.long_one()
        answer(self.links.links[0], 0)
        await long
        assert len(self.links.links) == 2

    @property
    def loaded(self) -> list[LoadParams]:
        return [link.params for link in self.links.links if link.params is not None]

    @property
    def alive(self) -> list[FakeLink]:
        return [link for link in self.links.links if link.death is None]


def answer(link: FakeLink, *ids: int) -> None:
    link.say(Rendered(link.sent[-1].request_id, ids))


def test_a_short_text_does_not_wait_for_one_that_is_long() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        long = await made.long_one()
        first, second = made.links.links
        short, count = begin(made.texts.render(SHORT)), begin(made.texts.count("abc"))
        await turns()
        answer(first, 1)
        assert (await short).tokens == (1,)
        await turns()
        first.say(Tokenized(first.sent[-1].request_id, 3))
        assert await count == 3
        assert not long.done()
        answer(second, 2)
        assert (await long).tokens == (2,)
        assert [type(message) for message in first.sent[1:]] == [Render, Tokenize]
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_the_first_long_text_waits_for_no_start_and_short_ones_go_past_it() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        made.links.gate = asyncio.Event()
        long = await made.long_one()
        first, second = made.links.links
        assert [type(message) for message in first.sent] == [Render]
        short = begin(made.texts.render(SHORT))
        await turns()
        made.links.gate.set()
        await turns()
        answer(second, 1)
        assert (await short).tokens == (1,)
        answer(first, 2)
        assert (await long).tokens == (2,)
        again = begin(made.texts.render(SHORT))
        await turns()
        answer(first, 3)
        assert (await again).tokens == (3,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


@pytest.mark.parametrize("end", ["done", "refused"])
def test_a_short_text_waits_for_a_second_worker_no_longer_than_for_the_first(end: str) -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, ModelError("The memory is full."))
        await made.load()
        made.links.gate = asyncio.Event()
        long = await made.long_one()
        short = begin(made.texts.render(SHORT))
        await turns()
        (first, second) = made.links.links
        assert (len(first.sent), len(second.sent)) == (1, 0)
        if end == "refused":
            made.links.gate.set()
            await turns()
        answer(first, 2)
        assert (await long).tokens == (2,)
        await turns()
        answer(first, 1)
        assert (await short).tokens == (1,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_the_second_worker_ends_when_it_was_not_needed_for_a_while() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        for pause in (0.0, IDLE_SECONDS - 1):
            made.clock.advance(pause)
            long = await made.long_one()
            answer(made.links.last, 2)
            await long
        assert len(made.links.links) == 2
        made.clock.advance(IDLE_SECONDS - 1)
        await turns()
        assert len(made.alive) == 2
        made.clock.advance(1.1)
        await turns()
        assert made.alive == made.links.links[:1]
        long = await made.long_one()
        assert len(made.links.links) == 3
        answer(made.links.links[0], 4)
        assert (await long).tokens == (4,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_the_first_worker_does_all_where_there_is_no_second() -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, ModelError("The memory is full."), VOCABULARY)
        await made.load_both()
        again = await made.long_one()  # it is tried again
        assert len(made.links.links) == 3
        answer(made.links.links[0], 8)
        assert (await again).tokens == (8,)
        third = await made.long_one()
        answer(made.links.last, 9)
        assert (await third).tokens == (9,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_a_second_worker_that_finds_another_vocabulary_gets_no_text() -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, replace(VOCABULARY, pieces=VOCABULARY.pieces[::-1]))
        await made.load()
        long = await made.long_one()
        first, second = made.links.links
        answer(first, 8)
        assert (await long).tokens == (8,)
        assert second.sent == []
        assert second.death is not None
        await made.texts.stop()

    run(scenario())


@pytest.mark.parametrize("busy", [False, True])
def test_another_template_counts_for_long_texts_too(busy: bool) -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        long = await made.long_one()
        first, second = made.links.links
        if not busy:
            answer(second, 2)
            await long
        use = begin(made.texts.use("{{ messages }}"))
        await turns()
        asked = first.sent[-1]
        assert isinstance(asked, Inspect)
        assert asked.question == UseTemplate("{{ messages }}")
        first.say(
            Inspected(asked.request_id, Adopted((1,), "yours", (), (), Thinking(), Calling()))
        )
        await use
        new = await made.long_one()
        answer(first, 3)
        assert (await new).tokens == (3,)
        newer = await made.long_one()
        answer(made.links.last, 4)
        assert (await newer).tokens == (4,)
        assert [params.template for params in made.loaded] == ["", "", "{{ messages }}"]
        if busy:  # it ends with what it had
            answer(second, 2)
            assert (await long).tokens == (2,)
        await turns()
        assert second.death is not None
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_a_refusal_of_a_long_text_is_that_of_its_worker() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        long = await made.long_one()
        made.links.last.say(TextFailed(made.links.last.sent[-1].request_id, "Too odd."))
        with pytest.raises(TextError, match="Too odd"):
            await long
        await made.texts.stop()

    run(scenario())


def test_the_end_answers_long_texts_too_and_leaves_no_worker() -> None:
    async def scenario() -> None:
        for turn in (0, 20):
            made = Made()
            await made.load()
            long = begin(made.texts.render(HUGE))
            await turns(turn)
            made.texts.end("The model was unloaded.")
            for text in (HUGE, SHORT):
                with pytest.raises(TextError, match="unloaded"):
                    await made.texts.render(text)
            with pytest.raises(TextError, match="unloaded"):
                await long
            await made.texts.stop()
            assert made.alive == []

    run(scenario())


def test_a_long_text_that_is_given_up_leaves_a_worker_for_the_next() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        long = begin(made.texts.render(HUGE))
        await turns(1)
        long.cancel()
        await turns()
        next_one = await made.long_one()
        assert len(made.links.links) == 2
        answer(made.links.last, 5)
        assert (await next_one).tokens == (5,)
        await made.texts.stop()

    run(scenario())
