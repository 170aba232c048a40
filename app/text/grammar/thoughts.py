"""What a model thinks before it answers, as rules: free, up to the tag that ends it."""

from collections.abc import Iterable

from app.dialogue import ThoughtTags
from app.text.control import ControlTokens
from app.text.grammar.builder import Builder, Row
from app.text.grammar.watch import Awaited, Watch

_GAP = 4
"""Characters of white space that may stand before an opening tag and behind a closing one."""


def symbols(builder: Builder, control: ControlTokens, text: str) -> tuple[int, ...]:
    """A text with the control tokens in it as symbols of their own."""
    found: list[int] = []
    at = 0
    for match in control.pick(text, lambda _start, _end: True):
        found += text[at : match.start].encode()
        found.append(builder.mark(match.token))
        at = match.end
    return (*found, *text[at:].encode())


def exactly(builder: Builder, wanted: Iterable[int]) -> Row:
    """These symbols, one after the other."""
    return tuple(builder.symbols([(symbol, symbol)]) for symbol in wanted)


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
            return [(self._until(opened.closing), gap, answer)]
        rows: list[Row] = [(answer,)]
        for pair in tags:
            opening = self._exactly(pair.opening.strip())
            rows.append((gap, *opening, self._until(pair.closing), gap, answer))
            if pair.answer:
                rows.append((*self._exactly(pair.answer), gap, answer))
        return rows

    def _exactly(self, text: str) -> Row:
        return exactly(self._builder, symbols(self._builder, self._control, text))

    def _until(self, closing: str) -> int:
        """Anything up to and with `closing`."""
        end = Awaited(symbols(self._builder, self._control, closing), ())
        watch = Watch(self._builder, [end])
        watch.define()
        return watch.start
