"""What a model thinks before it answers, as rules: free, up to the tag that ends it."""

from collections.abc import Iterable, Sequence

from app.dialogue import ThoughtTags
from app.grammar.model import BYTES
from app.text.control import ControlTokens
from app.text.grammar.builder import Builder, Row
from app.text.grammar.characters import without

_GAP = 4
"""Characters of white space that may stand before an opening tag and behind a closing one."""


class Thoughts:
    """Puts thoughts before an answer.  The control tokens in tags are symbols of their own."""

    def __init__(self, builder: Builder, control: ControlTokens) -> None:
        self._builder = builder
        self._control = control

    def before(
        self, answer: int, opened: ThoughtTags | None, tags: Iterable[ThoughtTags]
    ) -> list[Row]:
        """The alternatives for all that is written: with `opened` the prompt has begun the thoughts, else `tags` may."""
        build = self._builder
        blank = build.characters([(9, 10), (13, 13), (32, 32)])
        gap = build.choice("gap", build.repeat((blank,), 0, _GAP, "gap"))
        if opened is not None:
            return [(self._until(self._symbols(opened.closing)), gap, answer)]
        rows: list[Row] = [(answer,)]
        for pair in tags:
            opening = self._exactly(self._symbols(pair.opening.strip()))
            rows.append((gap, *opening, self._until(self._symbols(pair.closing)), gap, answer))
            if pair.answer:
                rows.append((*self._exactly(self._symbols(pair.answer)), gap, answer))
        return rows

    def _symbols(self, text: str) -> list[int]:
        symbols: list[int] = []
        at = 0
        for match in self._control.pick(text, lambda _start, _end: True):
            symbols += text[at : match.start].encode()
            symbols.append(self._builder.mark(match.token))
            at = match.end
        return [*symbols, *text[at:].encode()]

    def _exactly(self, symbols: Iterable[int]) -> Row:
        return tuple(self._builder.symbols([(symbol, symbol)]) for symbol in symbols)

    def _until(self, closing: Sequence[int]) -> int:
        """Anything up to and with `closing`: one rule for each number of its symbols that were just seen."""
        build = self._builder
        states = [build.reserve("thoughts") for _ in closing]
        wanted = sorted(set(closing))
        last = max(BYTES - 1, *closing)
        others = without([(0, last)], [(symbol, symbol) for symbol in wanted])
        for seen, state in enumerate(states):
            rows: list[Row] = [(build.symbols(others), states[0])]
            for symbol in wanted:
                after = _overlap(closing, [*closing[:seen], symbol])
                item = build.symbols([(symbol, symbol)])
                rows.append((item,) if after == len(closing) else (item, states[after]))
            build.define(state, *rows)
        return states[0]


def _overlap(closing: Sequence[int], seen: Sequence[int]) -> int:
    """The length of the longest end of `seen` that begins `closing`."""
    return next(
        size
        for size in range(min(len(seen), len(closing)), -1, -1)
        if list(seen[len(seen) - size :]) == list(closing[:size])
    )
