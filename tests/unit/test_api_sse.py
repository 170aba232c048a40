import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.pieces import Whole
from app.api.sse import CompletionWriter, encode
from app.chat.models import FinishReason, Usage


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]))))
def test_any_text_is_one_line_of_ascii_and_comes_back(texts: list[str]) -> None:
    writer = CompletionWriter("m")
    data = b"".join(map(writer.text, texts))
    assert data.isascii()
    lines = data.decode().split("\n\n")
    assert lines.pop() == ""
    assert all(line.startswith("data: ") and len(line.splitlines()) == 1 for line in lines)
    contents = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in lines]
    assert contents == texts


def test_what_was_thought_has_a_field_of_its_own() -> None:
    writer = CompletionWriter("m")
    delta = json.loads(writer.thought("Hm\u2028").removeprefix(b"data: "))["choices"][0]["delta"]
    assert delta == {"reasoning_content": "Hm\u2028"}
    for thought, extra in (("", {}), ("Hm", {"reasoning_content": "Hm"})):
        body = json.loads(writer.whole(Whole("Hi", thought), FinishReason.STOP, Usage()))
        message = body["choices"][0]["message"]
        assert message == {"role": "assistant", "content": "Hi", **extra}


def test_the_usage_comes_only_where_it_was_asked_for() -> None:
    usage = Usage(7, 3, 2)
    plain = CompletionWriter("m").closing(FinishReason.LENGTH, usage)
    asked = CompletionWriter("m", include_usage=True).closing(FinishReason.LENGTH, usage)
    assert b"usage" not in plain
    assert plain.endswith(b"data: [DONE]\n\n")
    event = json.loads(asked.split(b"\n\n")[1][6:])
    assert (event["choices"], event["usage"]["total_tokens"]) == ([], 10)


def test_a_number_that_json_does_not_have_is_never_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"x": float("nan")})
