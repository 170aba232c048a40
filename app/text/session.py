"""One model's texts: what the worker answers with, without any process around it."""

from pathlib import Path

from app import wire
from app.errors import TextError
from app.text import formats
from app.text.prompt import MAX_CHARACTERS, Composer
from app.text.tokens import Encoder
from app.text.vocabulary import LlamaVocabulary
from app.wire import ChatLine

_PROBE = (ChatLine("user", "one"), ChatLine("assistant", "two"), ChatLine("user", "three"))


class TextSession:
    """A loaded vocabulary and its prompt format.  For one thread; raises ModelError where the file is no use."""

    def __init__(self, path: Path) -> None:
        self._vocabulary = LlamaVocabulary(path)
        self._encoder = Encoder(self._vocabulary)
        self.format = formats.choose(
            self._vocabulary.templates,
            self._vocabulary.control,
            bos=self._vocabulary.text(self._vocabulary.bos),
            eos=self._vocabulary.text(self._vocabulary.eos),
        )
        self._composer = Composer(self.format.template, self._vocabulary.control, self.format.spare)
        self.end_tokens = self._end_tokens()

    def close(self) -> None:
        """Free the vocabulary."""
        self._vocabulary.close()

    def loaded(self) -> wire.VocabularyLoaded:
        """What the app needs to know."""
        return wire.VocabularyLoaded(
            pieces=self._vocabulary.pieces,
            ends=self._vocabulary.ends,
            end_tokens=self.end_tokens,
            format_name=self.format.name,
            notes=self.format.notes,
            stop=self.format.stop,
        )

    def render(self, request: wire.Render) -> wire.Rendered | wire.TextFailed:
        """The prompt, or why there is none."""
        try:
            composed = self._composer.compose(request.lines)
        except TextError as error:
            return wire.TextFailed(request.request_id, str(error))
        prompt = self._encoder.encode(composed.plain, request.lines)
        notes = (self._refused_note(),) if composed.refused else ()
        return wire.Rendered(request.request_id, prompt.tokens, prompt.spans, notes)

    def count(self, request: wire.Tokenize) -> wire.Tokenized | wire.TextFailed:
        """The number of tokens of a text as content."""
        length = len(request.text)
        if length > MAX_CHARACTERS:
            reason = f"This text has {length:,} characters, more than {MAX_CHARACTERS:,}."
            return wire.TextFailed(request.request_id, reason)
        return wire.Tokenized(request.request_id, len(self._vocabulary.tokenize(request.text)))

    def _end_tokens(self) -> tuple[int, ...]:
        """The vocabulary's end tokens and the one with which the template really ends an answer."""
        known = self._vocabulary.end_tokens
        try:
            mark = self._encoder.end_mark(self._composer.compose(_PROBE).plain, 1)
        except TextError:
            return known
        return known if mark is None or mark in known else (*known, mark)

    def _refused_note(self) -> str:
        return (
            "The model's chat template refused this conversation; a known format was used instead."
        )
