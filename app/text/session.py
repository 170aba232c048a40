"""One model's texts: what the worker answers with, without any process around it."""

import logging
from pathlib import Path

from app import wire
from app.dialogue import Calling, ChatLine, Thinking, Wishes
from app.errors import TextError
from app.text import formats, reasoning
from app.text.calls.learning import learn
from app.text.marks import Plain
from app.text.prompt import MAX_CHARACTERS, Composer, ToolTemplate
from app.text.recommended import advised
from app.text.tokens import Encoder
from app.text.vocabulary import LlamaVocabulary

_log = logging.getLogger(__name__)

_PROBE = (ChatLine("user", "one"), ChatLine("assistant", "two"), ChatLine("user", "three"))
_DATED = (
    "The model's chat template writes the date into the prompt; a chat keeps the date of its first day, "
    "so that nothing has to be read again."
)
_TWO_DAYS = (1_000_000_000.0, 1_200_000_000.0)


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
        self.end_tokens = self._vocabulary.end_tokens
        self.thinking = Thinking()
        self.calling = Calling()
        self.dated = False
        self._learn()

    def close(self) -> None:
        """Free the vocabulary."""
        self._vocabulary.close()

    def loaded(self) -> wire.VocabularyLoaded:
        """What the app needs to know."""
        values, remarks = advised(self._vocabulary.advised)
        return wire.VocabularyLoaded(
            pieces=self._vocabulary.pieces,
            ends=self._vocabulary.ends,
            end_tokens=self.end_tokens,
            format_name=self.format.name,
            notes=(*self.format.notes, *((_DATED,) if self.dated else ()), *remarks),
            stop=self.format.stop,
            thinking=self.thinking,
            calling=self.calling,
            recommended=values,
        )

    def render(self, request: wire.Render) -> wire.Rendered | wire.TextFailed:
        """The prompt, or why there is none."""
        try:
            composed = self._composer.compose(request.lines, request.wishes, request.tools)
        except TextError as error:
            return wire.TextFailed(request.request_id, str(error))
        prompt = self._encoder.encode(composed.plain, composed.lines)
        notes = (self._refused_note(),) if composed.refused else ()
        return wire.Rendered(
            request.request_id,
            prompt.tokens,
            prompt.spans[composed.added :],
            notes,
            reasoning.opened(composed.plain, self.thinking.tags),
            composed.folded,
        )

    def count(self, request: wire.Tokenize) -> wire.Tokenized | wire.TextFailed:
        """The number of tokens of a text as content."""
        length = len(request.text)
        if length > MAX_CHARACTERS:
            reason = f"This text has {length:,} characters, more than {MAX_CHARACTERS:,}."
            return wire.TextFailed(request.request_id, reason)
        return wire.Tokenized(request.request_id, len(self._vocabulary.tokenize(request.text)))

    def _learn(self) -> None:
        """See what the template does; one that cannot be tried stays as it is."""
        try:
            plain = self._probe(Wishes())
            mark = self._encoder.end_mark(plain, 1)
            if mark is not None and mark not in self.end_tokens:
                # With this the template really ends an answer.
                self.end_tokens = (*self.end_tokens, mark)
            source, control = self.format.template.source, self._vocabulary.control
            self.thinking = reasoning.thinking(self._probe, source, control)
            self.dated = len({self._probe(Wishes(now=now)).text for now in _TWO_DAYS}) > 1
            self._learn_calls()
        except TextError as error:
            _log.warning("the chat template could not be tried: %s", error)

    def _learn_calls(self) -> None:
        template = self.format.for_tools or self.format.template
        learned = learn(template, self._vocabulary.control)
        self.calling = learned.calling
        if learned.style is not None:
            self._composer = Composer(
                self.format.template,
                self._vocabulary.control,
                self.format.spare,
                ToolTemplate(template, learned.style),
            )

    def _probe(self, wishes: Wishes) -> Plain:
        return self._composer.compose(_PROBE, wishes).plain

    def _refused_note(self) -> str:
        return (
            "The model's chat template refused this conversation; a known format was used instead."
        )
