"""Sets of characters, and the bytes that stand for them in UTF-8.  Pure."""

from collections.abc import Iterable, Iterator

from app.grammar.model import Range

LAST = 0x10FFFF
_NONE = ((0, 0), (0xD800, 0xDFFF))
"""NUL and surrogates, which are in no answer."""
_LENGTHS = ((0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST))
"""The characters of one byte, of two, and so on."""

Ranges = tuple[Range, ...]


def joined(ranges: Iterable[Range]) -> Ranges:
    """In order, without overlaps or neighbours that touch."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def without(ranges: Iterable[Range], taken: Iterable[Range]) -> Ranges:
    """What is left of `ranges` when `taken` is gone."""
    left = list(joined(ranges))
    for low, high in joined(taken):
        left = [
            piece
            for first, last in left
            for piece in ((first, min(last, low - 1)), (max(first, high + 1), last))
            if piece[0] <= piece[1]
        ]
    return tuple(left)


def others(ranges: Iterable[Range]) -> Ranges:
    """Every character but these; NUL is none, for no answer holds it."""
    return without([(1, LAST)], ranges)


def byte_rows(ranges: Iterable[Range]) -> list[tuple[Range, ...]]:
    """The same characters as rows of byte ranges, but for NUL and surrogates."""
    heads: dict[tuple[Range, ...], list[Range]] = {}
    for low, high in without(ranges, _NONE):
        for first, last in _LENGTHS:
            if low <= last and high >= first:
                for row in _rows(max(low, first), min(high, last)):
                    heads.setdefault(row[1:], []).append(row[0])
    return [(head, *tail) for tail, ranges_ in heads.items() for head in joined(ranges_)]


def _rows(low: int, high: int) -> Iterator[tuple[Range, ...]]:
    """Rows for characters of one length: split until all that follows the first differing byte is complete."""
    length = len(chr(low).encode())
    for index in range(1, length):
        rest = (1 << 6 * index) - 1
        if low & ~rest != high & ~rest:
            if low & rest:
                yield from _rows(low, low | rest)
                yield from _rows((low | rest) + 1, high)
                return
            if high & rest != rest:
                yield from _rows(low, (high & ~rest) - 1)
                yield from _rows(high & ~rest, high)
                return
    yield tuple(zip(chr(low).encode(), chr(high).encode(), strict=True))
