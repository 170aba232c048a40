"""Garbage in cycles is looked for on the window's thread, when nobody writes, and not in what lives on."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication

from app.ui import collector
from app.ui.collector import Collector


class Knot:
    """An object that only a search can free."""

    def __init__(self) -> None:
        self.self = self
        self.held: object = None


class Writers:
    busy = False

    def __call__(self) -> bool:
        return self.busy


@pytest.fixture
def writers() -> Writers:
    return Writers()


@pytest.fixture
def made(qapp: QApplication, writers: Writers) -> Iterator[Collector]:
    made = Collector()
    made.watch(writers)
    yield made
    made.close()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.fixture
def searched_on() -> Iterator[list[str]]:
    """The name of the thread of each search, in order."""
    names: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            names.append(threading.current_thread().name)

    gc.callbacks.append(note)
    yield names
    gc.callbacks.remove(note)


def elsewhere(work: Callable[[], object]) -> None:
    """Do it on another thread."""
    thread = threading.Thread(target=work, name="elsewhere")
    thread.start()
    thread.join()


def litter() -> None:
    for _ in range(50_000):
        Knot()


def test_other_threads_search_where_there_is_no_window(searched_on: list[str]) -> None:
    """What the collector is there to end."""
    elsewhere(litter)
    assert "elsewhere" in searched_on


def test_no_other_thread_searches(made: Collector, searched_on: list[str]) -> None:
    elsewhere(litter)
    assert searched_on == []
    made.consider_young()
    made.consider()
    assert set(searched_on) == {threading.current_thread().name}
    assert len(searched_on) == 2


def test_what_belongs_to_qt_is_freed_on_its_own_thread(made: Collector) -> None:
    freed_on: list[str] = []
    owner, knot = QObject(), Knot()
    owner.destroyed.connect(
        lambda: freed_on.append(threading.current_thread().name),
        Qt.ConnectionType.DirectConnection,
    )
    knot.held = owner
    del owner, knot
    elsewhere(litter)
    assert freed_on == []
    made.consider_young()
    assert freed_on == [threading.current_thread().name]


def test_a_few_new_objects_are_not_worth_a_search(made: Collector, searched_on: list[str]) -> None:
    made.consider()
    searched_on.clear()
    made.consider_young()
    assert searched_on == []


def test_what_survived_is_looked_at_again_now_and_then(made: Collector) -> None:
    knots = [Knot() for _ in range(collector._YOUNG + 1)]
    made.consider_young()
    one = weakref.ref(knots[0])
    del knots
    kept: list[list[int]] = []
    for _ in range(collector._MIDDLE):
        kept += [[] for _ in range(collector._YOUNG + 1)]
        made.consider_young()
    assert one() is None


def full_searches() -> int:
    return int(gc.get_stats()[2]["collections"])


def test_what_is_there_is_left_out_of_every_search(made: Collector) -> None:
    assert gc.get_freeze_count() > 10_000
    before = full_searches()
    kept = [[number] for number in range(300_000)]
    assert full_searches() == before
    made.consider()
    assert full_searches() == before + 1
    assert gc.get_freeze_count() > len(kept)


def test_nothing_is_searched_while_somebody_writes(made: Collector, writers: Writers) -> None:
    knot = weakref.ref(Knot())
    writers.busy = True
    made.consider()
    assert knot() is not None
    writers.busy = False
    made.consider()
    assert knot() is None


def test_writing_for_long_puts_it_off_only_so_far(made: Collector, writers: Writers) -> None:
    knot = weakref.ref(Knot())
    writers.busy = True
    for _ in range(collector._PATIENCE + 1):
        made.consider()
    assert knot() is None


def test_what_lived_long_is_found_too(made: Collector) -> None:
    held = Knot()
    knot = weakref.ref(held)
    made.consider()
    del held
    for _ in range(collector._THOROUGH):
        made.consider()
    assert knot() is None
