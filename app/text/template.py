"""A chat template in a sandbox.

Templates come with model files, from anybody: they see data only, cannot change it and cannot reach Python.
They run under limits of memory and time, and one that keeps writing is stopped.  The names and filters are
those that templates written for Hugging Face expect.
"""

import json
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import Any, NoReturn

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from app.errors import TextError
from app.prompting import MAX_TEMPLATE
from app.text.limits import (
    TEMPLATE_MEMORY,
    TEMPLATE_SECONDS,
    Allowance,
    TooMuchTime,
    limited_memory,
    limited_time,
)

_FILE = "<template>"
"""What Jinja calls a template that comes from no file."""
_NO_NAMES: Mapping[str, object] = {}
_MAX_OUTPUT = 32_000_000
_MAX_PRODUCT = 1_000_000
_MAX_UNKNOWN_TAGS = 8
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNKNOWN_TAG = re.compile(r"unknown tag '(\w+)'")

# All that a template can raise: its expressions call methods of strings, numbers, lists and dicts, and its
# translation to Python can be too deep or too large for the compiler, or hold the name of a number: `inf`.
_FAILURES = (
    TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


class TemplateFailed(TextError):
    """A template cannot be compiled, or refuses a conversation; `what` is one plain sentence, `line` the template's
    (0: not known)."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.line = line


class TemplateTooHeavy(TextError):
    """A template was stopped because it takes too much time or memory."""


class ChatTemplate:
    """One compiled template; raises TemplateFailed or TemplateTooHeavy where it cannot be compiled.

    `typed` templates want a message's content as a list of parts instead of a string; templates that are `for_tools`
    want a list of them, though it be empty.  While it has an `allowance`, all that it does counts together.
    """

    def __init__(
        self,
        source: str,
        *,
        bos: str = "",
        eos: str = "",
        typed: bool = False,
        for_tools: bool = False,
        allowance: Allowance | None = None,
    ) -> None:
        if len(source) > MAX_TEMPLATE:
            raise TemplateFailed(f"It has {len(source):,} characters, far too many.")
        self.source = source
        self._names: dict[str, object] = {"bos_token": bos, "eos_token": eos}
        self._names |= {"tools": None, "documents": None, "add_generation_prompt": True}
        if for_tools:
            self._names |= {"tools": [], "functions": ""}
        self._typed = typed
        self.allowance = allowance
        with _limits(allowance):
            self._template = _compile(source)

    def render(
        self, messages: Sequence[Mapping[str, object]], names: Mapping[str, object] = _NO_NAMES
    ) -> str:
        """The prompt for these messages (`role`, `content` and what else a template may look at), up to where the
        answer begins; `names` are what it is told besides.

        Raises TemplateFailed when the template refuses them, TemplateTooHeavy when it had to be stopped.
        """
        told = {**self._names, **names, "messages": [self._shaped(message) for message in messages]}
        pieces: list[str] = []
        length = 0
        with _limits(self.allowance):
            for piece in self._template.generate(told):
                pieces.append(piece)
                length += len(piece)
                if length > _MAX_OUTPUT:
                    raise TemplateTooHeavy("The chat template does not come to an end.")
        # A template can write halves of pairs, which no tokeniser takes.
        return _SURROGATES.sub("\ufffd", "".join(pieces))

    def _shaped(self, message: Mapping[str, object]) -> dict[str, object]:
        shaped = dict(message)
        content = message.get("content")
        if self._typed and isinstance(content, str):
            shaped["content"] = [{"type": "text", "text": content}]
        return shaped


@contextmanager
def _limits(allowance: Allowance | None) -> Iterator[None]:
    """Run what a stranger wrote; every way in which it can fail becomes TemplateFailed or TemplateTooHeavy."""
    limited = limited_time(TEMPLATE_SECONDS) if allowance is None else allowance.limited()
    try:
        with limited_memory(TEMPLATE_MEMORY), limited:
            yield
    except MemoryError as error:
        raise TemplateTooHeavy("The chat template needs too much memory.") from error
    except TooMuchTime as error:
        raise TemplateTooHeavy("The chat template takes too long.") from error
    except _FAILURES as error:
        raise TemplateFailed(_plain(error), _line(error)) from error


class _Sandbox(ImmutableSandboxedEnvironment):
    """Also bounds what one multiplication can make: it can be neither interrupted nor taken back.

    Jinja works out constants while it compiles, but not with operators that are intercepted.
    """

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            size = _bits(left) * right if isinstance(right, int) else 0
        else:
            size = max(_length(left) * _number(right), _length(right) * _number(left))
            size = max(size, _bits(left) + _bits(right))
        if size > _MAX_PRODUCT:
            raise TemplateError("a product is too large")
        return super().call_binop(context, operator, left, right)


def _bits(value: object) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _length(value: object) -> int:
    return len(value) if isinstance(value, Sized) else 0


class _PassedOver(Extension):
    """Tags that mean nothing here, such as the ones that mark what a model was trained on."""

    tags = {"generation", "endgeneration"}  # noqa: RUF012  Jinja declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        while parser.stream.current.type != "block_end":
            next(parser.stream)
        return []


def _compile(source: str) -> Any:
    environment = _environment()
    for _ in range(_MAX_UNKNOWN_TAGS):
        try:
            return environment.from_string(source)
        except TemplateSyntaxError as error:
            unknown = _UNKNOWN_TAG.search(error.message or "")
            if unknown is None:
                raise
            tag = unknown.group(1)
            passed_over = environment.extensions[_PassedOver.identifier]
            passed_over.tags = {*passed_over.tags, tag, f"end{tag}"}
    return environment.from_string(source)


def _environment() -> Environment:
    environment = _Sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _PassedOver]
    )
    environment.filters["tojson"] = _tojson
    # Nothing here is escaped for HTML; Jinja's own filter would have whatever is joined to it escaped.
    environment.filters["safe"] = str
    environment.globals["raise_exception"] = _raise_exception
    return environment


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as it is: Jinja's own filter escapes for HTML."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_listed,
    )


def _listed(value: object) -> list[object]:
    """What Jinja's filters give, such as `map`, is no list yet."""
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError("not a value of JSON")


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(str(message))


def _plain(error: Exception) -> str:
    """What went wrong, without Python's words, bounded."""
    if isinstance(error, RecursionError):
        return "It is nested too deeply."
    if isinstance(error, TemplateError) and error.message:
        return f"It says: {error.message[:200]}"
    return "It contains a mistake."


def _line(error: Exception) -> int:
    """The line of the template on which it failed: Jinja writes its own lines into tracebacks."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    line = 0
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == _FILE:
            line = number  # the innermost: where a macro failed, not where it was called
    return line
