"""When a model was not asked for a while."""

from app.client.idle import IdleWatch
from tests.scripted_children import FakeClock


class Watched:
    def __init__(self, minutes: float) -> None:
        self.clock = FakeClock()
        self.idles: list[float] = []
        self.watch = IdleWatch(self.clock, lambda: self.idles.append(self.clock.now() - 1000))
        self.watch.set_minutes(minutes)

    def after(self, minutes: float) -> list[float]:
        self.clock.advance(minutes * 60)
        return self.idles


def test_it_tells_once_when_the_time_has_passed() -> None:
    watched = Watched(30)
    assert watched.after(29.9) == []
    assert watched.after(0.2) == [1800]
    assert watched.after(600) == [1800]
    watched.watch.touch()
    assert len(watched.after(31)) == 2


def test_the_time_counts_from_the_end_of_the_last_request() -> None:
    watched = Watched(30)
    with watched.watch.busy(), watched.watch.busy():
        assert watched.after(100) == []
    assert watched.after(29) == []
    with watched.watch.busy():
        assert watched.after(20) == []
    assert watched.after(29) == []
    assert watched.after(2) == [(100 + 29 + 20 + 30) * 60]


def test_nought_means_never_and_a_new_span_counts_what_has_passed() -> None:
    watched = Watched(0)
    assert watched.after(6000) == []
    watched.watch.set_minutes(7000)
    assert watched.after(999) == []
    watched.watch.set_minutes(0)
    assert watched.after(9000) == []
    watched.watch.set_minutes(60)
    assert len(watched.idles) == 1


def test_closed_it_says_nothing_more() -> None:
    watched = Watched(10)
    watched.watch.close()
    assert watched.after(100) == []
