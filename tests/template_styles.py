"""Chat templates of our own, each in the manner of a family of models: how it writes roles, thoughts, tools and dates.

They are written after what such templates do, and none is a copy of one.
"""

from dataclasses import dataclass

_IM = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_L3 = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>")  # fmt: skip
_GEMMA = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
_MISTRAL = ("<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]")  # fmt: skip
_PHI = ("<|im_start|>", "<|im_sep|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>")  # fmt: skip
_SEEK = ("<|bos|>", "<|eos|>", "<|User|>", "<|Assistant|>", "<|calls_begin|>", "<|calls_end|>", "<|call_begin|>", "<|call_end|>", "<|sep|>", "<|outs|>", "<|/outs|>")  # fmt: skip
_COMMAND = ("<BOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>")  # fmt: skip
_GRANITE = ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<|tool_call|>")
_GLM = ("[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", "<|endoftext|>")  # fmt: skip
_HARMONY = ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>", "<|constrain|>")  # fmt: skip
_PLAIN = ("<s>", "</s>")


@dataclass(frozen=True, slots=True)
class Style:
    """`control` are the vocabulary's control tokens, `bos` and `eos` among them; what else it can do is for the tests.

    `thinks` says what it makes of the wish for thoughts: "open" it always opens the tag, "switch" and "effort" it does as it
    is told, "" nothing.  `tools`: it writes definitions and results itself.  `bos_often`: before each question.
    """

    source: str
    control: tuple[str, ...]
    bos: str
    eos: str
    add_bos: bool = False
    thinks: str = ""
    tools: bool = False
    bos_often: bool = False


_QWEN_TOOLS = r"""
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
# Tools
<tools>{% for tool in tools %}{{ '\n' + (tool | tojson) }}{% endfor %}

</tools>
Write calls as <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}"""
_QWEN_CALLS = r"""
{%- for call in m.tool_calls or [] %}
{{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}"""
_QWEN_RESULTS = r"""
{%- elif m.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
{{- '\n<tool_response>\n' + m.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}"""

_QWEN25 = (
    _QWEN_TOOLS
    + r"""
{%- for m in messages %}
{%- if m.role == 'user' or (m.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
{%- elif m.role == 'assistant' %}
{{- '<|im_start|>assistant' }}{% if m.content %}{{ '\n' + m.content }}{% endif %}"""
    + _QWEN_CALLS
    + "{{ '<|im_end|>\\n' }}"
    + _QWEN_RESULTS
    + r"""
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""
)

_QWEN3 = (
    _QWEN_TOOLS
    + r"""
{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' and not (m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'user' or (m.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
{%- elif m.role == 'assistant' %}
{%- set content = m.content %}{% set thought = '' %}
{%- if m.reasoning_content is string %}{% set thought = m.reasoning_content %}
{%- elif '</think>' in content %}{% set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}{% set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}
{{- '<|im_start|>assistant\n' }}
{%- if loop.index0 > ns.last and thought %}{{ '<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}{% else %}{{ content }}{% endif %}"""
    + _QWEN_CALLS
    + "{{ '<|im_end|>\\n' }}"
    + _QWEN_RESULTS
    + r"""
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"""
)

_LLAMA31 = r"""
{{- bos_token }}
{%- if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}
{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] | trim %}{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: ' + date_string + '\n\n' }}
{%- if tools %}{{ 'Functions:\n\n' }}{% for t in tools %}{{ t | tojson(indent=4) + '\n\n' }}{% endfor %}{% endif %}
{{- system + '<|eot_id|>' }}
{%- for m in messages %}
{%- if m.role == 'tool' or m.role == 'ipython' %}{{ '<|start_header_id|>ipython<|end_header_id|>\n\n' }}
{%- if m.content is mapping or (m.content is iterable and m.content is not string) %}{{ m.content | tojson }}{% else %}{{ m.content }}{% endif %}{{ '<|eot_id|>' }}
{%- elif m.tool_calls %}
{%- if m.tool_calls | length != 1 %}{{ raise_exception('one call at a time') }}{% endif %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "' + m.tool_calls[0].function.name + '", "parameters": ' + (m.tool_calls[0].function.arguments | tojson) + '}<|eot_id|>' }}
{%- else %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""

_LLAMA30 = r"""{% set loop_messages = messages %}{% for m in loop_messages %}{% set content = '<|start_header_id|>' + m['role'] + '<|end_header_id|>

'+ m['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>

' }}"""

_GEMMA3 = r"""{{ bos_token }}
{%- if messages[0].role == 'system' %}
{%- if messages[0].content is string %}{% set first = messages[0].content + '\n\n' %}{% else %}{% set first = messages[0].content[0].text + '\n\n' %}{% endif %}
{%- set rest = messages[1:] %}{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}
{%- for m in rest %}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate user/assistant/user/...') }}{% endif %}
{%- set role = 'model' if m.role == 'assistant' else m.role %}
{{- '<start_of_turn>' + role + '\n' + (first if loop.first else '') }}
{%- if m.content is string %}{{ m.content | trim }}{% elif m.content is iterable %}{% for part in m.content %}{% if part.type == 'text' %}{{ part.text | trim }}{% endif %}{% endfor %}{% else %}{{ raise_exception('bad content') }}{% endif %}
{{- '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"""

_GEMMA2 = r"""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% if m['role'] == 'assistant' %}{% set role = 'model' %}{% else %}{% set role = m['role'] %}{% endif %}{{ '<start_of_turn>' + role + '
' + m['content'] | trim + '<end_of_turn>
' }}{% endfor %}{{ '<start_of_turn>model
' }}"""

_MISTRAL_V1 = r"""{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + ' [/INST]' }}{% elif m['role'] == 'assistant' %}{{ m['content'] + eos_token }}{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}"""

_MISTRAL_V3 = r"""
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}
{%- set users = rest | selectattr('role', 'equalto', 'user') | list %}
{{- bos_token }}
{%- for m in rest %}
{%- if m.role == 'user' %}
{%- if tools and m == users[-1] %}{{ '[AVAILABLE_TOOLS] [' }}{% for t in tools %}{{ t | tojson }}{% if not loop.last %}{{ ', ' }}{% endif %}{% endfor %}{{ '][/AVAILABLE_TOOLS]' }}{% endif %}
{%- if loop.last and system is defined %}{{ '[INST] ' + system + '\n\n' + m.content + '[/INST]' }}{% else %}{{ '[INST] ' + m.content + '[/INST]' }}{% endif %}
{%- elif m.tool_calls %}
{{- '[TOOL_CALLS] [' }}{% for c in m.tool_calls %}
{%- if c.id | length != 9 %}{{ raise_exception('ids of nine') }}{% endif %}
{{- '{"name": "' + c.function.name + '", "arguments": ' + (c.function.arguments | tojson) + ', "id": "' + c.id + '"}' }}{% if not loop.last %}{{ ', ' }}{% endif %}{% endfor %}{{ ']' + eos_token }}
{%- elif m.role == 'assistant' %}{{ ' ' + m.content + eos_token }}
{%- elif m.role == 'tool' %}
{%- if m.tool_call_id | length != 9 %}{{ raise_exception('ids of nine') }}{% endif %}
{{- '[TOOL_RESULTS] {"content": ' + (m.content | string) + ', "call_id": "' + m.tool_call_id + '"}[/TOOL_RESULTS]' }}
{%- else %}{{ raise_exception('what role') }}{% endif %}
{%- endfor %}"""

_MISTRAL_V7 = r"""
{%- set today = strftime_now('%Y-%m-%d') %}
{%- set usual = 'You are ours. The current date is ' + today + '.' %}
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set rest = messages[1:] %}{% else %}{% set system = usual %}{% set rest = messages %}{% endif %}
{{- '[SYSTEM_PROMPT]' + system + '[/SYSTEM_PROMPT]' }}
{%- for m in rest %}
{%- if m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}
{%- elif m.role == 'system' %}{{ '[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]' }}
{%- elif m.role == 'assistant' %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '[TOOL_CALLS]' + c.function.name + '[ARGS]' + (c.function.arguments | tojson) }}{% endfor %}{{ eos_token }}
{%- elif m.role == 'tool' %}{{ '[TOOL_RESULTS]' + m.content + '[/TOOL_RESULTS]' }}
{%- else %}{{ raise_exception('what role') }}{% endif %}
{%- endfor %}"""

_MAGISTRAL = _MISTRAL_V7.replace(
    "{%- elif m.role == 'assistant' %}",
    "{%- elif m.role == 'assistant' %}{% if m.reasoning_content %}{{ '[THINK]' + m.reasoning_content + '[/THINK]' }}{% endif %}",
).replace(
    "'You are ours. The current date is ' + today + '.'",
    "'First think: [THINK]thoughts[/THINK] and then answer.'",
)

_PHI4 = r"""{% for m in messages %}{% if m['role'] == 'system' %}{{ '<|im_start|>system<|im_sep|>' + m['content'] + '<|im_end|>' }}{% elif m['role'] == 'user' %}{{ '<|im_start|>user<|im_sep|>' + m['content'] + '<|im_end|>' }}{% elif m['role'] == 'assistant' %}{{ '<|im_start|>assistant<|im_sep|>' + m['content'] + '<|im_end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"""
_PHI3 = r"""{% for m in messages %}{{ '<|' + m['role'] + '|>\n' + m['content'] + '<|end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"""

_R1 = r"""{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{%- set ns = namespace(first=true, out=false, system='') %}
{%- for m in messages %}{% if m.role == 'system' %}{% set ns.system = ns.system + m.content %}{% endif %}{% endfor %}
{{- bos_token + ns.system }}
{%- for m in messages %}
{%- if m.role == 'user' %}{% set ns.out = false %}{{ '<|User|>' + m.content }}
{%- elif m.role == 'assistant' and m.tool_calls %}
{{- '<|Assistant|>' + (m.content or '') + '<|calls_begin|>' }}{% for c in m.tool_calls %}{{ '<|call_begin|>' + c.type + '<|sep|>' + c.function.name + '\n```json\n' + (c.function.arguments | tojson) + '\n```<|call_end|>' }}{% endfor %}{{ '<|calls_end|><|eos|>' }}
{%- elif m.role == 'assistant' %}
{%- if ns.out %}{{ '<|/outs|>' + m.content + '<|eos|>' }}{% set ns.out = false %}
{%- else %}{% set content = m.content %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{ '<|Assistant|>' + content + '<|eos|>' }}{% endif %}
{%- elif m.role == 'tool' %}{{ '<|outs|>' if not ns.out else '\n' }}{{ m.content }}{% set ns.out = true %}
{%- endif %}
{%- endfor %}
{%- if ns.out %}{{ '<|/outs|>' }}{% elif add_generation_prompt %}{{ '<|Assistant|><think>\n' }}{% endif %}"""
_V31 = r"""{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}{% set ns.system = m.content %}{% endif %}{% endfor %}{{ ns.system }}
{%- for m in messages %}
{%- if m.role == 'user' %}{{ '<|User|>' + m.content }}
{%- elif m.role == 'assistant' %}{{ '<|Assistant|></think>' + m.content + '<|eos|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt and messages[-1].role == 'user' %}{{ '<|Assistant|>' }}{% if thinking is defined and thinking %}{{ '<think>' }}{% else %}{{ '</think>' }}{% endif %}{% endif %}"""

_COMMAND_R = r"""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set system = false %}{% endif %}{% if system %}{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + system + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif %}{% set content = m['content'] %}{% if m['role'] == 'user' %}{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{% elif m['role'] == 'assistant' %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %}"""
_COMMAND_A = r"""{{ bos_token }}{% for m in messages %}
{%- if m.role == 'system' %}{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + m.content + '<|END_OF_TURN_TOKEN|>' }}
{%- elif m.role == 'user' %}{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + m.content + '<|END_OF_TURN_TOKEN|>' }}
{%- else %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% if m.thinking %}{{ '<|START_THINKING|>' + m.thinking + '<|END_THINKING|>' }}{% endif %}{{ '<|START_RESPONSE|>' + m.content + '<|END_RESPONSE|><|END_OF_TURN_TOKEN|>' }}{% endif %}
{%- endfor %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% if enable_thinking is defined and not enable_thinking %}{{ '<|START_THINKING|><|END_THINKING|>' }}{% endif %}"""

_GRANITE3 = r"""
{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set rest = messages[1:] %}
{%- else %}{% set system = "Knowledge Cutoff Date: April 2024.\nToday's Date: " + strftime_now('%B %d, %Y') + '.\nYou are ours.' %}{% if thinking %}{% set system = system + ' Think first, then answer.' %}{% endif %}{% set rest = messages %}{% endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system + '<|end_of_text|>\n' }}
{%- if tools %}{{ '<|start_of_role|>tools<|end_of_role|>' + (tools | tojson(indent=4)) + '<|end_of_text|>\n' }}{% endif %}
{%- for m in rest %}{% if m.role == 'tool' %}{{ '<|start_of_role|>tool_response<|end_of_role|>' + m.content + '<|end_of_text|>\n' }}
{%- elif m.tool_calls %}{{ '<|start_of_role|>assistant<|end_of_role|><|tool_call|>[' }}{% for c in m.tool_calls %}{{ '{"name": "' + c.function.name + '", "arguments": ' + (c.function.arguments | tojson) + '}' }}{% if not loop.last %}{{ ', ' }}{% endif %}{% endfor %}{{ ']<|end_of_text|>\n' }}
{%- else %}{{ '<|start_of_role|>' + m['role'] + '<|end_of_role|>' + m['content'] + '<|end_of_text|>\n' }}{% endif %}
{%- if loop.last and add_generation_prompt %}{{ '<|start_of_role|>assistant<|end_of_role|>' }}{% endif %}
{%- endfor %}"""

_GLM4 = r"""[gMASK]<sop>
{%- if tools %}<|system|>
# Tools
{% for tool in tools %}{{ tool | tojson(ensure_ascii=False) }}
{% endfor %}{% endif %}
{%- for m in messages %}
{%- if m.role == 'user' %}<|user|>
{{ m.content }}{{ '/nothink' if (enable_thinking is defined and not enable_thinking and not m.content.endswith('/nothink')) else '' }}
{%- elif m.role == 'assistant' %}<|assistant|>
{%- if m.reasoning_content and loop.last %}{{ '\n<think>' + m.reasoning_content.strip() + '</think>' }}{% else %}{{ '\n<think></think>' }}{% endif %}
{%- if m.content.strip() %}{{ '\n' + m.content.strip() }}{% endif %}
{%- for c in m.tool_calls or [] %}{{ '\n<tool_call>' + c.function.name }}{% for k, v in c.function.arguments.items() %}{{ '\n<arg_key>' + k + '</arg_key>\n<arg_value>' + (v if v is string else v | tojson) + '</arg_value>' }}{% endfor %}{{ '\n</tool_call>' }}{% endfor %}
{%- elif m.role == 'tool' %}<|observation|>
<tool_response>
{{ m.content }}
</tool_response>
{%- elif m.role == 'system' %}<|system|>
{{ m.content }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' }}{% endif %}"""

_GPT_OSS = r"""
{%- macro system() %}{{ 'You are ours.\nCurrent date: ' + strftime_now('%Y-%m-%d') + '\n\nReasoning: ' + (reasoning_effort or 'medium') + '\n\n# Valid channels: analysis, commentary, final.' }}{% endmacro %}
{{- '<|start|>system<|message|>' + system() + '<|end|>' }}
{%- if messages[0].role in ['developer', 'system'] %}{% set told = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set told = '' %}{% set rest = messages %}{% endif %}
{%- if told or tools %}{{ '<|start|>developer<|message|>' }}{% if told %}{{ '# Instructions\n\n' + told }}{% endif %}{% if tools %}{{ '\n\n# Tools\n\nnamespace functions {\n' }}{% for t in tools %}{{ '// ' + t.function.description + '\ntype ' + t.function.name + ' = (_: ' + (t.function.parameters | tojson) + ') => any;\n' }}{% endfor %}{{ '}' }}{% endif %}{{ '<|end|>' }}{% endif %}
{%- set ns = namespace(call=none) %}
{%- for m in rest %}
{%- if m.role == 'assistant' %}
{%- if '<|channel|>analysis<|message|>' in m.content %}{{ raise_exception('no channel tags in content') }}{% endif %}
{%- if m.tool_calls %}{% if m.thinking %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}{{ '<|start|>assistant to=functions.' + m.tool_calls[0].function.name + '<|channel|>commentary <|constrain|>json<|message|>' + (m.tool_calls[0].function.arguments | tojson) + '<|call|>' }}{% set ns.call = m.tool_calls[0].function.name %}
{%- elif loop.last and not add_generation_prompt %}{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|return|>' }}
{%- else %}{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}{% endif %}
{%- elif m.role == 'tool' %}{% if ns.call is none %}{{ raise_exception('a result without a call') }}{% endif %}{{ '<|start|>functions.' + ns.call + ' to=assistant<|channel|>commentary<|message|>' + (m.content | tojson) + '<|end|>' }}
{%- elif m.role == 'user' %}{{ '<|start|>user<|message|>' + m.content + '<|end|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"""

_CHATML_BARE = r"""{% for message in messages %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""
_CHATML_USUAL = (
    r"""{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are helpful.<|im_end|>
' }}{% endif %}"""
    + _CHATML_BARE
)
_CHATML_BOS = "{{ bos_token }}" + _CHATML_BARE
_CHATML_GENERATION = r"""{%- for message in messages %}{% if message.role == 'assistant' %}{{ '<|im_start|>assistant\n' }}{% generation %}{{ message.content + '<|im_end|>\n' }}{% endgeneration %}{% else %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}{% endfor %}{{ '<|im_start|>assistant\n' }}"""
_CHATML_PARTS = r"""{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' }}{% for part in message.content %}{{ part.text }}{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"""
_CHATML_THOUGHTS_KEPT = r"""{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' }}{% if message.reasoning_content %}{{ '<think>\n' + message.reasoning_content + '\n</think>\n' }}{% endif %}{{ message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n<think>\n' }}"""

_ALPACA = r"""{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] + '\n\n' }}{% set messages = messages[1:] %}{% else %}{{ 'Below is an instruction.\n\n' }}{% endif %}{% for m in messages %}{% if m['role'] == 'user' %}{{ '### Instruction:\n' + m['content'] + '\n\n' }}{% else %}{{ '### Response:\n' + m['content'] + eos_token + '\n\n' }}{% endif %}{% endfor %}{{ '### Response:\n' }}"""
_VICUNA = r"""{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] + ' ' %}{% set messages = messages[1:] %}{% else %}{% set system = 'A chat between a user and an assistant. ' %}{% endif %}{{ bos_token + system }}{% for m in messages %}{% if m['role'] == 'user' %}{{ 'USER: ' + m['content'] + ' ' }}{% else %}{{ 'ASSISTANT: ' + m['content'] + eos_token }}{% endif %}{% endfor %}{{ 'ASSISTANT:' }}"""
_LLAMA2 = r"""{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set system = false %}{% endif %}{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif %}{% if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + m['content'] %}{% else %}{% set content = m['content'] %}{% endif %}{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif m['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""
_ZEPHYR = r"""{% for m in messages %}{{ '<|' + m['role'] + '|>\n' + m['content'] + eos_token + '\n' }}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}"""

STYLES = {
    "llama 3": Style(_LLAMA30, _L3, "<|begin_of_text|>", "<|eot_id|>", add_bos=True),
    "llama 3.1": Style(_LLAMA31, _L3, "<|begin_of_text|>", "<|eot_id|>", add_bos=True, tools=True),
    "qwen 2.5": Style(_QWEN25, _IM, "<|endoftext|>", "<|im_end|>", tools=True),
    "qwen 3": Style(_QWEN3, _IM, "<|endoftext|>", "<|im_end|>", thinks="switch", tools=True),
    "gemma 2": Style(_GEMMA2, _GEMMA, "<bos>", "<eos>", add_bos=True),
    "gemma 3": Style(_GEMMA3, _GEMMA, "<bos>", "<eos>", add_bos=True),
    "mistral v1": Style(_MISTRAL_V1, _MISTRAL, "<s>", "</s>", add_bos=True),
    "mistral v3": Style(_MISTRAL_V3, _MISTRAL, "<s>", "</s>", add_bos=True, tools=True),
    "mistral v7": Style(_MISTRAL_V7, _MISTRAL, "<s>", "</s>", add_bos=True),
    "magistral": Style(_MAGISTRAL, _MISTRAL, "<s>", "</s>", add_bos=True),
    "phi 3": Style(_PHI3, _PHI, "<|endoftext|>", "<|end|>"),
    "phi 4": Style(_PHI4, _PHI, "<|endoftext|>", "<|im_end|>"),
    "deepseek r1": Style(_R1, _SEEK, "<|bos|>", "<|eos|>", add_bos=True, thinks="open"),
    "deepseek v3.1": Style(_V31, _SEEK, "<|bos|>", "<|eos|>", add_bos=True, thinks="switch"),
    "command r": Style(_COMMAND_R, _COMMAND, "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", add_bos=True),
    "command a": Style(_COMMAND_A, _COMMAND, "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", add_bos=True, thinks="switch"),
    "granite 3": Style(_GRANITE3, _GRANITE, "<|end_of_text|>", "<|end_of_text|>", thinks="switch", tools=True),
    "glm 4.5": Style(_GLM4, _GLM, "[gMASK]", "<|endoftext|>", thinks="switch", tools=True),
    "gpt-oss": Style(_GPT_OSS, _HARMONY, "<|start|>", "<|return|>", thinks="effort", tools=True),
    "chatml": Style(_CHATML_BARE, _IM, "<|endoftext|>", "<|im_end|>"),
    "chatml, usual system": Style(_CHATML_USUAL, _IM, "<|endoftext|>", "<|im_end|>"),
    "chatml, bos written": Style(_CHATML_BOS, (*_IM, "<s>"), "<s>", "<|im_end|>", add_bos=True),
    "chatml, bos only added": Style(_CHATML_BARE, (*_IM, "<s>"), "<s>", "<|im_end|>", add_bos=True),
    "chatml, generation": Style(_CHATML_GENERATION, _IM, "<|endoftext|>", "<|im_end|>"),
    "chatml, parts": Style(_CHATML_PARTS, _IM, "<|endoftext|>", "<|im_end|>"),
    "chatml, thoughts kept": Style(_CHATML_THOUGHTS_KEPT, _IM, "<|endoftext|>", "<|im_end|>", thinks="open"),
    "alpaca": Style(_ALPACA, _PLAIN, "<s>", "</s>", add_bos=True),
    "vicuna": Style(_VICUNA, _PLAIN, "<s>", "</s>", add_bos=True),
    "llama 2": Style(_LLAMA2, _PLAIN, "<s>", "</s>", add_bos=True, bos_often=True),
    "zephyr": Style(_ZEPHYR, _PLAIN, "<s>", "</s>", add_bos=True),
}  # fmt: skip
