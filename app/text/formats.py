"""Which prompt format a model gets: its own template, or a known one where it has none that works.

The known formats are templates, too, so that one way leads through the sandbox for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from app.dialogue import ChatLine
from app.errors import TextError
from app.text.control import ControlTokens
from app.text.prompt import Composer
from app.text.template import ChatTemplate, TemplateFailed

OWN = "the model's own"
_PROBE = "Tutti probe"
_TOOL_USE = "tool_use"

_CHATML = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{{ '<|im_start|>assistant\\n' }}"""

_LLAMA3 = """\
{%- for message in messages -%}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content + '<|eot_id|>' }}
{%- endfor -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"""

_GEMMA = """\
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}
{%- set role = 'model' if message.role == 'assistant' else message.role -%}
{{ '<start_of_turn>' + role + '\\n' + message.content + '<end_of_turn>\\n' }}
{%- endfor -%}
{{ '<start_of_turn>model\\n' }}"""

_MISTRAL = """\
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}
{%- if message.role == 'assistant' -%}
{{ message.content + eos_token }}
{%- else -%}
{{ '[INST]' + message.content + '[/INST]' }}
{%- endif -%}
{%- endfor -%}"""

# An answer begins right behind "Assistant:", with the blank that the model writes itself.
_PLAIN = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{{ 'Assistant:' + ('' if message.content[:1] == ' ' else ' ') + message.content + '\\n\\n' }}
{%- elif message.role == 'user' -%}
{{ 'User: ' + message.content + '\\n\\n' }}
{%- else -%}
{{ message.content + '\\n\\n' }}
{%- endif -%}
{%- endfor -%}
Assistant:"""


@dataclass(frozen=True, slots=True)
class _Known:
    """A known format and the control tokens that a vocabulary must have for it."""

    name: str
    source: str
    needs: tuple[str, ...]
    stop: tuple[str, ...] = ()


_KNOWN = (
    _Known("ChatML", _CHATML, ("<|im_start|>", "<|im_end|>")),
    _Known("Llama 3", _LLAMA3, ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")),
    _Known("Gemma", _GEMMA, ("<start_of_turn>", "<end_of_turn>")),
    _Known("Mistral", _MISTRAL, ("[INST]", "[/INST]")),
    _Known("User and Assistant", _PLAIN, (), ("\nUser:",)),
)


@dataclass(frozen=True, slots=True)
class Format:
    """The chosen format.

    `spare` renders what `template` refuses; `for_tools` is the model's template for conversations with tools, where
    it has one of its own; `stop` are strings that end an answer where no token does; `notes`
    say, for the user, why it is not the model's own.
    """

    name: str
    template: ChatTemplate
    spare: ChatTemplate
    stop: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    for_tools: ChatTemplate | None = None


def choose(templates: Mapping[str, bytes], control: ControlTokens, *, bos: str, eos: str) -> Format:
    """The model's own template if it works, otherwise a known format; never raises for a bad template."""
    known = next(known for known in _KNOWN if all(text in control for text in known.needs))
    spare = ChatTemplate(known.source, bos=bos, eos=eos)
    problem = "This model has no chat template"
    source = _main(templates)
    if source is not None:
        try:
            template = _working(source, control, bos=bos, eos=eos)
            tools = _for_tools(templates, control, bos=bos, eos=eos)
            return Format(OWN, template, spare, for_tools=tools)
        except TextError as error:
            problem = f"The model's chat template cannot be used. {error.what}"
    note = (
        f"{problem.rstrip('.')}. The format “{known.name}” is used instead; answers may be worse."
    )
    return Format(known.name, spare, spare, known.stop, (note,))


def _main(templates: Mapping[str, bytes]) -> bytes | None:
    """The template for plain chats: the main one, else the one named default, else any."""
    for name in ("", "default", *sorted(templates)):
        if name in templates:
            return templates[name]
    return None


def _for_tools(
    templates: Mapping[str, bytes], control: ControlTokens, *, bos: str, eos: str
) -> ChatTemplate | None:
    """The model's other template, for conversations with tools, if there is one that works."""
    source = templates.get(_TOOL_USE)
    if source is None:
        return None
    try:
        return _working(source, control, bos=bos, eos=eos)
    except TextError:
        return None


def _working(raw: bytes, control: ControlTokens, *, bos: str, eos: str) -> ChatTemplate:
    """Compile, and see that a message comes out: as a string or as a list of parts, without or with a list of tools."""
    try:
        source = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TemplateFailed("It is not valid text.") from error
    failure = TemplateFailed("It leaves out the messages.")
    for for_tools, typed in product((False, True), (False, True)):
        template = ChatTemplate(source, bos=bos, eos=eos, typed=typed, for_tools=for_tools)
        try:
            plain = Composer(template, control).compose([ChatLine("user", _PROBE)]).plain
        except TemplateFailed as error:
            failure = error
            continue
        if any(place.end - place.start == len(_PROBE) for place in plain.places):
            return template
    raise failure
