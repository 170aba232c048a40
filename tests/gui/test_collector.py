"""Garbage in cycles is looked for when nobody writes, and not in what lives on."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from app.ui import collector
from app.ui.collector import Collector


class Knot:
    """An object that only a search can free."""

    def __init__(self) -> None:
        self.self = self


class Writers:
    busy = False

    def __call__(self) -> bool:
        return self.busy


@pytest.fixture
def writers() -> Writers:
    return Writers()


@pytest.fixture
def made(qapp: QApplication, writers: Writers) -> Iterator[Collector]:
    before = gc.get_threshold()
    parent = QObject()
    made = Collector(writers, parent)
    yield made
    made.close()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


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
