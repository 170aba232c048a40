"""The settings file: what is wrong falls back by itself, and what was chosen before there were profiles stays."""

import json
from pathlib import Path

import pytest

from app.sampling import FIELDS, Sampling
from app.settings import OWN_NUMBERS, Settings, load, save

BEFORE_PROFILES = {
    "model_path": "/m.gguf",
    "pool_tokens": 8192,
    "sequences": 8,
    "batch": 512,
    "threads": 0,
    "gpu_layers": -1,
    "kv_type": "f16",
    "pace": "balanced",
    "spill_megabytes": 1024,
    "disk_megabytes": 4096,
    "theme": "dark",
}


def written(path: Path, **values: object) -> Path:
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(profile="edge", sequences=3, kv_type="q8_0", mmap=False, spill_megabytes=0),
        Settings(pool_tokens=4096, sampling=Sampling(seed=7, temperature=1.5), pace="fast"),
        Settings(
            sampling=Sampling(
                mirostat=2, dry_sequence_breakers=("\n",), logit_bias=((5, -1.0), (7, 2.5))
            )
        ),
    ],
)
def test_what_is_saved_is_loaded(tmp_path: Path, settings: Settings) -> None:
    save(settings, tmp_path / "settings.json")
    found = load(tmp_path / "settings.json")
    assert (found.settings, found.problems) == (settings, ())


def test_numbers_nobody_chose_are_the_profiles_from_now_on(tmp_path: Path) -> None:
    found = load(written(tmp_path / "settings.json", **BEFORE_PROFILES))
    assert found.problems == ()
    assert found.settings == Settings(model_path="/m.gguf", theme="dark")
    assert all(getattr(found.settings, name) is None for name in OWN_NUMBERS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pool_tokens", 32_768),
        ("sequences", 2),
        ("batch", 256),
        ("kv_type", "q8_0"),
        ("spill_megabytes", 0),
        ("threads", 3),
        ("gpu_layers", 20),
        ("pace", "smooth"),
        ("disk_megabytes", 0),
    ],
)
def test_numbers_that_were_chosen_stay(tmp_path: Path, name: str, value: object) -> None:
    found = load(written(tmp_path / "settings.json", **{**BEFORE_PROFILES, name: value}))
    assert found.settings == Settings(model_path="/m.gguf", theme="dark", **{name: value})  # type: ignore[arg-type]


def test_own_numbers_that_equal_old_defaults_stay_once_there_are_profiles(tmp_path: Path) -> None:
    own = Settings(pool_tokens=8192, sequences=8, batch=512, kv_type="f16", spill_megabytes=1024)
    save(own, tmp_path / "settings.json")
    assert load(tmp_path / "settings.json").settings == own


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("profile", "fastest", "'auto'"),
        ("profile", None, "'auto'"),
        ("pool_tokens", "many", "the profile's"),
        ("pool_tokens", 3, "the profile's"),
        ("pool_tokens", True, "the profile's"),
        ("kv_type", "f8", "the profile's"),
        ("mmap", 1, "the profile's"),
        ("sidebar_visible", None, "True"),
        ("threads", None, "0"),
        ("threads", 1.5, "0"),
        ("theme", 3, "'system'"),
        ("model_path", 3, "''"),
    ],
)
def test_a_wrong_value_falls_back_by_itself(
    tmp_path: Path, name: str, wrong: object, words: str
) -> None:
    values = {"profile": "edge", "batch": 64, name: wrong}
    found = load(written(tmp_path / "settings.json", **values))
    usual = Settings(profile="auto" if name == "profile" else "edge", batch=64)
    assert found.settings == usual
    assert found.problems == (f"The setting “{name}” had a wrong value and is now {words}.",)


def test_a_sampling_value_is_checked_like_the_others(tmp_path: Path) -> None:
    path = written(tmp_path / "settings.json", profile="auto", sampling={"seed": -1, "top_k": 7})
    found = load(path)
    assert found.settings == Settings(sampling=Sampling(top_k=7))
    assert len(found.problems) == 1


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b"3"])
def test_a_file_that_cannot_be_read_is_kept_beside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    found = load(path)
    assert found.settings == Settings()
    assert "was kept as settings." in found.problems[0]
    assert [kept.read_bytes() for kept in tmp_path.iterdir()] == [content]


def test_what_nobody_chose_is_open_to_the_models_own_values(tmp_path: Path) -> None:
    old = {"temperature": 0.8, "top_k": 40, "min_p": 0.1, "seed": None}
    found = load(written(tmp_path / "settings.json", profile="auto", sampling=old)).settings
    assert found == Settings(sampling=Sampling(min_p=0.1))
    assert found.sampling_open == frozenset(FIELDS) - {"min_p"}
    kept = Settings(sampling_kept=("temperature", "invented"))
    save(kept, tmp_path / "settings.json")
    assert load(tmp_path / "settings.json").settings == kept
    assert kept.sampling_open == frozenset(FIELDS) - {"temperature"}


@pytest.mark.parametrize("wrong", ["temperature", [1], {"temperature": 1}])
def test_a_wrong_list_falls_back_too(tmp_path: Path, wrong: object) -> None:
    found = load(written(tmp_path / "settings.json", profile="auto", sampling_kept=wrong))
    assert found.settings == Settings()
    assert len(found.problems) == 1
