"""Free text in which some texts are waited for, as rules.

One rule for each number of their symbols that were just seen, as Aho and Corasick have it: whatever comes between them, there
is one way to go on at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.grammar.model import BYTES
from app.text.grammar.builder import Builder, Row
from app.text.grammar.characters import without

_ALL = 1_000_000
"""Beyond the symbol of any control token."""
_BLANK = (9, 10, 13, 32)


@dataclass(frozen=True, slots=True)
class Awaited:
    """When these `symbols` have come, `then` follows.  `leading`: only at the very beginning, white space apart."""

    symbols: tuple[int, ...]
    then: Row
    leading: bool = False


_Seen = frozenset[tuple[int, int]]
"""Which of what is awaited may have begun, and how many of its symbols were seen."""


class Watch:
    """Any symbols up to the first of what is awaited; of several that come at once the first one counts.

    `ragged`: the text may also end before, and control tokens that nobody named may be in it.  `start` is the rule for
    all of it, `again` the one for text that goes on.
    """

    def __init__(
        self, builder: Builder, awaited: Sequence[Awaited], *, ragged: bool = False
    ) -> None:
        self._builder = builder
        self._awaited = tuple(awaited)
        self._ragged = ragged
        self._rules: dict[_Seen, int] = {}
        self._todo: list[_Seen] = []
        self._base = frozenset((i, 0) for i, one in enumerate(awaited) if not one.leading)
        self._first = frozenset((i, 0) for i in range(len(awaited)))
        self.again = self._rule(self._base)
        self.start = self._rule(self._first)

    def define(self) -> None:
        """Make the rules; raises FormError where they grow too large."""
        while self._todo:
            seen = self._todo.pop()
            self._builder.define(self._rules[seen], *self._rows(seen))

    def _rule(self, seen: _Seen) -> int:
        rule = self._rules.get(seen)
        if rule is None:
            rule = self._rules[seen] = self._builder.reserve("text")
            self._todo.append(seen)
        return rule

    def _rows(self, seen: _Seen) -> list[Row]:
        wanted = {self._awaited[index].symbols[count] for index, count in seen}
        leads = any(self._awaited[index].leading and not count for index, count in seen)
        named = sorted(wanted.union(_BLANK) if leads else wanted)
        others = without(
            [(0, _ALL if self._ragged else BYTES - 1)], [(symbol, symbol) for symbol in named]
        )
        rows: list[Row] = [(self._builder.symbols(others), self.again)]
        for symbol in named:
            item = self._builder.symbols([(symbol, symbol)])
            found, after = self._after(seen, symbol)
            rows.append((item, *found) if found is not None else (item, self._rule(after)))
        return [*rows, ()] if self._ragged else rows

    def _after(self, seen: _Seen, symbol: int) -> tuple[Row | None, _Seen]:
        """What follows this symbol: of what has now come, or what may have begun."""
        going = sorted(pair for pair in seen if self._awaited[pair[0]].symbols[pair[1]] == symbol)
        for index, count in going:
            if count + 1 == len(self._awaited[index].symbols):
                return self._awaited[index].then, frozenset()
        after = {(index, count + 1) for index, count in going} | self._base
        if symbol in _BLANK:
            after |= {pair for pair in seen if self._awaited[pair[0]].leading and not pair[1]}
        return None, frozenset(after)
