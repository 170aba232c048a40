"""Rows by name, the options, the command lines of peers and their output."""

import argparse
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.bench import arguments as options
from app.bench import batched_bench
from app.bench.modes import Mode
from app.bench.peak import peak_bytes
from app.bench.rows import KINDS, parse
from app.bench.rows.prefix import Prefix
from app.bench.servers import TUTTI, Load, Server
from app.errors import AppError

BATCHED = """
llama_batched_bench: n_kv_max = 8192, n_batch = 512

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   128 |     64 |    1 |    192 |    0.391 |   327.20 |    0.831 |    77.02 |    1.222 |   157.12 |
|   128 |     64 |   16 |   3072 |    6.350 |   322.51 |    7.110 |   144.02 |   13.460 |   228.23 |
"""


def chosen(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("name", sorted({*options.DEFAULT, *options.QUICK, "decode:16"}))
def test_a_row_has_the_name_it_was_asked_by(name: str) -> None:
    row = parse(name)
    assert row.name == name
    assert row.about
    keys = [figure.key for figure in row.figures]
    assert len(set(keys)) == len(keys)


def test_every_kind_has_a_row_by_default_with_a_target() -> None:
    rows = [parse(name) for name in options.DEFAULT]
    assert {type(row) for row in rows} == set(KINDS)
    with_target = {type(row) for row in rows if any(figure.goal for figure in row.figures)}
    assert with_target == set(KINDS)


def test_numbers_left_out_have_their_defaults() -> None:
    assert parse("prefix") == Prefix(8, 300)
    assert parse("prefix:4").name == "prefix:4:300"
    assert {parse(f"mode:{mode}").name for mode in Mode} == {
        "mode:single",
        "mode:static",
        "mode:continuous",
    }


@pytest.mark.parametrize(
    "name",
    ["walk:1", "decode:0", "decode:x", "decode:1:2", "decode:-1", "decode:²", "mode:fast", ""],
)
def test_a_wrong_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"There is no|A row is named"):
        parse(name)


def test_a_mode_takes_no_numbers() -> None:
    with pytest.raises(ValueError, match="A row is named"):
        parse("mode:single:static")


def test_which_rows_are_measured() -> None:
    assert options.names(chosen()) == list(options.DEFAULT)
    assert options.names(chosen("--quick")) == list(options.QUICK)
    assert options.names(chosen("fork", "--mode", "static", "--mode", "single")) == [
        *("fork", "mode:static", "mode:single")
    ]
    curve = [f"decode:{count}" for count in options.CURVE]
    assert options.names(chosen("--plot", "x.svg")) == curve
    both = options.names(chosen("--quick", "--plot", "x.svg", "--batched-bench", "y"))
    assert len(both) == len(set(both))
    assert {*options.QUICK, *curve, "raw:16"} <= set(both)


def test_the_modes_are_the_same_in_the_options() -> None:
    assert list(Mode) == list(options.MODES)


def test_both_servers_are_loaded_alike() -> None:
    load = Load(Path("m.gguf"), threads=3, pool=1024, chats=4, batch=256)
    ours = TUTTI.command(load, 80)
    theirs = Server("llama-server", Path("ls")).command(load, 80)
    pairs = {"--ctx": "-c", "--seqs": "-np", "--batch": "-b", "--threads": "-t", "--model": "-m"}
    for our_flag, their_flag in pairs.items():
        assert ours[ours.index(our_flag) + 1] == theirs[theirs.index(their_flag) + 1]
    assert "--kv-unified" in theirs
    assert theirs[theirs.index("-ub") + 1] == "256"


def test_a_profile_gives_the_numbers_instead() -> None:
    words = TUTTI.command(Load(Path("m.gguf"), threads=3, profile="edge"), 80)
    assert words[words.index("--profile") + 1] == "edge"
    assert not {"--ctx", "--seqs", "--batch"} & set(words)


def test_the_peak_of_this_process_is_no_less_than_what_it_has() -> None:
    process = psutil.Process()
    assert peak_bytes(process.pid) >= 0.9 * process.memory_info().rss


def test_a_process_that_is_gone_has_no_peak() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    with pytest.raises(AppError, match="cannot be read"):
        peak_bytes(gone.pid)


def test_the_table_of_batched_bench_is_read() -> None:
    assert batched_bench.parse(BATCHED) == {1: 77.02, 16: 144.02}


@pytest.mark.parametrize("output", ["", "error: no such file", BATCHED.split("|-", maxsplit=1)[0]])
def test_no_table_is_an_error(output: str) -> None:
    with pytest.raises(batched_bench.BatchedBenchFailed):
        batched_bench.parse(output)
