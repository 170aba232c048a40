"""The files that a newcomer meets: what README points to is there, and what it says to type is understood."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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
