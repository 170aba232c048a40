"""What is recommended fits, the language of the person counts, and the list that ships makes sense."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app import paths
from app.hub.curated import Recommended, order, parse

models = st.lists(st.builds(Recommended, st.just("o/r"), st.text(max_size=3), st.integers(10**8, 10**11), st.sampled_from([("en",), ("de", "en")]), st.just("mit"), st.just("")), max_size=10)  # fmt: skip


@given(models, st.integers(0, 10**12), st.sampled_from(["en", "de", "xx"]))
def test_what_is_recommended_fits_and_speaks_the_language_first(found: list[Recommended], free: int, language: str) -> None:  # fmt: skip
    ordered = order(found, free, language)
    assert all(one.size <= free * 0.7 for one in ordered)
    knows = [language in one.languages for one in ordered]
    assert knows == sorted(knows, reverse=True)
    assert {one.size for one in found if one.size <= free * 0.35} <= {one.size for one in ordered}


def test_the_list_that_ships_makes_sense() -> None:
    raw = json.loads((paths.resources_dir() / "models.json").read_bytes())
    found = parse(raw)
    assert len(found) == len(raw["models"]) >= 5
    assert order(found, 64_000_000_000, "en")
    assert order(found, 4_000_000_000, "en")


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["models", "repo", "size", "title"]), inner, max_size=4), max_leaves=8))  # fmt: skip
def test_any_other_list_is_empty_and_no_trouble(raw: object) -> None:
    assert parse(raw) == ()
