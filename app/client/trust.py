"""Which model files may be loaded: one that is new is first opened in a throw-away process (`app.trial`).

What was found is remembered (`app.verdicts`), so that a file is checked once.  A good word spares the check; a bad one
does not spare it, for whoever asks again may have more memory, or a disk that reads again, and it costs a second.
The window, `tutti serve` and `tutti models pull` all ask here, and everything slow is done on threads or in the
process.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from app import modelfile
from app.client.child import OnProgress, Spawn, trial_child
from app.client.clock import Clock, LoopClock
from app.client.trial import examine
from app.errors import EngineError, ModelError, Unproven
from app.inuse import Uses
from app.verdict import CHECKING, Verdict
from app.verdicts import Identity, Verdicts, identify, verdicts_path
from app.wire import Progress


class Trust:
    """All calls are on the event loop.  With `lenient` a file whose check ended for want of time or memory is used."""

    def __init__(
        self,
        verdicts: Verdicts,
        spawn: Spawn = trial_child,
        *,
        clock: Clock | None = None,
        lenient: bool = False,
        uses: Uses | None = None,
    ) -> None:
        """`uses` is where others are told that a file is being checked."""
        self._verdicts = verdicts
        self._uses = uses
        self._spawn = spawn
        self._clock: Clock = clock or LoopClock()
        self._lenient = lenient
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def check(self, path: str, on_progress: OnProgress) -> None:
        """Returns where the file may be loaded, at once where that is known; cancelling ends the check.

        `on_progress` is called only where something has to be done.  Raises ModelError with the reason: an `Unproven`
        where the user may have it loaded all the same (`accept`).
        """
        async with self._turns[path]:  # who asks at the same time hears what the first one found
            identity = await _identified(path)
            known = await asyncio.to_thread(self._verdicts.get, identity)
            if known is None or not known.usable:
                known = await self._examined(identity, path, on_progress)
        if known.usable or (known.disputable and self._lenient):
            return
        raise (Unproven if known.disputable else ModelError)(known.what, known.remedy)

    async def accept(self, path: str) -> None:
        """The user wants this file all the same; heard only where its check ended for want of time or memory.

        Raises ModelError where the file cannot be read.
        """
        identity = await _identified(path)
        known = await asyncio.to_thread(self._verdicts.get, identity)
        if known is not None and known.disputable:
            await asyncio.to_thread(self._verdicts.put, identity, replace(known, accepted=True))

    async def _examined(self, identity: Identity, path: str, on_progress: OnProgress) -> Verdict:
        on_progress(Progress(0.0, CHECKING))
        try:
            async with self._in_use(path):
                found = await examine(Path(path), self._spawn, self._clock, on_progress)
        except OSError as error:
            raise _unreadable(path, error) from error
        except EngineError as error:
            raise ModelError(f"“{Path(path).name}” could not be checked. {error}") from error
        if await _identified(path) != identity:  # what was found is of neither file
            raise ModelError(f"“{Path(path).name}” changed while it was checked.", "Load it again.")
        await asyncio.to_thread(self._verdicts.put, identity, found)
        return found

    @asynccontextmanager
    async def _in_use(self, path: str) -> AsyncIterator[None]:
        if self._uses is None:
            yield
            return
        use = self._uses.use(path)
        try:
            await asyncio.to_thread(use.begin)
            yield
        finally:
            await asyncio.to_thread(use.end)


def here(*, lenient: bool = False, uses: Uses | None = None) -> Trust:
    """That of this user: what was found lies in the data folder."""
    return Trust(Verdicts(verdicts_path()), lenient=lenient, uses=uses)


async def _identified(path: str) -> Identity:
    try:
        await asyncio.to_thread(modelfile.check, Path(path))
        return await asyncio.to_thread(identify, Path(path))
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> ModelError:
    return ModelError(f"“{Path(path).name}” cannot be read: {error.strerror}.")
