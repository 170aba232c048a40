"""`tutti serve`: the OpenAI-compatible server, without a window.

The port is taken before the model is loaded, so that a taken one is told at once.  While the model loads, /health says
so and requests wait.  "listening on ..." is printed when the model is ready.  SIGTERM and SIGINT end it in order:
live answers are told, then the model's processes end.

Exit codes: 0 stopped in order, 1 the model cannot be used, 2 the arguments or the port cannot be used.
"""

import argparse
import asyncio
import contextlib
import logging
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app import inuse, log, paths
from app.chat.model_port import ModelHost
from app.chat.model_state import AdviceKind, ModelPhase, ModelState
from app.chat.ports import Generator
from app.cli.load_options import (
    add_load_options,
    chosen,
    load_params,
    numbers,
    options_in_use,
    whole_number,
)
from app.cli.say import note, say
from app.errors import AppError, ModelError, StoreError
from app.overrides import Overrides, templates_dir
from app.remembered import LoadChoice, Remembered, remembered_path
from app.sizing.planner import Planner
from app.sizing.profiles import shortage
from app.verdict import CHECKING
from app.wire import LoadParams

if TYPE_CHECKING:
    from app.api.guard import Key

STOPPED, MODEL_REFUSED, USAGE = 0, 1, 2
_log = logging.getLogger(__name__)
HIGHEST_PORT = 65_535
ADVICE_SECONDS = 10.0


Remedies = Callable[[ModelState], Sequence[str]]
"""Lines about what can be done where a load failed; called on a thread."""


class ServedModel(Generator, ModelHost, Protocol):
    """A model that can be loaded and asked."""


# --- arguments -----------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of design.md's table."""
    port = whole_number(0, HIGHEST_PORT)
    parser.add_argument(
        "--model",
        dest="models",
        metavar="PATH",
        type=Path,
        action="append",
        help="a GGUF file (default: the starter model); may be repeated, and the first is that of requests that name none",
    )
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1, localhost or ::1")
    parser.add_argument("--port", type=port, default=8080, help="0 takes any free one")
    parser.add_argument(
        "--api-key-file", metavar="FILE", type=Path, help="clients must send the key in it"
    )
    add_load_options(parser)
    parser.add_argument(
        "--load-unproven",
        action="store_true",
        help="load the model also where its check took too long or wanted too much memory",
    )


def planned(
    arguments: argparse.Namespace,
    planner: Planner,
    path: str,
    beside: Sequence[str] = (),
    own: LoadChoice | None = None,
) -> LoadParams:
    """Plan the load of this file, that has these settings of its `own`, beside those that are loaded; and say the numbers."""
    choice = chosen(arguments, own)
    name = Path(path).name
    plan = planner.load(path, choice.profile, numbers(choice), beside)
    used = options_in_use(arguments, own)
    if used:
        note(f"{name} has load settings of its own, {used}; options that are given go before them")
    note(
        f"loading {name} with the profile {choice.profile}: pool of {plan.pool_tokens:,} tokens "
        f"({plan.kv_type}, {plan.pool_bytes / 1e6:,.0f} MB), {plan.sequences} chats at once, batch {plan.batch}, "
        f"{plan.spill_megabytes:,} MB for idle chats, pace {arguments.pace}"
    )
    words = shortage(name, plan)
    if words:
        note(words)
    return load_params(arguments, path, choice, plan)


# --- the command ---------------------------------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    from app.api.key import KeyFile
    from app.api.server import bind

    try:
        paths = list(dict.fromkeys(map(model_file, arguments.models or [None])))
        _tell_apart(paths)
        key = KeyFile(arguments.api_key_file) if arguments.api_key_file else None
        log.start("serve")
        listener = bind(arguments.host, arguments.port)
    except (AppError, OSError) as error:
        # An OSError is a folder that cannot be made; it names it.
        note(str(error))
        return USAGE
    with listener:
        return asyncio.run(_run(arguments, paths, listener, key))


def model_file(given: Path | None) -> Path:
    """The file to serve; raises ModelError where there is none."""
    if given is None:
        starter = paths.starter_model()
        if starter is None:
            raise ModelError(
                "The starter model is not installed.", "Name a model with --model PATH."
            )
        return starter
    if not given.is_file():
        raise ModelError(f"There is no model file {given}.")
    return given.absolute()


def _tell_apart(paths: Sequence[Path]) -> None:
    """Raise ModelError where a request could only reach one of two models."""
    name, count = Counter(path.name for path in paths).most_common(1)[0]
    if count > 1:
        raise ModelError(
            f"{count} of the models are called {name}, and requests name a model by its file.",
            "Give --model a link of another name for one of them.",
        )


async def _run(
    arguments: argparse.Namespace,
    paths: Sequence[Path],
    listener: socket.socket,
    key: "Key | None",
) -> int:
    from app.cli.memory_help import advised_options
    from app.client import trust
    from app.client.ensemble import Ensemble
    from app.client.loading import MakeRoom
    from app.client.local import LocalModel
    from app.client.means import Means
    from app.client.memories import Memories

    planner = Planner()
    remembered = Remembered(remembered_path())
    overrides = Overrides(templates_dir())
    uses = inuse.here("tutti serve")
    checked = trust.here(lenient=bool(arguments.load_unproven), uses=uses)

    def params(path: str) -> LoadParams:
        return planned(arguments, planner, path, models.beside(path), own_choice(remembered, path))

    def make(path: str, memories: Memories, _make_room: MakeRoom) -> LocalModel:
        # No model that was asked for is given up for another.
        return LocalModel(
            params,
            path=path,
            memories=memories,
            overrides=overrides,
            trust=checked,
            means=Means(uses=uses),
        )

    models = Ensemble(make, _asked_for, most=len(paths), kept=[str(path) for path in paths])

    def remedies(state: ModelState) -> Sequence[str]:
        choice = chosen(arguments, own_choice(remembered, state.path))
        return advised_options(planner, choice.profile, numbers(choice), state)

    return await serve(
        models, paths, listener, key, remedies, partial(_remember_use, remembered, time.time)
    )


def own_choice(remembered: Remembered, path: str) -> LoadChoice | None:
    """How the model in this file is loaded where nothing else is said; it may be known by the file that a link leads to."""
    found = remembered.of(path).load
    return remembered.of(Path(path).resolve()).load if found is None else found


def _remember_use(remembered: Remembered, clock: Callable[[], float], path: str) -> None:
    try:
        remembered.used(path, clock())
    except StoreError as error:
        # Nobody asked for it, and nothing is lost but a date.
        _log.warning("not remembered: %s", error)


def _asked_for(_path: str, _beside: Sequence[str]) -> bool:
    """Whoever names several models wants them all; that there is too little memory is said when one is planned."""
    return True


def _no_remedies(_: ModelState) -> Sequence[str]:
    return ()


def _not_kept(_: str) -> None:
    """Nobody wants to know."""


async def serve(
    model: ServedModel,
    paths: Sequence[Path],
    listener: socket.socket,
    key: "Key | None" = None,
    remedies: Remedies = _no_remedies,
    used: Callable[[str], None] = _not_kept,
) -> int:
    """Load these and answer on `listener` until SIGINT or SIGTERM; closes all.  Gives the exit code.

    `remedies` says what can be done about a load that failed; `used` hears, on a thread, of each file that was loaded.
    """
    from app.api.server import address_of, serving

    stop = asyncio.Event()
    try:
        with stopped_by_signals(stop):
            async with serving(model, model, listener, key=key):
                for path in paths:
                    await _load(model, path, stop)
                    if model.state.phase is ModelPhase.FAILED:
                        await _refuse(model.state, remedies)
                        return MODEL_REFUSED
                    if stop.is_set():
                        break
                    _tell_notes(model.state)
                    await asyncio.to_thread(used, str(path))
                else:
                    model.show(str(paths[0]))
                    say(f"listening on {address_of(listener)}")
                    leave = model.subscribe(_Losses())
                    await advised(model, stop)
                    leave()
    finally:
        await model.close()
    return STOPPED


def _tell_notes(state: ModelState) -> None:
    """What had to be done otherwise than the model wants."""
    for words in state.notes:
        note(words)
    if state.format_name:
        note(f"prompt format: {state.format_name}")


async def _refuse(state: ModelState, remedies: Remedies) -> None:
    """Say why the model cannot be used, and what can be done about it."""
    note(state.error)
    for line in await asyncio.to_thread(remedies, state):
        note(line)


async def advised(model: ServedModel, stop: asyncio.Event, seconds: float = ADVICE_SECONDS) -> None:
    """Until `stop`; looks at the cache now and then, and says each reason for which it serves badly once."""
    said: set[AdviceKind] = set()
    while not stop.is_set():
        advice = model.status.advice
        if advice is not None and advice.kind not in said:
            said.add(advice.kind)
            note(advice.text)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)


async def _load(model: ServedModel, path: Path, stop: asyncio.Event) -> None:
    """Until it is loaded, has failed, or a signal came."""
    loop = asyncio.get_running_loop()
    leave = model.subscribe(_Teller())
    loading = loop.create_task(model.load(str(path)), name="load")
    stopping = loop.create_task(stop.wait(), name="wait for a signal")
    await asyncio.wait({loading, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not loading.done():
        await model.unload()
    await loading
    leave()


class _Teller:
    """Says that the file is being checked, once."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, state: ModelState) -> None:
        if state.doing == CHECKING and not self._said:
            self._said = True
            note(f"checking {state.name}, once for each new file")


class _Losses:
    """Says of each model that was given up why, once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, state: ModelState) -> None:
        for model in (state, *state.others):
            if model.phase is ModelPhase.FAILED and model.path not in self._said:
                self._said.add(model.path)
                note(f"{model.name} answers no more: {model.error}")


@contextlib.contextmanager
def stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """SIGINT and SIGTERM set `stop` while the block runs; to be entered on the main thread's loop."""
    loop = asyncio.get_running_loop()

    def on_signal(_number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(stop.set)

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
