"""What the compiler gets wrong on this processor, or ggml makes slow, is left out of the compiled library."""

import shutil
import subprocess
from pathlib import Path

import pytest

from provision import llama_build

PROJECT = """
cmake_minimum_required(VERSION 3.14)
project(probe C CXX)
{known}
include("{core_only}")
get_property(options DIRECTORY PROPERTY COMPILE_OPTIONS)
file(WRITE "${{CMAKE_BINARY_DIR}}/options" "${{options}}")
"""

needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("c++") is None, reason="needs cmake and c++"
)


def options(folder: Path, known: str) -> str:
    """The compile options that llama.cpp would get; `known` goes before, as if it had been found out."""
    (folder / "CMakeLists.txt").write_text(
        PROJECT.format(known=known, core_only=llama_build.CORE_ONLY.as_posix())
    )
    command = ["cmake", "-S", str(folder), "-B", str(folder / "build")]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "build" / "options").read_text()


@needs_cmake
def test_a_compiler_that_gets_tiles_right_compiles_them(tmp_path: Path) -> None:
    assert "amx" not in options(tmp_path, "set(TUTTI_TILES_WORK ON)")


@needs_cmake
@pytest.mark.parametrize("known", [True, False])
def test_half_precision_in_vectors_is_left_out_where_the_compiler_has_it(
    tmp_path: Path, known: bool
) -> None:
    """Heads of 64 fall out of its steps of 128: see processor.cmake."""
    found = options(
        tmp_path, f"set(TUTTI_TILES_WORK ON)\nset(TUTTI_NO_avx512fp16 {'ON' if known else 'OFF'})"
    )
    assert ("-mno-avx512fp16" in found) is known


@needs_cmake
def test_without_tiles_that_work_they_are_left_out(tmp_path: Path) -> None:
    known = "set(TUTTI_TILES_WORK OFF)\nset(TUTTI_NO_amx_tile ON)\nset(TUTTI_NO_amx_int8 ON)\nset(TUTTI_NO_amx_bf16 OFF)"
    left_out = options(tmp_path, known)
    assert "-mno-amx-tile" in left_out
    assert "-mno-amx-int8" in left_out
    assert "bf16" not in left_out, "this compiler does not know that flag"
