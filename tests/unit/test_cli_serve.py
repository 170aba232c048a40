"""The command around the server: arguments, start, signals.  The model is a fake, sockets and signals are real."""

import asyncio
import contextlib
import io
import os
import signal
import socket
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from app.__main__ import main, parser
from app.api.server import bind
from app.chat.model_state import Advice, AdviceKind, EngineStatus, ModelPhase, ModelState
from app.cli.load_options import chosen, options_in_use
from app.cli.memory_help import advised_options
from app.cli.serve import advised, own_choice, planned, serve
from app.errors import MemoryPart
from app.remembered import LoadChoice, Remembered
from app.settings import GAPS, Profile
from app.sizing.machine import Machine
from app.sizing.planner import Planner
from app.sizing.profiles import RESERVE, Own
from app.verdict import CHECKING
from app.wire import LoadParams
from tests import tiny_models
from tests.fakes import FakeGenerator, FakeModelHost


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.talker(tmp_path_factory.mktemp("serve") / "talker.gguf")


PLANNER = Planner(lambda: Machine(8 << 30, 2))


def params(*flags: str, model: str = "m.gguf") -> LoadParams:
    return planned(parser().parse_args(["serve", *flags]), PLANNER, model)


def test_the_profile_gives_the_numbers(talker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(talker)
    for profile in get_args(Profile):
        plan = PLANNER.load(model, profile)
        found = params("--profile", profile, model=model)
        assert (found.pool_tokens, found.sequences, found.batch, found.kv_type, found.mmap) == (
            *(plan.pool_tokens, plan.sequences, plan.batch, plan.kv_type, plan.mmap),
        )
        assert found.spill_bytes == plan.spill_megabytes << 20
        assert found.yielding
    assert params(model=model) == params("--profile", "auto", model=model)
    capsys.readouterr()


def test_the_numbers_in_use_are_said(talker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params("--profile", "edge", "--pace", "smooth", "--seqs", "3", model=str(talker))
    words = capsys.readouterr().err
    assert words == (
        "tutti: loading talker.gguf with the profile edge: pool of 1,024 tokens (q8_0, 0 MB), 3 chats at once, "
        "batch 64, 32 MB for idle chats, pace smooth\n"
    )


def test_a_model_that_does_not_fit_is_said(
    talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = parser().parse_args(["serve", "--profile", "production"])
    planned(arguments, Planner(lambda: Machine(1 << 20, 2)), str(talker))
    assert "more memory than can be spared" in capsys.readouterr().err


def test_flags_win_over_the_profile(talker: Path) -> None:
    flags = (
        "--profile edge --ctx 8192 --seqs 5 --batch 96 --threads 2 --gpu-layers 3 --device cpu --kv-type f16 --mmap "
        "--spill 7 --no-kv-offload --pace fast"
    )
    assert params(*flags.split(), model=str(talker)) == LoadParams(
        str(talker),
        pool_tokens=8192,
        sequences=5,
        batch=96,
        threads=2,
        gpu_layers=3,
        device="cpu",
        kv_type="f16",
        mmap=True,
        kv_offload=False,
        spill_bytes=7 << 20,
        gap=GAPS["fast"],
    )
    assert not params("--no-mmap").mmap
    assert params("--kv-offload").kv_offload


OWN = LoadChoice(profile="edge", pool_tokens=2048, mmap=True, threads=3, gpu_layers=5)
"""What the window keeps for a model."""


def with_own(talker: Path, *flags: str, own: LoadChoice = OWN) -> LoadParams:
    return planned(parser().parse_args(["serve", *flags]), PLANNER, str(talker), own=own)


def test_a_models_own_load_settings_count_where_no_option_is_given(
    talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = "--profile edge --ctx 2048 --mmap --threads 3 --gpu-layers 5"
    assert with_own(talker) == params(*flags.split(), model=str(talker))
    own, loading, _ = capsys.readouterr().err.splitlines()
    assert own == (
        f"tutti: talker.gguf has load settings of its own, {flags}; options that are given go before them"
    )
    assert loading.startswith("tutti: loading talker.gguf with the profile edge: pool of 2,048 ")


def test_an_option_goes_before_a_models_own_setting(
    talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = with_own(talker, "--ctx", "4096", "--no-mmap", "--threads", "0")
    assert (found.pool_tokens, found.mmap, found.threads) == (4096, False, 0)
    assert (found.batch, found.kv_type, found.gpu_layers) == (64, "q8_0", 5), "of its own profile"
    assert "of its own, --profile edge --gpu-layers 5; options" in capsys.readouterr().err


def test_a_profile_that_is_given_takes_the_place_of_the_models_own_numbers(
    talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = with_own(talker, "--profile", "development")
    assert (found.pool_tokens, found.threads) == (4096, 3), "threads are no number of a profile"
    assert "of its own, --threads 3 --gpu-layers 5; options" in capsys.readouterr().err
    same = LoadChoice(profile="edge", pool_tokens=2048)
    assert with_own(talker, "--profile", "auto", own=same) == params(model=str(talker))
    assert "of its own" not in capsys.readouterr().err


def test_every_load_setting_of_a_model_has_its_option(talker: Path) -> None:
    every = LoadChoice("edge", 2048, 3, 128, "f16", False, 9, 2, 0)
    arguments = parser().parse_args(["serve"])
    assert all(getattr(every, item.name) != item.default for item in fields(every))
    words = options_in_use(arguments, every)
    assert words.count("--") == len(fields(every))
    assert "--no-mmap" in words
    again = parser().parse_args(["serve", *words.split()])
    assert chosen(again, None) == chosen(arguments, every) == every


def test_a_model_is_known_by_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real.gguf").touch()
    (tmp_path / "link.gguf").symlink_to(tmp_path / "real.gguf")
    remembered = Remembered(tmp_path / "models.json")
    link = str(tmp_path / "link.gguf")
    assert own_choice(remembered, link) is None
    remembered.load_with(tmp_path / "real.gguf", OWN)
    assert own_choice(remembered, link) == OWN
    remembered.load_with(link, LoadChoice(threads=1))
    assert own_choice(remembered, link) == LoadChoice(threads=1)


@pytest.mark.parametrize(
    "flags",
    [
        ["--port", "70000"],
        ["--port", "abc"],
        ["--port", "-1"],
        ["--port", "8" * 5000],
        ["--ctx", "1"],
        ["--seqs", "0"],
        ["--kv-type", "f8"],
        ["--profile", "fast"],
        ["--pace", "slow"],
        ["--spill", "-1"],
        ["--por", "1"],
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["serve", *flags])
    assert exit_.value.code == 2
    words = capsys.readouterr().err
    assert words.count("\n") == 1
    assert flags[0] in words


def refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["serve", *flags]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_only_loopback_is_served(
    host: str, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "this machine only" in refused(["--host", host], capsys)


def test_a_taken_port_is_named(starter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = refused(["--port", str(port)], capsys)
    assert f"Port {port}" in words
    assert "taken" in words


def test_a_missing_model_or_key_is_named(
    tmp_path: Path, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no.gguf" in refused(["--model", str(tmp_path / "no.gguf")], capsys)
    assert "key file" in refused(["--api-key-file", str(tmp_path / "no-key")], capsys)
    (tmp_path / "empty").write_text("\n")
    assert "key file" in refused(["--api-key-file", str(tmp_path / "empty")], capsys)


def test_two_models_that_requests_cannot_tell_apart_are_refused(
    tmp_path: Path, talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / talker.name).symlink_to(talker)
    both = ["--model", str(talker), "--model", str(tmp_path / talker.name)]
    assert "2 of the models are called talker.gguf" in refused(both, capsys)


class Model(FakeGenerator):
    """A generator and a host in one; it loads at once, unless told how else."""

    def __init__(self, end: ModelPhase | None = ModelPhase.READY) -> None:
        super().__init__()
        self.host = FakeModelHost()
        self.host.state = FakeModelHost().state
        self.host.move(phase=ModelPhase.NONE)
        self.status = self.host.status
        self.subscribe = self.host.subscribe
        self.close = self.host.close
        self.show = self.host.shown.append
        self._end = end
        self.short_of: MemoryPart | None = None
        self._cancelled = asyncio.Event()

    @property
    def state(self):  # type: ignore[no-untyped-def]
        return self.host.state

    async def load(self, path: str) -> None:
        await self.host.load(path)
        if self._end is None:
            await self._cancelled.wait()
        else:
            error = "It is not a model."
            self.host.move(phase=self._end, error=error, notes=("a note",), short_of=self.short_of)

    async def unload(self) -> None:
        await self.host.unload()
        self._cancelled.set()


async def until(condition: object) -> None:
    async with asyncio.timeout(30):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def served(
    model: Model, listener: socket.socket, ready: object, number: signal.Signals
) -> tuple[int, str]:
    """Serve until `ready(output)`, then send the signal; gives the exit code and what was printed."""

    async def run() -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            task = asyncio.get_running_loop().create_task(serve(model, [Path("m.gguf")], listener))
            await until(lambda: ready(out.getvalue()))  # type: ignore[operator]
            os.kill(os.getpid(), number)
            return await task, out.getvalue()

    return asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_a_signal_stops_it(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    model, listener = Model(), bind("localhost", 0)
    port = listener.getsockname()[1]
    code, out = served(model, listener, lambda text: "listening" in text, number)
    assert (code, out) == (0, f"listening on http://127.0.0.1:{port}\n")
    assert capsys.readouterr().err == "tutti: a note\n"
    assert model.host.closed
    assert signal.getsignal(number) is before
    bind("127.0.0.1", port).close()


def test_several_models_are_loaded_and_the_first_is_that_of_who_names_none() -> None:
    model, paths = Model(), [Path("one.gguf"), Path("two.gguf")]

    async def run() -> int:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            listener = bind("127.0.0.1", 0)
            task = asyncio.get_running_loop().create_task(serve(model, paths, listener))
            await until(lambda: "listening" in out.getvalue())
            os.kill(os.getpid(), signal.SIGTERM)
            return await task

    assert asyncio.run(run()) == 0
    assert (model.host.loads, model.host.shown) == (["one.gguf", "two.gguf"], ["one.gguf"])


def test_a_model_that_is_given_up_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    lost = ModelState(ModelPhase.FAILED, path="/two.gguf", name="two", error="It is given up.")

    async def run() -> int:
        model = Model()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            listener = bind("127.0.0.1", 0)
            task = asyncio.get_running_loop().create_task(serve(model, [Path("m.gguf")], listener))
            await until(lambda: "listening" in out.getvalue())
            for fraction in (0.1, 0.2):
                model.host.move(others=(lost,), fraction=fraction)
            os.kill(os.getpid(), signal.SIGTERM)
            return await task

    assert asyncio.run(run()) == 0
    words = capsys.readouterr().err
    assert words == "tutti: a note\ntutti: two answers no more: It is given up.\n"


@pytest.mark.parametrize("kind", AdviceKind)
def test_each_reason_for_a_cache_that_serves_badly_is_said_once(
    kind: AdviceKind, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        model, stop = Model(), asyncio.Event()
        loop = asyncio.get_running_loop()
        watching = loop.create_task(advised(model, stop, seconds=0))
        for number in (1, 2, 3):
            model.status = EngineStatus(advice=Advice(kind, f"advice {number}"))
            for _ in range(20):
                await asyncio.sleep(0)
        model.status = EngineStatus(advice=Advice(OTHER[kind], "something else"))
        for _ in range(20):
            await asyncio.sleep(0)
        stop.set()
        await watching

    asyncio.run(run())
    assert capsys.readouterr().err == "tutti: advice 1\ntutti: something else\n"


OTHER = dict(zip(AdviceKind, (*list(AdviceKind)[1:], next(iter(AdviceKind))), strict=True))


def test_a_signal_while_the_model_loads_stops_it_too() -> None:
    model = Model(end=None)
    loading = lambda _text: model.state.phase is ModelPhase.LOADING  # noqa: E731
    code, out = served(model, bind("127.0.0.1", 0), loading, signal.SIGTERM)
    assert (code, out) == (0, "")
    assert (model.host.unloads, model.host.closed) == (1, True)


def test_a_model_that_does_not_fit_is_refused_with_the_options_that_fit(
    talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The pool takes 512 bytes for each token: 32 MB of 64, where 20 MB are spare.
    own = Own(pool_tokens=65_536, sequences=2, kv_type="f16", spill_megabytes=0)
    planner = Planner(lambda: Machine(RESERVE + (26 << 20), 2))
    model = Model(end=ModelPhase.FAILED)
    model.short_of = MemoryPart.POOL
    remedies = partial(advised_options, planner, "development", own)
    code = asyncio.run(serve(model, [talker], bind("127.0.0.1", 0), remedies=remedies))
    assert code == 1
    refusal, pool, packed = capsys.readouterr().err.splitlines()
    assert refusal == "tutti: It is not a model."
    tokens = int(pool.removeprefix("tutti: What fits: a smaller pool, --ctx "))
    more = int(packed.removeprefix("tutti: or: an 8-bit pool, --kv-type q8_0 --ctx "))
    assert 1024 < tokens < more < 65_536
    given = replace(own, pool_tokens=tokens), replace(own, pool_tokens=more, kv_type="q8_0")
    for numbers in given:
        assert not planner.load(str(talker), "development", numbers).missing


def test_a_model_that_cannot_be_used_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    model = Model(end=ModelPhase.FAILED)
    listener = bind("127.0.0.1", 0)
    assert asyncio.run(serve(model, [Path("m.gguf")], listener)) == 1
    assert capsys.readouterr().err == "tutti: It is not a model.\n"
    assert model.host.closed


def test_that_a_file_is_checked_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    class New(Model):
        async def load(self, path: str) -> None:
            for fraction in (0.1, 0.5):
                self.host.move(
                    phase=ModelPhase.LOADING, name="m", doing=CHECKING, fraction=fraction
                )
            self.host.move(phase=ModelPhase.FAILED, error="It crashes the engine.")

    assert asyncio.run(serve(New(), [Path("m.gguf")], bind("127.0.0.1", 0))) == 1
    assert capsys.readouterr().err == (
        "tutti: checking m, once for each new file\ntutti: It crashes the engine.\n"
    )
