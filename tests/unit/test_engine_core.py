"""What the engine does with requests, step by step, on the fake backend."""

from dataclasses import replace

import pytest

from app.engine.backend import Batch, DecodeResult, MemoryKind
from app.engine.core import Engine
from app.engine.cost import LARGE
from app.engine.fake import FakeBackend
from app.engine.sequence import PATIENCE, PROMPT_STEP
from app.sampling import Sampling
from app.wire import Abort, FinishReason, Priority, Submit
from tests.engine_run import GREEDY, Clock, Run, StrictBackend, finish, make_run, request

SHARED = tuple(range(1, 50))


def test_all_running_sequences_share_one_decode_call() -> None:
    backend = FakeBackend(cells=400, batch=64)
    run = make_run(backend)
    for number in range(4):
        run.engine.submit(request(number, (40 + number, 2, 3), limit=20))
    finish(run)
    together = [step for step in run.steps if step.counters.rows == 4]
    assert len(together) >= 15
    assert backend.decodes == len(
        [step for step in run.steps if step.counters.rows + step.counters.chunk]
    )


def test_a_prefix_that_is_just_being_read_is_waited_for_and_read_once() -> None:
    run = make_run(FakeBackend(cells=400, batch=16))
    for number in range(4):
        run.engine.submit(request(number, (*SHARED, 50 + number, 51)))
    finish(run)
    counters = run.steps[-1].counters
    assert counters.read == len(SHARED) + 4 * 2
    assert counters.reused == 3 * len(SHARED)
    assert [end.usage.cached_tokens for end in run.ends.values()].count(len(SHARED)) == 3


def test_a_running_sequence_gives_its_prefix() -> None:
    run = make_run(FakeBackend(cells=400, batch=64))
    run.engine.submit(request(1, (*SHARED, 60), limit=30))
    run.step()
    run.step()
    run.engine.submit(request(2, (*SHARED, 61), limit=3))
    finish(run)
    assert run.ends[2].usage.cached_tokens == len(SHARED)
    assert next(step for step in run.steps if step.finished).finished[0].request_id == 2


@pytest.mark.parametrize("kind", list(MemoryKind))
def test_a_chat_that_goes_on_reads_only_what_is_new(kind: MemoryKind) -> None:
    run = make_run(FakeBackend(cells=400, batch=64, kind=kind))
    run.engine.submit(request(1, SHARED, limit=5))
    finish(run)
    before = run.steps[-1].counters.read
    # The last written token was never evaluated; it and the new text are read.
    second = (*SHARED, *run.tokens[1], 60, 61)
    run.engine.submit(request(2, second, limit=5))
    finish(run)
    assert run.steps[-1].counters.read - before == 3
    assert run.ends[2].usage.cached_tokens == len(second) - 3


def test_the_same_prompt_again_evaluates_one_token() -> None:
    run = make_run(FakeBackend(cells=400, batch=64))
    for number in range(3):
        run.engine.submit(request(number, SHARED, limit=4))
        finish(run)
    assert run.steps[-1].counters.read == len(SHARED) + 2
    assert run.tokens[0] == run.tokens[1] == run.tokens[2]


@pytest.mark.parametrize(("fork_at", "cached"), [(48, 48), (30, 30), (20, 0)])
def test_a_recurrent_memory_is_forked_only_where_its_state_was_kept(
    fork_at: int, cached: int
) -> None:
    run = make_run(FakeBackend(cells=400, batch=64, kind=MemoryKind.RECURRENT), spill_bytes=10_000)
    run.engine.submit(replace(request(1, SHARED, limit=4), marks=(30,)))
    finish(run)
    run.engine.submit(request(2, (*SHARED[:fork_at], 63, 62), limit=4))
    finish(run)
    assert run.ends[2].usage.cached_tokens == cached


@pytest.mark.parametrize("phase", ["waiting", "reading", "running"])
def test_abort_frees_the_cells_within_one_step(phase: str) -> None:
    run = make_run(FakeBackend(cells=200, batch=8), most_running=1)
    first = Submit(1, SHARED, GREEDY, max_tokens=50, ignore_eos=True)
    run.engine.submit(first)
    if phase == "waiting":
        run.engine.submit(request(2, (9, 9)))
        run.step()
        run.engine.abort(2)
        assert [end.request_id for end in run.step().finished] == [2]
        run.engine.abort(1)
    else:
        steps = 2 if phase == "reading" else 9
        for _ in range(steps):
            run.step()
        run.engine.abort(1)
    step = run.step()
    run.engine.abort(1)
    assert run.ends[1].reason is FinishReason.CANCELLED
    assert step.counters.cells_used == step.counters.cells_kept
    assert not run.engine.has_work


def test_a_full_pool_parks_and_resumes_and_fails_nobody() -> None:
    backend = FakeBackend(cells=100, sequences=8)
    run = make_run(backend)
    for number in range(4):
        run.engine.submit(request(number, (number + 1,) * 20, limit=60))
    finish(run)
    assert all(end.reason is FinishReason.LENGTH for end in run.ends.values())
    assert all(len(run.tokens[number]) == 60 for number in range(4))
    assert run.steps[-1].counters.parked > 0


def test_tokens_end_at_the_context_and_nothing_is_evaluated_after() -> None:
    for length in range(90, 101):
        run = make_run(FakeBackend(cells=100))
        run.engine.submit(Submit(1, (7,) * length, GREEDY, ignore_eos=True))
        finish(run)
        end = run.ends[1]
        if length < 100:
            assert (end.reason, end.usage.completion_tokens) == (FinishReason.LENGTH, 100 - length)
        else:
            assert end.reason is FinishReason.ERROR
            assert "100" in end.error


@pytest.mark.parametrize(
    ("submit", "word"),
    [
        (Submit(1, (), GREEDY), "empty"),
        (Submit(1, (1, 64), GREEDY), "tokens"),
        (Submit(1, (1, -1), GREEDY), "tokens"),
    ],
)
def test_a_wrong_request_is_refused_and_disturbs_nobody(submit: Submit, word: str) -> None:
    run = make_run(FakeBackend())
    run.engine.submit(request(5, (1, 2)))
    run.engine.submit(submit)
    finish(run)
    assert run.ends[1].reason is FinishReason.ERROR
    assert word in run.ends[1].error
    assert run.ends[5].reason is FinishReason.LENGTH


def test_a_warm_up_reads_all_but_the_last_token_and_writes_nothing() -> None:
    run = make_run(FakeBackend(cells=400, batch=64))
    run.engine.submit(request(1, SHARED, limit=0))
    finish(run)
    assert run.ends[1].reason is FinishReason.LENGTH
    assert run.tokens == {}
    run.engine.submit(request(2, SHARED, limit=3))
    finish(run)
    assert run.ends[2].usage.cached_tokens == len(SHARED) - 1
    assert run.steps[-1].counters.read == len(SHARED)
    run.engine.submit(request(3, (1,), limit=0))
    finish(run)
    assert run.ends[3].reason is FinishReason.LENGTH


def test_more_chats_than_rows_take_turns_and_the_front_one_always_writes() -> None:
    run = make_run(FakeBackend(cells=4000, batch=64, sequences=20), most_running=3, tick=0.02)
    for number in range(6):
        front = Priority.FRONT if number == 0 else Priority.NORMAL
        submit = replace(request(number, (number + 1,) * 4, limit=2000), priority=front)
        run.engine.submit(submit)
    while not any(step.counters.rows == 3 for step in run.steps):
        run.step()
    wrote: list[set[int]] = []
    for _ in range(200):
        step = run.step()
        assert step.counters.rows == 3
        wrote.append({out.request_id for out in step.tokens})
    assert all(0 in ids for ids in wrote)
    longest = max(_longest_silence(wrote, number) for number in range(1, 6))
    # Five chats share two places: who waits is back after at most two turns of two seconds.
    step_seconds = run.steps[-1].counters.step_ms / 1000
    assert longest * step_seconds <= 2 * 2.0 + 3 * step_seconds


def _longest_silence(wrote: list[set[int]], number: int) -> int:
    longest = current = 0
    for ids in wrote:
        current = 0 if number in ids else current + 1
        longest = max(longest, current)
    return longest


def test_background_work_is_not_starved_by_a_stream_of_urgent_prompts() -> None:
    run = make_run(FakeBackend(cells=2000, batch=8, sequences=12), most_running=4)
    late = replace(request(0, (60,) * 40, limit=1), priority=Priority.BACKGROUND)
    run.engine.submit(late)
    urgent = 1
    while 0 not in run.ends and urgent < 2000:
        if len(run.ends) == urgent - 1:
            front = replace(
                request(urgent, (urgent % 50 + 1,) * 30, limit=1), priority=Priority.FRONT
            )
            run.engine.submit(front)
            urgent += 1
        run.step()
    assert run.ends[0].reason is FinishReason.LENGTH


def test_the_front_chat_is_read_first() -> None:
    run = make_run(FakeBackend(cells=400, batch=16), most_running=2)
    for number in range(3):
        run.engine.submit(request(number, (number + 1,) * 30, limit=4))
    front = Submit(9, (60,) * 30, GREEDY, max_tokens=4, ignore_eos=True, priority=Priority.FRONT)
    run.engine.submit(front)
    finish(run)
    assert next(iter(run.ends)) == 9


def test_a_short_prompt_overtakes_a_long_one_but_not_for_ever() -> None:
    run = make_run(FakeBackend(cells=1000, batch=8, sequences=16), most_running=8)
    run.engine.submit(request(0, (50,) * 300, limit=1))
    run.step()
    run.engine.submit(request(1, (51, 52, 53), limit=1))
    overtakers = 2
    while 0 not in run.ends:
        if len(run.ends) == overtakers - 1 and overtakers < 400:
            run.engine.submit(request(overtakers, (10 + overtakers % 40, 2, 3), limit=1))
            overtakers += 1
        run.step()
    assert next(iter(run.ends)) == 1
    # Each of them costs a step in which the long one is passed over, until it counts as a class better.
    assert overtakers <= PATIENCE // PROMPT_STEP + 10


def test_end_tokens_of_the_request_end_it_and_are_not_told() -> None:
    run = make_run(FakeBackend())
    run.engine.submit(request(1, (1, 2, 3), limit=6))
    finish(run)
    third = run.tokens[1][2]
    run.engine.submit(Submit(2, (1, 2, 3), GREEDY, max_tokens=6, end_tokens=(third,)))
    finish(run)
    assert run.ends[2].reason is FinishReason.STOP
    assert run.tokens[2] == run.tokens[1][:2]


def test_each_sampler_has_its_own_history() -> None:
    """Alone or beside others, with starts apart, a seeded request writes the same."""
    warm = Sampling(temperature=1.0, seed=42)
    alone = make_run(FakeBackend(cells=400))
    alone.engine.submit(Submit(1, (5, 6), warm, max_tokens=12, ignore_eos=True))
    finish(alone)
    for delay in range(4):
        run = make_run(FakeBackend(cells=400))
        run.engine.submit(request(2, (9, 9, 9), limit=20))
        for _ in range(delay):
            run.step()
        run.engine.submit(Submit(1, (5, 6), warm, max_tokens=12, ignore_eos=True))
        run.engine.submit(Submit(3, (7,), Sampling(temperature=1.0, seed=1), max_tokens=9))
        finish(run)
        assert run.tokens[1] == alone.tokens[1]


def test_waiting_requests_are_told_their_place_once() -> None:
    # Two ids: one to work with, one for moving states.
    run = make_run(FakeBackend(cells=400, sequences=2))
    for number in range(3):
        run.engine.submit(request(number, (number + 1,) * 3, limit=6))
    finish(run)
    places = [(told.request_id, told.place) for step in run.steps for told in step.waiting]
    assert places == [(1, 1), (2, 2), (2, 1)]


def test_more_chats_than_a_batch_has_places_write_by_turns_and_a_new_prompt_is_read() -> None:
    run = make_run(FakeBackend(cells=2000, batch=4, sequences=12), most_running=8, tick=0.02)
    for number in range(6):
        run.engine.submit(request(number, (number + 1, 2, 3), limit=100))
    while not any(step.counters.rows for step in run.steps):
        run.step()
    run.engine.submit(request(9, (20, 21, 22, 23, 24), limit=1))
    for _ in range(40):
        run.step()
    assert 9 in run.ends
    finish(run)
    assert all(len(run.tokens[number]) == 100 for number in range(6))
    assert max(step.counters.rows + step.counters.chunk for step in run.steps) <= 4


def test_who_waited_is_told_to_begin_before_the_decode_that_it_is_in() -> None:
    """Should that decode be the engine's last, then who was in it is known."""
    backend = FakeBackend(cells=400, sequences=2)
    begun: list[tuple[tuple[int, ...], int]] = []
    engine = Engine(
        backend,
        most_running=4,
        clock=Clock(),
        new_seed=lambda: 3,
        on_begin=lambda ids: begun.append((ids, backend.decodes)),
    )
    run = Run(engine)
    decodes: dict[int, int] = {}
    for number in range(3):
        engine.submit(request(number, (number + 1,) * 3, limit=6))
    while engine.has_work:
        before = backend.decodes
        for told in run.step().reading:
            decodes.setdefault(told.request_id, before)
    assert begun == [((1,), decodes[1]), ((2,), decodes[2])]


def test_counters_tell_of_all_of_it() -> None:
    """Rows and steps, tokens read, reused and written, cells, ids, and the wait in the queue."""
    # Two ids to work with, so that the third request waits; each look at the clock is a millisecond.
    run = make_run(FakeBackend(cells=400, sequences=3, batch=64))
    for number in range(3):
        run.engine.submit(request(number, (*SHARED, 50 + number), limit=5))
    finish(run)
    counters = run.steps[-1].counters
    assert counters.steps == sum(1 for s in run.steps if s.counters.rows + s.counters.chunk)
    assert counters.written == sum(len(tokens) for tokens in run.tokens.values()) == 15
    assert counters.read == sum(step.counters.chunk for step in run.steps) == len(SHARED) + 3
    assert (counters.prompt, counters.reused) == (3 * len(SHARED) + 3, 2 * len(SHARED))
    assert (counters.ids_used, counters.ids_total) == (2, 2)
    assert counters.cells_used == counters.cells_kept > len(SHARED)
    assert counters.cells_total == 400
    assert max(step.counters.waiting for step in run.steps) >= 1
    waited = [step.counters.queue_wait_ms for step in run.steps]
    assert waited == sorted(waited)
    # The last one waited for as long as the first two wrote.
    assert waited[-1] > 5 * min(step.counters.step_ms for step in run.steps)
    for step in run.steps[:5]:
        spent = step.counters
        assert spent.decode_ms > 0
        assert spent.choice_ms > 0
        assert spent.step_ms >= spent.decode_ms + spent.choice_ms


def test_an_interrupted_read_keeps_what_was_read_and_goes_on() -> None:
    backend = FakeBackend(cells=400, batch=64)
    run = make_run(backend)
    run.engine.submit(request(1, SHARED, limit=4))
    backend.interrupt()
    step = run.step()
    backend.rearm()
    assert step.counters.interrupted == 1
    assert 0 < step.counters.read < len(SHARED)
    finish(run)
    assert run.steps[-1].counters.read == len(SHARED)
    undisturbed = make_run(FakeBackend(cells=400, batch=64))
    undisturbed.engine.submit(request(1, SHARED, limit=4))
    finish(undisturbed)
    assert run.tokens[1] == undisturbed.tokens[1]


class Watching(FakeBackend):
    """Asks the engine, in the middle of each decode, which commands would interrupt it."""

    def ask(self, run: Run, commands: tuple[Abort | Submit, ...]) -> None:
        self.run, self.commands = run, commands
        self.answers: list[tuple[bool, ...]] = []

    def decode(self, batch: Batch) -> DecodeResult:
        self.answers.append(tuple(self.run.engine.worth_interrupting(c) for c in self.commands))
        return super().decode(batch)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(MemoryKind.ATTENTION, (True, False, True, False)), (MemoryKind.RECURRENT, (False,) * 4)],
)
def test_only_what_is_urgent_interrupts_and_only_a_read(
    kind: MemoryKind, expected: tuple[bool, ...]
) -> None:
    backend = Watching(cells=400, batch=16, kind=kind)
    run = make_run(backend)
    front = replace(request(3, (5, 5)), priority=Priority.FRONT)
    backend.ask(run, (Abort(1), Abort(2), front, request(4, (6, 6))))
    run.engine.submit(request(1, SHARED, limit=5))
    finish(run)
    assert backend.answers[0] == expected
    # While others write, every step is short: nothing is gained by an interrupt.
    assert backend.answers[-1] == (False,) * 4


def test_who_waits_costs_nothing_when_left_and_the_next_begins_with_the_step_after() -> None:
    # Two ids: one to work with, one for moving states; so one chat writes and the others wait.
    run = make_run(FakeBackend(cells=400, sequences=2))
    for number in range(4):
        run.engine.submit(request(number, (number + 1,) * 3, limit=50))
    while not run.tokens.get(0):
        run.step()
    run.engine.abort(2)
    step = run.step()
    assert [end.request_id for end in step.finished] == [2]
    run.engine.abort(0)
    step = run.step()
    assert [end.request_id for end in step.finished] == [0]
    assert step.counters.chunk or run.step().counters.chunk, "the next one is read at once"
    finish(run)
    assert 2 not in run.tokens
    assert len(run.tokens[1]) == len(run.tokens[3]) == 50


@pytest.mark.parametrize("kind", list(MemoryKind))
@pytest.mark.parametrize("spill_bytes", [0, 100_000])
def test_a_request_that_is_refused_room_once_is_put_back_and_not_ended(
    kind: MemoryKind, spill_bytes: int
) -> None:
    """A window's cells may lie so that there is no room although the counts say so; alone, and beside another."""
    for number in range(1, 12):
        run = make_run(
            StrictBackend(refusals={number}, kind=kind, batch=16), spill_bytes=spill_bytes
        )
        for name in range(1 + number % 2):
            run.engine.submit(request(name, (*SHARED[:30], name + 1), limit=6))
        finish(run)
        assert {end.reason for end in run.ends.values()} == {FinishReason.LENGTH}
        whole = make_run(FakeBackend(kind=kind, batch=16))
        whole.engine.submit(request(0, (*SHARED[:30], 1), limit=6))
        finish(whole)
        assert run.tokens[0] == whole.tokens[0]


def test_what_never_finds_room_ends_with_the_numbers() -> None:
    run = make_run(StrictBackend(refusals=range(1, 100), cells=128, batch=16))
    run.engine.submit(request(1, SHARED[:30], limit=6))
    finish(run)
    assert run.ends[1].reason is FinishReason.ERROR
    assert "128" in run.ends[1].error


def test_at_rest_the_engine_looks_whether_its_mirror_is_right() -> None:
    backend = FakeBackend(cells=400, batch=64)
    run = make_run(backend)
    run.engine.submit(request(1, SHARED, limit=3))
    finish(run)
    assert not run.engine.rest()
    backend.remove(0, 10, 12)
    backend.remove(0, 40, None)
    with pytest.raises(RuntimeError, match="sequence 0 ends at 39"):
        run.engine.rest()


@pytest.mark.parametrize("lengths", [(9, 40), (17, 17), (16, 16), (30, 3)])
def test_an_interrupt_that_comes_when_one_of_several_is_done_loses_and_doubles_nothing(
    lengths: tuple[int, int],
) -> None:
    """The interrupt comes in the middle of the call: the first may have been read to its end, as a warm-up too."""
    for limits in ((0, 4), (4, 0), (0, 0), (4, 4)):
        backend = FakeBackend(cells=400, batch=64)
        run = make_run(backend)
        for number, (length, limit) in enumerate(zip(lengths, limits, strict=True)):
            prompt = (number + 1, *SHARED[:length])
            run.engine.submit(request(number, prompt, limit=limit))
        backend.interrupt()
        run.step()
        backend.rearm()
        finish(run)
        assert {end.reason for end in run.ends.values()} == {FinishReason.LENGTH}
        # A warm-up does not read the last one; each other request reads all.
        expected = sum(length + bool(limit) for length, limit in zip(lengths, limits, strict=True))
        assert run.steps[-1].counters.read == expected


class Timed(FakeBackend):
    """Every token of a batch takes a hundredth of a second."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(cells=4000, batch=512)
        self.clock = clock

    def decode(self, batch: Batch) -> DecodeResult:
        self.clock.now += 0.01 * batch.size
        return super().decode(batch)


def longest_chunk(priority: Priority) -> int:
    """Of a long prompt of this class, read while two other chats write."""
    clock = Clock(tick=0.0)
    backend = Timed(clock)
    engine = Engine(backend, most_running=4, clock=clock, new_seed=lambda: 3)
    run = Run(engine)
    for number in (1, 2):
        engine.submit(replace(request(number, (number,) * 60, limit=400), priority=Priority.NORMAL))
    while engine.step().counters.rows < 2:
        pass
    engine.submit(replace(request(3, (7,) * 900, limit=1), priority=priority))
    chunks = []
    while 3 not in run.ends:
        chunks.append(run.step().counters.chunk)
    return max(chunks[1:-1])


def test_the_front_chat_is_read_faster_while_only_others_write() -> None:
    equal, front = longest_chunk(Priority.NORMAL), longest_chunk(Priority.FRONT)
    assert front > 2 * equal >= 2 * 4


def test_alone_a_prompt_takes_the_whole_batch() -> None:
    run = make_run(FakeBackend(cells=2000, batch=128))
    run.engine.submit(request(1, (7,) * 900, limit=1))
    finish(run)
    chunks = [step.counters.chunk for step in run.steps]
    # The first one is as small as a quick one can be, for nothing is known of the machine.
    assert chunks[0] == LARGE
    assert set(chunks[1:-1]) == {128}


def test_a_front_chat_that_comes_later_leaves_the_others_their_turns() -> None:
    """Two write, the elder first; then the front chat takes a row for itself, and the two share the other one."""
    run = make_run(FakeBackend(cells=4000, batch=64), most_running=2, tick=0.05)
    for number, priority in ((0, Priority.NORMAL), (1, Priority.NORMAL), (2, Priority.FRONT)):
        run.engine.submit(replace(request(number, (number + 1, 5), limit=900), priority=priority))
        while not run.tokens.get(number):
            run.step()
    wrote = [{out.request_id for out in run.step().tokens} for _ in range(400)]
    step_seconds = run.steps[-1].counters.step_ms / 1000
    for number in (0, 1):
        assert _longest_silence(wrote, number) * step_seconds <= 2 * 2.0 + 3 * step_seconds


def test_of_equal_prompts_one_after_the_other_is_read() -> None:
    """Read in turns, all would be answered only when the last is read."""
    backend = FakeBackend(cells=4000, batch=32)
    run = make_run(backend)
    for number in range(4):
        run.engine.submit(request(number, (number + 1,) * 200, limit=4))
    finish(run)
    begun = [
        next(i for i, step in enumerate(run.steps) if number in {t.request_id for t in step.tokens})
        for number in range(4)
    ]
    assert begun == sorted(begun)
    assert begun[0] == -(-200 // 32) - 1, "the first has waited for nobody"
