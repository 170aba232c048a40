"""One answer and the grammar that it has to keep: which tokens may come next.  Pure.

The tokens that were chosen are all it remembers, so that it can be made anew from them.  No token is taken in that the
grammar forbids, and the work for one choice has a limit.
"""

import sys
from collections import deque
from collections.abc import Iterable, Set

from app.engine.lexicon import Lexicon
from app.grammar.matcher import DEAD, Matcher
from app.grammar.model import BYTES, MARKS, OTHER, Grammar

EFFORT = 2_000
"""Stacks that a choice may work on, each time: 1.5 ms; usual are a few dozen."""

MOST_EFFORT = 20_000
"""What earlier choices left over counts up to this."""

MOST_AT_ONCE = 1_000
"""Tokens written before that are taken in at a time; they work on no more than `MOST_EFFORT` stacks, and one token's."""


class Constraint:
    """`ends` are the tokens that end an answer; they are allowed where the grammar may end, and only there.

    `written` are the tokens that were chosen before.  They may be many, and all chats wait meanwhile: `catch_up` takes
    them in bit by bit, and only when none is `behind` the next one can be chosen.  After any that the grammar forbids, or
    that takes more work than a choice may, nothing is allowed.
    """

    def __init__(
        self, grammar: Grammar, lexicon: Lexicon, ends: Set[int], written: Iterable[int] = ()
    ) -> None:
        self._matcher = Matcher(grammar)
        self._state = self._matcher.start
        self._lexicon = lexicon
        self._ends = ends
        self._marks = {token: (MARKS + index,) for index, token in enumerate(grammar.marks)}
        self._written = deque(written)
        self._given_up = False
        self._matcher.most_effort = self._matcher.effort + MOST_EFFORT

    @property
    def behind(self) -> bool:
        """Whether some of what was written before is still to be taken in."""
        return bool(self._written)

    def catch_up(self) -> None:
        """Take in more of what was written before, as much as may be done between two steps of all chats."""
        enough = self._matcher.effort + MOST_EFFORT
        for _ in range(min(MOST_AT_ONCE, len(self._written))):
            if self._matcher.effort > enough:
                return
            self._allow()
            if not self.take(self._written.popleft()):
                self._given_up = self.exhausted
                self._state = DEAD
                self._written.clear()
                return

    @property
    def is_over(self) -> bool:
        """Whether nothing can follow any more."""
        return self._matcher.is_over(self._state)

    @property
    def exhausted(self) -> bool:
        """Whether this choice, or what was written before, took too much work; what was not looked at yet counts as
        forbidden."""
        return self._given_up or self._matcher.effort > self._matcher.most_effort

    def begin_choice(self) -> None:
        """From here on the work counts for the next token."""
        self._allow()
        self._lexicon.learn()

    def allows(self, token: int) -> bool:
        """Whether this token may be the next one."""
        return self._after(token) != DEAD

    def allowed(self, tokens: Iterable[int]) -> list[int]:
        """Those of these tokens that may come next, in their order."""
        return [token for token in tokens if self._after(token) != DEAD]

    def candidates(self, most: int = sys.maxsize) -> list[int] | None:
        """Every token that may come next by its first byte; None where they are more than `most`."""
        following = self._matcher.following(self._state)
        tokens = self._lexicon.beginning(byte for byte in range(BYTES) if following[byte])
        if len(tokens) > most:
            return None
        return [*self._ends, *self._marks, *tokens.tolist()]

    def take(self, token: int) -> bool:
        """Go on behind this token; False, and nothing changed, where it is forbidden."""
        after = self._after(token)
        if after == DEAD:
            return False
        if token not in self._ends or token in self._marks:
            self._state = self._matcher.compact(after)
        return True

    def _allow(self) -> None:
        done = self._matcher.effort
        left = max(0, self._matcher.most_effort - done)
        self._matcher.most_effort = done + min(left + EFFORT, MOST_EFFORT)

    def _after(self, token: int) -> int:
        symbols = self._marks.get(token)
        if symbols is not None:
            after = self._matcher.advance(self._state, symbols)
            if after != DEAD:
                return after
        if token in self._ends:
            return self._state if self._matcher.may_end(self._state) else DEAD
        return self._matcher.advance(self._state, self._lexicon.piece(token) or (OTHER,))
