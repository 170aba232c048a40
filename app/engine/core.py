"""The engine: requests in, one decode call a step, tokens out.

One step: admit what has room, plan, make room, decode, choose tokens, tell.  It knows no llama.cpp, no clock
and no pipe of its own: `process` gives it a backend, a clock and the commands.  Every submitted request ends
with exactly one `Finished`.
"""

from collections.abc import Callable

import numpy as np

from app.engine.admission import Admission
from app.engine.backend import Backend, DecodeResult, Past
from app.engine.batch import Call, build, slot_of
from app.engine.choice import Choice, choose
from app.engine.cost import CostModel, Shape
from app.engine.hit_rate import HitRate
from app.engine.keeping import Keeper
from app.engine.outbox import Outbox
from app.engine.pool import Pool
from app.engine.prefix import common_prefix
from app.engine.refusal import refusal
from app.engine.roster import Roster
from app.engine.scheduler import Pace, Plan, choose_rows, in_turn, more_urgent, plan, prefill_budget
from app.engine.sequence import Sequence
from app.engine.slot import Slot
from app.engine.state_files import StateFiles
from app.engine.tally import Spent, counters
from app.wire import Abort, FinishReason, Priority, Step, Submit

_IDLE_SECONDS = 2.0
"""How long an idle chat's cells stay in the pool beside running work, which they slow."""


class EngineFailureError(Exception):
    """llama.cpp reported a failure after which its state cannot be trusted; the process must end."""


class Engine:
    """All requests of one model.  Not thread-safe: one thread makes every call."""

    def __init__(
        self,
        backend: Backend,
        *,
        most_running: int,
        clock: Callable[[], float],
        new_seed: Callable[[], int],
        pace: Pace | None = None,
        spill_bytes: int = 0,
        files: StateFiles | None = None,
        on_begin: Callable[[tuple[int, ...]], None] = lambda _: None,
    ) -> None:
        """`on_begin` hears, in the middle of a step, which requests that were told to wait are in its decode."""
        self._backend = backend
        self._info = backend.info
        # Never all of a batch, or nothing could be read while so many write.
        self._most_running = self.most_rows = min(most_running, max(1, backend.info.batch // 2))
        """How many rows the last step might carry: fewer than are allowed, where more bring less in all."""
        self._clock = clock
        self._on_begin = on_begin
        self._new_seed = new_seed
        self.pace = pace or Pace()
        self._cost = CostModel()
        self._keeper = Keeper(backend)
        self._pool = Pool(backend, spill_bytes, files, self._cost.effort)
        self._sequences = Roster()
        self._arrivals = 0
        self._hit_rate = HitRate()
        self._admission = Admission(
            self._pool, backend.info.kind, start=self._start, park=self._park
        )
        self._out = Outbox()
        self._ends = frozenset(backend.info.end_tokens)
        self._reading_now: tuple[Sequence, ...] = ()
        self._retiring = False

    # --- commands --------------------------------------------------------------------------------------------

    def submit(self, submit: Submit) -> None:
        """Take a request; a wrong one is finished with ERROR at the next step."""
        running = submit.request_id in self._sequences
        why_not = "This request is already running." if running else refusal(submit, self._info)
        if why_not:
            self._out.refuse(submit.request_id, why_not)
            return
        seed = self._new_seed() if submit.sampling.seed is None else submit.sampling.seed
        sampler = self._backend.sampler(
            submit.sampling,
            seed=seed,
            ban_ends=submit.ignore_eos,
            past=Past(
                np.array(submit.tokens, np.int32),
                submit.written,
                submit.breakers,
                submit.breaker_texts,
            ),
        )
        self._arrivals += 1
        self._sequences[submit.request_id] = Sequence(
            submit, self._arrivals, self._clock(), sampler, self._keeper.constraint(submit)
        )

    def abort(self, request_id: int) -> None:
        """End a request, in whatever phase; an unknown one is fine."""
        sequence = self._sequences.get(request_id)
        if sequence is not None:
            self._finish(sequence, FinishReason.CANCELLED)

    def set_priority(self, request_id: int, priority: Priority) -> None:
        """Change the class of a request; an unknown one is fine."""
        sequence = self._sequences.get(request_id)
        if sequence is not None:
            sequence.priority = priority

    def forget(self, owner: int) -> None:
        """Drop what is kept of a chat; what one of its requests still uses goes when that has ended."""
        self._sequences.disown(owner)
        self._drop_kept(owner)

    def rest(self) -> bool:
        """To be called while there is no work: checks the mirrors, and keeps what a restart would lose.

        False when there is nothing left to do.
        """
        self.check()
        return self._pool.rest()

    def worth_interrupting(self, command: Abort | Submit) -> bool:
        """Whether this command should end the decode that runs now; the one method for other threads.

        Only a step that does nothing but read is interrupted: by the end of a request that is being read, or by
        a front chat's request, unless that waits for just what is being read.  The end of a warm-up comes mostly
        with the message that it was for, which would have to read again what an interrupt throws away.
        """
        reading = self._reading_now
        if isinstance(command, Abort):
            return any(one.id == command.request_id and one.wants_token for one in reading)
        if command.priority is not Priority.FRONT or not reading:
            return False
        wanted = np.array(command.tokens, np.int32)
        return all(
            one.level > Priority.FRONT and common_prefix(one.tokens.view, wanted) <= one.evaluated
            for one in reading
        )

    @property
    def has_work(self) -> bool:
        """Whether a step would do or tell something."""
        return bool(self._sequences) or self._out.has_news

    @property
    def level(self) -> int | None:
        """The class of the most urgent request; None where there is none."""
        return self._sequences.level

    # --- the step --------------------------------------------------------------------------------------------

    def step(self) -> Step:
        """Do one step, as small as the work allows, and tell all that it brought forth."""
        began = self._clock()
        if not self._retiring:
            self._gather()
        self._admission.admit(self._sequences.waiting, self._sequences.active)
        if begun := self._out.take_begun():
            self._on_begin(begun)
        current = self._plan()
        spent = self._decode(current) if not current.empty else Spent()
        if self._sequences:
            self._retiring = self._pool.retire(began - _IDLE_SECONDS)
        self._out.tell_waiting(self._sequences.waiting)
        return self._tell(current, spent, self._clock() - began)

    def news(self) -> Step | None:
        """What can be told without a step, while another engine computes: who has ended; None where nobody has."""
        return self._tell(Plan((), ()), Spent(), 0.0) if self._out.has_news else None

    def check(self) -> None:
        """Compare every mirror with what it mirrors; raises RuntimeError at the first difference."""
        self._pool.check()
        held = {id(sequence.slot) for sequence in self._sequences.active}
        busy = {id(slot) for slot in self._pool.slots if slot.busy}
        if held != busy:
            raise RuntimeError("a slot is at work for no request, or a request holds an idle slot")

    # --- planning and room -----------------------------------------------------------------------------------

    def _start(self, sequence: Sequence, slot: Slot) -> None:
        sequence.slot = slot
        slot.owner = sequence.owner
        sequence.elapsed = 0
        self._out.begins(sequence)
        if self._pool.wants_tips:
            self._pool.keep_tip(slot)
            sequence.mark_for_forks()
        if not sequence.admitted:
            sequence.admitted = True
            sequence.cached = min(slot.length, sequence.prompt_length)
            prompt = sequence.tokens.view[: sequence.prompt_length]
            if sequence.wants_token:
                hits = self._hit_rate.began(sequence.owner, prompt, sequence.cached)
                self._out.counts(sequence, hits, self._clock() - sequence.submitted_at)
            self._out.reading(sequence)
        if not sequence.wants_token and sequence.remaining <= 1:
            self._finish(sequence, FinishReason.LENGTH)

    def _plan(self) -> Plan:
        running = self._make_room_for_rows()
        reading = [sequence for sequence in self._sequences.active if sequence.reading]
        while True:
            now = in_turn(running, reading)
            current = plan(running, now, self._prefill_budget(running, now))
            if not current.empty or len(reading) < 2:
                return current
            # Several half-read prompts fill the pool: the least urgent gives up its cells.
            victim = max(reading, key=lambda sequence: sequence.urgency)
            self._park(victim)
            reading.remove(victim)

    def _make_room_for_rows(self) -> list[Sequence]:
        """The rows of the next step, after parking as many as it takes to give each its cell."""
        running = [sequence for sequence in self._sequences.active if sequence.running]
        worth = self._cost.row_limit.limit(len(running), self._pool.cells.used)
        self.most_rows = min(worth, self._most_running)
        running = choose_rows(running, self.most_rows, self._clock())
        while not self._pool.make_free(len(running)):
            victim = max(self._sequences.active, key=lambda sequence: sequence.urgency)
            self._park(victim)
            running = [sequence for sequence in running if sequence is not victim]
        return running

    def _prefill_budget(self, running: list[Sequence], reading: list[Sequence]) -> int:
        if not reading:
            return 0
        rows, cells = len(running), self._pool.cells
        wanted = sum(sequence.chunk_limit for sequence in reading)
        most = min(wanted, min(self._info.batch, cells.total - cells.busy) - rows)
        read = sum(max(0, sequence.evaluated - sequence.cached) for sequence in reading)
        urgent = more_urgent(reading, running)
        budget = prefill_budget(
            self._cost, self.pace, rows, cells.used, read=read, most=most, urgent=urgent
        )
        self._pool.make_free(rows + budget)
        return min(budget, cells.free - rows)

    def _park(self, sequence: Sequence) -> None:
        """Take a sequence's cells; it waits in its old place and goes on when there is room."""
        if sequence.slot is not None:
            self._note_warmth(sequence)
            self._pool.spill(sequence.slot)
            sequence.slot = None
            self._out.totals.parked += 1

    def _gather(self) -> None:
        """Bring the cells of those that write together, where they lie far apart, for every step costs by the highest."""
        active = self._sequences.active
        if not active or not all(sequence.running for sequence in active):
            return
        if self._pool.scattered and self._pool.lift():
            for sequence in active:
                sequence.slot = None

    # --- decoding --------------------------------------------------------------------------------------------

    def _decode(self, current: Plan) -> Spent:
        call = build(current)
        began = self._clock()
        if self._backend.can_interrupt and not current.rows:
            self._reading_now = tuple(one for one, _ in current.chunks)
        result = self._backend.decode(call.batch)
        self._reading_now = ()
        seconds = self._clock() - began
        if result is DecodeResult.ABORTED:
            self._keep_what_was_read(call)
            return Spent(seconds)
        if result is DecodeResult.NO_ROOM:
            self._squeeze(call)
            return Spent(seconds)
        if result is not DecodeResult.DONE:
            raise EngineFailureError(f"decode failed with code {int(result)}")
        self._out.totals.steps += 1
        self._out.totals.read += current.chunk_tokens
        self._pool.append([(slot_of(one), one.next_tokens(count)) for one, count in call.parts])
        self._sequences.age(current)
        for sequence, _ in current.chunks:
            self._out.reading(sequence)
        self._came_on(call)
        shape = Shape(len(current.rows), current.chunk_tokens, self._pool.cells.used)
        self._cost.observe(shape, seconds)
        began = self._clock()
        choices = choose(self._backend, self._keeper, call.outputs)
        spent = Spent(seconds, self._clock() - began)
        for choice in choices:
            self._write(choice)
        return spent

    def _keep_what_was_read(self, call: Call) -> None:
        """After an interrupt: the backend says how far each sequence came."""
        for sequence, _ in call.parts:
            slot = slot_of(sequence)
            read = self._backend.span(slot.id)[1] + 1 - slot.length
            if read == sequence.remaining:
                # Evaluated to its end, but without logits to choose from: the last token is done again.
                read -= 1
                self._backend.remove(slot.id, slot.length + read, None)
            self._pool.append([(slot, sequence.next_tokens(read))])
            self._out.totals.read += read
            self._out.reading(sequence)
        self._came_on(call)
        self._out.totals.steps += 1
        self._out.totals.interrupted += 1

    def _squeeze(self, call: Call) -> None:
        """llama.cpp found no room although the mirror did (a fragmented window): give up what can be."""
        if self._pool.evict_all():
            return
        active = self._sequences.active
        victim = max(active, key=lambda sequence: sequence.urgency)
        if len(active) > 1:
            self._admission.held = True
            self._park(victim)
        elif not victim.squeezed:
            # What comes back lies in one piece.
            victim.squeezed = True
            self._park(victim)
        else:
            needed, total = victim.evaluated + call.batch.size, self._info.cells
            error = f"The pool of {total:,} tokens has no room for the {needed:,} of this chat."
            self._finish(victim, FinishReason.ERROR, error)

    def _came_on(self, call: Call) -> None:
        """Keep checkpoints where the sequences of a call are now, and end those that have nothing left to read."""
        for sequence, _ in call.parts:
            sequence.squeezed = False
            if sequence.evaluated in sequence.marks:
                self._pool.keep_tip(slot_of(sequence))
            if not sequence.wants_token and sequence.remaining <= 1:
                self._finish(sequence, FinishReason.LENGTH)

    def _write(self, choice: Choice) -> None:
        sequence, token = choice.sequence, choice.token
        if choice.stuck:
            self._finish(sequence, FinishReason.ERROR, choice.stuck)
            return
        ends = token in self._ends or token in sequence.submit.end_tokens
        if ends and not sequence.submit.ignore_eos:
            self._finish(sequence, FinishReason.STOP)
            return
        sequence.tokens.append(token)
        self._out.token(choice)
        limit = sequence.submit.max_tokens
        full = len(sequence.tokens) >= self._info.context
        if sequence.constraint is not None and sequence.constraint.is_over:
            self._finish(sequence, FinishReason.STOP)
        elif full or (limit is not None and sequence.written >= limit):
            self._finish(sequence, FinishReason.LENGTH)

    def _note_warmth(self, sequence: Sequence) -> None:
        if sequence.slot is not None and not sequence.wants_token:
            self._hit_rate.warmed(sequence.owner, sequence.slot.tokens.view, sequence.cached)
            sequence.cached = max(sequence.cached, sequence.slot.length)

    # --- the rest --------------------------------------------------------------------------------------------

    def _tell(self, done: Plan, spent: Spent, seconds: float) -> Step:
        now = (self._pool, self._sequences.values(), self._hit_rate.hits)
        return self._out.collect(counters(self._out.totals.by_name, done, spent, seconds, *now))

    def _finish(self, sequence: Sequence, reason: FinishReason, error: str = "") -> None:
        if sequence.slot is not None:
            if sequence.wants_token:
                self._hit_rate.ended(sequence.owner, sequence.slot.tokens.view)
            self._note_warmth(sequence)
            self._pool.idle(sequence.slot, self._clock())
            sequence.slot = None
        sequence.sampler.close()
        self._admission.held = False
        del self._sequences[sequence.id]
        self._out.finish(sequence, reason, error)
        if sequence.owner < 0:
            self._drop_kept(sequence.owner)

    def _drop_kept(self, owner: int) -> None:
        self._pool.forget(owner)
        self._hit_rate.forget(owner)
