"""The command: options, a whole run, stopped in the middle, and a run through the server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.__main__ import main
from app.bench.command import DONE, INCOMPLETE, STOPPED, USAGE
from app.bench.figure import Figure, Values
from app.bench.rows.edge import Edge
from app.bench.rows.prefix import Prefix
from app.bench.rows.row import Row, Setup
from app.bench.runner import Runner
from app.errors import EngineError
from tests import tiny_models


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "attention.gguf"
    tiny_models.attention(path)
    return path


def test_the_rows_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--rows"]) == DONE
    assert "| crowd:300:64" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["walk:1"], "There is no row 'walk'"),
        (["fork", "--model", "nowhere.gguf"], "There is no file nowhere.gguf"),
        (["fork", "--llama-server", "nowhere"], "There is no file nowhere"),
    ],
)
def test_wrong_words_are_told_in_one_line(
    words: list[str], said: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--model" not in words:
        words = [*words, "--model", str(tiny)]
    assert main(["bench", *words]) == USAGE
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def bench(tiny: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "app", "bench", "--model", str(tiny), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.slow
def test_a_run(tiny: Path, tmp_path: Path) -> None:
    """`decode` needs a text worker, for which this model has no vocabulary: that row fails, the other is told."""
    record = tmp_path / "out.json"
    process = bench(tiny, "fork:40", "decode:1", "--pairs", "2", "--json", str(record))
    out, err = process.communicate()
    assert process.returncode == INCOMPLETE
    assert "5 of 5 targets met." in out
    assert "decode:1 could not be measured: Tutti ended with code" in err
    assert "run 2 of 2: Tutti" in err
    content = json.loads(record.read_text(encoding="utf-8"))
    assert [figure["tutti"] for figure in content["figures"]] == [[1, 1], [0, 0], [0, 0], [1, 1], [1, 1]]  # fmt: skip
    assert "decode:1" in content["failures"]


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_what_there_is(tiny: Path, number: signal.Signals) -> None:
    process = bench(tiny, "crowd:40:8", "--pairs", "1000")
    assert process.stderr is not None
    for line in process.stderr:
        if "run 2 of 1000" in line:
            break
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, number)
    out, _ = process.communicate()
    assert process.returncode == STOPPED
    assert "| answers whole" in out
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []


class Failing(Row):
    """Fails in its second run."""

    kind = "failing"

    def __init__(self) -> None:
        object.__setattr__(self, "runs", 0)

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("x", "x"),)

    async def ours(self, setup: Setup, seed: int) -> Values:
        if seed > 1000:
            raise EngineError("gone")
        return {"x": seed}


def test_a_row_that_fails_does_not_take_the_others_along(tmp_path: Path) -> None:
    said: list[str] = []
    runner = Runner(Setup(tmp_path), 3, said.append)
    asyncio.run(runner.measure([Failing()]))
    assert runner.failures == {"failing": "gone"}
    assert [result.ours for result in runner.results] == [(1000,)]
    assert said == [f"1/1 failing, run {run} of 3: Tutti" for run in (1, 2)]


@pytest.mark.slow
@pytest.mark.model
def test_a_row_through_the_server(starter: Path) -> None:
    got = asyncio.run(Prefix(2, 40).ours(Setup(starter), 1))
    assert (got["whole"], got["again"]) == (2, 0)
    assert got["prompt"] / 2 < got["read"] < got["prompt"] - 30


@pytest.mark.model
@pytest.mark.slow
def test_the_peak_memory_of_the_edge_profile_is_measured(starter: Path) -> None:
    values = asyncio.run(Edge(chats=1, written=8).ours(Setup(starter), 1))
    assert values["whole"] == 1
    assert values["all"] == values["engine"] + values["text"] + values["app"]
    # The weights alone, which this profile reads as a whole.
    assert values["engine"] > starter.stat().st_size / 1e6
    assert min(values.values()) > 0
