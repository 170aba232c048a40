"""Models that are recommended before anybody has searched: a list that ships with the app, fitted to this machine.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.hub import names

_WORKING = 1_500_000_000
"""Bytes for chats, window and engine beside the weights."""
_SHARE = 0.7
_LEAST = 0.35
"""How much of the free memory the weights and their chats may take, and what is small for it."""


@dataclass(frozen=True, slots=True)
class Recommended:
    """A repository of the list: `size` in bytes of the balanced file, about; `languages` by the hub's short names."""

    repo: str
    title: str
    size: int
    languages: tuple[str, ...]
    licence: str
    why: str


def parse(raw: object) -> tuple[Recommended, ...]:
    """The entries of the file that make sense."""
    rows = raw.get("models") if isinstance(raw, dict) else None
    found = (_entry(row) for row in rows) if isinstance(rows, list) else ()
    return tuple(one for one in found if one is not None)


def _entry(row: object) -> Recommended | None:
    if not isinstance(row, dict):
        return None
    texts = [row.get(key) for key in ("repo", "title", "licence", "why")]
    size, languages = row.get("size"), row.get("languages")
    if not all(isinstance(text, str) for text in texts) or not isinstance(size, int):
        return None
    if not names.is_reference(str(texts[0])) or not isinstance(languages, list):
        return None
    repo, title, licence, why = (str(text) for text in texts)
    return Recommended(repo, title, size, tuple(map(str, languages)), licence, why)


def order(models: Iterable[Recommended], free: int, language: str) -> tuple[Recommended, ...]:
    """For a machine with `free` bytes and a person who speaks `language`: the best first, what does not fit left out.

    The best is the largest one that leaves room to work; one that knows the language goes before one that does not.
    """
    room = free * _SHARE - _WORKING
    fitting = [one for one in models if one.size <= max(room, free * _LEAST)]
    return tuple(sorted(fitting, key=lambda one: (language not in one.languages, one.size > room, -one.size)))  # fmt: skip
