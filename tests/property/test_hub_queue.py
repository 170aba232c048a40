"""Whatever is pressed and whatever ends, in any order: no download runs twice, none is forgotten, none starves."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.errors import HubError, HubProblem
from app.hub.queue import Queue
from app.hub.remote import RemoteFile, RemoteModel
from app.hub.standing import State

MODELS = [RemoteModel("o/r", "c" * 40, (RemoteFile(f"m{i}.gguf", 10, f"{i}" * 64),)) for i in range(5)]  # fmt: skip
which = st.sampled_from(MODELS)


class Machine(RuleBasedStateMachine):
    """Plays the owner: `threads` are those that live."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue()
        self.threads: set[str] = set()
        self.wanted: dict[str, bool] = {}
        """By key whether a person wants it to run."""

    def advance(self) -> None:
        for entry in self.queue.starts():
            assert entry.model.key not in self.threads
            self.threads.add(entry.model.key)

    @rule(model=which)
    def add(self, model: RemoteModel) -> None:
        assert self.queue.add(model) == model.key
        self.wanted[model.key] = True
        self.advance()

    @rule(model=which)
    def pause(self, model: RemoteModel) -> None:
        before = self.queue.entry(model.key)
        must_stop = self.queue.pause(model.key)
        assert not must_stop or model.key in self.threads
        if before is not None and before.state in {State.WAITING, State.RUNNING}:
            self.wanted[model.key] = False
        self.advance()

    @rule(model=which)
    def resume(self, model: RemoteModel) -> None:
        if self.queue.entry(model.key) is not None:
            self.wanted[model.key] = True
        self.queue.resume(model.key)
        self.advance()

    @rule(model=which)
    def cancel(self, model: RemoteModel) -> None:
        self.queue.remove(model.key)
        self.wanted.pop(model.key, None)
        self.advance()

    @rule(data=st.data(), how=st.sampled_from(["done", "failed", "stopped"]))
    def end(self, data: st.DataObject, how: str) -> None:
        if not self.threads:
            return
        key = data.draw(st.sampled_from(sorted(self.threads)))
        self.threads.discard(key)
        error = HubError("no", problem=HubProblem.STALLED) if how == "failed" else None
        self.queue.ended(key, error, done=how == "done")
        entry = self.queue.entry(key)
        if entry is not None and entry.state in {State.DONE, State.FAILED}:
            self.wanted[key] = False
        self.advance()

    @rule(count=st.integers(1, 4))
    def limit(self, count: int) -> None:
        self.queue.at_once = count
        self.advance()

    @invariant()
    def nothing_is_lost(self) -> None:
        entries = {entry.model.key: entry for entry in self.queue.entries}
        assert set(entries) == set(self.wanted)
        for key, entry in entries.items():
            assert entry.busy == (key in self.threads)
            assert (entry.error is not None) == (entry.state is State.FAILED)
            assert (entry.state in {State.WAITING, State.RUNNING}) == self.wanted[key]

    @invariant()
    def what_can_run_runs(self) -> None:
        running = [e for e in self.queue.entries if e.state is State.RUNNING]
        ready = [e for e in self.queue.entries if e.state is State.WAITING and not e.busy]
        assert not ready or len(running) >= self.queue.at_once
        assert all(entry.busy for entry in running)


TestQueue = Machine.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
