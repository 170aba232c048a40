"""What the app asks about a model's prompt format, and what it is told: templates, trials of them, prompts in words.

A template is its text.  Where one is to be used, "" stands for the model's own.
"""

from dataclasses import dataclass

from app.dialogue import Calling, ChatLine, Thinking

OWN = "the model's own"
"""The name of the format that a model gets by itself where its template works."""

EDITED = "edited by you"
"""The name of a format that the user wrote."""

MAX_TEMPLATE = 1_000_000
"""Longest template in characters; real ones have up to about 30,000."""

# --- asked of the text worker --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListTemplates:
    """All templates of this model; answered by `TemplateSet`."""


@dataclass(frozen=True, slots=True)
class TryTemplate:
    """Check this template and render these lines with it, changing nothing; answered by `Trial`."""

    text: str
    lines: tuple[ChatLine, ...]


@dataclass(frozen=True, slots=True)
class UseTemplate:
    """Render with this template from now on; answered by `Adopted`.  One that does not work is refused, and nothing
    changes."""

    text: str


@dataclass(frozen=True, slots=True)
class NameTokens:
    """The texts that stand for these tokens in a template, control tokens too; answered by `TokenNames`."""

    tokens: tuple[int, ...]


Question = ListTemplates | TryTemplate | UseTemplate | NameTokens

# --- told by it ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """`own` are the templates in the model's file, (name, text), the main one first and named "".

    `usual` is the format that the model gets by itself, (name, text), and `present` the one in use.
    """

    own: tuple[tuple[str, str], ...]
    usual: tuple[str, str]
    present: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Trial:
    """`tokens` of the lines, or the `problem` for which the template will not do, and its line (0: not known)."""

    tokens: tuple[int, ...] = ()
    problem: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a `VocabularyLoaded` says of the format, for one that came later."""

    end_tokens: tuple[int, ...]
    format_name: str
    notes: tuple[str, ...]
    stop: tuple[str, ...]
    thinking: Thinking
    calling: Calling


@dataclass(frozen=True, slots=True)
class TokenNames:
    """One text for each token that was asked for, in order; "" where there is none."""

    texts: tuple[str, ...]


Finding = TemplateSet | Trial | Adopted | TokenNames

# --- prompts, for people -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FedPrompt:
    """The tokens of one prompt, and the fingerprint of the model whose tokens they are."""

    model: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PromptSpan:
    """A stretch of a prompt: one control token by its name, or the text of all tokens up to the next."""

    text: str
    control: bool = False


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt in words: its spans in order, its tokens, and what each of them stands for by itself.

    `control` are those of the tokens that are control tokens.
    """

    spans: tuple[PromptSpan, ...] = ()
    tokens: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    control: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        """All of it as one string, control tokens by their names."""
        return "".join(span.text for span in self.spans)

    @property
    def controls(self) -> int:
        """How many control tokens there are."""
        return sum(span.control for span in self.spans)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What came of trying a template: the `prompt`, or the `problem` and its line (0: not known)."""

    prompt: PromptText = PromptText()
    problem: str = ""
    line: int = 0
