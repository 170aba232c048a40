"""The sandbox, and what templates written for Hugging Face expect (cases 19, 23)."""

import pytest

from app.prompting import MAX_TEMPLATE
from app.text.template import ChatTemplate, TemplateFailed, TemplateTooHeavy

ONE = [{"role": "user", "content": "hi"}]


def render(source: str, messages: list[dict[str, str]] | None = None) -> str:
    return ChatTemplate(source, bos="<s>", eos="</s>").render(messages or ONE)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", "<s>hi</s>"),
        ("{% if tools is not none %}x{% endif %}{{ add_generation_prompt }}", "True"),
        ("{% for m in messages %}{{ m.role }}{% break %}{% endfor %}", "user"),
        (
            "{%- for i in range(3) %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
            "02",
        ),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "hi"),
        ("{% marked as 'x' %}{{ messages[0].content }}{% endmarked %}", "hi"),
        ("{{ messages | tojson }}", '[{"role": "user", "content": "hi"}]'),
        ("{{ '<é>' | tojson }}", '"<é>"'),
        ("{{ 'a' | safe + '<b>' + ('c' | safe) }}", "a<b>c"),
        ("{{ messages | map(attribute='role') | tojson }}", '["user"]'),
        ("{{ {'a': 1} | tojson(indent=1) }}", '{\n "a": 1\n}'),
        ("  {% if true %}\na\n  {% endif %}\nb", "a\nb"),
        ("{{ '-' * 3 }}{{ 2 ** 3 }}{{ 2 * 1.5 }}", "---83.0"),
        ("{{ unknown }}{{ messages[0].nothing }}", ""),
        ("{% set n = namespace(x=1) %}{% set n.x = 2 %}{{ n.x }}", "2"),
    ],
)
def test_what_templates_expect(source: str, result: str) -> None:
    assert render(source) == result


def test_a_tag_in_a_loop_is_passed_over() -> None:
    source = (
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %};{% endfor %}"
    )
    assert (
        render(source, [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
        == "a;b;"
    )


def test_contents_may_be_lists_of_parts() -> None:
    template = ChatTemplate(
        "{% for p in messages[0].content %}{{ p.text }}{% endfor %}", typed=True
    )
    assert template.render(ONE) == "hi"


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{{ m.content }",
        "{{ nosuch.attr }}",
        "{{ raise_exception('roles must alternate') }}",
        "{{ 1 / 0 }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'x'}) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% include 'x' %}",
        "{% import 'os' as os %}{{ os }}",
        "{{ range(1000000) | list }}",
        "{{ messages[5].content }}",
        "{{ 'a' + 1 }}",
        "{{ '%d' % 'x' }}",
        "{{ 'x' * 2000000000 }}",
        "{{ [1] * 2000000000 }}",
        "{{ 9 ** 999999999 }}",
        "{{ [1, 2][9] + 1 }}",
        "{{ 'inf' | float | int }}",
        "x" * (MAX_TEMPLATE + 1),
        "{{ " + "(" * 3000 + ")" * 3000 + " }}",
        "".join("{% unknown" + str(n) + " %}" for n in range(20)),
    ],
)
def test_refusals_and_attacks_fail_with_plain_words(source: str) -> None:
    with pytest.raises(TemplateFailed) as caught:
        render(source)
    assert len(caught.value.what) < 300
    assert "Traceback" not in caught.value.what


def test_the_templates_own_words_are_told() -> None:
    with pytest.raises(TemplateFailed, match="roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}")


def test_halves_of_pairs_that_a_template_writes_are_replaced() -> None:
    assert render("a{{ '\\ud83d' }}\udcff{{ messages[0].content }}") == "a\ufffd\ufffdhi"


def test_a_template_that_keeps_writing_is_stopped() -> None:
    source = "{% for a in range(99999) %}{% for b in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endfor %}"
    with pytest.raises(TemplateTooHeavy, match="does not come to an end"):
        render(source)


def test_memory_is_limited_and_the_process_goes_on() -> None:
    template = ChatTemplate("{{ 'x' | center(2000000000) }}")
    with pytest.raises(TemplateTooHeavy, match="memory"):
        template.render(ONE)
    assert render("{{ messages[0].content }}") == "hi"
    assert len(bytearray(250_000_000)) == 250_000_000
