"""What a text worker is asked for: a message, the time that it has, and whoever waits for the reply."""

import asyncio
from dataclasses import dataclass, field

from app.errors import AppError, FormError, TextRefused
from app.grammar.model import Constrain
from app.prompting import TryTemplate, UseTemplate
from app.wire import Inspect, Render, TextReply, Tokenize

Asked = Render | Tokenize | Constrain | Inspect

LONG = 100_000
"""Characters from which on a conversation is long: a tenth of a second and more."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The seconds that one request may take: `seconds`, and more for each million characters."""

    seconds: float = 2.0
    per_million: float = 20.0

    def of(self, characters: int) -> float:
        return self.seconds + self.per_million * characters / 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """In the order in which they are worked on: whoever asks for little does not wait for all who asked for much before,
    and nobody is passed over for longer than his own work may take."""

    due: float
    """When it would be late if it were begun as soon as it was asked for, to a tenth of a second: short ones that come
    together keep their order."""
    number: int
    message: Asked = field(compare=False)
    size: int = field(compare=False)
    """In characters."""
    seconds: float = field(compare=False)
    """That it may take."""
    reply: asyncio.Future[TextReply] = field(compare=False)

    @property
    def is_long(self) -> bool:
        """It takes long, as far as can be seen before."""
        return self.size >= LONG and isinstance(self.message, Render)

    @property
    def may_be_long(self) -> bool:
        """Nobody vouches for how long it takes, however short it is: grammars, and templates that are only tried."""
        match self.message:
            case Constrain() | Inspect(question=TryTemplate()):
                return True
        return self.is_long

    @property
    def changes_template(self) -> bool:
        """It is for the worker that stays."""
        return isinstance(self.message, Inspect) and isinstance(self.message.question, UseTemplate)

    def settle(self, outcome: TextReply | AppError) -> None:
        """Answer, where nobody has and somebody still waits."""
        if self.reply.done():
            return
        if isinstance(outcome, AppError):
            self.reply.set_exception(outcome)
        else:
            self.reply.set_result(outcome)

    def too_slow(self) -> AppError:
        """What is said of one that was not done in time."""
        seconds = f"{self.seconds:.1f} s"
        if isinstance(self.message, Constrain):
            field_name = self.message.form.field
            words = f"'{field_name}' took longer than {seconds} to prepare and was given up."
            return FormError(words, field_name)
        return TextRefused(
            f"Turning this text into tokens took longer than {seconds} and was given up.",
            "The model's chat template may be at fault, or the text is too long.",
        )
