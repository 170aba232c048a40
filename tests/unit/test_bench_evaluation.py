"""The decode log, read: what was evaluated, and what was evaluated again."""

import json
from pathlib import Path
from typing import Any

from app.bench.evaluation import Evaluation, evaluation


def decode(
    sequence: int, start: int, tokens: list[int], *, result: int = 0, at: float = 0.0
) -> Any:
    size = len(tokens)
    call = {
        "tokens": tokens,
        "positions": list(range(start, start + size)),
        "sequences": [sequence] * size,
        "outputs": [0] * (size - 1) + [1],
    }
    return {"decode": call, "result": result, "at": at}


def read(folder: Path, *records: Any, tail: str = "") -> Evaluation:
    path = folder / "log"
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(lines + tail, encoding="utf-8")
    return evaluation(path)


def test_no_log_yet_is_an_empty_one(tmp_path: Path) -> None:
    assert evaluation(tmp_path / "none").tokens == 0


def test_tokens_and_outputs_are_counted(tmp_path: Path) -> None:
    got = read(tmp_path, decode(0, 0, [5, 6, 7]), decode(0, 3, [8]), decode(1, 0, [5]), tail='{"de')
    assert (got.tokens, len(got.calls)) == (5, 3)
    assert {sequence: len(times) for sequence, times in got.outputs().items()} == {0: 2, 1: 1}
    # Two answers of two and one tokens: the second token of the first was fed, the others were prompt.
    assert got.read([2, 1]) == 4


def test_a_call_that_failed_evaluated_nothing(tmp_path: Path) -> None:
    got = read(tmp_path, decode(0, 0, [5, 6], result=1), decode(0, 0, [5, 6]))
    assert (got.tokens, got.again) == (2, 0)


def test_the_same_beginning_elsewhere_is_read_again(tmp_path: Path) -> None:
    assert read(tmp_path, decode(0, 0, [1, 2, 3]), decode(1, 0, [1, 2, 9])).again == 2


def test_the_same_tokens_after_another_beginning_are_new(tmp_path: Path) -> None:
    assert read(tmp_path, decode(0, 0, [1, 2, 3]), decode(1, 0, [9, 2, 3])).again == 0


def test_a_copy_carries_its_beginning(tmp_path: Path) -> None:
    shared = {"copy": [0, 1, 0, 2]}
    one = decode(0, 0, [1, 2, 3])
    assert read(tmp_path, one, shared, decode(1, 2, [4])).again == 0
    assert read(tmp_path, one, shared, decode(1, 2, [3])).again == 1


def test_what_was_cut_off_and_is_read_once_more(tmp_path: Path) -> None:
    cut = {"remove": [0, 1, None], "done": True}
    assert read(tmp_path, decode(0, 0, [1, 2, 3]), cut, decode(0, 1, [2, 4])).again == 1
    nothing = {"remove": [0, 1, None], "done": False}
    assert read(tmp_path, decode(0, 0, [1, 2]), nothing, decode(0, 2, [3])).again == 0


def test_a_state_that_comes_back_is_not_read(tmp_path: Path) -> None:
    away = [{"save": 0, "name": "a"}, {"remove": [0, 0, None], "done": True}]
    back = {"restore": 2, "name": "a", "done": True}
    got = read(tmp_path, decode(0, 0, [1, 2]), *away, back, decode(2, 2, [3]))
    assert (got.tokens, got.again) == (3, 0)
    # The same without the restore.
    assert read(tmp_path, decode(0, 0, [1, 2]), *away, decode(2, 0, [1, 2, 3])).again == 2


def test_a_range_saved_by_itself(tmp_path: Path) -> None:
    """A part of a chat goes out through a scratch sequence, and comes back behind another chat's beginning."""
    out = [{"copy": [0, 9, 1, 3]}, {"save": 9, "name": "b"}, {"remove": [9, 0, None], "done": True}]
    back = [{"restore": 9, "name": "b", "done": True}, {"copy": [9, 1, 1, 3]}]
    got = read(
        tmp_path, decode(0, 0, [1, 2, 3]), *out, {"copy": [0, 1, 0, 1]}, *back, decode(1, 3, [4])
    )
    assert (got.tokens, got.again) == (4, 0)
