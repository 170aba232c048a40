"""What must be true of an engine after every step, whatever is asked of it.

1. The mirror of the pool is what the backend holds, for every sequence id.
2. Who runs holds exactly the beginning of its own tokens; a cell belongs to those who hold it, and to nobody else.
3. No more cells than there are; no id twice; the scratch id is empty; what is at work is not given away.
4. and 5. are the preconditions of the backend (`engine_run.StrictBackend`, `troubled_backend`).
6. Who writes goes on within its turn; an urgent request for which there is room begins at once; no step is empty.
8. Who was cancelled holds nothing; its sampler is closed.
"""

from app.engine.core import Engine
from app.engine.scheduler import TURN_SECONDS
from app.engine.sequence import PATIENCE
from app.wire import Priority, Step, Submit
from tests.engine_run import Clock
from tests.troubled_backend import TroubledBackend

_GROWTH = 16


class Invariants:
    """Looks at one engine: `before` and `after` each step, `submitted` and `aborted` when that is done."""

    def __init__(self, engine: Engine, backend: TroubledBackend, clock: Clock, most: int) -> None:
        self._engine, self._backend, self._clock, self._fewest = engine, backend, clock, most
        self._running: set[int] = set()
        self._last: dict[int, tuple[float, int]] = {}
        self._steps = self._empty = 0
        self._urgent: set[int] = set()
        self._began = self._longest = 0.0

    def submitted(self, submit: Submit) -> None:
        """Whether it has to begin at the next step: it is urgent, alone so, and there is room for all."""
        sequences = self._engine._sequences
        if submit.priority is not Priority.FRONT or submit.request_id not in sequences:
            return
        # Of two that are as urgent, one may take the whole step.
        self._urgent.clear()
        others = [one for one in sequences.values() if one.id != submit.request_id]
        needed = sum(len(one.tokens) + _GROWTH for one in sequences.values())
        roomy = needed <= self._backend.info.cells
        ids = len(sequences) < self._backend.info.sequences - 1
        prefix = any(one.tokens.view[0] == submit.tokens[0] and not one.running for one in others)
        alone = all(one.level > Priority.FRONT for one in others)
        if roomy and ids and alone and not prefix:
            self._urgent.add(submit.request_id)

    def raised(self) -> None:
        """Another request has become as urgent."""
        self._urgent.clear()

    def aborted(self, request_id: int) -> None:
        assert request_id not in self._engine._sequences
        self._urgent.discard(request_id)
        self._everywhere()

    def before(self) -> None:
        self._had_work = bool(self._engine._sequences)
        self._running = {one.id for one in self._engine._sequences.active if one.running}
        self._backend.troubled = False
        self._began = self._clock.now

    def after(self, step: Step) -> None:
        self._steps += 1
        self._longest = max(self._longest, self._clock.now - self._began)
        self._everywhere()
        did = step.counters.rows + step.counters.chunk > 0 or bool(step.finished)
        self._empty = 0 if did or not self._had_work else self._empty + 1
        assert self._empty < 2 or self._backend.troubled, "a step without anything in it"
        told = {out.request_id for out in step.tokens} | {end.request_id for end in step.finished}
        active = {one.id for one in self._engine._sequences.active if one.running}
        for name in told | (active - self._running):
            self._last[name] = (self._clock.now, self._steps)
        if not self._backend.troubled:
            self._served(step, told, active)

    def _served(self, step: Step, told: set[int], active: set[int]) -> None:
        begun = told | {one.request_id for one in step.reading}
        assert self._urgent <= begun, "an urgent request was not begun"
        self._urgent.clear()
        waits = [name for name in active & self._running if name not in told]
        # One whose prompt was in the pool may come, write its only token and go within the step.
        if len(active | self._running | told) <= self._engine.most_rows:
            assert not waits, "a row was left out although there was room for it"
        self._fewest = min(self._fewest, self._engine.most_rows)
        # The front chat always writes; the others share what is left, each new one first.
        front = sum(
            one.claim == Priority.FRONT for one in self._engine._sequences.active if one.running
        )
        if front >= self._fewest:
            return
        turns = -(-len(self._last) // (self._fewest - front))
        for name in waits:
            since, steps = self._last[name]
            # Background work has what the others leave, but not for ever.
            idle = PATIENCE if self._engine._sequences[name].claim == Priority.BACKGROUND else 0
            # A turn ends with the step in which its time is up.
            bound = (TURN_SECONDS + self._longest) * turns + self._longest * idle
            late = self._clock.now - since > bound and self._steps - steps > 2 * turns + idle
            assert not late, "who writes did not get its turn"

    def _everywhere(self) -> None:
        engine, backend, pool = self._engine, self._backend, self._engine._pool
        engine.check()
        slots, held = pool.slots, backend.all_held()
        for slot in slots:
            wanted = list(enumerate(slot.tokens.view.tolist()))
            assert held.get(slot.id, []) == wanted, f"sequence {slot.id}"
        scratch = backend.info.sequences - 1
        ids = sorted([slot.id for slot in slots] + pool._free_ids)
        assert ids == list(range(scratch)), "an id is lost, or given twice"
        assert scratch not in held
        assert backend.used == pool.cells.used <= backend.info.cells
        assert 0 <= pool.cells.busy <= pool.cells.used
        active = engine._sequences.active
        assert len({id(one.slot) for one in active}) == len(active)
        for one in active:
            assert one.slot is not None
            assert one.slot.busy
            assert one.slot.tokens.view.tolist() == one.tokens.view[: one.slot.length].tolist()
            assert one.slot.length < len(one.tokens)
        assert backend.open_samplers == len(engine._sequences)
