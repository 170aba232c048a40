"""A death says itself."""

import pytest

from app.client.death import Death


@pytest.mark.parametrize(
    ("death", "sentence"),
    [
        (Death("engine", exitcode=3), "The engine stopped unexpectedly (exit code 3)."),
        (Death("engine", exitcode=-6), "The engine stopped unexpectedly (signal SIGABRT)."),
        (
            Death("engine", exitcode=-9),
            "The engine stopped unexpectedly (signal SIGKILL; the system may have run out of memory).",
        ),
        (
            Death("engine", exitcode=-4),
            (
                "The engine stopped unexpectedly (signal SIGILL; this llama.cpp was compiled for another processor, and "
                "CMAKE_ARGS=-DGGML_NATIVE=OFF compiles one for any)."
            ),
        ),
        (Death("engine", exitcode=-250), "The engine stopped unexpectedly (signal 250)."),
        (Death("engine"), "The engine is gone."),
        (
            Death("text-worker", exitcode=-9, why="did not answer for 60 s"),
            "The text worker was ended because it did not answer for 60 s.",
        ),
        (
            Death("engine", started=False, why="Too many open files"),
            "The engine could not be started (Too many open files).",
        ),
        (
            Death("engine", exitcode=1, last_words="KeyError: 'x'."),
            "The engine stopped unexpectedly (exit code 1). Its last words: KeyError: 'x'.",
        ),
        (Death("engine", exitcode=0, asked=True), "The engine was stopped."),
    ],
)
def test_it_is_a_sentence(death: Death, sentence: str) -> None:
    assert str(death) == sentence
