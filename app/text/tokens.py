"""A rendered conversation as token ids, with contents as data.

Control tokens come only from what the template wrote; everything between them is tokenised as mere text.  For
innocent contents the ids are exactly those of the whole rendered string tokenised at once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from app.dialogue import ChatLine
from app.text.called import CalledText
from app.text.marks import Place, Plain
from app.text.prompt import content_of
from app.text.stream import Vocabulary
from app.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """The ids, and for each line of the conversation its content's span [start, end) in them.

    Where one token holds the border of a content and what the template wrote beside it, it counts to the content.
    """

    tokens: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Fixed:
    """text[start:end] has these ids, whatever a tokeniser would say: a control token, or what the engine wrote."""

    start: int
    end: int
    ids: tuple[int, ...]
    control: bool

    @property
    def order(self) -> tuple[int, int]:
        """By place; of two that begin together, the longer one first."""
        return self.start, -self.end


class Encoder:
    """Turns composed conversations into ids."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._silent = tokenizer.vocabulary.silent
        self._called = CalledText(tokenizer)

    def encode(self, plain: Plain, lines: Sequence[ChatLine]) -> Prompt:
        """The ids of `plain`; what the engine wrote for a line keeps the ids that it was written with."""
        row = _Row(self._tokenizer.vocabulary)
        cuts = _cuts(plain)
        position, fresh = 0, True
        for fixed in self._fixed(plain, lines):
            self._add_text(row, plain.text, (position, fixed.start), cuts, fresh)
            row.add(fixed.ids, plain.text[fixed.start : fixed.end], known=not fixed.control)
            position, fresh = fixed.end, fixed.ids[-1] in self._silent
        self._add_text(row, plain.text, (position, len(plain.text)), cuts, fresh)
        return self._with_bos(row.tokens, row.spans(plain, len(lines)))

    def end_mark(self, plain: Plain, line: int) -> int | None:
        """The control token that the template wrote next after the content of `line`."""
        mine = content_of(line)
        end = max((place.end for place in plain.places if place.line == mine), default=None)
        if end is None:
            return None
        later = (place.start for place in plain.places if place.start >= end and place.line != mine)
        limit = min(later, default=len(plain.text))
        matches = self._tokenizer.control.pick(plain.text, plain.is_template)
        return next((m.token for m in matches if end <= m.start < limit), None)

    def _add_text(
        self, row: "_Row", text: str, stretch: tuple[int, int], cuts: Sequence[int], fresh: bool
    ) -> None:
        """Tokenise a stretch that begins a text (`fresh`) or goes on after one, apart at the cuts."""
        start, end = stretch
        inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        whole = fresh and not (start in cuts and start < end)
        for low, high in pairwise([start, *inner, end]):
            if low < high:
                piece = text[low:high]
                row.add(self._mere_text(piece, inside=low > start or not whole), piece)

    def _mere_text(self, text: str, *, inside: bool) -> list[int]:
        """Tokenise; apart at control tokens' texts where the vocabulary would join them to control tokens."""
        ids = self._tokenizer.tokenize(text, inside=inside)
        if self._silent.isdisjoint(ids):
            return ids
        cuts = sorted({start + 1 for start, _ in self._tokenizer.control.occurrences(text)})
        if not cuts:
            return ids
        ids = self._tokenizer.tokenize(text[: cuts[0]], inside=inside)
        for low, high in pairwise([*cuts, len(text)]):
            ids += self._tokenizer.tokenize(text[low:high], inside=True)
        return ids

    def _fixed(self, plain: Plain, lines: Sequence[ChatLine]) -> Iterator[_Fixed]:
        """In order and without overlap."""
        matches = self._tokenizer.control.pick(plain.text, plain.is_template)
        found = [_Fixed(match.start, match.end, (match.token,), True) for match in matches]
        fed = [ids for line in lines for ids in (line.reasoning_ids, line.ids)]
        for place in plain.places:
            ids = self._written(fed[place.line], plain.text[place.start : place.end])
            if ids:
                found.append(_Fixed(place.start, place.end, ids, False))
        for line in (index for index, one in enumerate(lines) if one.call_ids):
            part = self._called.find(plain, line, lines[line].call_ids, matches)
            if part is not None:
                found.append(_Fixed(*part, control=True))
        found.sort(key=lambda fixed: fixed.order)
        position = 0
        for fixed in found:
            if fixed.start >= position:
                yield fixed
                position = fixed.end

    def _written(self, ids: tuple[int, ...], text: str) -> tuple[int, ...]:
        """The ids that were fed where they are exactly this text and hold no control token; else none."""
        vocabulary = self._tokenizer.vocabulary
        if not ids or not all(0 <= token < len(vocabulary) for token in ids):
            return ()
        while ids and not vocabulary.piece(ids[-1]):
            ids = ids[:-1]  # the end token that the template writes, too
        if not all(vocabulary.piece(token) for token in ids):
            return ()
        return ids if vocabulary.join(ids).decode("utf-8", "replace") == text else ()

    def _with_bos(self, tokens: list[int], spans: list[tuple[int, int]]) -> Prompt:
        """The BOS once at the beginning if the template or the vocabulary wants one."""
        bos = self._tokenizer.bos
        if bos is None:
            return Prompt(tuple(tokens), tuple(spans))
        there = sum(1 for _ in takewhile(lambda token: token == bos, tokens))
        wanted = 1 if there or self._tokenizer.add_bos else 0
        moved = wanted - there
        return Prompt(
            (*[bos] * wanted, *tokens[there:]),
            tuple((start + moved, end + moved) for start, end in spans),
        )


class _Row:
    """Ids, and the bytes of the text that each stands for."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens: list[int] = []
        self._vocabulary = vocabulary
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._length = 0

    def add(self, ids: Sequence[int], text: str, *, known: bool = True) -> None:
        """Append `ids` that stand for `text`; `known` where their pieces tell which part each one is."""
        size = len(text.encode())
        ends = self._borders(ids, size) if known else None
        self.tokens += ids
        if ends is None:
            self._starts += [self._length] * len(ids)
            self._ends += [self._length + size] * len(ids)
        else:
            self._starts += [self._length, *ends[:-1]] if ends else []
            self._ends += ends
        self._length += size

    def spans(self, plain: Plain, lines: int) -> list[tuple[int, int]]:
        """The span of each line; an empty one where the template left a content out."""
        first: dict[int, Place] = {}
        for place in plain.places:
            first.setdefault(place.line, place)
        offsets = _byte_offsets(plain.text, first.values())
        spans: list[tuple[int, int]] = []
        last = 0
        for line in range(lines):
            content = first.get(content_of(line))
            if content is not None:
                spans.append(self._span(offsets[content.start], offsets[content.end]))
                last = spans[-1][1]
            else:
                spans.append((last, last))
        return spans

    def _span(self, start: int, end: int) -> tuple[int, int]:
        low = bisect_right(self._ends, start)
        high = bisect_left(self._starts, end) if end > start else low
        return low, max(low, high)

    def _borders(self, ids: Sequence[int], size: int) -> list[int] | None:
        """Where each of these ends that stand for the next `size` bytes; None where their pieces do not tell."""
        sizes = self._vocabulary.sizes(ids)
        extra = sum(sizes) - size
        if extra == 1 and self._vocabulary.piece(ids[0])[:1] == b" ":
            sizes[0] -= 1  # the blank that some vocabularies put in front
        elif extra:
            return None
        return list(accumulate(sizes, initial=self._length))[1:]


def _cuts(plain: Plain) -> list[int]:
    """Both ends of each content that holds a control token's text: tokenised apart, it comes back byte for byte."""
    forged = (place for place in plain.places if plain.is_broken(place.start, place.end))
    return sorted({border for place in forged for border in (place.start, place.end)})


def _byte_offsets(text: str, places: Iterable[Place]) -> dict[int, int]:
    """Bytes before each border of these places in UTF-8."""
    offsets = {0: 0}
    last = 0
    for position in sorted({border for place in places for border in (place.start, place.end)}):
        offsets[position] = offsets[last] + len(text[last:position].encode())
        last = position
    return offsets
