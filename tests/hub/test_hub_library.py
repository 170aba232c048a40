"""Models of this machine: in the layouts of several programs, described by their heads, removed only where they are ours."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from app.errors import InUse, ModelError
from app.hub import duplicates, library, places
from app.hub.access import Access
from app.hub.download import Download
from app.hub.library import Library, LocalModel
from app.hub.names import Kind
from app.hub.places import Layout, Place
from app.hub.remote import RemoteModel
from app.inuse import Uses
from app.sizing.extent import BLOCKS
from app.verdict import SOUND, Finding, Verdict
from app.verdicts import Verdicts, identify
from tests import tiny_models
from tests.fake_hub import Content, FakeHub
from tests.model_folders import head, ollama

pytestmark = pytest.mark.slow


@pytest.fixture
def talker(tmp_path: Path) -> Path:
    path = tmp_path / "talker.gguf"
    tiny_models.talker(path)
    return path


def by_name(found: list[LocalModel]) -> dict[str, LocalModel]:
    return {one.name: one for one in found}


def test_details_come_from_the_head(own: Path, talker: Path) -> None:
    shutil.copy(talker, own / "renamed-Q2_K.gguf")
    head(own / "a" / "b" / "m.gguf", general__name="Tiny\u202e model", general__file_type=15, general__size_label="7B",
         llama__context_length=4096, general__license="mit", tokenizer__chat_template="{{ x }}")  # fmt: skip
    found = by_name(Library(own).scan())
    details = found["a/b/m"].details
    assert (details.title, details.architecture, details.quantisation) == (
        "Tiny model",
        "llama",
        "Q4_K_M",
    )
    assert (details.parameters, details.context, details.licence, details.chats) == (
        "7B",
        4096,
        "mit",
        True,
    )
    assert found["renamed-Q2_K"].details.architecture == "llama"
    assert all(one.chats and one.removable for one in found.values())


@pytest.mark.parametrize(
    ("architecture", "values", "kind"),
    [
        ("clip", {"clip__projector_type": "mlp"}, Kind.PROJECTOR),
        ("llama", {"general__type": "mmproj"}, Kind.PROJECTOR),
        ("llama", {"general__type": "adapter", "adapter__type": "lora"}, Kind.ADAPTER),
        ("llama", {"adapter__type": "lora"}, Kind.ADAPTER),
        ("llama", {"general__type": "imatrix"}, Kind.MATRIX),
        ("eagle3", {}, Kind.DRAFT),
        ("nomic-bert", {}, Kind.EMBEDDING),
        ("qwen3", {"qwen3__pooling_type": 3}, Kind.EMBEDDING),
        ("wavtokenizer-dec", {}, Kind.SPEECH),
        ("llama", {"general__type": "model"}, Kind.MODEL),
    ],
)
def test_what_is_no_chat_model_is_recognised_whatever_it_is_called(own: Path, architecture: str, values: dict[str, str | int], kind: Kind) -> None:  # fmt: skip
    head(own / "best-chat-model.gguf", architecture, **values)
    (one,) = Library(own).scan()
    assert one.kind is kind
    assert one.chats == (kind is Kind.MODEL)


def test_a_split_model_is_one_and_an_incomplete_one_says_what_is_missing(own: Path) -> None:
    for number in (1, 2, 3):
        head(own / f"whole-{number:05d}-of-00003.gguf")
    head(own / "gap-00001-of-00003.gguf")
    head(own / "gap-00003-of-00003.gguf")
    head(own / "tail-00003-of-00003.gguf")
    head(own / "best-of-breed.gguf")
    found = by_name(Library(own).scan())
    assert set(found) == {"whole", "gap", "tail", "best-of-breed"}
    assert found["whole"].path.name == "whole-00001-of-00003.gguf"
    assert len(found["whole"].files) == 3
    assert found["whole"].chats
    assert found["gap"].problem == "its part gap-00002-of-00003.gguf is missing"
    assert found["tail"].problem == "its part tail-00001-of-00003.gguf is missing"
    assert not found["gap"].chats
    freed = Library(own).remove(found["whole"])
    assert freed == found["whole"].size
    assert not list(own.glob("whole*"))


@pytest.mark.parametrize("keep", [0.999, 0.5])
def test_a_file_that_was_cut_short_is_named(own: Path, talker: Path, keep: float) -> None:
    data = talker.read_bytes()
    (own / "m.gguf").write_bytes(data[: int(len(data) * keep)])
    (one,) = Library(own).scan()
    assert one.problem.startswith("it was cut short: ")
    assert not one.chats


def test_a_part_that_was_cut_short_is_named(own: Path, talker: Path) -> None:
    data = talker.read_bytes()
    (own / "m-00001-of-00002.gguf").write_bytes(data)
    (own / "m-00002-of-00002.gguf").write_bytes(data[:-100])
    (one,) = Library(own).scan()
    assert one.problem.startswith("its part m-00002-of-00002.gguf: it was cut short")


def test_the_sizes_of_blocks_are_ggmls() -> None:
    known = {kind.value: sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    assert {kind: known[kind] for kind in BLOCKS} == BLOCKS


@pytest.mark.parametrize(
    "data", [b"", b"GGUF", b"not a model", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64]
)
def test_a_damaged_file_is_named_and_the_others_stay(own: Path, talker: Path, data: bytes) -> None:
    (own / "bad.gguf").write_bytes(data)
    shutil.copy(talker, own / "good.gguf")
    found = by_name(Library(own).scan())
    assert found["bad"].problem
    assert not found["bad"].chats
    assert found["good"].chats


def test_the_hubs_cache_is_read_where_it_lies(tmp_path: Path, own: Path, talker: Path) -> None:
    cache = tmp_path / "hub"
    blob = cache / "models--o--tiny--x" / "blobs" / ("ab" * 32)
    blob.parent.mkdir(parents=True)
    shutil.copy(talker, blob)
    for commit in ("1" * 40, "2" * 40):
        snapshot = cache / "models--o--tiny--x" / "snapshots" / commit / "q"
        snapshot.mkdir(parents=True)
        (snapshot / "m-Q4_K_M.gguf").symlink_to(os.path.relpath(blob, snapshot))
    shelf = Library(own, [Place("cache", cache, Layout.HUB_CACHE)])
    (one,) = shelf.scan()
    assert one.name == "o/tiny--x/q/m-Q4_K_M"
    assert one.digest == "ab" * 32
    assert one.path.suffix == ".gguf"
    assert not one.removable
    with pytest.raises(ModelError, match="another program"):
        shelf.remove(one)
    assert blob.exists()


def test_ollamas_models_have_their_names(tmp_path: Path, own: Path, talker: Path) -> None:
    folder = tmp_path / "ollama"
    ollama(folder, "registry.ollama.ai/library/tiny/1b", talker)
    ollama(folder, "hf.co/o/other/Q4_K_M", None, media="application/vnd.ollama.image.tensor")
    (folder / "manifests" / "broken").write_text("{")
    (place,) = places.named([folder])
    assert place.layout is Layout.OLLAMA
    (one,) = Library(own, [place]).scan()
    assert (one.name, one.digest, one.problem) == ("tiny:1b", "cd" * 32, "")
    assert one.details.architecture == "llama"


@pytest.mark.parametrize("digest", ["sha256:../../../../etc/passwd", "sha256:" + "z" * 64, None, 7])
def test_a_manifest_leads_nowhere_else(tmp_path: Path, own: Path, digest: object) -> None:
    folder = tmp_path / "ollama"
    ollama(folder, "x/y/z/t", None)
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": digest}]
    (folder / "manifests" / "x" / "y" / "z" / "t").write_text(json.dumps({"layers": layers}))
    assert Library(own, places.named([folder])).scan() == []


def test_where_other_programs_keep_their_models(tmp_path: Path) -> None:
    (tmp_path / ".lmstudio-home-pointer").write_text(str(tmp_path / "moved"))
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "settings.json").write_text(
        json.dumps({"downloadsFolder": str(tmp_path / "big disk")})
    )
    found = {place.path for place in places.known_places({}, tmp_path)}
    assert found >= {
        tmp_path / ".cache/huggingface/hub",
        tmp_path / ".ollama/models",
        tmp_path / ".lmstudio/models",
        tmp_path / "moved/models",
        tmp_path / "big disk",
    }
    moved = {"HF_HOME": "/a", "OLLAMA_MODELS": "/b", "LLAMA_CACHE": "/c"}
    found = {place.path for place in places.known_places(moved, tmp_path)}
    assert found >= {Path("/a/hub"), Path("/b"), Path("/c")}
    assert {place.path for place in places.known_places({"HF_HUB_CACHE": "/d"}, tmp_path)} >= {Path("/d")}  # fmt: skip


def test_lm_studios_folders_are_names(tmp_path: Path, own: Path, talker: Path) -> None:
    model = tmp_path / "lm" / "publisher" / "model-GGUF" / "m-Q4_0.gguf"
    model.parent.mkdir(parents=True)
    shutil.copy(talker, model)
    (one,) = Library(own, places.named([tmp_path / "lm"])).scan()
    assert one.name == "publisher/model-GGUF/m-Q4_0"
    assert one.place.layout is Layout.FOLDER


def test_a_folder_that_is_not_there_or_loops_is_no_trouble(tmp_path: Path, own: Path, talker: Path) -> None:  # fmt: skip
    looped = tmp_path / "loop"
    looped.mkdir()
    (looped / "again").symlink_to(looped)
    shutil.copy(talker, looped / "m.gguf")
    (looped / "gone.gguf").symlink_to(tmp_path / "nowhere")
    found = Library(own, places.named([looped, tmp_path / "none"])).scan()
    assert [one.name for one in found] == ["m"]


def test_the_same_content_is_found_and_only_like_sizes_are_read(tmp_path: Path, own: Path, talker: Path) -> None:  # fmt: skip
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(talker, own / "a.gguf")
    shutil.copy(talker, other / "b.gguf")
    changed = bytearray(talker.read_bytes())
    changed[-1] ^= 1
    (other / "c.gguf").write_bytes(changed)
    head(other / "d.gguf")
    (other / "e.gguf").hardlink_to(other / "b.gguf")
    read: list[int] = []
    shelf = Library(own, places.named([other]))
    (same,) = duplicates.duplicates(shelf.scan(), read.append)
    assert [one.name for one in same] == ["a", "b"]
    assert sum(read) == 3 * talker.stat().st_size


def test_what_was_downloaded_has_its_hash_and_is_removed_whole(hub: FakeHub, own: Path, talker: Path, find: Callable[..., RemoteModel]) -> None:  # fmt: skip
    content = Content(data=talker.read_bytes())
    hub.add("o/r", m_Q4_K_M__gguf=content)
    Download(find(), own, Access(hub.endpoint)).run()
    shelf = Library(own)
    (one,) = shelf.scan()
    assert (one.name, one.digest) == ("o/r/m_Q4_K_M", content.sha256)
    assert library.called(shelf.scan(), "m_q4_k_m.gguf") == one
    assert library.called(shelf.scan(), "o/r") == one
    assert shelf.remove(one) == content.size
    assert list(own.iterdir()) == []
    # A file that was changed since is not called by the old hash.
    Download(find(), own, Access(hub.endpoint)).run()
    one.path.write_bytes(talker.read_bytes() + b"x")
    assert shelf.scan()[0].digest == ""


def test_what_another_process_uses_is_removed_only_when_forced(tmp_path: Path, own: Path, talker: Path) -> None:  # fmt: skip
    shutil.copy(talker, own / "m.gguf")
    shutil.copy(talker, own / "n.gguf")
    shelf = Library(own, uses=Uses(tmp_path / "in-use", "the window"))
    found = by_name(shelf.scan())
    with Uses(tmp_path / "in-use", "tutti serve").use(own / "m.gguf"):
        with pytest.raises(InUse, match=rf"in use by tutti serve \(process {os.getpid()}\)"):
            shelf.remove(found["m"])
        assert found["m"].path.exists()
        assert shelf.remove(found["n"]) == talker.stat().st_size
        assert shelf.remove(found["m"], forced=True) == talker.stat().st_size
    assert list(own.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are not files here")
def test_what_only_looks_like_a_file_is_not_waited_for(tmp_path: Path, own: Path) -> None:
    pipe = own / "pipe.gguf"
    os.mkfifo(pipe)
    (own / "zero.gguf").symlink_to("/dev/zero")
    (own / "loop.gguf").symlink_to(own / "loop.gguf")
    (own / "nowhere.gguf").symlink_to(own / "nothing")
    (own / "folder.gguf").mkdir()
    store = tmp_path / "ollama"
    (store / "blobs").mkdir(parents=True)
    (store / "manifests").mkdir()
    os.mkfifo(store / "manifests" / "latest")
    writers = [os.open(path, os.O_RDWR) for path in (pipe, store / "manifests" / "latest")]
    try:
        for writer in writers:  # something to read, so that who opens them does not wait for ever
            os.write(writer, (b"GGUF\x03\0\0\0" + bytes(56)) * 1000)
        found = by_name(Library(own, places.named([store])).scan())
    finally:
        for writer in writers:
            os.close(writer)
    assert sorted(found) == ["pipe", "zero"]
    assert all("a pipe, a device or a folder" in one.problem for one in found.values())


def test_a_name_that_means_several_or_none_says_so(own: Path, talker: Path) -> None:
    for folder in ("a", "b"):
        (own / folder).mkdir()
        shutil.copy(talker, own / folder / "m.gguf")
    found = Library(own).scan()
    assert library.called(found, "a/m").path.parent.name == "a"
    for name, words in (("m", "several"), ("x", "no model")):
        with pytest.raises(ModelError, match=words):
            library.called(found, name)


def test_a_head_is_read_once(own: Path, talker: Path) -> None:
    path = own / "m.gguf"
    shutil.copy(talker, path)
    shelf = Library(own)
    before = shelf.scan()
    assert shelf.scan()[0].details == before[0].details
    head(path, general__name="other")
    assert shelf.scan()[0].details.title == "other"


@pytest.mark.parametrize(
    ("verdict", "problem"),
    [
        (
            Verdict(Finding.CRASHED, "“m” cannot be used: it crashes."),
            "opening it crashes the engine",
        ),
        (Verdict(Finding.REFUSED, "“m” cannot be used: it is empty."), "it is empty"),
        (Verdict(Finding.REFUSED, "No."), "it did not pass its check"),
        (Verdict(Finding.SLOW, "It took long."), ""),
        (SOUND, ""),
    ],
)
def test_a_file_that_did_not_pass_its_check_is_not_offered(
    own: Path, verdict: Verdict, problem: str
) -> None:
    path = head(own / "o" / "r" / "m-Q4_K_M.gguf")
    known = Verdicts(own / "checked.json")
    known.put(identify(path), verdict)
    (one,) = Library(own, verdicts=known).scan()
    assert (one.problem, one.chats) == (problem, not problem)
    os.utime(path, (1, 1))
    (one,) = Library(own, verdicts=known).scan()
    assert one.chats, "it is another file now"


def test_a_list_of_verdicts_that_is_no_list_hides_no_model(own: Path) -> None:
    path = head(own / "o" / "r" / "m-Q4_K_M.gguf")
    known = Verdicts(own / "checked.json")
    known.put(identify(path), Verdict(Finding.CRASHED, "It crashes."))
    stored = (own / "checked.json").read_text()
    for parts in ("7", "[7]", "[[7]]", '[["a", "b"]]', "[[[1], 2]]", "null"):
        edited = re.sub(r'"parts": \[.*?\],\s*"f', f'"parts": {parts}, "f', stored, flags=re.DOTALL)
        assert edited != stored
        (own / "checked.json").write_text(edited)
        (one,) = Library(own, verdicts=known).scan()
        assert one.chats
