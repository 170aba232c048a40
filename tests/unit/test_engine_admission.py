"""Who enters a full pool, who gives way, and how long anybody waits; on the fake backend."""

from dataclasses import replace

import pytest

from app.engine.admission import MOST_OVERTAKINGS
from app.engine.backend import Batch, DecodeResult, MemoryKind
from app.engine.fake import FakeBackend
from app.engine.sequence import PATIENCE, PROMPT_STEP
from app.wire import Abort, FinishReason, Priority, Submit
from tests.engine_run import Run, finish, make_run, request


def text(number: int, length: int) -> tuple[int, ...]:
    """No two numbers begin alike."""
    return (number + 1, *(1 + (number * 7 + place * 5) % 60 for place in range(1, length)))


def of_class(priority: Priority, submit: Submit) -> Submit:
    return replace(submit, priority=priority)


def front(number: int, length: int, limit: int) -> Submit:
    return of_class(Priority.FRONT, request(number, text(number, length), limit))


def warm_up(number: int, tokens: tuple[int, ...]) -> Submit:
    return of_class(Priority.BACKGROUND, request(number, tokens, 0))


def wrote(run: Run, number: int) -> bool:
    return any(out.request_id == number for out in run.steps[-1].tokens)


def alone(submit: Submit, cells: int) -> list[int]:
    run = make_run(FakeBackend(cells=cells, batch=16))
    run.engine.submit(submit)
    finish(run)
    return run.tokens[submit.request_id]


@pytest.mark.parametrize("kind", list(MemoryKind))
@pytest.mark.parametrize("spill_bytes", [0, 100_000])
@pytest.mark.parametrize("priority", [Priority.FRONT, Priority.NORMAL])
def test_a_warm_up_gives_way_at_once_and_is_read_later(
    kind: MemoryKind, spill_bytes: int, priority: Priority
) -> None:
    run = make_run(FakeBackend(cells=120, batch=8, kind=kind), spill_bytes=spill_bytes)
    run.engine.submit(warm_up(1, text(1, 100)))
    while sum(step.counters.chunk for step in run.steps) < 60:
        run.step()
    run.engine.submit(of_class(priority, request(2, text(2, 80), 10)))
    step = run.step()
    assert [told.request_id for told in step.reading] == [2, 2], "begun and read in the next step"
    finish(run)
    assert list(run.ends) == [2, 1]
    assert {end.reason for end in run.ends.values()} == {FinishReason.LENGTH}
    assert len(run.tokens[2]) == 10
    if spill_bytes and kind is not MemoryKind.WINDOW:
        assert run.steps[-1].counters.read == 80 + 99, "what the warm-up had read was kept"


@pytest.mark.parametrize("kind", list(MemoryKind))
@pytest.mark.parametrize("cells", [125, 135])
def test_a_warm_up_gives_way_to_a_chat_that_fits_only_by_what_it_shares(
    kind: MemoryKind, cells: int
) -> None:
    """A beginning that two chats have in common lies in the pool once, and is counted once."""
    run = make_run(FakeBackend(cells=cells, sequences=12, kind=kind), spill_bytes=100_000)
    common = text(1, 70)
    run.engine.submit(warm_up(1, text(2, 60)))
    run.step()
    marks = (len(common),)
    run.engine.submit(replace(request(2, (*common, 3), limit=48), marks=marks))
    for _ in range(6):
        run.step()
    run.engine.submit(replace(request(3, (*common, 4, 5, 6), limit=10), marks=marks))
    for _ in range(2):
        run.step()
    assert 3 in run.tokens
    finish(run)
    assert {end.reason for end in run.ends.values()} == {FinishReason.LENGTH}


def test_what_a_warm_up_has_yet_to_read_keeps_nobody_out() -> None:
    """There is room for what is in the pool and for the newcomer, but not for all of the warm-up too."""
    run = make_run(FakeBackend(cells=200, batch=8))
    run.engine.submit(warm_up(1, text(1, 150)))
    run.step()
    run.engine.submit(request(2, text(2, 90), 5))
    run.step()
    assert run.steps[-1].counters.parked == 0
    assert run.steps[-1].counters.reading == 2
    finish(run)
    assert list(run.ends) == [2, 1]


def test_the_front_chat_enters_a_full_pool_at_once_and_the_others_go_on_whole() -> None:
    run = make_run(FakeBackend(cells=200, batch=16), spill_bytes=100_000)
    others = [request(number, text(number, 40), 60) for number in range(4)]
    for submit in others:
        run.engine.submit(submit)
    while run.steps[-1:] == [] or run.steps[-1].counters.running < 3:
        run.step()
    run.engine.submit(front(9, 60, 10))
    run.step()
    assert run.steps[-1].counters.chunk
    assert 9 in {told.request_id for told in run.steps[-1].reading}
    finish(run)
    assert next(iter(run.ends)) == 9
    for submit in others:
        assert run.tokens[submit.request_id] == alone(submit, 200)
    assert run.steps[-1].counters.read == 4 * 40 + 60, "nothing is read twice"


def test_a_chat_that_comes_to_the_front_while_it_waits_enters_at_once() -> None:
    run = make_run(FakeBackend(cells=100, batch=16), spill_bytes=100_000)
    run.engine.submit(front(1, 50, 40))
    run.engine.submit(request(2, text(2, 60), 5))
    while not run.tokens.get(1):
        run.step()
    assert run.steps[-1].counters.waiting == 1
    run.engine.set_priority(2, Priority.FRONT)
    run.engine.set_priority(1, Priority.NORMAL)
    run.step()
    assert [told.request_id for told in run.steps[-1].reading][:1] == [2]
    finish(run)
    assert list(run.ends) == [2, 1]


def test_a_chat_that_comes_to_the_front_writes_in_the_next_step_and_is_read_first() -> None:
    """One row in a step: the front chat has it from the step after the change on."""
    run = make_run(FakeBackend(cells=400, batch=16), most_running=1, tick=0.02)
    for number in range(3):
        run.engine.submit(request(number, text(number, 5), 300))
    while run.steps[-1:] == [] or run.steps[-1].counters.running < 3:
        run.step()
    before = Priority.NORMAL
    for number in (2, 0, 1, 2):
        for other in range(3):
            run.engine.set_priority(other, Priority.FRONT if other == number else before)
        for _ in range(5):
            run.step()
            assert wrote(run, number)
    # The same while they are read: the next chunk is the front chat's.
    reading = make_run(FakeBackend(cells=400, batch=8))
    for number in range(2):
        reading.engine.submit(request(number, text(number, 100), 1))
    reading.step()
    reading.step()
    reading.engine.set_priority(1, Priority.FRONT)
    assert [told.request_id for told in reading.step().reading] == [1]


def test_an_equal_never_gives_way() -> None:
    run = make_run(FakeBackend(cells=100, batch=16))
    run.engine.submit(request(1, text(1, 50), 30))
    while not run.tokens.get(1):
        run.step()
    for number, priority in ((2, Priority.NORMAL), (3, Priority.BACKGROUND)):
        run.engine.submit(of_class(priority, request(number, text(number, 60), 5)))
    finish(run)
    assert list(run.ends) == [1, 2, 3]
    assert run.steps[-1].counters.parked == 0


def test_every_id_at_work_is_no_reason_to_let_the_front_chat_wait() -> None:
    # Two ids to work with, and one for moving states.
    run = make_run(FakeBackend(cells=400, batch=16, sequences=3), spill_bytes=100_000)
    for number in range(2):
        run.engine.submit(request(number, text(number, 20), 50))
    while run.steps[-1:] == [] or run.steps[-1].counters.running < 2:
        run.step()
    run.engine.submit(front(9, 20, 5))
    run.step()
    assert 9 in {told.request_id for told in run.steps[-1].reading}
    finish(run)
    assert all(len(run.tokens[number]) == 50 for number in range(2))


def test_a_request_without_room_is_overtaken_a_bounded_number_of_times() -> None:
    """Front requests come for ever, each small enough to fit beside a long answer; a large request waits."""
    run = make_run(FakeBackend(cells=300, batch=16, sequences=16), spill_bytes=100_000)
    run.engine.submit(front(1, 200, 90))
    while not run.tokens.get(1):
        run.step()
    run.engine.submit(request(2, text(2, 250), 1))
    before = 0
    number = 3
    while 2 not in {told.request_id for step in run.steps for told in step.reading}:
        if not any(name == number - 1 for name in run.engine._sequences):
            run.engine.submit(front(number, 10, 1))
            number += 1
        run.step()
        before += 1
        assert before < 1000
    # Until it has waited so long that it counts as urgent itself, and then by no more than the bound.
    passed = sum(1 for step in run.steps if step.counters.chunk)
    assert passed <= PATIENCE // PROMPT_STEP + MOST_OVERTAKINGS + 250 + 20
    finish(run)
    assert run.ends[2].reason is FinishReason.LENGTH


def test_background_reading_makes_nobodys_step_longer() -> None:
    run = make_run(FakeBackend(cells=300, batch=32))
    run.engine.submit(request(9, text(9, 160), 1))
    finish(run)
    run.engine.submit(request(1, text(1, 10), 100))
    while not run.tokens.get(1):
        run.step()
    kept = run.steps[-1].counters.cells_kept
    assert kept == 160
    run.engine.submit(warm_up(2, text(2, 90)))
    while 1 not in run.ends:
        run.step()
        assert run.steps[-1].counters.chunk == 0
        assert kept <= run.steps[-1].counters.cells_kept, (
            "an idle chat gives way to what is not read"
        )
    finish(run)
    assert run.ends[2].reason is FinishReason.LENGTH


def test_background_reading_waits_a_bounded_number_of_steps_for_those_who_write() -> None:
    run = make_run(FakeBackend(cells=2000, batch=32))
    run.engine.submit(request(1, text(1, 10), 1500))
    while not run.tokens.get(1):
        run.step()
    run.engine.submit(warm_up(2, text(2, 90)))
    steps = 0
    while 2 not in run.ends:
        run.step()
        steps += 1
        assert steps <= PATIENCE + 90
    assert steps > PATIENCE
    assert 1 not in run.ends


class Watching(FakeBackend):
    """Asks, in the middle of each decode, whether a command would interrupt it."""

    answers: list[bool]

    def ask(self, run: Run, command: Abort | Submit) -> None:
        self.run, self.command, self.answers = run, command, []

    def decode(self, batch: Batch) -> DecodeResult:
        self.answers.append(self.run.engine.worth_interrupting(self.command))
        return super().decode(batch)


def test_a_message_does_not_interrupt_the_reading_of_what_it_begins_with() -> None:
    """The user sends while the history is still being read for just this message."""
    history = text(1, 60)
    for tokens, expected in (((*history, 5, 6), False), (text(2, 60), True)):
        backend = Watching(cells=400, batch=16)
        run = make_run(backend)
        backend.ask(run, of_class(Priority.FRONT, request(2, tokens)))
        run.engine.submit(warm_up(1, history))
        run.step()
        run.step()
        assert backend.answers == [expected, expected]


def test_the_end_of_a_warm_up_does_not_throw_away_what_is_just_being_read() -> None:
    """The message is sent: its warm-up is cancelled, and what that has read is what the message begins with."""
    history = text(1, 60)
    backend = Watching(cells=400, batch=16)
    run = make_run(backend)
    backend.ask(run, Abort(1))
    run.engine.submit(warm_up(1, history))
    run.step()
    run.step()
    assert backend.answers == [False, False]
    run.engine.abort(1)
    run.engine.submit(of_class(Priority.FRONT, request(2, (*history, 5, 6), 3)))
    finish(run)
    assert run.steps[-1].counters.read == len(history) + 2


def test_a_message_hurries_the_reading_of_what_it_begins_with() -> None:
    """The warm-up takes the class of who waits for it, beside somebody who writes too."""
    run = make_run(FakeBackend(cells=600, batch=32))
    run.engine.submit(request(1, text(1, 10), 400))
    while not run.tokens.get(1):
        run.step()
    history = text(2, 90)
    run.engine.submit(warm_up(2, history))
    run.step()
    run.engine.submit(of_class(Priority.FRONT, request(3, (*history, 5, 6), 3)))
    finish(run)
    assert list(run.ends) == [2, 3, 1]
    assert run.steps[-1].counters.read == 10 + 90 + 2


def test_who_writes_does_not_age() -> None:
    """A long answer beside many prompts is no reason to count as urgent."""
    run = make_run(FakeBackend(cells=3000, batch=16, sequences=16))
    run.engine.submit(request(1, text(1, 10), 1000))
    for number in range(2, 200):
        run.engine.submit(request(number, text(number % 60, 30), 1))
        while number not in run.ends:
            run.step()
    assert sum(1 for step in run.steps if step.counters.chunk) > 2 * PATIENCE // PROMPT_STEP
    assert run.engine._sequences[1].level == Priority.NORMAL


def test_what_was_hurried_is_background_work_again_when_nobody_waits_for_it() -> None:
    run = make_run(FakeBackend(cells=600, batch=32))
    run.engine.submit(request(1, text(1, 10), 300))
    while not run.tokens.get(1):
        run.step()
    history = text(2, 200)
    run.engine.submit(warm_up(2, history))
    run.engine.submit(of_class(Priority.FRONT, request(3, (*history, 5, 6), 3)))
    run.step()
    assert run.steps[-1].counters.chunk
    run.engine.abort(3)
    run.step()
    for _ in range(20):
        assert run.step().counters.chunk == 0


@pytest.mark.parametrize("kind", list(MemoryKind))
def test_a_short_prompt_waits_for_what_it_shares_and_not_for_the_chunk(kind: MemoryKind) -> None:
    """As after a crash: the chat that goes on was there first, and begins as the new one does."""
    run = make_run(FakeBackend(cells=400, batch=64, kind=kind), spill_bytes=100_000)
    common = text(1, 20)
    run.engine.submit(request(1, (*common, *text(2, 60)), 5))
    run.engine.submit(request(2, (*common, *text(3, 10)), 5))
    while 2 not in run.tokens:
        run.step()
    assert 1 not in run.tokens, "the first still reads the rest of its own"
    finish(run)
    assert run.steps[-1].counters.read == 20 + 60 + 10


def test_many_that_wait_do_not_cut_a_prompt_into_crumbs() -> None:
    run = make_run(FakeBackend(cells=2000, batch=64, sequences=130), most_running=8)
    long = text(1, 320)
    run.engine.submit(request(0, long, 2))
    for number in range(1, 100):
        run.engine.submit(request(number, (*long[: 3 * number], 63, 62), 2))
    while 0 not in run.tokens:
        run.step()
    assert len(run.steps) <= 2 * 320 // 16
    finish(run)
    assert all(len(written) == 2 for written in run.tokens.values())
