"""How many prompt tokens came from the cache, how many could have, and why the rest did not; pure.

"Could have" means: the same tokens, from the start, were evaluated before in any chat, whatever has become of
their cells since.  What was evaluated is remembered as hashes of prefixes of whole blocks, so that a million tokens
cost a few megabytes.

A warm-up reads what a request will ask for: neither is it a request, nor is what it read a hit for the first request
that finds it.  The two together count as that request alone, which read these tokens itself.
"""

import hashlib
from collections import OrderedDict, deque
from dataclasses import dataclass

from app.counters import RecentHits
from app.engine.backend import TokenArray
from app.engine.prefix import common_prefix

_BLOCK = 16
_MOST_BLOCKS = 100_000
_MOST_CHATS = 500
_WINDOW = 50
_MOST_WARM = 64


@dataclass(frozen=True, slots=True)
class _Seen:
    prompt: int
    cached: int
    possible: int
    changed_at: int | None
    moved: int


@dataclass(eq=False, slots=True)
class _Warm:
    """Tokens [start, end) of `tokens` were read by a warm-up of this chat, and no request has found them yet."""

    owner: int
    tokens: TokenArray
    start: int
    end: int


class HitRate:
    """Watches the requests as they begin and end."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[bytes, None] = OrderedDict()
        self._last: OrderedDict[int, TokenArray] = OrderedDict()
        self._window: deque[_Seen] = deque(maxlen=_WINDOW)
        self._warm: deque[_Warm] = deque(maxlen=_MOST_WARM)
        self.hits = RecentHits()
        """Over the window of the last requests."""

    def began(self, owner: int, prompt: TokenArray, cached: int) -> int:
        """A request of this chat (0: nobody's) begins to read; `cached` tokens did not have to be.

        Gives how many of these count as hits.
        """
        cached -= self._read_for_it(prompt, cached)
        possible = min(len(prompt) - 1, self._known(prompt))
        changed_at, moved = self._changed(owner, prompt)
        self._window.append(_Seen(len(prompt), cached, max(possible, cached), changed_at, moved))
        self.hits = self._sum()
        return cached

    def warmed(self, owner: int, tokens: TokenArray, start: int) -> None:
        """A warm-up of this chat has ended that read `tokens` from position `start` on."""
        if start < len(tokens):
            self._warm.append(_Warm(owner, tokens.copy(), start, len(tokens)))

    def forget(self, owner: int) -> None:
        """Keep none of this chat's text; the counts stay."""
        self._last.pop(owner, None)
        for warm in [warm for warm in self._warm if warm.owner == owner]:
            self._warm.remove(warm)

    def _read_for_it(self, prompt: TokenArray, cached: int) -> int:
        """How many of the first `cached` tokens a warm-up had to read; from now on they are known."""
        found: set[int] = set()
        for warm in list(self._warm):
            common = min(common_prefix(warm.tokens, prompt), cached, warm.end)
            if common > warm.start:
                found.update(range(warm.start, common))
                warm.start = common
            if warm.start == warm.end:
                self._warm.remove(warm)
        return len(found)

    def ended(self, owner: int, tokens: TokenArray) -> None:
        """All of `tokens` was evaluated."""
        for name in _prefixes(tokens):
            self._blocks[name] = None
            self._blocks.move_to_end(name)
        while len(self._blocks) > _MOST_BLOCKS:
            self._blocks.popitem(last=False)
        if owner:
            self._last[owner] = tokens.copy()
            self._last.move_to_end(owner)
            if len(self._last) > _MOST_CHATS:
                self._last.popitem(last=False)

    def _sum(self) -> RecentHits:
        places = [seen.changed_at for seen in self._window if seen.changed_at is not None]
        return RecentHits(
            sum(seen.prompt for seen in self._window),
            sum(seen.cached for seen in self._window),
            sum(seen.possible for seen in self._window),
            len(places),
            places[-1] if places else 0,
            sum(seen.moved for seen in self._window),
            len(self._window),
        )

    def _known(self, prompt: TokenArray) -> int:
        """The longest prefix of whole blocks that was evaluated before."""
        known = 0
        for name in _prefixes(prompt):
            if name not in self._blocks:
                break
            known += _BLOCK
        return known

    def _changed(self, owner: int, prompt: TokenArray) -> tuple[int | None, int]:
        """Where a chat's prompt has changed inside what was read before, and how much of that stood behind."""
        last = self._last.get(owner)
        if last is None:
            return None, 0
        common, shorter = common_prefix(last, prompt), min(len(last), len(prompt))
        # An edited or repeated question changes only the end; a prefix that moves changes most of what follows.
        return (common, shorter - common) if common < shorter // 2 else (None, 0)


def _prefixes(tokens: TokenArray) -> list[bytes]:
    """A hash for each prefix of whole blocks, each made from the one before it."""
    names: list[bytes] = []
    name = b""
    for start in range(0, len(tokens) - _BLOCK + 1, _BLOCK):
        block = tokens[start : start + _BLOCK].tobytes()
        name = hashlib.blake2b(name + block, digest_size=12).digest()
        names.append(name)
    return names
