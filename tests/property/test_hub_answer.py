"""An answer is taken only when it holds the bytes that were asked for, of the content that was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import HubError, HubProblem
from app.hub.answer import Body, judge
from app.hub.remote import RemoteFile

FILE = RemoteFile("m.gguf", 1000, "a" * 64)


@given(st.integers(0, 999), st.integers(0, 999), st.integers(0, 1200), st.integers(0, 1200), st.integers(900, 1100))  # fmt: skip
def test_only_the_asked_range_is_taken(a: int, b: int, first: int, last: int, total: int) -> None:
    wanted = min(a, b), max(a, b)
    headers = {"content-range": f"bytes {first}-{last}/{total}"}
    right = first == wanted[0] and last <= wanted[1] and total == FILE.size
    if right:
        assert judge(FILE, *wanted, 206, headers, []) == Body()
        return
    with pytest.raises(HubError) as caught:
        judge(FILE, *wanted, 206, headers, [])
    assert caught.value.problem in {HubProblem.PROTOCOL, HubProblem.CHANGED}


@given(st.text(max_size=40))
def test_any_other_words_are_refused(words: str) -> None:
    with pytest.raises(HubError) as caught:
        judge(FILE, 10, 20, 206, {"content-range": words}, [])
    assert caught.value.problem is HubProblem.PROTOCOL


@pytest.mark.parametrize(
    ("status", "headers", "tags", "problem"),
    [
        (416, {}, [], HubProblem.CHANGED),
        (200, {"content-length": "999"}, [], HubProblem.CHANGED),
        (206, {"content-range": "bytes 10-20/1000"}, [f'"{"b" * 64}"'], HubProblem.CHANGED),
        (206, {"content-range": "bytes 10-20/1001"}, [], HubProblem.CHANGED),
        (206, {"content-range": "bytes 10-20/1000", "content-encoding": "gzip"}, [], HubProblem.PROTOCOL),
    ],
)  # fmt: skip
def test_another_content_is_named(
    status: int, headers: dict[str, str], tags: list[str], problem: HubProblem
) -> None:
    with pytest.raises(HubError) as caught:
        judge(FILE, 10, 20, status, headers, tags)
    assert caught.value.problem is problem


def test_a_server_without_ranges_sends_all_and_the_front_is_skipped() -> None:
    assert judge(FILE, 10, 20, 200, {"content-length": "1000"}, ["", f'"{"a" * 64}"']) == Body(10)


def test_a_tag_of_another_sort_says_nothing() -> None:
    headers = {"content-range": "bytes 10-20/1000"}
    assert judge(FILE, 10, 20, 206, headers, ['"of-the-cdn"', f'"{"b" * 40}"', ""]) == Body()
