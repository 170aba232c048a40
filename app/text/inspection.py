"""What people may see of templates and tokens; nothing here changes what prompts are made with."""

from collections.abc import Sequence
from typing import Protocol

from app.dialogue import ChatLine
from app.errors import TextError
from app.prompting import MAX_TEMPLATE, TemplateSet, TokenNames, Trial
from app.text import formats
from app.text.formats import Format, Origin
from app.text.marks import Plain
from app.text.template import TemplateFailed
from app.text.tokens import Prompt


class Names(Protocol):
    """What is needed of a loaded vocabulary."""

    @property
    def size(self) -> int: ...

    def text(self, token: int | None) -> str:
        """The text that stands for a token in a template."""
        ...


class Encodes(Protocol):
    """What is needed of an encoder."""

    def encode(self, plain: Plain, lines: Sequence[ChatLine]) -> Prompt: ...


class Inspector:
    """Answers for one model."""

    def __init__(self, vocabulary: Names, encoder: Encodes, origin: Origin) -> None:
        self._vocabulary = vocabulary
        self._encoder = encoder
        self._origin = origin

    def templates(self, usual: Format, present: Format) -> TemplateSet:
        """All that there are; of an endless one only the beginning."""
        own = tuple((name, text[:MAX_TEMPLATE]) for name, text in self._origin.texts.items())
        return TemplateSet(own, _shown(usual), _shown(present))

    def try_template(self, text: str, lines: Sequence[ChatLine]) -> Trial:
        """The tokens of these lines, or what is wrong with the template."""
        try:
            _, plain = formats.check(text, lines, self._origin)
        except TemplateFailed as error:
            return Trial(problem=error.what, line=error.line)
        except TextError as error:
            return Trial(problem=str(error))
        return Trial(self._encoder.encode(plain, lines).tokens)

    def names(self, tokens: Sequence[int]) -> TokenNames:
        """One text for each; "" for what is no token of this model."""
        size = self._vocabulary.size
        known = (token if 0 <= token < size else None for token in tokens)
        return TokenNames(tuple(self._vocabulary.text(token) for token in known))


def _shown(chosen: Format) -> tuple[str, str]:
    return chosen.name, chosen.template.source
