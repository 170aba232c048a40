"""Small chat templates that know tools, each in the manner of a family of models."""

_TOOLS = (
    "{% if tools %}{{ '<|im_start|>system\n' }}{% for tool in tools %}{{ tool | tojson + '\n' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endif %}"
)
_RESULT = (
    "{% if m.role == 'tool' %}{{ '<|im_start|>user\n<tool_response>\n' + m.content + '\n</tool_response><|im_end|>\n' }}"
    "{% else %}"
)
_END = "{{ '<|im_end|>\n' }}{% endif %}{% endfor %}{{ '<|im_start|>assistant\n' }}"
_SAID = "{{ '<|im_start|>' + m.role + '\n' + m.content }}"


def _template(call: str) -> str:
    calls = f"{{% for call in m.tool_calls or [] %}}{call}{{% endfor %}}"
    return f"{_TOOLS}{{% for m in messages %}}{_RESULT}{_SAID}{calls}{_END}"


HERMES = _template(
    "{{ ('\n' if m.content or not loop.first else '') + '<tool_call>\n{\"name\": \"' + call.function.name"
    " + '\", \"arguments\": ' + call.function.arguments | tojson + '}\n</tool_call>' }}"
)
"""Objects in tags."""

NINE = _template(
    "{% if call.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}"
    "{{ '[TOOL_CALLS]' + call.function.name + '[CALL_ID]' + call.id + '[ARGS]' + call.function.arguments | tojson }}"
)
"""A header of control tokens; ids have nine characters."""

TEXT = _template(
    "{{ '<function=' + call.function.name + '>' + call.function.arguments + '</function>' }}"
)
"""Arguments as text."""

TAGGED = _template(
    "{{ '<tool_call>\n<function=' + call.function.name + '>\n' }}{% for key, value in call.function.arguments | items %}"
    "{{ '<parameter=' + key + '>\n' + value | string + '\n</parameter>\n' }}{% endfor %}{{ '</function>\n</tool_call>' }}"
)
"""A tag for each parameter."""

ONE = HERMES.replace(
    "{% for call in",
    "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}{% for call in",
)
"""One call at a time."""

NO_RESULTS = HERMES.replace("m.role == 'tool'", "m.role == 'tool' and raise_exception('no')")
"""Knows tools, but no results of them."""
