"""The real program with the starter model: started as a user starts it, asked by the official client, stopped by a signal."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import psutil
import pytest

from app.remembered import LoadChoice, Remembered, remembered_path

pytestmark = [pytest.mark.model, pytest.mark.slow]

KEY = "k-real"


@dataclass
class Program:
    """`tutti serve` in a process of its own."""

    process: subprocess.Popen[str]
    base: str

    def client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"{self.base}/v1", api_key=KEY, max_retries=0)


@pytest.fixture
def program(tmp_path: Path, starter: Path) -> Iterator[Program]:
    (tmp_path / "key").write_text(KEY)
    flags = ["--port", "0", "--ctx", "1024", "--seqs", "4", "--api-key-file", str(tmp_path / "key")]
    with subprocess.Popen(
        [sys.executable, "-m", "app", "serve", *flags], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening on http://127.0.0.1:")
            yield Program(process, line.split()[-1])
        finally:
            process.kill()  # else the end of the block waits for a program that goes on


async def ask(client: openai.AsyncOpenAI, text: str, **options: Any) -> tuple[str, Any]:
    """The joined text and the usage of a streamed answer."""
    stream = await client.chat.completions.create(
        model="default",
        messages=[{"role": "user", "content": text}],
        stream=True,
        stream_options={"include_usage": True},
        temperature=0,
        **options,
    )
    words, usage = "", None
    async for chunk in stream:
        usage = chunk.usage or usage
        words += "".join(choice.delta.content or "" for choice in chunk.choices)
    return words, usage


async def sampled(client: openai.AsyncOpenAI) -> None:
    """Log-probabilities belong to the text, every sampler works together with them, a foreign bias is refused."""
    question = {"model": "default", "messages": [{"role": "user", "content": "Name a colour."}]}
    more = {"typical_p": 0.9, "xtc_probability": 0.3, "dry_multiplier": 0.8, "repeat_penalty": 1.1}
    for options in ({"temperature": 0}, {"seed": 1, "extra_body": more}):
        whole = await client.chat.completions.create(
            **question, max_tokens=6, logprobs=True, top_logprobs=20, **options
        )
        (choice,) = whole.choices
        entries = choice.logprobs.content
        assert b"".join(bytes(entry.bytes) for entry in entries).decode() == choice.message.content
        assert all(entry.logprob <= entry.top_logprobs[0].logprob < 0 for entry in entries)
        if "temperature" in options:
            assert all(entry.logprob == entry.top_logprobs[0].logprob for entry in entries)
    with pytest.raises(openai.BadRequestError) as refused:
        await client.chat.completions.create(**question, logit_bias={"49152": 1})
    assert refused.value.code == "invalid_value"
    assert "'logit_bias' names token 49152" in refused.value.message


def test_chats_are_answered_and_a_signal_leaves_no_process(program: Program) -> None:
    async def run() -> None:
        async with program.client() as client:
            questions = ["Name a colour.", "Name a river.", "Name a bird."]
            answers = await asyncio.gather(
                *(ask(client, q, max_tokens=12, extra_body={"ignore_eos": True}) for q in questions)
            )
            for words, usage in answers:
                assert words
                assert usage.completion_tokens == 12
            _, again = await ask(client, questions[0], max_tokens=4)
            details = again.prompt_tokens_details
            assert details.cached_tokens == again.prompt_tokens - 1, "all but one token was there"
            with pytest.raises(openai.BadRequestError) as refused:
                await ask(client, "w " * 3000)
            assert refused.value.code == "context_length_exceeded"
            assert "1,024" in refused.value.message
            await sampled(client)

    asyncio.run(run())
    children = psutil.Process(program.process.pid).children(recursive=True)
    assert len(children) >= 2
    program.process.send_signal(signal.SIGTERM)
    assert program.process.wait(60) == 0
    gone, alive = psutil.wait_procs(children, timeout=60)
    assert (len(gone), alive) == (len(children), [])


def test_the_model_is_loaded_with_its_own_settings_and_that_it_was_is_remembered(
    tmp_path: Path, starter: Path
) -> None:
    Remembered(remembered_path()).load_with(starter, LoadChoice(profile="edge", threads=1))
    flags = ["--model", str(starter), "--port", "0", "--seqs", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "app", "serve", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("listening on ")
            process.send_signal(signal.SIGTERM)
            _, words = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "has load settings of its own, --profile edge --threads 1; options" in words
    assert "with the profile edge: pool of 1,024 tokens" in words
    assert ", 1 chats at once," in words
    assert Remembered(remembered_path()).of(starter).used > 0


def test_the_program_passes_its_own_test(starter: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app", "selftest"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("selftest passed: 2 chats wrote 24 + 24 tokens")
