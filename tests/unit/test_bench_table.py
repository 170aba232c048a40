"""Goals, results of several runs, and how they are told."""

import json
import math
from pathlib import Path

import pytest

from app.bench import record
from app.bench.figure import Figure, Goal, Result, at_least, at_most, results
from app.bench.rows.row import Setup
from app.bench.table import modes, number, summary, table

SPEED = Figure("speed", "speed", "tokens/s", 1, at_least(1.05, of_peer=True))
WALL = Figure("wall", "wall", "s", 2, at_most(3))
PLAIN = Figure("plain", "just so")


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        (at_most(1.0), 1.0, True),
        (at_most(1.0), 1.01, False),
        (at_least(0.97), 0.97, True),
        (at_least(0.97), 0.96, False),
        (at_most(1.0), math.inf, False),
        (at_least(1.0), math.nan, False),
        (at_most(1.0), math.nan, False),
    ],
)
def test_a_goal(goal: Goal, value: float, met: bool) -> None:
    assert goal.met(value) is met


def test_runs_are_sorted_by_figure() -> None:
    runs = [
        ({"speed": 10.0, "wall": 1.0}, {"speed": 5.0}),
        ({"speed": 12.0, "wall": 3.0}, {"speed": 10.0}),
        ({"speed": 20.0, "wall": 2.0}, {"speed": 10.0}),
    ]
    speed, wall = results("x:1", (SPEED, WALL, PLAIN), runs, "peer")
    assert (speed.median, speed.peer_median, speed.ratio) == (12, 10, 2.0)
    assert (speed.peer, speed.met) == ("peer", True)
    assert (wall.median, wall.ratio, wall.peer, wall.met) == (2, None, "", True)


def test_the_ratio_is_that_of_the_pairs() -> None:
    # The machine became twice as fast between the pairs: the ratio of the medians would not see the same.
    result = Result("x", SPEED, (10, 20, 30), ((10, 9), (20, 21), (30, 25)), "peer")
    assert result.ratio == pytest.approx(10 / 9)


def test_a_peer_that_never_answered() -> None:
    first = Figure("first", "first", "s", 2, at_most(0.5, of_peer=True))
    assert Result("x", first, (1.0,), ((1.0, math.inf),), "peer").met is True
    assert Result("x", first, (math.inf,), ((math.inf, math.inf),), "peer").met is False
    assert Result("x", SPEED, (1.0,), ((1.0, 0.0),), "peer").met is True


def test_without_the_peer_a_relative_goal_stays_open() -> None:
    assert Result("x", SPEED, (10.0,)).met is None
    assert Result("x", PLAIN, (10.0,)).met is None


def shown() -> list[Result]:
    return [
        Result("decode:8", SPEED, (1200.0, 1300.0), ((1200.0, 1000.0), (1300.0, 1300.0)), "peer"),
        Result("decode:8", WALL, (4.0, 4.0)),
        Result("spill:9", PLAIN, (math.inf,)),
        Result("spill:9", SPEED, (1.0,)),
    ]


def test_the_table() -> None:
    lines = table(shown()).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert len({len(line) for line in lines}) == 1, "it lines up"
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    target = "at least 1.05 x the peer's"
    assert cells[0] == ["row", "figure", "Tutti", "spread", "peer", "ratio", "target", "met"]
    assert cells[2] == [
        *("decode:8", "speed", "1,250.0 tokens/s", "1,200.0 to 1,300.0"),
        *("1,150.0 tokens/s (peer)", "1.10", target, "yes"),
    ]
    assert cells[3] == ["", "wall", "4.00 s", "", "", "", "at most 3 s", "**no**"]
    assert cells[4][2] == "never"
    assert cells[5][-2:] == [target, ""]


def test_only_what_has_a_target() -> None:
    assert "just so" not in table(shown(), brief=True)
    assert table(shown(), brief=True).count("spill:9") == 1


def test_the_modes_have_a_table_of_their_own() -> None:
    inside = Figure("inside", "time inside decode", "", 3, at_least(0.97))
    speed = Figure("speed", "speed", "tokens/s", 1)
    found = [
        Result("mode:single", speed, (70.0,)),
        Result("mode:single", Figure("inside", "time inside decode", "", 3), (0.9,)),
        *(Result("mode:continuous", speed, (100.0,)), Result("mode:continuous", inside, (0.98,))),
    ]
    heads, _, *lines = modes(found).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (heads, *lines)]
    assert cells == [
        ["the same requests", "single", "continuous"],
        ["speed, tokens/s", "70.0", "100.0"],
        ["time inside decode", "0.900", "0.980"],
    ]
    assert "mode:single" not in table(found)
    assert "mode:continuous" in table(found)
    assert modes(shown()) == ""


def test_the_summary() -> None:
    words = summary(shown())
    assert "1 of 2 targets met" in words
    assert "missed: decode:8 (wall)" in words
    assert "1 need a peer" in words


def test_where_nothing_has_a_target_there_is_nothing_to_tell() -> None:
    assert table([Result("x", PLAIN, (1.0,))], brief=True) == ""
    assert summary([Result("x", PLAIN, (1.0,))]) == ""


def test_numbers_are_readable() -> None:
    assert (number(1234.5, 1), number(math.inf, 1)) == ("1,234.5", "never")


def test_the_record_is_json(tmp_path: Path) -> None:
    about = record.about(Setup(tmp_path / "model.gguf"), 2)
    record.write(tmp_path / "out.json", shown(), {"idle:1": "gone"}, about)
    text = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert "Infinity" not in text
    assert str(tmp_path) not in text, "no folder of anybody"
    content = json.loads(text)
    assert (content["model"], content["pairs"], content["failures"]) == (
        *("model.gguf", 2),
        {"idle:1": "gone"},
    )
    first, *_ = content["figures"]
    assert (first["tutti"], first["pairs"][0], first["met"]) == (
        [1200.0, 1300.0],
        [1200.0, 1000.0],
        True,
    )
    assert content["figures"][2]["median"] is None
