"""One model's texts: what the worker answers with, without any process around it."""

import logging
from dataclasses import replace
from pathlib import Path

from app import wire
from app.dialogue import Calling, ChatLine, Thinking, ThoughtTags, Wishes
from app.errors import FormError, TextError
from app.grammar.model import CallForm, Constrain, Constrained, Form, FormRefused, Grammar
from app.prompting import (
    Adopted,
    Finding,
    ListTemplates,
    NameTokens,
    Question,
    TryTemplate,
    UseTemplate,
)
from app.text import formats, reasoning
from app.text.calls.learning import learn
from app.text.formats import Format, Origin
from app.text.grammar.calls import manners
from app.text.grammar.forms import calls_grammar_of, grammar_of
from app.text.inspection import Inspector
from app.text.limits import Allowance
from app.text.marks import Plain
from app.text.prompt import MAX_CHARACTERS, Composer, ToolTemplate
from app.text.recommended import advised
from app.text.template import TemplateFailed, TemplateTooHeavy
from app.text.tokens import Encoder
from app.text.vocabulary import LlamaVocabulary

_log = logging.getLogger(__name__)

_PROBE = (ChatLine("user", "one"), ChatLine("assistant", "two"), ChatLine("user", "three"))
_DATED = (
    "The chat template writes the date into the prompt; a chat keeps the date of its first day, "
    "so that nothing has to be read again."
)
_ANOTHER = "Edit this model's prompt template, or choose another model."
_GRAMMARS = 16
"""Grammars that are kept."""
_Grammar = tuple[Form | CallForm, ThoughtTags | None, tuple[ThoughtTags, ...]]
"""What one is made of."""
_TWO_DAYS = (1_000_000_000.0, 1_200_000_000.0)


class TextSession:
    """A loaded vocabulary and its prompt format.  For one thread; raises ModelError where the file is no use.

    `template` is the user's own, used where it works.
    """

    def __init__(self, path: Path, template: str = "") -> None:
        vocabulary = self._vocabulary = LlamaVocabulary(path)
        self._encoder = Encoder(vocabulary)
        bos, eos = vocabulary.text(vocabulary.bos), vocabulary.text(vocabulary.eos)
        self._origin = Origin(vocabulary.templates, vocabulary.control, bos, eos)
        self._usual = formats.choose(vocabulary.templates, vocabulary.control, bos=bos, eos=eos)
        self._advised, self._remarks = advised(vocabulary.advised)
        self._grammars: dict[_Grammar, Grammar] = {}
        self._take(self._wanted_or_usual(template))

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
            fingerprint=self._vocabulary.fingerprint,
            notes=self._notes,
            stop=self.format.stop,
            thinking=self.thinking,
            calling=self.calling,
            recommended=self._advised,
        )

    def inspect(self, request: wire.Inspect) -> wire.Inspected | wire.TextFailed:
        """The answer to a question about the format, after which it may be another."""
        try:
            return wire.Inspected(request.request_id, self._found(request.question))
        except TextError as error:
            return wire.TextFailed(request.request_id, formats.located(error))

    def _found(self, question: Question) -> Finding:
        inspector = Inspector(self._vocabulary, self._encoder, self._origin)
        match question:
            case ListTemplates():
                return inspector.templates(self._usual, self.format)
            case TryTemplate(text=text, lines=lines):
                return inspector.try_template(text, lines)
            case NameTokens(tokens=tokens):
                return inspector.names(tokens)
            case UseTemplate(text=text):
                return self._use(text)

    def _use(self, text: str) -> Adopted:
        self._take(formats.wanted(text, self._origin) if text else self._usual)
        return Adopted(
            self.end_tokens,
            self.format.name,
            self._notes,
            self.format.stop,
            self.thinking,
            self.calling,
        )

    def _wanted_or_usual(self, text: str) -> Format:
        """The user's own format, or the model's with a word on why it is not the user's."""
        if not text:
            return self._usual
        try:
            return formats.wanted(text, self._origin)
        except TextError as error:
            note = (
                f"Your prompt template for this model cannot be used. {formats.located(error)} "
                "What it has by itself is used instead."
            )
            return replace(self._usual, notes=(note, *self._usual.notes))

    def _take(self, chosen: Format) -> None:
        """Use this format, and see what it does: with the trial before it, in the time that one request has."""
        self.format = chosen
        self._composer = Composer(chosen.template, self._vocabulary.control, chosen.spare)
        self.end_tokens = self._vocabulary.end_tokens
        self.thinking = Thinking()
        self.calling = Calling()
        self.dated = False
        allowance = chosen.template.allowance or Allowance()
        tried = [one for one in (chosen.template, chosen.for_tools) if one is not None]
        for template in tried:
            template.allowance = allowance
        self._learn()
        for template in tried:
            template.allowance = None

    @property
    def _notes(self) -> tuple[str, ...]:
        dated = (_DATED,) if self.dated else ()
        return (*self.format.notes, *dated, *self._remarks)

    def render(self, request: wire.Render) -> wire.Rendered | wire.TextFailed:
        """The prompt, or why there is none."""
        try:
            composed = self._composer.compose(request.lines, request.wishes, request.tools)
            prompt = self._encoder.encode(composed.plain, composed.lines)
        except TextError as error:
            return wire.TextFailed(request.request_id, _no_prompt(error))
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
        try:
            return wire.Tokenized(request.request_id, len(self._vocabulary.tokenize(request.text)))
        except TextError as error:
            return wire.TextFailed(request.request_id, str(error))

    def constrain(self, request: Constrain) -> Constrained | FormRefused:
        """The grammar of an answer, or why there is none; what is thought before the answer is free."""
        key = (request.form, request.opened, self._openings(request))
        try:
            grammar = self._grammars.get(key) or self._grammar(*key)
        except FormError as error:
            return FormRefused(request.request_id, error.what)
        # A program asks for the same form again and again; the one that was asked for longest ago goes.
        self._grammars.pop(key, None)
        self._grammars[key] = grammar
        if len(self._grammars) > _GRAMMARS:
            del self._grammars[next(iter(self._grammars))]
        return Constrained(request.request_id, grammar)

    def _openings(self, request: Constrain) -> tuple[ThoughtTags, ...]:
        """The tags with which the model may begin to think by itself."""
        if request.opened is not None:
            return ()
        tags = self.thinking.tags
        if isinstance(request.form, CallForm) and request.form.free:
            return tags
        if request.thinking is False:
            return ()
        return reasoning.spoken_of(tags, self.format.template.source, self._vocabulary.control)

    def _grammar(
        self, form: Form | CallForm, opened: ThoughtTags | None, tags: tuple[ThoughtTags, ...]
    ) -> Grammar:
        control = self._vocabulary.control
        if isinstance(form, Form):
            return grammar_of(form, control=control, opened=opened, tags=tags)
        template = self.format.for_tools or self.format.template
        written = manners(self.calling.form, template.source, control, folded=form.folded)
        if self.calling.single:
            form = replace(form, single=True)
        return calls_grammar_of(form, written, control=control, opened=opened, tags=tags)

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
        return "The chat template refused this conversation; a known format was used instead."


def _no_prompt(error: TextError) -> str:
    """Why a conversation has no prompt, and what to do."""
    match error:
        case TemplateFailed():
            return f"The chat template refuses this conversation. {error.what} {_ANOTHER}"
        case TemplateTooHeavy():
            return f"{error.what} {_ANOTHER}"
    return str(error)
