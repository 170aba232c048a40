"""How one model's tokens read: the bytes of each, the tags around what it thinks, its form of calls.  Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from app.dialogue import Calling, Thinking, ThoughtTags, Toolbox
from app.text.calls.forms import Form, with_symbols
from app.text.calls.kinds import kinds
from app.text.calls.known import BLOCK, FORMS
from app.text.calls.split import CallSplit
from app.text.stream import Vocabulary
from app.text.thoughts import symbols


class Voice:
    """Shared by all answers of one loaded model.

    In `tags` each control token is a character that no text has; `symbols` are these characters by token.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        thinking: Thinking = Thinking(),
        calling: Calling = Calling(),
    ) -> None:
        self.vocabulary = vocabulary
        marks = tuple(dict.fromkeys(thinking.marks + calling.marks))
        self.tags, self.symbols = symbols(thinking.tags, marks)
        self._told = dict(zip(thinking.tags, self.tags, strict=True))
        self._letters = {
            text: self.symbols[token] for token, text in marks if token in self.symbols
        }
        self._calling = calling

    def calls(self, toolbox: Toolbox, *, folded: bool = False) -> CallSplit | None:
        """What reads the calls out of an answer; None where none are wanted.

        `folded`: the prompt asks for calls in the one form; its model may write its own all the same.
        """
        if not toolbox.tools or toolbox.closed:
            return None
        forms = self._folded_forms() if folded else self._form(self._calling.form)
        single = toolbox.single or self._calling.single
        return CallSplit(forms, kinds(toolbox.tools), single=single)

    def interrupts(self, calls: CallSplit | None) -> list[str] | None:
        """The texts of control tokens with which these calls begin even inside reasoning; None where none are read."""
        if calls is None:
            return None
        signs = set(self._letters.values())
        return [text for text in calls.in_thoughts if not signs.isdisjoint(text)]

    def _form(self, name: str) -> list[Form]:
        return [with_symbols(FORMS[name], self._letters)] if name in FORMS else []

    def _folded_forms(self) -> list[Form]:
        """The form that was asked for, in the control tokens that the vocabulary may have for it and in letters."""
        asked = FORMS[BLOCK]
        forms = [asked, *self._form(BLOCK)]
        if self._calling.form != BLOCK:
            forms += self._form(self._calling.form)
        return forms

    def told(self, opened: ThoughtTags | None) -> ThoughtTags | None:
        """These tags as they stand in `tags`."""
        return None if opened is None else self._told[opened]

    def within(self, ids: Sequence[int], text: str, *, last: bool = False) -> tuple[int, ...]:
        """Those of `ids` in a row whose bytes are exactly `text`, the first such ones or the `last`; () if none are."""
        if not text:
            return ()
        pieces = [self.vocabulary.piece(token) for token in ids]
        whole, sought = b"".join(pieces), text.encode()
        if whole.decode("utf-8", "replace") == text:
            return tuple(ids)
        start = whole.rfind(sought) if last else whole.find(sought)
        ends = list(accumulate(map(len, pieces)))
        if start < 0:
            return ()
        low = bisect_right(
            ends, start
        )  # control tokens before it, whose pieces are empty, stay out
        high = bisect_left(ends, start + len(sought)) + 1
        found = ids[low:high]
        return tuple(found) if self.vocabulary.join(found) == sought else ()
