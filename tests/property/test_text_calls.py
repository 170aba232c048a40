"""Calls of tools in the forms that models write, however the text is cut into pieces."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.dialogue import Tool
from app.text.calls.forms import texts, with_symbols
from app.text.calls.json_scan import MAX_DEPTH, JsonScan
from app.text.calls.kinds import Kind, kinds
from app.text.calls.known import FORMS
from app.text.calls.reading import CallBegun, CallBroken, CallDone, CallMore, Input, Told, ahead
from app.text.calls.split import CallSplit
from tests.called import TOOLS, Outcome, read

ZURICH = {"city": "Zürich", "days": 2}
HARD = {"city": 'a}"]</tool_call>\\ {[\n\té😀', "days": [{"x": None}, 1.5e3, True]}
JSON, HARD_JSON = (json.dumps(value, ensure_ascii=False) for value in (ZURICH, HARD))
W, T = "get_weather", "time-now"
SEP, BEGIN, END, ALL, LLA = (
    f"<｜tool▁{name}｜>" for name in ("sep", "call▁begin", "call▁end", "calls▁begin", "calls▁end")
)
DSML = "｜DSML｜"

WHOLE: list[tuple[str, str, str, list[tuple[str, object]]]] = [
    ("block", f'<tool_call>\n{{"name": "{W}", "arguments": {JSON}}}\n</tool_call>', "", [(W, ZURICH)]),
    (
        "block",
        (f'Let me look.\n\n<tool_call>\n{{"name": "{W}", "arguments": {HARD_JSON}}}\n</tool_call>\n<tool_call>'
        f'{{"arguments": {JSON}, "name": "{T}"}}</tool_call>\n'),
        "Let me look.",
        [(W, HARD), (T, ZURICH)],
    ),
    ("block", f'<tool_call>{{"name": "{W}"}}</tool_call> done', "done", [(W, {})]),
    ("block", f'<tool_call>{{"name": "{W}", "arguments": null}}', "", [(W, {})]),
    ("block", f'<tool_call>{{"name": "{W}", "arguments": {JSON}}}}}\n</tool_call>', "", [(W, ZURICH)]),
    ("block", f'<tool_call>{{"name": "{W}", "arguments": {JSON}\n</tool_call>', "", [(W, ZURICH)]),
    ("block", f'<tool_call>{{"name": "{W}", "arguments": {json.dumps(JSON)}}}</tool_call>', "", [(W, ZURICH)]),
    (
        "block",
        f'<tool_call>{{"type": "function", "function": {{"name": "{W}", "arguments": {JSON}}}}}</tool_call>',
        "",
        [(W, ZURICH)],
    ),
    ("block", f'<tool_call>[{{"name": "{T}", "arguments": {{}}}}, {{"name": "{W}"}}]</tool_call>', "", [(T, {}), (W, {})]),
    (
        "block",
        (f"<tool_call>\n<function={W}>\n<parameter=city>\nZürich\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
        "</function>\n</tool_call>"),
        "",
        [(W, ZURICH)],
    ),
    (
        "block",
        (f"Yes.<function={W}><parameter=city>\n\n  two\nlines\n\n</parameter><parameter=note>None</parameter>"
        f"<parameter=x>True</parameter></function><function={T}>\n</function>"),
        "Yes.",
        [(W, {"city": "\n  two\nlines\n", "note": None, "x": True}), (T, {})],
    ),
    ("block", f"<function={W}>{JSON}</function>", "", [(W, ZURICH)]),
    (
        "block",
        (f"<tool_call>{W}\n<arg_key>city</arg_key>\n<arg_value>007</arg_value>\n<arg_key>days</arg_key>\n"
        '<arg_value>[1, {"a": "b"}]</arg_value>\n</tool_call>'),
        "",
        [(W, {"city": "007", "days": [1, {"a": "b"}]})],
    ),
    ("block", f"<tool_call>{T}\n</tool_call>", "", [(T, {})]),
    ("seed", f"<seed:tool_call>\n<function={T}>\n</function>\n</seed:tool_call>", "", [(T, {})]),
    ("mistral", f'[TOOL_CALLS][{{"name": "{W}", "arguments": {JSON}, "id": "a1b2c3d4e"}}]', "", [(W, ZURICH)]),
    ("mistral", f"Hm.[TOOL_CALLS]{W}[ARGS]{JSON}[TOOL_CALLS]{T}[CALL_ID]a1b2c3d4e[ARGS]{{}}", "Hm.", [(W, ZURICH), (T, {})]),
    ("bare", f'{{"name": "{W}", "parameters": {JSON}}}', "", [(W, ZURICH)]),
    ("bare", f'\n<|python_tag|>{{"type": "function", "name": "{W}", "parameters": {HARD_JSON}}}', "", [(W, HARD)]),
    ("bare", f'{{"name": "{W}", "parameters": {{}}}}; {{"name": "{T}", "parameters": {{}}}}', "", [(W, {}), (T, {})]),
    ("bare", '{"name": "Bob", "parameters": {}}', '{"name": "Bob", "parameters": {}}', []),
    ("bare", ' [1, 2] {"name"', ' [1, 2] {"name"', []),
    (
        "deepseek",
        f"Wait.\n{ALL}{BEGIN}function{SEP}{W}\n```json\n{JSON}\n```{END}\n{BEGIN}function{SEP}{T}\n```json\n{{}}\n```{END}{LLA}",
        "Wait.",
        [(W, ZURICH), (T, {})],
    ),
    ("deepseek", f"{ALL}{BEGIN}{W}{SEP}{HARD_JSON}{END}{BEGIN}{T}{SEP}{{}}{END}{LLA}", "", [(W, HARD), (T, {})]),
    (
        "dsml",
        (f'\n\n<{DSML}function_calls>\n<{DSML}invoke name="{W}">\n<{DSML}parameter name="city" string="true">1'
        f'</{DSML}parameter>\n<{DSML}parameter name="days" string="false">2</{DSML}parameter>\n</{DSML}invoke>\n'
        f"</{DSML}function_calls>"),
        "",
        [(W, {"city": "1", "days": 2})],
    ),
    (
        "kimi",
        (f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{W}:0<|tool_call_argument_begin|>{JSON}<|tool_call_end|>"
        f"<|tool_call_begin|>functions.{T}:1<|tool_call_argument_begin|>{{}}<|tool_call_end|><|tool_calls_section_end|>"),
        "",
        [(W, ZURICH), (T, {})],
    ),
    (
        "solar",
        f"<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>{W}<|tool_call:args|>{JSON}<|tool_call:end|><|calls|>",
        "",
        [(W, ZURICH)],
    ),
    (
        "actions",
        f'<|START_ACTION|>[\n {{"tool_call_id": "0", "tool_name": "{W}", "parameters": {JSON}}}\n]<|END_ACTION|>',
        "",
        [(W, ZURICH)],
    ),
    ("action", f'Action: ```json\n[{{"tool_name": "{W}", "parameters": {JSON}}}]```', "", [(W, ZURICH)]),
    ("granite", f'<|tool_call|>[{{"name": "{W}", "arguments": {JSON}}}]', "", [(W, ZURICH)]),
    ("toolcall", f'<TOOLCALL>[{{"name": "{W}", "arguments": {JSON}}}]</TOOLCALL>', "", [(W, ZURICH)]),
    ("tool_calls", f'<tool_calls>\n{{"name": "{W}", "arguments": {JSON}}}\n</tool_calls>', "", [(W, ZURICH)]),
    ("functools", f'functools[{{"name": "{W}", "arguments": {JSON}}}]', "", [(W, ZURICH)]),
    (
        "invoke",
        (f'<minimax:tool_call>\n<invoke name="{W}">\n<parameter name="city">Zürich</parameter>\n'
        '<parameter name="days">2</parameter>\n</invoke>\n</minimax:tool_call>'),
        "",
        [(W, ZURICH)],
    ),
    (
        "python",
        f"<|tool_call_start|>[{W}(city='Z\\'ür\\nich)', days=[1, -2.5, {{'a': None}}]), {T}()]<|tool_call_end|>Good.",
        "Good.",
        [(W, {"city": "Z'ür\nich)", "days": [1, -2.5, {"a": None}]}), (T, {})],
    ),
    (
        "gemma",
        f'<|tool_call>call:{W}{{city:<|"|>Zü{{}}"r<|"|>,days:2,x:{{y:[true]}}}}<tool_call|><|tool_call>call:{T}{{}}<tool_call|>',
        "",
        [(W, {"city": 'Zü{}"r', "days": 2, "x": {"y": [True]}}), (T, {})],
    ),
    ("lines", f"all\nLook:\n>>>{W}\n{JSON}", "Look:", [(W, ZURICH)]),
    ("lines", f"{W}\n{JSON}\n>>>{T}\n{{}}", "", [(W, ZURICH), (T, {})]),
    (
        "channels",
        f"<|channel|>commentary to=functions.{W} <|constrain|>json<|message|>{JSON}<|call|>",
        "",
        [(W, ZURICH)],
    ),
    (
        "channels",
        (f"<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant to=functions.{W}<|channel|>commentary json"
        f"<|message|>{JSON}"),
        "Let me see.",
        [(W, ZURICH)],
    ),
    ("channels", f" to=functions.{T}<|channel|>commentary json<|message|>{{}}<|call|>", "", [(T, {})]),
    ("channels", "<|end|><|start|>assistant<|channel|>final<|message|>Hello.", "Hello.", []),
]  # fmt: skip

NO_CALLS = [
    ("block", "Write <tool_call> and then JSON.\n"),
    ("block", "a <tool_call>\n{'name': 'get_weather'}\n</tool_call> b"),
    ("block", '<tool_call>{"arguments": {}}</tool_call>'),
    ("block", f'<tool_call>{{"name": "{W}", "arguments": [1]}}</tool_call>'),
    ("block", f'<tool_call>{{"name": "{W}", "arguments": "no JSON"}}</tool_call>'),
    ("block", '<tool_call>{"name": "no name!", "arguments": {}}</tool_call>'),
    ("block", "<function=f(x)> is mathematics"),
    ("block", "Put it in <tool_call>tags</tool_call>, please."),
    ("mistral", "[TOOL_CALLS] are what they are called"),
    ("kimi", "<|tool_call_begin|>nothing"),
    ("lines", "unknown\n{}"),
    ("python", "<|tool_call_start|>print('x'), and so on"),
    ("python", "<|tool_call_start|>[f(a=b)]<|tool_call_end|>"),
    ("python", f"<|tool_call_start|>{'[' * 200}<|tool_call_end|>"),
    ("gemma", '<|tool_call>call:f{a:<|"|>}<tool_call|>'),
    ("python", "<|tool_call_start|>[f(a=1e999)]<|tool_call_end|>"),
    ("python", f"<|tool_call_start|>[f(a={'9' * 401})]<|tool_call_end|>"),
    ("python", f"<|tool_call_start|>[f(a={'9' * 310})]<|tool_call_end|>"),
    ("bare", '{"answer": {"name": "get_weather"}}'),
    ("bare", "plain"),
]


@pytest.mark.parametrize(("form", "text", "said", "calls"), WHOLE)
def test_what_is_said_and_what_is_called(
    form: str, text: str, said: str, calls: list[tuple[str, object]]
) -> None:
    expected = Outcome(said, calls=calls)
    assert read([text], form) == expected
    assert read(text, form) == expected, "a character at a time"
    for place in range(len(text)):
        assert read([text[:place], text[place:]], form) == expected, text[:place]


@pytest.mark.parametrize(("form", "text"), NO_CALLS)
def test_what_is_no_call_is_text_as_it_was_written(form: str, text: str) -> None:
    for place in range(len(text)):
        assert read([text[:place], text[place:]], form) == Outcome(text)
    assert read(text, form) == Outcome(text)


@pytest.mark.parametrize(("form", "text", "said", "calls"), WHOLE)
def test_an_answer_that_is_cut_off_anywhere_has_only_whole_calls(
    form: str, text: str, said: str, calls: list[tuple[str, object]]
) -> None:
    for place in range(len(text)):
        told = read([text[:place]], form, cut=True)
        assert told.calls == calls[: len(told.calls)]
        assert told.broken <= 1


@pytest.mark.parametrize(("form", "text", "said", "calls"), WHOLE)
def test_what_is_left_of_a_call_that_was_cut_off_is_no_text_and_never_looks_whole(
    form: str, text: str, said: str, calls: list[tuple[str, object]]
) -> None:
    for place in range(len(text)):
        split = CallSplit([FORMS[form]], TOOLS)
        told = split.feed(text[:place]) + split.flush(cut=True)
        broken = [index for index, one in enumerate(told) if isinstance(one, CallBroken)]
        if broken:
            assert broken == [len(told) - 1], text[:place]
            with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid"):
                json.loads(arguments(told))


def arguments(told: list[Told]) -> str:
    """Those of the last call."""
    begun = max(index for index, one in enumerate(told) if isinstance(one, CallBegun))
    return "".join(one.text for one in told[begun:] if isinstance(one, CallMore))


@given(
    st.sampled_from(WHOLE),
    st.integers(0, 300),
    st.sampled_from(["", "x", '"', "}", "\n", "<", "</tool_call>", "<tool_call>", "\\", "[", "é", ">"]),
    st.lists(st.integers(1, 9), max_size=30),
)  # fmt: skip
def test_any_cut_of_anything_gives_the_same(
    case: tuple[str, str, str, list[tuple[str, object]]], place: int, put: str, cuts: list[int]
) -> None:
    form, text, _, _ = case
    text = text[:place] + put + text[place + 1 :]
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert read([*pieces, rest], form) == read(text, form) == read([text], form)


def test_a_call_that_breaks_off_is_text_with_all_that_was_written() -> None:
    text = f'See: <tool_call>{{"name": "{W}", "arguments": {{"city": nonsense}}}}</tool_call>.'
    assert read(text, "block") == Outcome(text, broken=1)


def test_arguments_come_as_they_are_written() -> None:
    pieces = [f'<tool_call>{{"name": "{W}", "arguments": {{"ci', 'ty": "Zü', 'rich"}', "}"]
    split = CallSplit([FORMS["block"]], TOOLS)
    assert [split.feed(piece) for piece in pieces] == [
        [CallBegun(W), CallMore('{"ci')],
        [CallMore('ty": "Zü')],
        [CallMore('rich"}')],
        [CallDone()],
    ]


def test_only_one_call_is_read_where_one_is_wanted() -> None:
    text = f'a<tool_call>{{"name": "{W}"}}</tool_call>b<tool_call>{{"name": "{T}"}}</tool_call>'
    assert read(text, "block", single=True) == Outcome("a", calls=[(W, {})])


def test_raw_line_feeds_in_strings_are_put_right() -> None:
    text = f'<tool_call>{{"name": "{W}", "arguments": {{"city": "a\nb\tc"}}}}</tool_call>'
    assert read(text, "block").calls == [(W, {"city": "a\nb\tc"})]


def test_reasoning_between_calls_is_told_as_such() -> None:
    text = "<|channel|>analysis<|message|>Hm, <b>.<|end|><|start|>assistant<|channel|>final<|message|>Yes"
    assert read(text, "channels") == read([text], "channels") == Outcome("Yes", "Hm, <b>.")


def test_control_tokens_are_told_from_their_texts() -> None:
    form = with_symbols(FORMS["mistral"], {"[TOOL_CALLS]": "\ufdd0", "[ARGS]": "\ufdd1"})
    assert "\ufdd0" in texts(form)
    typed = f"[TOOL_CALLS]{W}[ARGS]{JSON}"
    assert read(typed, form) == Outcome(typed)
    assert read(f"\ufdd0{W}\ufdd1{JSON}", form) == Outcome(calls=[(W, ZURICH)])
    assert read("\ufdd0 nothing", form) == Outcome(" nothing")


# --- JSON as it comes ----------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.sampled_from([None, True, 0, -12, 1.5e-7, 2e300, "", "é\n\"\\\u2028😀", "\x00\t/"]) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def scanned(text: str) -> JsonScan:
    scan = JsonScan()
    for character in text:
        scan.feed(character)
    scan.finish()
    return scan


@settings(max_examples=40)
@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_valid_json_is_read_to_its_end(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    scan = JsonScan()
    accepted, used = scan.feed(text + ("]" if isinstance(value, int | float) else ""))
    assert scan.done
    assert (accepted, used) == (text, len(text))
    assert scanned(text).done


@given(st.text(alphabet='{}[]",:\\ \n0123eE.+-truefalsnu', max_size=12))
def test_what_it_takes_for_json_is_json(text: str) -> None:
    try:
        json.loads(text, strict=False)
        valid = True
    except ValueError:
        valid = False
    scan = JsonScan()
    _, used = scan.feed(text)
    if not scan.done:
        scan.finish()
    assert (scan.done and not text[used:].strip()) == valid


@given(st.text(alphabet='{}[]",:\\ \n01e.-true', max_size=12), st.integers(0, 12))
def test_json_is_read_the_same_however_it_is_cut(text: str, place: int) -> None:
    one, two = JsonScan(), JsonScan()
    accepted, used = one.feed(text)
    first, taken = two.feed(text[:place])
    second, more = two.feed(text[taken:]) if not two.broken else ("", 0)
    assert (one.done, one.broken) == (two.done, two.broken)
    assert (accepted, used) == (first + second, taken + more)


def test_json_that_is_nested_too_deeply_is_broken() -> None:
    assert scanned("[" * MAX_DEPTH + "]" * MAX_DEPTH).done
    assert scanned("[" * (MAX_DEPTH + 1)).broken


def test_numbers_that_nobody_can_read_are_no_numbers() -> None:
    for literal in ("1e999", "-1e999", "9" * 5_000):
        call = f'<tool_call>{{"name": "{W}", "arguments": {{"days": {literal}}}}}</tool_call>'
        assert read([call], "block") == Outcome(call, broken=1)
        assert not scanned(literal).done
    assert scanned("-1.5e308").done
    # Where a value is not quoted it is a text then.
    tags = f"<function={W}><parameter=days>{'9' * 5_000}</parameter></function>"
    assert read([tags], "block").calls == [(W, {"days": "9" * 5_000})]


def test_functions_within_each_other_are_followed_once() -> None:
    deep = '<tool_call>{"function":' + '{"function":' * 20_000
    assert read([deep], "block") == Outcome(deep)
    once = f'{{"function": {{"name": "{W}", "function": {{"name": "{T}"}}}}}}'
    assert read([f"<tool_call>{once}</tool_call>"], "block").calls == [(W, {})]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"\u00e9\x41", "éA"),
        (r"\ud83d\ude00", "😀"),
        (r"\U0001f600", "😀"),
        (r"\ud83d", "\ufffd"),
        (r"\u12 \xZZ \U99999999", r"\u12 \xZZ \U99999999"),
        (r"\n\'\q", "\n'\\q"),
    ],
)
def test_escapes_of_literals_are_the_characters_that_they_name(written: str, meant: str) -> None:
    text = f"<|tool_call_start|>[f(a='{written}')]<|tool_call_end|>"
    assert read([text], "python").calls == [("f", {"a": meant})]


def test_nothing_to_look_for_is_not_waited_for() -> None:
    assert next(ahead(Input({}), ()), "found") == "found"


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"anyOf": 5}, None),
        ({"anyOf": 5, "oneOf": [{"type": "string"}]}, Kind.TEXT),
        ({"anyOf": {"type": "string"}}, None),
        ({"anyOf": [], "oneOf": True}, None),
        ({"anyOf": [7]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, Kind.TEXT_OR_NULL),
    ],
)
def test_only_lists_are_choices_between_schemas(schema: object, kind: Kind | None) -> None:
    tool = Tool("f", "", json.dumps({"properties": {"a": schema}}))
    assert kinds([tool]) == {"f": {} if kind is None else {"a": kind}}
