"""What a chat completion may ask for, checked by hand, field by field.

Every known field has a type and a range; a wrong one is a `RequestError` (400) that names it.  A field of the OpenAI
API that would change the answer and is not done here is refused in the same way, unless it has the value that
changes nothing (`n` 1).  Any other field is ignored: that is the one rule for invented names.  null
counts as absent.  NaN, Infinity and numbers of absurd length are refused wherever they stand.

Order of the checks: JSON, the object, `messages`, `model`, sampling, numbers, `stop`, switches, fields that are not done.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.api import sampling_fields, tools
from app.api.fields import Fields, not_supported, switch, whole, wrong
from app.api.response_format import form_of
from app.chat.models import EFFORTS, ChatMessage, Role, clean
from app.chat.ports import Request
from app.errors import RequestError

_MAX_STOPS = 16
_MAX_DIGITS = 64
_MAX_PLACE = 80
"""Characters of a field's own name that an error repeats."""
_MAX_ANSWER_TOKENS = 2_147_483_647

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
}

_NOT_DONE: dict[str, tuple[object, ...]] = {
    "n": (1,),
    "best_of": (1,),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"], []),
    "audio": (),
    "prediction": (),
    "verbosity": (),
    "web_search_options": (),
    "json_schema": (),
}
"""Fields that would change the answer and are not done, with the values that ask for nothing."""

_EFFORTS = ("none", *filter(None, EFFORTS))
_MESSAGE_NOT_DONE = ("function_call", "audio")


@dataclass(frozen=True, slots=True)
class ChatBody:
    """A checked body.  `model` None means the loaded one."""

    request: Request
    model: str | None
    stream: bool
    include_usage: bool


@dataclass(frozen=True, slots=True)
class _NotANumber:
    """Stands where the body has NaN, Infinity, 1e999 or far too many digits, until its field is known."""

    literal: str


def parse_chat(raw: bytes) -> ChatBody:
    """Check the body of a chat completion; raises RequestError."""
    refused: list[_NotANumber] = []
    fields = _decode(raw, refused)
    messages = _messages(fields.get("messages"))
    model = _model(fields)
    sampling, sampling_open = sampling_fields.sampling(fields)
    top_logprobs = sampling_fields.top_logprobs(fields)
    max_tokens = _max_tokens(fields)
    stop = _stop(fields.get("stop"))
    stream = switch(fields, "stream")
    ignore_eos = switch(fields, "ignore_eos")
    include_usage = _include_usage(fields, stream=stream)
    for name, harmless in _NOT_DONE.items():
        _refuse_not_done(fields, name, harmless)
    if refused:
        raise wrong(_place_of(refused[0], fields), f"a number of JSON, not {refused[0].literal}")
    thinking, effort = _reasoning(fields)
    toolbox, form = tools.toolbox(fields), form_of(fields)
    if toolbox.tools and top_logprobs is not None:
        raise not_supported("logprobs", "they are not given beside tools; leave one of both out")
    if toolbox.tools and not toolbox.closed and form is not None:
        what = "such an answer cannot be a call; leave out 'tools', or set 'tool_choice' to 'none'"
        raise not_supported(form.field.partition(".")[0], what)
    request = Request(
        messages,
        sampling,
        max_tokens,
        stop,
        ignore_eos,
        thinking=thinking,
        effort=effort,
        sampling_open=sampling_open,
        top_logprobs=top_logprobs,
        form=form,
        toolbox=toolbox,
    )
    return ChatBody(request, model, stream, include_usage)


def _decode(raw: bytes, refused: list[_NotANumber]) -> Fields:
    def not_a_number(literal: str) -> _NotANumber:
        refused.append(_NotANumber(literal if len(literal) <= 24 else f"{literal[:24]}..."))
        return refused[-1]

    def integer(literal: str) -> int | _NotANumber:
        return int(literal) if len(literal) <= _MAX_DIGITS else not_a_number(literal)

    def real(literal: str) -> float | _NotANumber:
        number = float(literal)
        return number if math.isfinite(number) else not_a_number(literal)

    try:
        value = json.loads(
            raw.decode("utf-8-sig"),
            parse_constant=not_a_number,
            parse_int=integer,
            parse_float=real,
        )
    except UnicodeDecodeError as error:
        raise RequestError("The body is not UTF-8.") from error
    except RecursionError as error:
        raise RequestError("The body is nested too deeply.") from error
    except ValueError as error:
        raise RequestError(f"The body is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise RequestError("The body must be a JSON object.")
    return value


def _place_of(wanted: _NotANumber, fields: Fields) -> str:
    """Where it stands, as `field.inner[0]`; "body" for one whose field was given twice."""
    places: list[tuple[str, object]] = list(fields.items())
    while places:
        where, value = places.pop()
        if value is wanted:
            return where[:_MAX_PLACE]
        if isinstance(value, dict):
            places += [(f"{where}.{name}", inner) for name, inner in value.items()]
        elif isinstance(value, list):
            places += [(f"{where}[{index}]", inner) for index, inner in enumerate(value)]
    return "body"


# --- messages ------------------------------------------------------------------------------------------------


def _messages(value: object) -> tuple[ChatMessage, ...]:
    if value is None:
        raise RequestError("'messages' is missing.", param="messages", code="missing_parameter")
    if not isinstance(value, list) or not value:
        raise wrong("messages", "a list with at least one message")
    found: list[ChatMessage] = []
    called: dict[str, str] = {}
    for index, item in enumerate(value):
        found.append(_message(item, f"messages[{index}]", called))
        called |= {call.id: call.name for call in found[-1].calls}
    return tuple(found)


def _message(value: object, where: str, called: Mapping[str, str]) -> ChatMessage:
    """One message; `called` are the names of the tools called before, by the ids of the calls."""
    if not isinstance(value, dict):
        raise wrong(where, "an object with 'role' and 'content'")
    role = value.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise wrong(f"{where}.role", f"one of {', '.join(_ROLES)}")
    for name in _MESSAGE_NOT_DONE:
        if value.get(name):
            raise not_supported(f"{where}.{name}", "this server has no such messages")
    if _ROLES[role] is Role.ASSISTANT and (calls := tools.calls(value, where)):
        said = value.get("content")
        content = clean("" if said is None else _content(said, f"{where}.content"))
        thought = _thought(value, where)
        return ChatMessage(Role.ASSISTANT, content, reasoning=thought, calls=calls)
    content = clean(_content(value.get("content"), f"{where}.content"))
    if _ROLES[role] is Role.TOOL:
        identity = tools.answered(value, where, called)
        return ChatMessage(Role.TOOL, content, call_id=identity, name=called[identity])
    return ChatMessage(_ROLES[role], content, reasoning=_thought(value, where))


def _thought(message: Fields, where: str) -> str:
    """What the model thought before this answer; a client may send it back."""
    value = message.get("reasoning_content")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(f"{where}.reasoning_content", "a string")
    return clean(value)


def _content(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise wrong(where, "a string or a list of text parts")
    return "\n".join(_part(part, f"{where}[{index}]") for index, part in enumerate(value))


def _part(value: object, where: str) -> str:
    if not isinstance(value, dict):
        raise wrong(where, "an object with 'type' and 'text'")
    if value.get("type") != "text":
        raise not_supported(f"{where}.type", "only parts of type 'text' are")
    text = value.get("text")
    if not isinstance(text, str):
        raise wrong(f"{where}.text", "a string")
    return text


# --- single values -------------------------------------------------------------------------------------------


def _model(fields: Fields) -> str | None:
    value = fields.get("model")
    if value is not None and not isinstance(value, str):
        raise wrong("model", "a string")
    return value


def _max_tokens(fields: Fields) -> int | None:
    """The smaller one, where both the old name and the new one are given."""
    limits = (1, _MAX_ANSWER_TOKENS)
    names = ("max_tokens", "max_completion_tokens")
    given = [whole(fields, name, limits) for name in names]
    return min((number for number in given if number is not None), default=None)


def _stop(value: object) -> tuple[str, ...]:
    strings = [value] if isinstance(value, str) else value
    if strings is None:
        return ()
    if not isinstance(strings, list) or len(strings) > _MAX_STOPS:
        raise wrong("stop", f"a string or a list of at most {_MAX_STOPS} strings")
    for index, string in enumerate(strings):
        if not isinstance(string, str) or not string:
            raise wrong(f"stop[{index}]", "a string that is not empty")
    return tuple(clean(string) for string in strings)


def _reasoning(fields: Fields) -> tuple[bool | None, str]:
    """Whether the model shall reason first, and how much: OpenAI's field, and the one of llama-server and vLLM."""
    effort = fields.get("reasoning_effort")
    if effort is not None and (not isinstance(effort, str) or effort not in _EFFORTS):
        raise wrong("reasoning_effort", f"one of {', '.join(_EFFORTS)}")
    options = fields.get("chat_template_kwargs")
    if options is None:
        options = {}
    if not isinstance(options, dict):
        raise wrong("chat_template_kwargs", "an object")
    for name in options:
        if name != "enable_thinking":
            raise not_supported(f"chat_template_kwargs.{name}", "only 'enable_thinking' is")
    thinking = options.get("enable_thinking")
    if thinking is not None and not isinstance(thinking, bool):
        raise wrong("chat_template_kwargs.enable_thinking", "true or false")
    if effort == "none":
        return False, ""
    return thinking, effort or ""


def _include_usage(fields: Fields, *, stream: bool) -> bool:
    options = fields.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict):
        raise wrong("stream_options", "an object")
    if not stream:
        raise RequestError(
            "'stream_options' goes with 'stream': true only.", param="stream_options"
        )
    value = options.get("include_usage")
    if value is not None and not isinstance(value, bool):
        raise wrong("stream_options.include_usage", "true or false")
    return bool(value)


def _refuse_not_done(fields: Fields, name: str, harmless: tuple[object, ...]) -> None:
    value = fields.get(name)
    if value is None or any(type(value) is type(item) and value == item for item in harmless):
        return
    only = f"only {json.dumps(harmless[0])} is accepted" if harmless else "leave it out"
    raise not_supported(name, only)
