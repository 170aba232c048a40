"""What can be done about a model that did not fit: the remedies in words, each of which is done by one click."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.chat.model_state import ModelState
from app.errors import MemoryPart
from app.hub import words
from app.hub.shelf import Shelf
from app.hub.smaller import smaller
from app.settings import Settings
from app.sizing.planner import Planner
from app.sizing.profiles import own_numbers
from app.sizing.remedies import Remedy, RemedyKind, Smaller, remedies
from app.ui import aio
from app.ui.banner import Choice
from app.ui.plain import one_line
from app.ui.preferences import Preferences

_LABEL_LIMIT = 40


class MemoryHelp:
    """Knows the remedies for a failed load.  `look_in` tells it, once they are known, of the models on this machine and
    of the way to more."""

    def __init__(self, planner: Planner, preferences: Preferences) -> None:
        self._planner, self._preferences = planner, preferences
        self._shelf: Shelf | None = None
        self._find: Callable[[], None] | None = None

    def look_in(self, shelf: Shelf, find: Callable[[], None]) -> None:
        """`find` shows where a model can be looked for."""
        self._shelf, self._find = shelf, find

    async def choices(self, state: ModelState, load: Callable[[str], None]) -> tuple[Choice, ...]:
        """The remedies for the load that has failed like this; none where nothing helps by the estimate."""
        if state.short_of is None:
            return ()
        current = self._preferences.current
        if self._shelf is not None:
            current = self._shelf.remembered.settings_for(state.path, current)
        found = await asyncio.to_thread(self._look, state.path, state.short_of, current)
        return tuple(
            Choice(_words(one), partial(self._use, one, state.path, load))
            for one in found
            if one.kind is not RemedyKind.FIND or self._find is not None
        )

    def _look(self, path: str, part: MemoryPart, current: Settings) -> Sequence[Remedy]:
        attempt = self._planner.attempt(path, part, current.profile, own_numbers(current))
        others: tuple[Smaller, ...] = ()
        least_share = 1.0
        if self._shelf is not None:
            others, least_share = smaller(self._shelf.library, Path(path))
        return remedies(attempt, others, least_share)

    def _use(self, remedy: Remedy, failed: str, load: Callable[[str], None]) -> None:
        if remedy.kind is RemedyKind.FIND:
            if self._find is not None:
                self._find()
            return
        aio.spawn(self._set(remedy, failed, load))

    async def _set(self, remedy: Remedy, failed: str, load: Callable[[str], None]) -> None:
        """Where the model that failed has load settings of its own, it is these that have to change.

        A smaller file was found to fit with just these; those that it has already were chosen for it, and stay.
        """
        own = remedy.own
        remembered = self._shelf.remembered if self._shelf is not None else None
        before = remembered.of(failed).load if remembered is not None else None
        if remembered is None or before is None:
            if remedy.path == failed:
                self._preferences.update(pool_tokens=own.pool_tokens, kv_type=own.kv_type)
        elif remedy.path == failed or remembered.of(remedy.path).load is None:
            after = replace(before, pool_tokens=own.pool_tokens, kv_type=own.kv_type)
            await asyncio.to_thread(remembered.load_with, remedy.path, after)
        load(remedy.path)


def _words(remedy: Remedy) -> str:
    match remedy.kind:
        case RemedyKind.POOL:
            return f"Use a smaller pool of {remedy.pool_tokens:,} tokens"
        case RemedyKind.KV:
            return f"Use an 8-bit pool of {remedy.pool_tokens:,} tokens"
        case RemedyKind.FILE:
            label = one_line(remedy.label, _LABEL_LIMIT)
            return f"Use the smaller {label}, {words.size(remedy.size)}"
        case RemedyKind.FIND:
            return "Find a smaller quantisation…"
