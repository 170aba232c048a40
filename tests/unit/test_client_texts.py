"""Short texts beside what takes long, over workers played by the test."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.client.text import TextClient
from app.client.text_job import LONG, Deadline
from app.client.texts import IDLE_SECONDS, SLOW_SECONDS
from app.dialogue import Calling, ChatLine, Thinking
from app.errors import FormError, ModelError, TextError
from app.grammar.model import Constrain, Constrained, Form, FormRefused, Kind
from app.prompting import Adopted, Trial, TryTemplate, UseTemplate
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
    ANYTHING,
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
FORM = Form(Kind.GBNF, 'root ::= "a"', "grammar")


class Made:
    def __init__(self, *greetings: Any) -> None:
        self.clock = FakeClock()
        self.links = FakeLinks(*(greetings or (VOCABULARY,)), name="text-worker")
        self.texts = TextClient(self.links, PARAMS, clock=self.clock, deadline=Deadline(2.0, 20.0))

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
        made = Made(VOCABULARY, replace(VOCABULARY, fingerprint="other"))
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
        assert made.alive == [first, made.links.last], "the new one stays"
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


def test_who_waits_behind_a_job_that_turns_out_to_be_long_goes_past_it() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        form = begin(made.texts.constrain(FORM))
        await turns()
        short, count = begin(made.texts.render(SHORT)), begin(made.texts.count("abc"))
        await turns()
        made.clock.advance(SLOW_SECONDS - 0.01)
        await turns()
        assert len(made.links.links) == 1
        made.clock.advance(0.02)
        await turns()
        first, second = made.links.links
        assert [type(message) for message in first.sent] == [Constrain]
        answer(second, 1)
        assert (await short).tokens == (1,)
        later = begin(made.texts.render(SHORT))
        await turns()
        second.say(Tokenized(second.sent[-1].request_id, 3))
        assert await count == 3
        await turns()
        answer(second, 2)
        assert (await later).tokens == (2,)
        assert not form.done()
        first.say(FormRefused(first.sent[-1].request_id, "It is too large."))
        with pytest.raises(FormError, match="too large"):
            await form
        again = begin(made.texts.render(SHORT))
        await turns()
        answer(first, 5)
        assert (await again).tokens == (5,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_whoever_comes_while_the_only_worker_has_a_long_job_has_a_second_one_started() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        form = begin(made.texts.constrain(FORM))
        await turns()
        made.clock.advance(SLOW_SECONDS)
        await turns()
        assert len(made.links.links) == 1  # nobody waits
        short = begin(made.texts.render(SHORT))
        await turns()
        answer(made.links.last, 1)
        assert (await short).tokens == (1,)
        assert made.links.links[0].sent != made.links.last.sent
        assert not form.done()
        await made.texts.stop()
        with pytest.raises(TextError, match="stopped"):
            await form
        assert made.alive == []

    run(scenario())


def test_where_there_are_two_workers_forms_and_trials_keep_off_the_first() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        first, second = made.links.links
        del first.sent[:]
        forms = [begin(made.texts.constrain(FORM)) for _ in range(2)]
        trial = begin(made.texts.inspect(TryTemplate("{{ messages }}", ()), Trial))
        await turns()
        short = begin(made.texts.render(SHORT))
        await turns()
        answer(first, 1)  # no time has passed
        assert (await short).tokens == (1,)
        for form in forms:
            asked = second.sent[-1]
            assert isinstance(asked, Constrain)
            second.say(Constrained(asked.request_id, ANYTHING))
            assert await form == ANYTHING
            await turns()
        assert isinstance(second.sent[-1], Inspect)
        assert not trial.done()
        assert [type(message) for message in first.sent] == [Render]
        await made.texts.stop()
        with pytest.raises(TextError):
            await trial

    run(scenario())


def test_a_change_of_the_template_waits_for_the_worker_that_stays() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        first, second = made.links.links
        slow = begin(made.texts.render(SHORT))
        await turns()
        made.clock.advance(SLOW_SECONDS)
        use, short = begin(made.texts.use("{{ messages }}")), begin(made.texts.render(SHORT))
        await turns()
        answer(second, 7)  # with the template that still holds
        assert (await short).tokens == (7,)
        answer(first, 6)
        await slow
        await turns()
        asked = first.sent[-1]
        assert isinstance(asked, Inspect)
        first.say(
            Inspected(asked.request_id, Adopted((1,), "yours", (), (), Thinking(), Calling()))
        )
        await use
        await turns()
        assert made.alive == [first]
        await made.texts.stop()

    run(scenario())


def test_a_death_of_the_second_worker_is_told_to_whom_it_concerns() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        first = made.links.links[0]
        form, waiting = (begin(made.texts.constrain(FORM)) for _ in range(2))
        await turns()
        short = begin(made.texts.render(SHORT))
        await turns()
        for _ in range(2):
            made.links.last.die()
            await turns()
        with pytest.raises(TextError, match="stopped unexpectedly"):
            await form
        answer(first, 1)
        assert (await short).tokens == (1,)
        made.links.last.say(Constrained(made.links.last.sent[-1].request_id, ANYTHING))
        assert await waiting == ANYTHING
        assert first.death is None
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


@pytest.mark.parametrize("comes_back", [False, True])
def test_nobody_waits_for_a_second_worker_that_died(comes_back: bool) -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, VOCABULARY, VOCABULARY if comes_back else ModelError("Gone."))
        await made.load_both()
        first, second = made.links.links
        made.links.gate = asyncio.Event()
        form, waiting = (begin(made.texts.constrain(FORM)) for _ in range(2))
        await turns()
        second.die()
        await turns()
        first.say(Constrained(first.sent[-1].request_id, ANYTHING))
        assert await waiting == ANYTHING
        made.links.gate.set()
        await turns()
        if comes_back:
            third = made.links.last
            third.say(Constrained(third.sent[-1].request_id, ANYTHING))
            assert await form == ANYTHING
        else:
            with pytest.raises(TextError, match="Gone"):
                await form
        long = await made.long_one()
        answer(made.links.last if comes_back else first, 1)
        assert (await long).tokens == (1,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_an_end_starts_no_worker_in_place_of_those_that_work() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        asked = [begin(made.texts.render(text)) for text in (HUGE, SHORT)]
        await turns()
        await made.texts.stop()
        assert len(made.links.links) == 2
        assert made.alive == []
        for one in asked:
            with pytest.raises(TextError, match="stopped"):
                await one

    run(scenario())


def test_an_end_does_not_wait_for_a_second_worker_that_starts() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        made.links.gate = asyncio.Event()
        long = await made.long_one()
        assert len(made.links.links) == 2
        await made.texts.stop()
        assert made.alive == []
        with pytest.raises(TextError, match="stopped"):
            await long

    run(scenario())


def test_of_two_workers_never_both_have_what_may_be_long() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        form, other = (begin(made.texts.constrain(FORM)) for _ in range(2))
        await turns()
        made.clock.advance(SLOW_SECONDS)
        await turns()
        first, second = made.links.links
        assert [type(message) for message in first.sent] == [Constrain]
        assert second.sent == []
        short = begin(made.texts.render(SHORT))
        await turns()
        answer(second, 1)
        assert (await short).tokens == (1,)
        first.say(Constrained(first.sent[-1].request_id, ANYTHING))
        assert await form == ANYTHING
        await turns()
        assert isinstance(second.sent[-1], Constrain)
        short = begin(made.texts.render(SHORT))
        await turns()
        answer(first, 2)
        assert (await short).tokens == (2,)
        second.say(Constrained(second.sent[-1].request_id, ANYTHING))
        assert await other == ANYTHING
        await made.texts.stop()
        assert made.alive == []

    run(scenario())


def test_a_second_worker_that_died_with_nothing_to_do_is_replaced_when_one_is_wanted() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load_both()
        made.links.last.die()
        await turns()
        long = await made.long_one()
        first, _, third = made.links.links
        short = begin(made.texts.render(SHORT))
        await turns()
        answer(third, 1)
        assert (await short).tokens == (1,)
        answer(first, 2)
        assert (await long).tokens == (2,)
        await made.texts.stop()
        assert made.alive == []

    run(scenario())
