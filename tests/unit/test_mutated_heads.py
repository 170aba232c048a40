"""The heads of damaged and hostile files, as the list of models and the plans read them inside the app.

Nothing but a ModelError comes of them; what llama.cpp makes of such files is found by the soak.
"""

from collections import Counter
from pathlib import Path

import pytest

from app.errors import ModelError
from app.hub import details
from app.sizing import extent
from app.sizing.footprint import read_footprint
from app.sizing.header import read_header
from tests import tiny_models
from tests.mutations import MUTATIONS, mutant

FILES = 120


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("talkers")
    kinds = ("attention", "recurrent")  # the smallest
    return [tiny_models.talker(folder / f"{kind}.gguf", kind).read_bytes() for kind in kinds]


@pytest.mark.slow
def test_any_head_is_read_or_refused(sources: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    ends: Counter[str] = Counter()
    for seed in range(FILES):
        path.write_bytes(mutant(sources, seed).data)
        try:
            header = read_header(path)
            read_footprint(path).pool_bytes(4096, 4, 128, "f16")
            details.of_header(header, path.name)
            ends["lies" if extent.problem(path, header) else "good"] += 1
        except ModelError as error:
            ends["refused" if error.what else "refused without a word"] += 1
    assert ends["refused without a word"] == 0
    assert min(ends[end] for end in ("lies", "good", "refused")) > FILES // 20, ends


def test_a_seed_makes_one_file_and_every_kind_changes_it(sources: list[bytes]) -> None:
    made = {(one := mutant(sources, seed)).what: one for seed in range(400)}
    assert made.keys() == MUTATIONS.keys()
    for one in list(made.values())[:5]:
        assert mutant(sources, one.seed) == one
