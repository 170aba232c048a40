"""Search and the files of a repository, against a hub that pages, and one that talks nonsense."""

import json
from collections.abc import Iterator

import pytest

from app.errors import HubError, HubProblem
from app.hub.access import Access
from app.hub.catalog import Catalog
from app.hub.listing import Query
from app.hub.names import Kind
from app.hub.offers import advice, choose
from tests.fake_hub import MIB, Content, FakeHub

pytestmark = pytest.mark.slow


@pytest.fixture
def catalog(hub: FakeHub) -> Iterator[Catalog]:
    made = Catalog(Access(hub.endpoint))
    yield made
    made.close()


def test_a_search_comes_in_pages_and_ends(hub: FakeHub, catalog: Catalog) -> None:
    for number in range(65):
        hub.add(f"o/tiny-{number:02d}")
    hub.add("o/other")
    first = catalog.search(Query("tiny", language="de", licence="mit", sort="downloads"))
    second = catalog.search(Query("tiny"), first.next_page)
    third = catalog.search(Query("tiny"), second.next_page)
    found = [one.repo for page in (first, second, third) for one in page.found]
    assert found == [f"o/tiny-{number:02d}" for number in range(65)]
    assert not third.next_page
    asked = hub.log[0].query
    assert asked["filter"] == ["gguf", "license:mit", "de"]
    assert asked["sort"] == ["downloads"]
    assert "gguf" in asked["expand"]


def test_what_the_hub_says_of_a_repository_is_shown(hub: FakeHub, catalog: Catalog) -> None:
    repo = hub.add("o/r")
    repo.gated = True
    repo.facts = {"total": 134_515_008, "architecture": "llama", "context_length": 8192}
    (one,) = catalog.search(Query("r")).found
    assert (one.parameters, one.context, one.architecture) == (134_515_008, 8192, "llama")
    assert (one.gated, one.licence, one.languages, one.changed) == (
        True,
        "mit",
        ("en",),
        "2026-05-06",
    )


@pytest.mark.parametrize("link", ["http://evil.example/api/models?cursor=1", "not a link", "<"])
def test_a_next_page_of_another_origin_is_not_followed(hub: FakeHub, catalog: Catalog, link: str) -> None:  # fmt: skip
    hub.refuse = (200, {"Link": f'<{link}>; rel="next"'})
    with pytest.raises(HubError):
        catalog.search(Query())
    hub.refuse = None
    hub.add("o/r")
    assert catalog.search(Query()).next_page == ""


@pytest.mark.parametrize("body", [b"", b"<html>Log in</html>", b"[" * 100_000, b"\xff\xfe", b"null", b'{"a": 1}'])  # fmt: skip
def test_nonsense_is_named(hub: FakeHub, catalog: Catalog, body: bytes) -> None:
    hub.raw = body
    for ask in (lambda: catalog.search(Query()), lambda: catalog.repository("o/r")):
        with pytest.raises(HubError, match="makes no sense") as caught:
            ask()
        assert caught.value.problem is HubProblem.PROTOCOL


@pytest.mark.parametrize("row", ["1", '{"id": 7}', '{"id": "../../x"}', '{"id": "o/r", "lastModified": "x"}', '{"id": "o/r", "tags": 5}', "[]"])  # fmt: skip
def test_a_row_of_nonsense_is_left_out_and_the_others_stay(hub: FakeHub, catalog: Catalog, row: str) -> None:  # fmt: skip
    hub.raw = f'[{row}, {{"id": "o/good"}}]'.encode()
    assert [one.repo for one in catalog.search(Query()).found] == ["o/good"]


ENDLESS = "1" + "0" * 400


def test_numbers_without_end_are_as_if_the_hub_did_not_say_them(hub: FakeHub, catalog: Catalog) -> None:  # fmt: skip
    facts = f'{{"total": {ENDLESS}, "context_length": {ENDLESS}}}'
    hub.raw = f'[{{"id": "o/r", "downloads": {ENDLESS}, "likes": {ENDLESS}, "gguf": {facts}}}]'.encode()  # fmt: skip
    (one,) = catalog.search(Query()).found
    assert (one.downloads, one.likes, one.parameters, one.context) == (0, 0, 0, 0)


def test_a_file_of_a_size_without_end_is_left_out(hub: FakeHub, catalog: Catalog) -> None:
    hub.add("o/r", m_Q4_0__gguf=Content(MIB))
    hub.repos["o/r"].files["n-Q4_0.gguf"] = huge = Content(0, sha256="a" * 64)
    huge.size = int(ENDLESS)
    assert [one.model.title for one in catalog.repository("o/r").offers] == ["m_Q4_0.gguf"]


def test_of_a_page_that_is_far_longer_than_asked_for_not_all_is_taken(hub: FakeHub, catalog: Catalog) -> None:  # fmt: skip
    hub.raw = json.dumps([{"id": f"o/m{number}"} for number in range(5000)]).encode()
    assert len(catalog.search(Query()).found) == 100


def test_one_row_for_a_split_model_and_none_for_what_is_no_chat_model(hub: FakeHub, catalog: Catalog) -> None:  # fmt: skip
    repo = hub.add("o/r", m_Q4_K_M__gguf=Content(3 * MIB), README__md=Content(data=b"# Hello\n"))
    repo.small = frozenset({"README.md"})
    for number in (1, 2, 3):
        repo.files[f"m-Q8_0-{number:05d}-of-00003.gguf"] = Content(2 * MIB, number)
    for name in ("best-of-breed.gguf", "mmproj-f16.gguf", "imatrix.gguf", "m.gguf.part1of2", "adapter-lora.gguf"):  # fmt: skip
        repo.files[name] = Content(MIB, len(name))
    found = catalog.repository("o/r")
    assert [(one.model.title, one.model.size, len(one.model.files)) for one in found.offers] == [
        ("best-of-breed.gguf", MIB, 1),
        ("m_Q4_K_M.gguf", 3 * MIB, 1),
        ("m-Q8_0-00001-of-00003.gguf", 6 * MIB, 3),
    ]
    assert found.others == {
        "mmproj-f16.gguf": Kind.PROJECTOR,
        "imatrix.gguf": Kind.MATRIX,
        "m.gguf.part1of2": Kind.PIECE,
        "adapter-lora.gguf": Kind.ADAPTER,
    }
    assert choose(found.offers).title == "m_Q4_K_M.gguf"
    assert choose(found.offers, "q8_0").title == "m-Q8_0-00001-of-00003.gguf"
    assert choose(found.offers, "m-Q8_0-00002-of-00003.gguf").size == 6 * MIB
    with pytest.raises(HubError, match=r"It has: .*Q8_0") as caught:
        choose(found.offers, "Q2_K")
    assert caught.value.problem is HubProblem.NOT_FOUND
    with pytest.raises(HubError):
        choose(found.offers, "mmproj-f16.gguf")
    assert catalog.card("o/r", found.commit) == "# Hello\n"


def test_a_set_with_a_part_missing_says_which(hub: FakeHub, catalog: Catalog) -> None:
    repo = hub.add("o/r")
    for number in (1, 3):
        repo.files[f"m-{number:05d}-of-00003.gguf"] = Content(MIB, number)
    (offer,) = catalog.repository("o/r").offers
    assert offer.missing == ("m-00002-of-00003.gguf",)
    with pytest.raises(HubError, match="m-00002-of-00003"):
        choose([offer])


def test_a_tree_of_many_pages_is_read_to_its_end(hub: FakeHub, catalog: Catalog) -> None:
    hub.page_size = 2
    repo = hub.add("o/r")
    for number in range(7):
        repo.files[f"m{number}.gguf"] = Content(10 + number)
    assert len(catalog.repository("o/r").offers) == 7


def test_a_repository_without_models_says_so(hub: FakeHub, catalog: Catalog) -> None:
    hub.add("o/r", README__md=Content(data=b"x"))
    with pytest.raises(HubError, match="no model in the GGUF format"):
        choose(catalog.repository("o/r").offers, "", "o/r")
    assert catalog.card("o/r", "c" * 40) == "x"


@pytest.mark.parametrize(
    ("label", "word"),
    [("Q2_K", "small"), ("IQ3_XS", "small"), ("Q4_K_M", "balanced"), ("Q5_0", "balanced"), ("MXFP4", "balanced"),
     ("Q8_0", "large"), ("F16", "original"), ("UD-Q4_K_XL", "balanced"), ("", "")],
)  # fmt: skip
def test_advice_in_plain_words(label: str, word: str) -> None:
    assert advice(label).startswith(word)
