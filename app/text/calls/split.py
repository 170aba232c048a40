"""Calls of tools, apart from what else a model answers.  Pure and sans-IO.

`CallSplit` takes the text of one answer as it comes, behind its reasoning, and says which part is text and which is a
call.  Promises: it does not depend on how the text was cut into pieces; the arguments of a call that is done are the JSON
of an object; what is no call is text, as it was written; and nothing is held back but what may still become a call, and
white space beside one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.text.calls.forms import Form
from app.text.calls.kinds import Kinds
from app.text.calls.reading import (
    CallBegun,
    CallBroken,
    CallDone,
    CallMore,
    Input,
    NoCall,
    Reading,
    Told,
)
from app.text.thoughts import Part, begun, without_symbols


class CallSplit:
    """`single`: the answer is over with the first call, and `full` says that it was."""

    def __init__(self, forms: Sequence[Form], tools: Kinds, *, single: bool = False) -> None:
        self.full = False
        self._forms = tuple(forms)
        self._single = single
        self._open = False
        self._called = False
        self._source = Input(tools)
        self._steps: Iterator[Told | None] = self._read()

    @property
    def in_thoughts(self) -> list[str]:
        """The texts with which calls begin even inside reasoning."""
        return [text for form in self._forms for text in form.in_thoughts]

    def feed(self, text: str) -> list[Told]:
        """What is certain now."""
        self._source.held += text
        return self._run()

    def flush(self, *, cut: bool = False) -> list[Told]:
        """The rest; to be called when the answer is over: `cut` where it was not the model that ended it."""
        self._source.ended = True
        self._source.cut = cut
        return self._run()

    def _run(self) -> list[Told]:
        if self.full:
            return []
        told: list[Told] = []
        for step in self._steps:
            if step is None:
                break
            told.append(step)
            if self._is_over_with(step):
                break
        return _plain(told)

    def _is_over_with(self, step: Told) -> bool:
        """Note that this was told; whether nothing more is wanted then."""
        if isinstance(step, CallDone | CallBroken):
            self._source.mark()
        self._open = isinstance(step, CallBegun | CallMore)
        self._called = not isinstance(step, Part | CallBroken)
        self.full = self._single and isinstance(step, CallDone)
        return self.full

    def _read(self) -> Reading[None]:
        for form in self._forms:
            if form.at_start:
                self._source.mark()
                yield from self._call(form, "")
        while True:
            opening = yield from self._text()
            if not opening:
                return
            self._source.mark()
            self._source.take(self._source.held.index(opening) + len(opening))
            found = next((form for form in self._forms if opening in form.openings), None)
            if found is not None:
                yield from self._call(found, opening)

    def _call(self, form: Form, opening: str) -> Reading[None]:
        self._source.opening = opening
        try:
            yield from form.read(self._source)
        except NoCall:
            if self._open and self._source.cut:
                self._source.take(
                    len(self._source.held)
                )  # it was cut off in the call: all that is left is of it
            text = self._source.taken
            if self._open:
                yield CallBroken(text)
            elif text.isspace():
                self._source.held = text + self._source.held  # nothing was read yet
            elif text:
                yield Part(text)

    def _text(self) -> Reading[str]:
        """Tell text up to what begins a call, or stands beside one; "" where the answer ends."""
        source = self._source
        openings = [text for form in self._forms for text in (*form.openings, *form.around)]
        while True:
            if self._called:
                source.take(len(source.held) - len(source.held.lstrip()))
            places = ((source.held.find(opening), -len(opening)) for opening in openings)
            at, size = min((place for place in places if place[0] >= 0), default=(-1, 0))
            sure = len(source.held) - max((begun(source.held, one) for one in openings), default=0)
            if 0 <= at <= sure or (at >= 0 and source.ended):
                opening: str | None = source.held[at : at - size]
                # The white space before it stays, for it may be no call.
                text = source.take(len(source.held[:at].rstrip()))
            elif source.ended:
                opening, text = "", source.take(len(source.held))
            else:
                opening, text = None, source.take(len(source.held[:sure].rstrip()))
            if text:
                yield Part(text)
            if opening is not None:
                return opening
            yield None


def _plain(told: Iterable[Told]) -> list[Told]:
    """Without symbols and without what is empty."""
    plain: list[Told] = []
    for one in told:
        if isinstance(one, Part | CallMore | CallBroken):
            text = without_symbols(one.text)
            if text or isinstance(one, CallBroken):
                plain.append(replace(one, text=text))
        else:
            plain.append(one)
    return plain
