"""Contents are found where they come out of a template, whatever it does with them."""

import pytest

from app.errors import TextError
from app.text.control import ControlToken, ControlTokens
from app.text.limits import TEMPLATE_SECONDS, limited_time
from app.text.marks import Locator, Place, break_control, private_characters, remove_breakers
from app.text.template import ChatTemplate

TOKENS = ControlTokens(
    [ControlToken(1, "<|im_end|>"), ControlToken(2, "<s>"), ControlToken(3, "s><")]
)
PLAIN = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}"
TRIM = "{% for m in messages %}[{{ m.role }}:{{ m.content | trim }}]{% endfor %}"
TAIL = "{% for m in messages %}[{{ m.content.split('|')[-1] }}]{% endfor %}"
HEAD = "{% for m in messages %}[{{ m.content.split('|')[0] }}]{% endfor %}"
LAST = "{% for m in messages %}<|{{ m.content.split('|')[-1] }}>{% endfor %}"
FIRST = "{% for m in messages %}<{{ m.content.split('|')[0] }}|>{% endfor %}"
LOOKS = "{% for m in messages %}{% if m.content.startswith('<x>') %}X{% endif %}[{{ m.content }}]{% endfor %}"
TWICE = "{{ messages[0].content }};{{ messages[0].content }}"
LOUD = "{% for m in messages %}[{{ m.content | upper }}]{% endfor %}"


def locate(source: str, *contents: str) -> tuple[str, list[tuple[int, str]]]:
    """The text, and for each place its line and what stands there."""
    template = ChatTemplate(source)

    def render(texts):
        return template.render([{"role": "user", "content": text} for text in texts])

    located = Locator(render, contents, private_characters([source, *contents])).locate()
    return located.text, [(p.line, located.text[p.start : p.end]) for p in located.places]


@pytest.mark.parametrize(
    ("source", "contents", "text", "places"),
    [
        (PLAIN, ("a", "", "user"), "[user:a][user:][user:user]", [(0, "a"), (2, "user")]),
        (PLAIN, (" a\n", "b"), "[user: a\n][user:b]", [(0, " a\n"), (1, "b")]),
        (TRIM, (" a\n", " "), "[user:a][user:]", [(0, "a")]),
        (TAIL, ("x|yz", "b"), "[yz][b]", [(0, "yz"), (1, "b")]),
        (
            TAIL.replace("[{", "x|[{"),
            ("x|[|yz",),
            "x|[yz]",
            [(0, "yz")],
        ),  # no more, though more looks like it
        (LAST, ("|yz", "b"), "<|yz><|b>", [(0, "yz"), (1, "b")]),
        (FIRST, ("yz|x", "b"), "<yz|><b|>", [(0, "yz"), (1, "b")]),
        (LAST, ("<" * 40 + "|", "|" * 9 + "a"), "<|><|a>", [(0, ""), (1, "a")]),
        (HEAD, ("xy|z", "b"), "[xy][b]", [(0, "xy"), (1, "b")]),
        (LOOKS, ("<x>1", "b", "<x>2"), "X[<x>1][b]X[<x>2]", [(0, "<x>1"), (1, "b"), (2, "<x>2")]),
        (TWICE, ("a",), "a;a", [(0, "a"), (0, "a")]),
        (LOUD, ("a", "b"), "[A][B]", [(0, "A"), (1, "B")]),
        ("{{ messages | length }}", ("a", "b"), "2", []),
    ],
)
def test_contents_are_found(
    source: str, contents: tuple[str, ...], text: str, places: list[tuple[int, str]]
) -> None:
    assert locate(source, *contents) == (text, places)


def test_thousands_of_contents_are_found_in_the_time_of_one_request() -> None:
    contents = ["hello", "\ue000"] * 8_000
    with limited_time(TEMPLATE_SECONDS):
        _, places = locate(PLAIN, *contents)
    assert places == list(enumerate(contents))


def test_white_space_that_only_some_roles_keep() -> None:
    source = "{% for m in messages %}{% if loop.first %}{{ m.content | trim }}{% else %}{{ m.content }}{% endif %};{% endfor %}"
    assert locate(source, " a ", " b ") == ("a; b ;", [(0, "a"), (1, " b ")])


def test_private_characters_occur_nowhere() -> None:
    used = "".join(map(chr, range(0xE000, 0xE010)))
    characters = private_characters([used])
    assert next(characters) == "\ue010"
    everything = map(
        chr, [*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE), *range(0x100000, 0x10FFFE)]
    )
    with pytest.raises(TextError):
        next(private_characters(["".join(everything)]))


@pytest.mark.parametrize("text", ["<|im_end|>", "a<s><s>b", "<s", "<|im_end|><|im_end|>", ""])
def test_broken_text_holds_no_control_token(text: str) -> None:
    broken = break_control(text, TOKENS, "#")
    assert list(TOKENS.occurrences(broken)) == []
    assert broken.replace("#", "") == text


def test_breakers_are_removed_and_remembered() -> None:
    template = ChatTemplate("<s>{{ messages[0].content }}<s>")

    def render(texts):
        return template.render([{"role": "user", "content": texts[0]}])

    broken = break_control("<s>", TOKENS, "#")
    plain = remove_breakers(Locator(render, [broken], private_characters([])).locate(), "#")
    assert plain.text == "<s><s><s>"
    assert plain.places == (Place(3, 6, 0),)
    assert [plain.is_template(at, at + 3) for at in (0, 3, 6)] == [True, False, True]
    assert not plain.is_template(2, 5)
    assert plain.is_broken(3, 6)
