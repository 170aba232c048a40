"""How likely the tokens of an answer were, each on its way to the text that it belongs to.  Pure.

A token goes out with the text that brings its last byte, however long a stop string, a character or a tag holds that
back; with the last text before a stop string also a token that is only begun there.  Tokens of the reasoning, of tags
and of a stop string do not go out: what goes out is the answer.
"""

from collections import deque
from dataclasses import dataclass

from app.chat.ports import Chance, Likelihood
from app.client.voice import Voice
from app.sampling import LogProbs
from app.wire import TokenOut


@dataclass(frozen=True, slots=True)
class _Token:
    """Its bytes are [start, end) of all that were written."""

    start: int
    end: int
    likelihood: Likelihood


class Likelihoods:
    """Of one answer: `feed` each token, then `come_out` with the text that it brought, and `take` what is out."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._waiting: deque[_Token] = deque()
        self._out: list[Likelihood] = []
        self._fed = 0
        self._answering = False

    def feed(self, event: TokenOut) -> None:
        """A token that was written; one without a log-probability only counts."""
        symbol = self._voice.symbols.get(event.token)
        piece = self._voice.vocabulary.piece(event.token)
        start = self._fed
        self._fed += len(piece) if symbol is None else len(symbol.encode())
        if event.logprobs is not None:
            likelihood = self._likelihood(piece, event.logprobs)
            self._waiting.append(_Token(start, self._fed, likelihood))

    def come_out(self, text: str, *, held: int, answering: bool | None, over: bool = False) -> None:
        """`text` of the answer came out, and `held` bytes of what was written did not.

        `answering` says whether what comes now is the answer (None: not known yet); once it is `over` nothing more
        comes out.
        """
        end = self._fed - held
        # Before the text with which the answer begins, there were only tags.
        begin = -1 if self._answering else end - len(text.encode())
        self._answering = bool(answering)
        if answering is None:
            return
        while self._waiting and (over or self._waiting[0].end <= end):
            token = self._waiting.popleft()
            if answering and token.end > begin and (token.end <= end or token.start < end):
                self._out.append(token.likelihood)

    def take(self) -> tuple[Likelihood, ...]:
        """What came out since the last time."""
        found, self._out = tuple(self._out), []
        return found

    def _likelihood(self, piece: bytes, logprobs: LogProbs) -> Likelihood:
        pieces = map(self._voice.vocabulary.piece, logprobs.tokens)
        return Likelihood(
            Chance(piece, logprobs.own),
            tuple(Chance(*pair) for pair in zip(pieces, logprobs.values, strict=True)),
        )
