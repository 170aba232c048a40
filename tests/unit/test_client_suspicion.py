"""Who ended the engine, as far as that can be told."""

from dataclasses import dataclass

from app.client.suspicion import is_suspect, judge, was_on_trial


@dataclass
class Accused:
    active: bool = True
    deaths: int = 0


def test_two_deaths_put_it_down_to_a_lone_request() -> None:
    alone, waiting = Accused(), Accused(active=False)
    assert judge([alone, waiting]) is None
    assert judge([alone, waiting]) is alone
    assert not was_on_trial(alone)
    assert waiting.deaths == 0


def test_of_several_none_is_named_before_one_dies_alone() -> None:
    accused = [Accused() for _ in range(3)]
    assert judge(accused) is None
    assert judge(accused) is None
    assert all(map(is_suspect, accused))
    for one in accused:
        one.active = one is accused[1]
    assert judge(accused) is accused[1]
    assert was_on_trial(accused[1])


def test_a_request_that_wrote_is_cleared() -> None:
    writer, reader = Accused(), Accused()
    assert judge([writer, reader]) is None
    writer.deaths = 0
    assert judge([writer, reader]) is reader
    assert judge([]) is None


def test_who_came_later_is_not_confused_with_the_one_on_trial() -> None:
    on_trial, first, later = Accused(), Accused(), Accused()
    assert judge([on_trial, first]) is None
    assert judge([on_trial, first, later]) is None
    first.active = False
    assert judge([on_trial, first, later]) is on_trial
