"""Whatever is asked, loaded, shown and unloaded in whatever order: each request ends once, and no model is one too many."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model_state import ModelPhase
from app.chat.ports import Ended
from app.wire import Finished, FinishReason, Submit, Usage
from tests.played_ensemble import Played
from tests.played_model import ask, collect
from tests.scripted_children import begin, run, step, turns

NAMES = ("a", "b", "c")
moves = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from((*NAMES, ""))),
        st.tuples(st.just("aside"), st.sampled_from((*NAMES, ""))),
        st.tuples(st.sampled_from(("load", "show", "unload", "answer")), st.sampled_from(NAMES)),
        st.tuples(st.just("leave"), st.integers(0, 9)),
        st.tuples(st.just("turn"), st.just("")),
    ),
    max_size=25,
)


class World:
    """A played ensemble and the requests to it."""

    def __init__(self, folder: Path, room: int) -> None:
        self.room = room
        self.played = Played(folder, room=room)
        self.requests: list[asyncio.Task[Any]] = []
        self.others: list[asyncio.Task[Any]] = []
        self.answered: set[tuple[int, int]] = set()

    def do(self, what: str, whom: Any) -> None:
        model = self.played.model
        if what in ("ask", "aside"):
            request = ask("hi", model=self.played.file(whom) if whom else "", aside=what == "aside")
            self.requests.append(begin(collect(model.generate(request))))
        elif what == "load":
            self.others.append(begin(model.load(self.played.file(whom))))
        elif what == "show":
            model.show(self.played.file(whom))
        elif what == "unload":
            self.others.append(begin(model.unload(self.played.file(whom))))
        elif what == "answer":
            self.answer(whom)
        elif what == "leave" and self.requests:
            self.requests[whom % len(self.requests)].cancel()

    def answer(self, *names: str) -> None:
        """These models answer all that they were asked so far."""
        for place, link in enumerate(self.played.engines.links):
            if link.death is None and link.params and Path(link.params.path).stem in names:
                for submit in link.sent:
                    if (
                        isinstance(submit, Submit)
                        and (place, submit.request_id) not in self.answered
                    ):
                        self.answered.add((place, submit.request_id))
                        end = Finished(submit.request_id, FinishReason.STOP, Usage(2, 1, 0))
                        link.say(step(end))

    def check(self) -> None:
        assert len(self.played.loaded) <= self.room
        state = self.played.model.state
        paths = [one.path for one in (state, *state.others)]
        assert len(set(paths)) == len(paths), "a model is there once"
        if state.phase is ModelPhase.READY:
            assert state.name in self.played.loaded


@settings(max_examples=25)
@given(moves, st.integers(1, 3))
def test_each_request_ends_once_and_there_is_never_a_model_too_many(
    wanted: list[tuple[str, Any]], room: int
) -> None:
    async def scenario(folder: Path) -> None:
        world = World(folder, room)
        for what, whom in wanted:
            world.do(what, whom)
            world.check()
            if what == "turn":
                await settle(world)
                world.check()
        for _ in range(200):
            await settle(world)
            world.check()
            world.answer(*NAMES)
            if all(task.done() for task in (*world.requests, *world.others)):
                break
        for request in world.requests:
            assert request.done(), "it never ended"
            if not request.cancelled():
                events = request.result()
                assert [event for event in events if isinstance(event, Ended)] == events[-1:]
        assert all(other.done() and not other.exception() for other in world.others)
        await world.played.model.close()
        assert world.played.loaded == []

    with tempfile.TemporaryDirectory() as folder:
        run(scenario(Path(folder)))


async def settle(world: World) -> None:
    """Let happen what can; files are looked at on threads."""
    for _ in range(3):
        await turns()
        await asyncio.to_thread(int)
