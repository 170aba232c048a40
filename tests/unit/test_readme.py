"""The files that a newcomer meets: what README points to is there, and what it says to type is understood."""

import json
import re
from pathlib import Path

import pytest

from app.api.schema import parse_chat
from app.errors import RequestError
from app.sampling import FIELDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
API = (ROOT / "resources" / "api.md").read_text(encoding="utf-8")


def test_every_link_and_picture_is_there():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert any(target.endswith(".png") for target in targets), "a screenshot"
    for target in targets:
        assert (ROOT / target).is_file(), target


def test_every_command_is_a_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", README, re.MULTILINE))
    assert {"run", "test"} <= named
    assert named <= targets


def test_licence_changes_and_icon_are_there():
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").startswith("#")
    assert "<svg" in (ROOT / "resources" / "icons" / "tutti.svg").read_text(encoding="utf-8")


def test_every_file_that_is_named_is_there():
    for name in re.findall(r"`((?:app|tests|packaging|resources)/[\w./-]+)`", README):
        assert (ROOT / name).exists(), name


def body(**fields: object) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": "hi"}], **fields}).encode()


def test_the_page_of_the_api_names_every_field_of_sampling():
    named = set(re.findall(r"`(\w+)`", API.partition("## Sampling")[2].partition("\n## ")[0]))
    assert set(FIELDS) <= named


def test_what_the_page_of_the_api_says_is_refused_is_refused_by_name():
    listed = API.partition("asks for nothing (`n` 1):")[2].partition("Every other field")[0]
    names = re.findall(r"`(\w+)`", listed.replace("`response_format`", ""))
    assert len(names) == 10
    for name in names:
        with pytest.raises(RequestError, match=f"'{name}' is not supported"):
            parse_chat(body(**{name: 7}))


def test_what_the_page_of_the_api_says_is_taken_is_checked():
    table = API.partition("## The request")[2].partition("\n\nWhat")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = [name for cell in first for name in re.findall(r"`(\w+)(?:\.\w+)?`", cell)]
    assert {"messages", "stop", "reasoning_effort"} <= set(names)
    for name in names:
        with pytest.raises(RequestError, match=f"'{name}"):
            parse_chat(body(**{name: 7.5}))
