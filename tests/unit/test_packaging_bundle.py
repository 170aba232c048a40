"""What goes into the frozen folder, and what the smoke test of it can see."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import build
import bundle_rules
import smoke


@pytest.mark.parametrize(
    "kept",
    [
        "PySide6/Qt/lib/libQt6Core.so.6",
        "PySide6/Qt/lib/libicudata.so.73",
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqwayland.so",
        "PySide6/Qt/plugins/platforms/libqoffscreen.so",
        "PySide6/Qt/plugins/imageformats/libqsvg.so",
        "PySide6/Qt/plugins/platforminputcontexts/libibusplatforminputcontextplugin.so",
        "PySide6/Qt/plugins/platformthemes/libqxdgdesktopportal.so",
        "PySide6/Qt/plugins/xcbglintegrations/libqxcb-egl-integration.so",
        "PySide6\\plugins\\platforms\\qwindows.dll",
        "llama_cpp/lib/libggml-cpu.so.0",
        "numpy.libs/libscipy_openblas64_-ff651d7f.so",
        "libpython3.11.so.1.0",
        "libxcb-cursor.so.0",
        "libxkbcommon-x11.so.0",
        "libcrypto.so.3",
        "libgomp.so.1",
        "libz.so.1",
        "base_library.zip",
    ],
)
def test_kept(kept: str) -> None:
    assert bundle_rules.keeps(kept)


@pytest.mark.parametrize(
    "dropped",
    [
        "PySide6/Qt/plugins/platforms/libqeglfs.so",
        "PySide6/Qt/plugins/platforms/libqminimal.so",
        "PySide6/Qt/plugins/platforms/libqvnc.so",
        "PySide6/Qt/plugins/platformthemes/libqgtk3.so",
        "PySide6/Qt/plugins/platforminputcontexts/libqtvirtualkeyboardplugin.so",
        "PySide6/Qt/plugins/imageformats/libqpdf.so",
        "PySide6/Qt/plugins/egldeviceintegrations/libqeglfs-x11-integration.so",
        "PySide6/Qt/translations/qtbase_de.qm",
        "libstdc++.so.6",
        "libgcc_s.so.1",
        "libX11.so.6",
        "libGL.so.1",
        "libEGL.so.1",
        "libglib-2.0.so.0",
        "libfontconfig.so.1",
        "libgtk-3.so.0",
        "libdbus-1.so.3",
        "libvulkan.so.1",
        "libexpat.so.1",
        "libsystemd.so.0",
        "libzstd.so.1",
    ],
)
def test_dropped(dropped: str) -> None:
    assert not bundle_rules.keeps(dropped)


def names(folder: Path) -> list[str]:
    return [path.name for path in bundle_rules.llama_libraries(folder)]


def test_each_llama_library_is_taken_once(tmp_path: Path) -> None:
    wheel = ["libllama.so", "libllama.so.0", "libllama.so.0.5.0", "libmtmd.so", "libggml.so", "libggml.so.0",
             "libggml.so.0.25.3", "libggml-base.so.0", "libggml-base.so.0.25.3", "libggml-cpu.so",
             "libggml-cpu.so.0", "libggml-cpu.so.0.25.3", "libggml-cpu-haswell.so"]  # fmt: skip
    for name in wheel:
        (tmp_path / name).touch()
    assert names(tmp_path) == [
        "libggml-base.so.0", "libggml-cpu-haswell.so", "libggml-cpu.so.0", "libggml.so.0", "libllama.so",
    ]  # fmt: skip


def test_a_folder_without_llama_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libggml.so.0").touch()
    with pytest.raises(FileNotFoundError, match="no libllama"):
        bundle_rules.llama_libraries(tmp_path)


def test_the_installed_binding_has_what_the_rules_want() -> None:
    spec = importlib.util.find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    found = names(Path(spec.origin).parent / "lib")
    if sys.platform == "linux":
        assert {"libllama.so", "libggml.so.0", "libggml-base.so.0"} <= set(found)


def test_a_library_missing_on_the_build_machine_is_a_failure() -> None:
    log = [
        "300 INFO: Looking for dynamic libraries",
        "301 WARNING: Library not found: could not resolve 'libxcb-icccm.so.4', dependency of 'libqxcb.so'.",
        "302 WARNING: Library not found: could not resolve 'libgtk-3.so.0', dependency of 'libqgtk3.so'.",
    ]
    assert bundle_rules.unresolved(log) == ["libxcb-icccm.so.4"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_left_behind_are_seen() -> None:
    code = "import subprocess, sys; child = subprocess.Popen(['sleep', '60']); print(child.pid, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            assert sorted(smoke.processes_of_session(parent.pid)) == sorted([parent.pid, child])
        finally:
            os.kill(child, 9)


@pytest.mark.skipif(shutil.which("ldd") is None, reason="asks the Linux loader")
def test_an_unresolved_library_fails_the_smoke_test(tmp_path: Path) -> None:
    import PySide6

    qt = Path(PySide6.__file__).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    (tmp_path / "libqxcb.so").write_bytes(
        qt.read_bytes().replace(b"libxcb-cursor.so.0", b"libxcb-cursor.so.9")
    )
    with pytest.raises(smoke.SmokeError, match=r"libxcb-cursor\.so\.9 \(wanted by libqxcb\.so\)"):
        smoke.check_libraries(tmp_path)


@pytest.mark.parametrize(
    ("library", "wanted_by", "needed"),
    [
        ("libwayland-cursor.so.0", "_internal/PySide6/Qt/plugins/platforms/libqwayland.so", False),
        ("libwayland-client.so.0", "_internal/PySide6/Qt/lib/libQt6WlShellIntegration.so.6", False),
        ("libwayland-egl.so.1", "_internal/PySide6/Qt/lib/libQt6Gui.so.6", True),
        ("libxcb-cursor.so.0", "_internal/PySide6/Qt/plugins/platforms/libqwayland.so", True),
        ("libgomp.so.1", "_internal/llama_cpp/lib/libggml-cpu.so.0", True),
    ],
)
def test_only_waylands_own_libraries_may_be_missing_where_there_is_no_wayland(
    library: str, wanted_by: str, needed: bool
) -> None:
    assert smoke.is_needed(library, wanted_by) is needed


def test_a_failing_selftest_is_reported_with_what_it_said(tmp_path: Path) -> None:
    program = tmp_path / "tutti"
    program.write_text('#!/bin/sh\necho "$1 in $PWD with $HOME"; exit 3\n')
    program.chmod(0o755)
    with pytest.raises(
        smoke.SmokeError, match=f"selftest ended with 3:\nselftest in / with {tmp_path}"
    ):
        smoke.check_selftest(program, str(tmp_path))


def test_the_bundle_knows_versions_and_licences_but_no_descriptions(tmp_path: Path) -> None:
    (tmp_path / "numpy-1.dist-info").mkdir()
    (tmp_path / "numpy-1.dist-info" / "METADATA").write_text(
        "Name: numpy\nVersion: 1\n\nLong story.\n"
    )
    build.write_versions(tmp_path)
    found = {
        entry.name: entry.version
        for entry in importlib.metadata.distributions(path=[str(tmp_path)])
    }
    assert found["numpy"] == importlib.metadata.version("numpy")
    assert found["llama-cpp-python"] == importlib.metadata.version("llama-cpp-python")
    assert all("story" not in path.read_text() for path in tmp_path.rglob("METADATA"))
    build.copy_licences(tmp_path / "licences")
    assert (tmp_path / "licences" / "llama-cpp-python" / "LICENSE.md").is_file()
