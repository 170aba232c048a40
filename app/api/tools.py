"""What a request says of tools: their definitions, the choice between them, and calls and results in messages.

Definitions are checked and bounded; what is wrong is a `RequestError` (400) that names the field.  The schemas themselves
are read by the text worker, where calls are bound to them.
"""

import json
from collections.abc import Container

from app.api.fields import Fields, name_in, not_supported, switch, wrong
from app.chat.models import Tool, Toolbox, ToolCall, clean

MAX_TOOLS = 128
MAX_CHARACTERS = 1_000_000
"""Of all descriptions and schemas together."""
MAX_DEPTH = 32
"""Objects and lists within each other, in a schema or in the arguments of a call."""
MAX_ID = 256

_NO_PARAMETERS = '{"type": "object", "properties": {}}'


def toolbox(fields: Fields) -> Toolbox:
    """The tools of a request, and what may be done with them; raises RequestError."""
    value = fields.get("tools")
    if value is not None and (not isinstance(value, list) or len(value) > MAX_TOOLS):
        raise wrong("tools", f"a list of at most {MAX_TOOLS} tools")
    tools = tuple(_tool(item, f"tools[{index}]") for index, item in enumerate(value or ()))
    names = [tool.name for tool in tools]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise wrong(f"tools[{index}].function.name", "another one than those before")
    if sum(len(tool.description) + len(tool.parameters) for tool in tools) > MAX_CHARACTERS:
        raise wrong("tools", f"at most {MAX_CHARACTERS:,} characters in all")
    choice = fields.get("tool_choice")
    only = _named(choice, names)
    demanded = choice == "required" or bool(only)
    if demanded and not names:
        raise wrong("tool_choice", "left out, or 'none' or 'auto', where there are no tools")
    parallel = fields.get("parallel_tool_calls") is None or switch(fields, "parallel_tool_calls")
    # A function that is named is called once.
    single = bool(only) or not parallel
    found = Toolbox(tools, choice == "none", single, demanded, only)
    if found.bound and fields.get("ignore_eos"):
        raise wrong("ignore_eos", "left out where a call is demanded or a tool is 'strict'")
    return found


def calls(message: Fields, where: str) -> tuple[ToolCall, ...]:
    """The calls that an assistant's message holds; raises RequestError."""
    value = message.get("tool_calls")
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_TOOLS:
        raise wrong(f"{where}.tool_calls", f"a list of at most {MAX_TOOLS} calls")
    found = tuple(_call(item, f"{where}.tool_calls[{index}]") for index, item in enumerate(value))
    ids = [call.id for call in found]
    for index, identity in enumerate(ids):
        if identity in ids[:index]:
            raise wrong(f"{where}.tool_calls[{index}].id", "another one than those before")
    return found


def answered(message: Fields, where: str, known: Container[str]) -> str:
    """The id of the call that this message is the result of, one of the `known` ones; raises RequestError."""
    identity = _id(message, "tool_call_id", where)
    if identity not in known:
        raise wrong(f"{where}.tool_call_id", "the id of a call in an assistant message before")
    return identity


def _tool(value: object, where: str) -> Tool:
    if not isinstance(value, dict):
        raise wrong(where, "an object with 'type' and 'function'")
    _check_type(value, where)
    function = value.get("function")
    if not isinstance(function, dict):
        raise wrong(f"{where}.function", "an object with 'name'")
    where = f"{where}.function"
    description = function.get("description")
    if description is not None and not isinstance(description, str):
        raise wrong(f"{where}.description", "a string")
    return Tool(
        name_in(function, where),
        clean(description or ""),
        _parameters(function.get("parameters"), f"{where}.parameters"),
        switch({f"{where}.strict": function.get("strict")}, f"{where}.strict"),
    )


def _parameters(value: object, where: str) -> str:
    if value is None:
        return _NO_PARAMETERS
    if not isinstance(value, dict):
        raise wrong(where, "an object, a JSON schema")
    _check_depth(value, where)
    return clean(json.dumps(value, ensure_ascii=False))


def _call(value: object, where: str) -> ToolCall:
    if not isinstance(value, dict):
        raise wrong(where, "an object with 'id', 'type' and 'function'")
    _check_type(value, where)
    function = value.get("function")
    if not isinstance(function, dict):
        raise wrong(f"{where}.function", "an object with 'name' and 'arguments'")
    identity = _id(value, "id", where)
    where = f"{where}.function"
    return ToolCall(
        identity,
        name_in(function, where),
        _arguments(function.get("arguments"), f"{where}.arguments"),
    )


def _arguments(value: object, where: str) -> str:
    """JSON text, as the model wrote it."""
    if value is None or value == "":
        return "{}"
    try:
        found = json.loads(value, parse_constant=_refuse) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(value, str) or not isinstance(found, dict):
        raise wrong(where, "a string that holds a JSON object")
    _check_depth(found, where)
    return clean(value)


def _refuse(literal: str) -> None:
    raise ValueError(literal)


def _check_type(fields: Fields, where: str) -> None:
    kind = fields.get("type", "function")
    if kind != "function":
        raise not_supported(f"{where}.type", "only 'function' is")


def _id(fields: Fields, name: str, where: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID:
        raise wrong(f"{where}.{name}", f"a string of 1 to {MAX_ID} characters")
    return clean(value)


def _check_depth(value: object, where: str) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise wrong(where, f"nested at most {MAX_DEPTH} deep")


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _named(value: object, names: list[str]) -> str:
    """The function that a choice names, "" for any other choice."""
    if value is None or value in ("none", "auto", "required"):
        return ""
    if not isinstance(value, dict):
        raise wrong("tool_choice", "'none', 'auto', 'required' or an object that names a function")
    _check_type({"type": value.get("type")}, "tool_choice")
    function = value.get("function")
    if not isinstance(function, dict):
        raise wrong("tool_choice.function", "an object with 'name'")
    name = name_in(function, "tool_choice.function")
    if name not in names:
        raise wrong("tool_choice.function.name", "the name of one of the tools")
    return name
