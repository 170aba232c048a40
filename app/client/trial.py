"""One model file opened in a throw-away process, and what its end tells: a crash, a hang and a want of memory are
answers too."""

import asyncio
import signal
from functools import partial
from pathlib import Path

from app import modelfile
from app.client.child import OnProgress, Spawn
from app.client.clock import Clock
from app.client.death import Death
from app.client.load_failure import NOT_THE_FILE
from app.errors import EngineDied, EngineError
from app.trial import limits
from app.verdict import BEGUN, Finding, Verdict
from app.wire import Examined, LoadParams, Message, Progress

_ILLEGAL = getattr(signal, "SIGILL", None)
_TOO_LONG = getattr(signal, "SIGXCPU", None)
_KILLED = getattr(signal, "SIGKILL", None)
_LATE = "took too long"


async def examine(path: Path, spawn: Spawn, clock: Clock, on_progress: OnProgress) -> Verdict:
    """The verdict on the model in `path`; cancelling ends the process.

    Raises OSError where the file is not there, and EngineError where the process could not do its work through no
    fault of the file.
    """
    size = await asyncio.to_thread(_size, path)
    deaths: list[Death] = []
    reached = 0.0

    def progress(step: Progress) -> None:
        nonlocal reached
        reached = max(reached, step.fraction)
        on_progress(step)

    link = spawn(_unasked, deaths.append)
    late = clock.call_later(limits.seconds(size), partial(link.kill, _LATE))
    try:
        found = await link.load(LoadParams(str(path)), progress)
    except EngineDied:
        return judged(deaths[0], path.name, began=reached >= BEGUN)
    finally:
        late.cancel()
        await link.stop()
    if not isinstance(found, Examined):
        raise EngineError("The check did not say what it found.")
    return found.verdict


def judged(death: Death, name: str, *, began: bool = True) -> Verdict:
    """What it tells of the file that its check ended so; raises EngineDied where it tells nothing.

    `began`: llama.cpp was there before, so that nothing else can have crashed.
    """
    number = -death.exitcode if death.exitcode is not None and death.exitcode < 0 else None
    if death.why == _LATE or (number is not None and number == _TOO_LONG):
        return Verdict(
            Finding.SLOW,
            f"“{name}” was not checked to its end, for that took too long.",
            "It may be made to hang the engine, or this machine is very busy.",
        )
    if not death.started or death.why or death.asked or number == _ILLEGAL:
        raise EngineDied(str(death))
    if number == _KILLED:
        return Verdict(
            Finding.LARGE,
            f"“{name}” was not checked to its end, for the system ended that, probably for want of memory.",
            "Close other programs, or choose another model.",
        )
    if not began:
        raise EngineDied(f"{death} {NOT_THE_FILE}", early=True)
    return Verdict(
        Finding.CRASHED,
        f"“{name}” cannot be used: opening it crashes the engine ({_how(death, number)}).",
        "It is damaged, made to do harm, or of a kind that this version does not know. Download it again, or choose another.",
    )


def _how(death: Death, number: int | None) -> str:
    if number is None:
        return f"exit code {death.exitcode}"
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _size(path: Path) -> int:
    return sum(part.stat().st_size for part in modelfile.parts(path))


def _unasked(message: Message) -> None:
    raise TypeError(f"a check does not say {type(message).__name__}")
