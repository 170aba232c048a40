"""Renders and counts with deadlines, over workers played by the test."""

from dataclasses import replace
from typing import Any

import pytest

from app.client.death import Death
from app.client.text import TextClient
from app.client.text_job import Deadline
from app.dialogue import ChatLine, Tool, Wishes
from app.errors import EngineDied, FormError, ModelError, TextError, TextRefused
from app.grammar.model import Constrain, Constrained, Form, FormRefused, Kind
from app.wire import Render, Rendered, TextFailed, Tokenize, Tokenized
from tests.scripted_children import (
    ANYTHING,
    LOADED,
    PARAMS,
    VOCABULARY,
    FakeClock,
    FakeLink,
    FakeLinks,
    begin,
    run,
    turns,
)

LINE = ChatLine("user", "hello")


class Made:
    def __init__(self, *greetings: Any) -> None:
        self.clock = FakeClock()
        self.links = FakeLinks(*(greetings or (VOCABULARY,)), name="text-worker")
        self.client = TextClient(
            self.links, PARAMS, clock=self.clock, deadline=Deadline(2.0, per_million=20.0)
        )

    async def load(self) -> None:
        assert await self.client.load(lambda _: None) == VOCABULARY

    @property
    def link(self) -> FakeLink:
        return self.links.last

    def reply(self, *replies: Any) -> None:
        """Answer what was sent last."""
        message = self.link.sent[-1]
        assert isinstance(message, Render | Tokenize | Constrain)
        self.link.say(*(kind(message.request_id, *rest) for kind, *rest in replies))


def test_one_request_at_a_time_is_with_the_worker() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        render, count = begin(made.client.render([LINE])), begin(made.client.count("abc"))
        await turns()
        assert [type(message) for message in made.link.sent] == [Render]
        made.reply((Rendered, (1, 2)))
        assert (await render).tokens == (1, 2)
        await turns()
        assert made.link.sent[1:] == [Tokenize(2, "abc")]
        made.reply((Tokenized, 3))
        assert await count == 3
        await made.client.stop()

    run(scenario())


def test_what_is_asked_while_a_long_text_is_counted_comes_in_between() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        text = ("words " * 4_000)[:-1]
        count = begin(made.client.count(text))
        await turns()
        render = begin(made.client.render([LINE]))
        counted = []
        while not count.done():
            asked = made.link.sent[-1]
            counted.append(asked)
            made.reply((Tokenized, 1) if isinstance(asked, Tokenize) else (Rendered, (1, 2)))
            await turns()
        assert [type(asked) for asked in counted] == [Tokenize, Render, Tokenize, Tokenize]
        parts = [asked.text for asked in counted if isinstance(asked, Tokenize)]
        assert "".join(parts) == text
        assert all(part.startswith(" words") for part in parts[1:])
        assert await count == len(parts)
        assert (await render).tokens == (1, 2)
        await made.client.stop()

    run(scenario())


def test_a_long_draft_that_grows_is_counted_where_it_is_new() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        draft = " ".join(map(str, range(5_000)))
        for typed in ("", " and", " and more"):
            before = len(made.link.sent)
            count = begin(made.client.count(draft + typed))
            await turns()
            while not count.done():
                made.reply((Tokenized, 10))
                await turns()
            asked = [one.text for one in made.link.sent[before:] if isinstance(one, Tokenize)]
            if typed:
                (last,) = asked
                assert (draft + typed).endswith(last)
            else:
                assert "".join(asked) == draft
                parts = len(asked)
            assert await count == 10 * parts
        assert parts > 2
        await made.client.stop()

    run(scenario())


def test_a_count_that_nobody_waits_for_any_more_goes_no_further() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        count = begin(made.client.count("x" * 100_000))
        await turns()
        count.cancel()
        made.reply((Tokenized, 1))
        await turns()
        assert len(made.link.sent) == 1
        await made.client.stop()

    run(scenario())


def test_a_short_text_does_not_wait_for_long_ones_and_none_waits_for_ever() -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, ModelError("There is room for one worker."))
        await made.load()
        (link,) = made.links.links
        long = [ChatLine("user", "x" * 1_000_000)]
        asked = [begin(made.client.render(long)) for _ in range(2)]
        await turns()
        asked.append(begin(made.client.render([LINE])))
        await turns()
        made.clock.advance(21.0)
        asked.append(
            begin(made.client.render([LINE]))
        )  # in 2 s, and the second of the long ones in 1 s
        for _ in asked:
            await turns()
            link.say(Rendered(_id(link.sent[-1]), (1,)))
        await turns()
        assert [_id(message) for message in link.sent] == [1, 3, 2, 4]
        assert all(one.done() for one in asked)
        await made.client.stop()

    run(scenario())


def _id(message: Any) -> int:
    return int(message.request_id)


def test_a_form_is_made_a_grammar_or_refused_under_its_own_name() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        form = Form(Kind.JSON, field="response_format")
        good = begin(made.client.constrain(form, thinking=False))
        await turns()
        assert made.link.sent == [Constrain(1, form, None, False)]
        made.reply((Constrained, ANYTHING))
        assert await good == ANYTHING
        for reply, kind in (
            ((FormRefused, "It is bad."), FormError),
            ((Tokenized, 3), TextError),
        ):
            bad = begin(made.client.constrain(form))
            await turns()
            made.reply(reply)
            with pytest.raises(kind) as caught:
                await bad
            assert getattr(caught.value, "field", "") == (
                "response_format" if kind is FormError else ""
            )
        await made.client.stop()

    run(scenario())


def test_a_refusal_is_a_text_error_with_the_workers_words() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        for reply, words in (
            ((TextFailed, "The template is broken."), "template is broken"),
            ((Tokenized, 3), "another answer"),
        ):
            render = begin(made.client.render([LINE]))
            await turns()
            made.reply(reply)
            with pytest.raises(TextError, match=words):
                await render
        await made.client.stop()

    run(scenario())


def test_at_the_deadline_the_worker_is_killed_and_the_others_are_served_by_a_new_one() -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, ModelError("There is room for one worker."), VOCABULARY)
        await made.load()
        slow, other = begin(made.client.render([LINE])), begin(made.client.count("abc"))
        await turns()
        made.clock.advance(1.9)
        assert made.links.links[0].killed == []
        made.clock.advance(0.2)
        with pytest.raises(TextError, match=r"took longer than 2\.0 s"):
            await slow
        await turns()
        assert len(made.links.links) == 3
        assert made.links.links[0].death is not None
        assert made.link.sent == [Tokenize(2, "abc")]
        # The time of the one before does not count against this one.
        made.clock.advance(1.9)
        made.reply((Tokenized, 3))
        assert await other == 3
        await made.client.stop()

    run(scenario())


LONG = "x" * 500_000


@pytest.mark.parametrize(
    "asked", [([ChatLine("user", LONG)],), ([], Wishes(), [Tool("t", LONG, "{}")])]
)
def test_a_long_text_has_more_time(asked: tuple[Any, ...]) -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        render = begin(made.client.render(*asked))
        await turns()
        made.clock.advance(11.9)
        assert not made.link.killed
        made.clock.advance(0.2)
        with pytest.raises(TextRefused):
            await render
        await made.client.stop()

    run(scenario())


def test_a_worker_that_dies_is_replaced_and_its_request_tried_once_more() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        count = begin(made.client.count("abc"))
        await turns()
        made.link.die()
        await turns()
        assert len(made.links.links) == 2
        made.reply((Tokenized, 3))
        assert await count == 3
        doomed, other = begin(made.client.count("killer")), begin(made.client.count("abcd"))
        for _ in range(2):
            await turns()
            made.link.die()
        with pytest.raises(TextError, match="text worker stopped unexpectedly"):
            await doomed
        await turns()
        made.reply((Tokenized, 4))
        assert await other == 4
        await made.client.stop()

    run(scenario())


def test_a_worker_that_died_unasked_is_replaced_when_it_is_needed() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        made.link.die()
        await turns()
        assert len(made.links.links) == 1
        count = begin(made.client.count("abc"))
        await turns()
        made.reply((Tokenized, 3))
        assert await count == 3
        await made.client.stop()

    run(scenario())


def test_a_worker_that_dies_while_it_starts_is_replaced_once_more() -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, EngineDied("The text worker stopped."), VOCABULARY)
        await made.load()
        made.link.die()
        render = begin(made.client.render([LINE]))
        await turns()
        assert len(made.links.links) == 3
        made.reply((Rendered, (1,)))
        assert (await render).tokens == (1,)
        await made.client.stop()

    run(scenario())


def test_a_worker_that_finds_another_file_is_not_used() -> None:
    async def scenario() -> None:
        other = replace(VOCABULARY, fingerprint="other")
        made = Made(VOCABULARY, other)
        await made.load()
        made.link.die()
        with pytest.raises(TextError, match="has changed since it was loaded"):
            await made.client.render([LINE])
        assert made.link.death is not None
        await made.client.stop()

    run(scenario())


def test_where_no_new_worker_can_be_had_each_request_says_so() -> None:
    async def scenario() -> None:
        made = Made(VOCABULARY, ModelError("The file is gone."))
        await made.load()
        made.link.die()
        for _ in range(2):
            with pytest.raises(TextError, match=r"The file is gone\."):
                await made.client.count("abc")
        assert len(made.links.links) == 3
        await made.client.stop()

    run(scenario())


def test_a_request_that_is_given_up_does_not_hurt_the_next() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        begun, queued = begin(made.client.count("a")), begin(made.client.count("ab"))
        last = begin(made.client.count("abc"))
        await turns()
        begun.cancel()
        queued.cancel()
        await turns()
        # The worker is still busy with the first.
        assert len(made.link.sent) == 1
        made.reply((Tokenized, 1))
        await turns()
        assert made.link.sent[1:] == [Tokenize(3, "abc")]
        made.reply((Tokenized, 3))
        assert await last == 3
        await made.client.stop()

    run(scenario())


def test_the_end_answers_all_that_wait_and_all_that_come() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        asked = [begin(made.client.count("abc")) for _ in range(3)]
        await turns()
        made.client.end("The model was unloaded.")
        for task in asked:
            with pytest.raises(TextError, match="unloaded"):
                await task
        with pytest.raises(TextError, match="unloaded"):
            await made.client.count("abc")
        await made.client.stop()
        assert made.links.links[0].death == Death("text-worker", exitcode=0, asked=True)

    run(scenario())


def test_an_end_before_the_first_turn_of_the_loop_is_heard_too() -> None:
    async def scenario() -> None:
        made = Made()
        await made.load()
        asked = begin(made.client.count("abc"))
        made.client.end("over")
        with pytest.raises(TextError, match="over"):
            await asked
        await made.client.stop()

    run(scenario())


def test_a_load_that_fails_leaves_no_worker() -> None:
    async def scenario() -> None:
        for greeting, error in ((ModelError("no"), ModelError), (LOADED, TextError)):
            made = Made(greeting)
            with pytest.raises(error):
                await made.client.load(lambda _: None)
            assert made.link.stops == 1
            await made.client.stop()

    run(scenario())


def test_one_that_is_ended_while_it_loads_serves_nobody() -> None:
    async def scenario() -> None:
        made = Made()
        loading = begin(made.client.load(lambda _: None))
        made.client.end("The engine could not be loaded.")
        with pytest.raises(TextError, match=r"The engine could not be loaded\."):
            await loading
        with pytest.raises(TextError, match="could not be loaded"):
            await made.client.count("abc")
        assert made.link.sent == []
        assert made.link.death is not None
        await made.client.stop()

    run(scenario())
