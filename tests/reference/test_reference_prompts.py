"""The prompts of real templates are llama-server's, and the token ids of real vocabularies llama-tokenize's.

The reference's results are hashes in templates.json and tokens.json (record.py makes them).  Where the templates and
vocabularies themselves are at hand, ours are computed anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from app.text.vocabulary import LlamaVocabulary
from tests.reference import sources
from tests.reference.contents import CONTENTS
from tests.reference.conversations import SHAPES
from tests.reference.deviations import DEVIATIONS, reason
from tests.reference.ours import Prompts, digest, ids_digest

FOLDER = Path(__file__).parent
TEMPLATES: dict[str, Any] = json.loads((FOLDER / "templates.json").read_text(encoding="utf-8"))
TOKENS: dict[str, Any] = json.loads((FOLDER / "tokens.json").read_text(encoding="utf-8"))
NO_SOURCE = "the source of llama-cpp-python is not at hand; set-up keeps it when it compiles"


@pytest.fixture(scope="module")
def models() -> Path:
    found = sources.models()
    if found is None:
        pytest.skip(NO_SOURCE)
    return found


def test_every_template_was_compared_with_every_shape_of_conversation() -> None:
    assert len(TEMPLATES) == 70
    shapes = [shape.name for shape in SHAPES]
    assert all(list(found["reference"]) == shapes for found in TEMPLATES.values())


def test_every_vocabulary_was_compared_with_every_content() -> None:
    assert len(TOKENS) == 19
    assert all(list(found["reference"]) == list(CONTENTS) for found in TOKENS.values())


def test_each_difference_has_a_reason_and_each_reason_a_difference() -> None:
    different = [
        (template, shape) for template, found in TEMPLATES.items() for shape in found["ours"]
    ]
    assert [place for place in different if reason(*place) is None] == []
    used = {reason(*place) for place in different}
    assert [one for one in DEVIATIONS if one not in used] == []


def test_token_ids_never_differ() -> None:
    assert {name: found["ours"] for name, found in TOKENS.items() if found["ours"]} == {}


@pytest.mark.slow
def test_our_prompts_are_what_was_compared(models: Path) -> None:
    found = sources.templates(models)
    assert {name: digest(source) for name, source in found.items()} == {
        name: entry["source"] for name, entry in TEMPLATES.items()
    }
    for name, source in found.items():
        prompts, entry = Prompts(source), TEMPLATES[name]
        for shape in SHAPES:
            expected = entry["ours"].get(shape.name, entry["reference"][shape.name])
            assert digest(prompts.text(shape)) == expected, f"{name}, {shape.name}"


@pytest.mark.slow
def test_our_ids_are_the_references(models: Path) -> None:
    found = sources.vocabularies(models)
    assert list(found) == list(TOKENS)
    for name, file in found.items():
        vocabulary = LlamaVocabulary(file)
        for label, content in CONTENTS.items():
            ids = ids_digest(vocabulary.tokenize(content))
            assert ids == TOKENS[name]["reference"][label], f"{name}, {label}"
        vocabulary.close()
