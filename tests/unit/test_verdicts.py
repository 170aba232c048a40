"""What was found of model files is kept, and counts for just these files."""

import json
import os
from pathlib import Path

import pytest

from app.verdict import SOUND, Finding, Verdict
from app.verdicts import Verdicts, identify

BAD = Verdict(Finding.CRASHED, "It crashes.", "Choose another.")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + bytes(1000))
    return path


@pytest.fixture
def verdicts(tmp_path: Path) -> Verdicts:
    return Verdicts(tmp_path / "checked.json")


@pytest.mark.parametrize("verdict", [SOUND, BAD, Verdict(Finding.SLOW, "a", "b", accepted=True)])
def test_it_is_there_after_a_restart(
    verdicts: Verdicts, model: Path, tmp_path: Path, verdict: Verdict
) -> None:
    assert verdicts.get(identify(model)) is None
    verdicts.put(identify(model), verdict)
    assert Verdicts(tmp_path / "checked.json").get(identify(model)) == verdict


def test_a_link_leads_to_the_same_file(verdicts: Verdicts, model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    verdicts.put(identify(link), SOUND)
    assert verdicts.get(identify(model)) == SOUND


@pytest.mark.parametrize("change", ["size", "time", "content", "place"])
def test_another_file_is_not_known(verdicts: Verdicts, model: Path, change: str) -> None:
    verdicts.put(identify(model), SOUND)
    before = model.stat()
    match change:
        case "size":
            model.write_bytes(b"GGUF" + bytes(1001))
        case "time":
            os.utime(model, ns=(0, before.st_mtime_ns + 1))
        case "content":
            model.write_bytes(b"GGUF" + bytes(999) + b"x")
            os.utime(model, ns=(0, before.st_mtime_ns))
        case "place":
            model = model.rename(model.with_name("other.gguf"))
    assert verdicts.get(identify(model)) is None


def test_every_part_of_a_split_model_counts(verdicts: Verdicts, tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2)]
    for part in parts:
        part.write_bytes(b"GGUF")
    verdicts.put(identify(parts[0]), SOUND)
    assert verdicts.get(identify(parts[0])) == SOUND
    parts[1].write_bytes(b"GGUFx")
    assert verdicts.get(identify(parts[0])) is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"%s": 7}', '{"%s": {"finding": "sound"}}', "[" * 100_000, "\xff", "x" * 5_000_000],
)  # fmt: skip
def test_a_damaged_list_is_as_if_it_were_not_there(
    verdicts: Verdicts, model: Path, tmp_path: Path, text: str
) -> None:
    (tmp_path / "checked.json").write_text(text.replace("%s", str(model)), encoding="latin-1")
    assert verdicts.get(identify(model)) is None
    verdicts.put(identify(model), SOUND)
    assert verdicts.get(identify(model)) == SOUND


def test_what_cannot_be_written_is_left_out(model: Path, tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "no folder" / "checked.json")
    verdicts.put(identify(model), SOUND)
    assert verdicts.get(identify(model)) is None


def test_the_list_does_not_grow_for_ever(verdicts: Verdicts, model: Path, tmp_path: Path) -> None:
    first = identify(model)
    known = {f"/{number}.gguf": {} for number in range(1000)}
    (tmp_path / "checked.json").write_text(json.dumps(known))
    verdicts.put(first, SOUND)
    kept = json.loads((tmp_path / "checked.json").read_text())
    assert len(kept) == 1000
    assert "/0.gguf" not in kept
    assert first.path in kept
