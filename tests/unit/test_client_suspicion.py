"""Who ended the engine, as far as that can be told."""

from dataclasses import dataclass

from app.client.suspicion import is_doubted, is_suspect, judge


@dataclass
class Accused:
    active: bool = True
    deaths: int = 0
    proven: bool = False
    cleared: bool = False


def test_two_deaths_put_it_down_to_a_lone_request() -> None:
    alone, waiting = Accused(), Accused(active=False)
    assert judge([alone, waiting]) is None
    assert judge([alone, waiting]) is alone
    assert waiting.deaths == 0


def test_of_several_none_is_named_before_one_dies_alone() -> None:
    accused = [Accused() for _ in range(3)]
    assert judge(accused) is None
    assert judge(accused) is None
    assert all(map(is_suspect, accused))
    for one in accused:
        one.active = one is accused[1]
    assert judge(accused) is accused[1]


def test_a_request_that_wrote_is_cleared() -> None:
    writer, reader = Accused(), Accused()
    assert judge([writer, reader]) is None
    writer.deaths, writer.proven = 0, True
    assert judge([writer, reader]) is reader
    assert judge([]) is None


def test_who_came_later_is_not_confused_with_the_one_on_trial() -> None:
    on_trial, first, fresh = Accused(), Accused(), Accused()
    assert judge([on_trial, first]) is None
    assert judge([on_trial, first]) is None
    first.active = False
    assert judge([on_trial, first, fresh]) is on_trial


def test_a_death_by_another_hand_and_one_beside_a_newcomer_name_nobody() -> None:
    reader, newcomer = Accused(), Accused()
    assert judge([reader]) is None
    assert judge([reader, newcomer]) is None
    assert is_suspect(reader)
    assert is_doubted(newcomer)


def test_who_shared_the_first_death_and_is_away_may_have_brought_it() -> None:
    reader, away = Accused(), Accused()
    assert judge([reader, away]) is None
    away.active = False
    assert judge([reader, away]) is None
    assert judge([reader, away]) is reader


def test_one_that_had_written_before_it_died_is_not_doubted() -> None:
    assert not is_doubted(Accused())
    assert not is_doubted(Accused(deaths=1, cleared=True))
    assert is_doubted(Accused(deaths=1))
