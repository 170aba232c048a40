"""Compare prompts and token ids with llama.cpp's own programs, and write the result down.

    PYTHONPATH=packaging python -m tests.reference.record --llama-server FILE --llama-tokenize FILE
    ... --ours                                     only ours, after a change here
    ... --llama-server FILE --show TEMPLATE SHAPE  the difference

Both programs must be of the revision in llama-cpp-python's source (tests/reference/sources.py says where that is looked
for).  Writes templates.json and tokens.json beside this file: hashes of the reference's results and of ours where they
differ.  `make test` computes ours anew and compares.  Each difference needs a reason in deviations.py.
"""

import argparse
import difflib
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.text.vocabulary import LlamaVocabulary
from tests.reference import sources
from tests.reference.contents import CONTENTS
from tests.reference.conversations import SHAPES, Shape
from tests.reference.ours import Prompts, digest, ids_digest
from tests.tiny_models import talker

_FOLDER = Path(__file__).parent
_PORT = 18473
_WAIT_TRIES, _WAIT_SECONDS = 600, 0.1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--llama-server", type=Path)
    parser.add_argument("--llama-tokenize", type=Path)
    parser.add_argument("--ours", action="store_true", help="compute only ours anew")
    parser.add_argument("--show", nargs=2, metavar=("TEMPLATE", "SHAPE"))
    arguments = parser.parse_args()
    models = sources.models()
    if models is None:
        print("The source of llama-cpp-python was not found.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        # Any model will do that loads in a moment.
        model = talker(Path(folder) / "talker.gguf")
        if arguments.show:
            _show(arguments.llama_server, models, model, *arguments.show)
            return 0
        if arguments.ours:
            _write("templates.json", _compared(models))
        elif arguments.llama_server:
            _write("templates.json", _templates(arguments.llama_server, models, model))
    if arguments.llama_tokenize:
        _write("tokens.json", _tokens(arguments.llama_tokenize, models))
    return 0


def _write(name: str, found: object) -> None:
    (_FOLDER / name).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


# --- templates -----------------------------------------------------------------------------------------------


def _templates(program: Path, models: Path, model: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, source in sources.templates(models).items():
        prompts = Prompts(source)
        reference: dict[str, str | None] = {}
        ours: dict[str, str | None] = {}
        with _server(program, model, models / "templates" / f"{name}.jinja"):
            for shape in SHAPES:
                theirs = reference[shape.name] = digest(_ask(shape))
                mine = digest(prompts.text(shape))
                if mine != theirs:
                    ours[shape.name] = mine
        found[name] = {"source": digest(source), "reference": reference, "ours": ours}
        print(name, *(f"[{shape}]" for shape in ours), flush=True)
    return found


def _compared(models: Path) -> dict[str, object]:
    """The reference's results as they are, and ours where they differ now."""
    found = json.loads((_FOLDER / "templates.json").read_text(encoding="utf-8"))
    for name, source in sources.templates(models).items():
        prompts, entry = Prompts(source), found[name]
        mine = {shape.name: digest(prompts.text(shape)) for shape in SHAPES}
        entry["ours"] = {
            shape: hashed for shape, hashed in mine.items() if hashed != entry["reference"][shape]
        }
        print(name, *(f"[{shape}]" for shape in entry["ours"]), flush=True)
    return dict(found)


def _show(program: Path, models: Path, model: Path, name: str, shape_name: str) -> None:
    shape = next(shape for shape in SHAPES if shape.name == shape_name)
    file = models / "templates" / f"{name}.jinja"
    with _server(program, model, file):
        theirs = _ask(shape)
    mine = Prompts(file.read_text(encoding="utf-8")).text(shape)
    for line in difflib.unified_diff(
        repr(theirs).split("\\n"), repr(mine).split("\\n"), "theirs", "ours", lineterm="", n=1
    ):
        print(line)


@contextmanager
def _server(program: Path, model: Path, template: Path) -> Iterator[None]:
    command = [program, "-m", model, "--jinja", "--chat-template-file", template, "--port", _PORT]
    command += ["--host", "127.0.0.1", "-c", 256, "-ngl", 0, "--no-warmup", "-np", 1, "-t", 1]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        try:
            yield _wait(process)
        finally:
            process.terminate()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]") -> None:
    for _ in range(_WAIT_TRIES):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{_PORT}/health", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            try:
                process.wait(_WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            return  # It refuses the template: then it has no prompt for any conversation.


def _ask(shape: Shape) -> str | None:
    """The reference's prompt; None where it refuses."""
    body: dict[str, object] = {"messages": shape.sent, "chat_template_kwargs": shape.arguments}
    if shape.tools:
        body["tools"] = shape.offered
    request = urllib.request.Request(
        f"http://127.0.0.1:{_PORT}/apply-template",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            prompt = json.load(reply)["prompt"]
    except (urllib.error.URLError, ConnectionError):
        return None
    return prompt if isinstance(prompt, str) else None


# --- tokens --------------------------------------------------------------------------------------------------


def _tokens(program: Path, models: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, file in sources.vocabularies(models).items():
        reference: dict[str, str] = {}
        ours: dict[str, str] = {}
        vocabulary = LlamaVocabulary(file)
        for label, content in CONTENTS.items():
            theirs = reference[label] = ids_digest(_tokenize(program, file, content))
            mine = ids_digest(vocabulary.tokenize(content))
            if mine != theirs:
                ours[label] = mine
        vocabulary.close()
        found[name] = {"reference": reference, "ours": ours}
        print(name, *(f"[{label}]" for label in ours), flush=True)
    return found


def _tokenize(program: Path, file: Path, content: str) -> list[int]:
    """The ids of mere text, without a BOS."""
    command = [program, "-m", file, "--ids", "--no-bos", "--no-parse-special"]
    with tempfile.NamedTemporaryFile("wb", suffix=".txt") as text:
        text.write(content.encode())
        text.flush()
        command += ["--no-escape", "-f", text.name]
        done = subprocess.run(list(map(str, command)), capture_output=True, check=True)
    return [int(number) for number in json.loads(done.stdout.decode().strip().splitlines()[-1])]


if __name__ == "__main__":
    sys.exit(main())
