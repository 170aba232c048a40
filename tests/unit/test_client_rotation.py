"""Requests that want different models: in order of arrival, those for the same one together, none kept out."""

import asyncio
from contextlib import ExitStack

from hypothesis import given
from hypothesis import strategies as st

from app.client.rotation import Place, Rotation
from tests.scripted_children import begin, run, turns


class Line:
    """Requests that come and go as a test says."""

    def __init__(self, present: str = "a") -> None:
        self.present, self.loads = present, True
        self.rotation = Rotation(lambda: self.present)
        self.places: dict[int, tuple[Place, ExitStack]] = {}

    def come(self, number: int, model: str) -> Place:
        stack = ExitStack()
        place = stack.enter_context(self.rotation.join(model))
        self.places[number] = (place, stack)
        self.load()
        return place

    def load(self) -> None:
        """Whoever has come to its turn has its model loaded."""
        for place, _ in self.places.values():
            if self.loads and place.in_turn and place.model not in ("", self.present):
                self.present = place.model
                self.rotation.is_now(place.model)

    def go(self, number: int) -> None:
        self.places.pop(number)[1].close()
        self.load()

    @property
    def running(self) -> list[int]:
        return [number for number, (place, _) in self.places.items() if place.in_turn]


def test_requests_for_the_present_model_run_together() -> None:
    line = Line()
    for number, model in enumerate(("a", "", "a")):
        line.come(number, model)
    assert line.running == [0, 1, 2]


def test_one_for_another_model_waits_and_keeps_those_behind_it() -> None:
    line = Line()
    for number, model in enumerate(("a", "b", "a", "b", "")):
        line.come(number, model)
    assert line.running == [0]
    line.go(0)
    assert line.running == [1]
    line.go(1)
    assert line.running == [2], "in the order in which they came"
    line.go(2)
    assert line.running == [3, 4], "whoever wants any model takes the one that there is"


def test_who_leaves_while_it_waits_keeps_nobody() -> None:
    line = Line()
    for number, model in enumerate(("a", "b", "a")):
        line.come(number, model)
    line.go(1)
    assert line.running == [0, 2]


def test_a_model_that_is_loaded_by_hand_is_the_present_one() -> None:
    line = Line()
    line.come(0, "")
    line.come(1, "b")
    assert line.running == [0]
    line.present = "b"
    line.rotation.is_now("b")
    assert line.running == [0, 1]
    line.come(2, "a")
    assert line.running == [0, 1]


def test_nobody_begins_with_a_model_that_is_about_to_go() -> None:
    line = Line()
    line.come(0, "a")
    line.come(1, "b")
    line.come(2, "")
    line.loads = False
    line.go(0)
    assert line.running == [1]
    line.go(1)  # its file is not there
    assert line.running == [2]


def test_who_waits_is_woken() -> None:
    async def scenario() -> None:
        line = Line()
        line.come(0, "a")
        place = line.come(1, "b")
        waiting: asyncio.Task[None] = begin(place.come())
        await turns()
        assert not waiting.done()
        line.go(0)
        await waiting

    run(scenario())


moves = st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.sampled_from(("a", "b", "c"))))


@given(moves)
def test_one_model_at_a_time_and_everybody_has_a_turn(wanted: list[tuple[bool, int, str]]) -> None:
    line, models, arrived = Line(), {}, 0
    for comes, pick, model in wanted:
        if comes or not line.places:
            models[arrived] = model
            line.come(arrived, model)
            arrived += 1
        else:
            line.go(sorted(line.places)[pick % len(line.places)])
        running, waiting = line.running, sorted(set(line.places) - set(line.running))
        assert len({models[number] for number in running}) <= 1
        assert not line.places or running, "somebody runs"
        if waiting:
            assert models[waiting[0]] != models[running[0]], "the first that waits has to"
    for _ in range(arrived):
        if line.places:
            line.go(line.running[0])
    assert not line.places
