"""Case 26: bytes that never become a character, at the window, in the store and in answers of the API.

An error in the log fails a test anyway.
"""

from pathlib import Path

import pytest

from app.wire import FinishReason
from tests.api.harness import read_stream
from tests.cases.playing import play
from tests.cases.whole import RealModel, answers, open_tabs, served, until
from tests.gui.conftest import Drive
from tests.gui.desk import close_desk, open_desk
from tests.played_model import PATH, Made
from tests.scripted_children import begin, run
from tests.scripted_children import until as true

SCRIPTS = (
    # What is written, what is shown while more may come, and what is stored.
    (b"ok \xe4\xbd", "ok ", "ok \ufffd"),
    (b"\xff\xfe", "\ufffd" * 2, "\ufffd" * 2),
    (b"\xc0\xaf", "\ufffd" * 2, "\ufffd" * 2),
    (b"\xed\xa0\x80", "\ufffd" * 3, "\ufffd" * 3),
    (b"\xf4\x90\x80\x80", "\ufffd" * 4, "\ufffd" * 4),
    (b"a\x80b", "a\ufffdb", "a\ufffdb"),
)


@pytest.mark.slow
def test_bad_bytes_are_marked_and_good_text_stays(drive: Drive) -> None:
    async def scenario() -> None:
        made = Made()
        played = await play(made)
        pages = await open_tabs(played.desk, len(SCRIPTS))
        for page, (raw, certain, whole) in zip(pages, SCRIPTS, strict=True):
            request = await played.ask(page)
            for token in raw:
                played.write(request, bytes([token]))
            await until(lambda page=page, certain=certain: played.shown(page) == certain, certain)
            await played.end(request, page, FinishReason.STOP)
            assert played.shown(page) == whole
            (answer,) = await answers(played.desk, page)
            assert answer.text == whole
            assert page.transcript.message_text(1).splitlines()[1] == whole
        await close_desk(played.desk)

        desk = await open_desk()
        for index, (_, _, whole) in enumerate(SCRIPTS):
            desk.window.tabs.setCurrentIndex(index)
            page = desk.tabs[index]
            await until(lambda page=page: len(page.transcript.flow.entries) == 2, "the chat")
            assert page.transcript.message_text(1).splitlines()[1] == whole
        await close_desk(desk)

    drive(scenario())


@pytest.mark.parametrize("stream", [False, True])
def test_the_api_answers_in_utf_8(stream: bool) -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        body = {"messages": [{"role": "user", "content": "x"}], "stream": stream}
        async with served(made.model) as api:  # type: ignore[arg-type]
            for count, (raw, _, whole) in enumerate(SCRIPTS, start=1):
                request = begin(api.post(body))
                await true(lambda count=count: len(made.submitted) == count)
                made.write(raw, end=FinishReason.STOP)
                reply = await request
                assert reply.status == 200
                if stream:
                    assert read_stream(reply.body).text == whole
                else:
                    message = reply.json["choices"][0]["message"]
                    assert message["content"] == whole
        await made.model.close()

    run(scenario())


@pytest.mark.model
@pytest.mark.slow
def test_a_hot_sampler_writes_what_can_be_sent(starter: Path) -> None:
    """At temperature 2 the model writes stray bytes; a short run of it, for the bytes themselves are played above."""

    async def scenario() -> None:
        async with RealModel(starter, pool_tokens=256, sequences=1, batch=64, threads=2) as model:
            body = {"messages": [{"role": "user", "content": "x"}], "temperature": 2.0, "top_k": 0}
            hot = {**body, "top_p": 1, "min_p": 0, "max_tokens": 24, "ignore_eos": True}
            async with served(model) as api:
                stream = read_stream((await api.post({**hot, "seed": 9, "stream": True})).body)
            assert stream.text.encode().decode() == stream.text
            assert stream.chunks[-1]["choices"][0]["finish_reason"] == "length"

    run(scenario())
