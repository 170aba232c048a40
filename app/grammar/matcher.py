"""Follows a grammar symbol by symbol, with a bound on what that may cost.

A state is the set of all ways to go on: stacks of places in the grammar, of which the top one is a class.  Stacks share
their lower parts and have numbers, so that a state is a small set of numbers, and where it leads to is computed once.
Nothing here is recursive, and an ambiguous grammar cannot make it explode: a state of more than `MOST_STACKS` counts as
none, which refuses the symbol that leads there, and `effort` counts the work that was really done.

llama.cpp has such a follower too, and it is not used: a grammar of three lines keeps it busy without end within one call
(it holds every way apart, and does not see all rules that begin with themselves), a deep one overflows its stack, and
a forbidden token ends the process.  In the engine, where all chats wait for one loop, none of that may happen.
"""

import sys
from collections.abc import Iterable

from app.grammar.model import MARKS, Grammar

DEAD = 0
"""The state in which nothing is allowed."""

MOST_STACKS = 512
"""Ways to go on that a state may have; real grammars have one to a few dozen."""

_MOST_SEEN = 16 * MOST_STACKS
"""Stacks that may be looked at on the way to one state."""

_MOST_HELD = 100_000
"""Stacks, ways between states and members of states after which they are forgotten and found anew: some 20 MB."""

_MASK_SHARE = 64
"""Bytes of a mask that take the room of one member."""

_EMPTY = 0
_Stacks = frozenset[int]


class Matcher:
    """One grammar's states.  They are numbers that stay good until `compact`."""

    def __init__(self, grammar: Grammar) -> None:
        self.effort = 0
        """Stacks that were worked on so far."""
        self.most_effort = sys.maxsize
        """Where `effort` is beyond this, nothing new is found out: what is not known yet counts as forbidden."""
        self._code: list[int] = []
        self._ends: set[int] = set()
        self._begins: list[tuple[int, ...]] = []
        for rule in grammar.rules:
            self._begins.append(tuple(self._lay(alternative) for alternative in rule))
        self._kept = 0
        self._symbols = MARKS + len(grammar.marks)
        self._members = [_members(ranges, self._symbols) for ranges in grammar.classes]
        self._clear()
        self.start = self._state(self._closure({self._push(at, _EMPTY) for at in self._begins[0]}))

    def advance(self, state: int, symbols: Iterable[int]) -> int:
        """The state after these symbols; DEAD where one is not allowed."""
        ways = self._ways
        for symbol in symbols:
            after = ways.get((state, symbol))
            if after is None:
                after = self._step(state, symbol)
            if not after:
                return DEAD
            state = after
        return state

    def may_end(self, state: int) -> bool:
        """Whether the text may end here."""
        return _EMPTY in self._states[state]

    def is_over(self, state: int) -> bool:
        """Whether the text can only end here."""
        return self._states[state] == {_EMPTY}

    def following(self, state: int) -> bytes:
        """For each symbol 1 where some way goes on with it, else 0."""
        known = self._following.get(state)
        if known is None:
            masks = {self._code[self._top[node]] for node in self._states[state] if node}
            union = 0
            for item in masks:
                union |= int.from_bytes(self._members[~item], "little")
            known = self._following[state] = union.to_bytes(self._symbols, "little")
            self._held += self._symbols // _MASK_SHARE
        return known

    def stacks(self, state: int) -> int:
        """How many ways there are to go on."""
        return len(self._states[state])

    def compact(self, state: int) -> int:
        """Forget all states but this one, where there have come to be many; the number that it has from now on."""
        if len(self._top) + len(self._ways) + self._held < _MOST_HELD + 2 * self._kept:
            return state
        kept, top, below = self._states[state], self._top, self._below
        used: set[int] = set()
        for stack in kept:
            node = stack
            while node and node not in used:
                used.add(node)
                node = below[node]
        self._clear()
        # What is below has the smaller number, and is shared again.
        numbers = {_EMPTY: _EMPTY}
        for node in sorted(used):
            numbers[node] = self._push(top[node], numbers[below[node]])
        self._kept = len(self._top)
        return self._state(frozenset(numbers[node] for node in kept))

    def _lay(self, alternative: Iterable[int]) -> int:
        """Put an alternative into `_code`, an end behind it; where it begins."""
        begin = len(self._code)
        self._code += alternative
        self._ends.add(len(self._code))
        self._code.append(0)
        return begin

    def _clear(self) -> None:
        self._top: list[int] = [-1]
        self._below: list[int] = [_EMPTY]
        self._nodes: dict[tuple[int, int], int] = {}
        self._closures: dict[int, _Stacks] = {_EMPTY: frozenset([_EMPTY])}
        self._states: list[_Stacks] = [frozenset()]
        self._numbers: dict[_Stacks, int] = {self._states[0]: DEAD}
        self._ways: dict[tuple[int, int], int] = {}
        self._following: dict[int, bytes] = {}
        self._held = 0

    def _push(self, place: int, below: int) -> int:
        """The stack with this place on top; a place at the end of its alternative is not kept."""
        if place in self._ends:
            return below
        key = (place, below)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = len(self._top)
            self._top.append(place)
            self._below.append(below)
        return node

    def _state(self, stacks: _Stacks) -> int:
        number = self._numbers.get(stacks)
        if number is None:
            number = self._numbers[stacks] = len(self._states)
            self._states.append(stacks)
            self._held += len(stacks)
        return number

    def _step(self, state: int, symbol: int) -> int:
        if self.effort > self.most_effort:
            return DEAD
        stacks = self._states[state]
        self.effort += len(stacks)
        after: set[int] = set()
        for node in stacks:
            if node and self._members[~self._code[self._top[node]]][symbol]:
                after.add(self._push(self._top[node] + 1, self._below[node]))
        reached = self._ways[state, symbol] = self._state(self._closure(after))
        return reached

    def _closure(self, nodes: set[int]) -> _Stacks:
        """All stacks with a class on top, and the empty one, that these come to without a symbol; none if too many."""
        if len(nodes) != 1:
            return self._open(nodes)
        (node,) = nodes
        known = self._closures.get(node)
        if known is None:
            known = self._closures[node] = self._open(nodes)
            self._held += len(known)
        return known

    def _open(self, nodes: set[int]) -> _Stacks:
        seen = set(nodes)
        todo = list(nodes)
        found: set[int] = set()
        while todo:
            if len(found) > MOST_STACKS or len(seen) > _MOST_SEEN:
                self.effort += len(seen)
                return frozenset()
            node = todo.pop()
            place = self._top[node]
            item = self._code[place] if node else -1
            if item < 0:
                found.add(node)
                continue
            below = self._push(place + 1, self._below[node])
            for begin in self._begins[item]:
                inner = self._push(begin, below)
                if inner not in seen:
                    seen.add(inner)
                    todo.append(inner)
        self.effort += len(seen)
        return frozenset(found)


def _members(ranges: Iterable[tuple[int, int]], symbols: int) -> bytes:
    table = bytearray(symbols)
    for low, high in ranges:
        end = min(high + 1, symbols)
        table[low:end] = b"\x01" * (end - low)
    return bytes(table)
