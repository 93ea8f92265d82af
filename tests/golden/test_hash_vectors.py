"""The hashes that pin an evaluation come out as an independent program computed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medomni.core.hashing import ConfigFile, cfg1, sha256_bytes, task_set_hash
from medomni.core.names import Pair, atom_name

VECTORS = json.loads((Path(__file__).parent / "hashes" / "vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["cfg1"], ids=lambda vector: vector["name"])
def test_config_hashes_equal_the_golden_ones(tmp_path: Path, vector: dict[str, Any]) -> None:
    """MO-101, MO-102."""
    files = []
    for number, row in enumerate(vector["files"]):
        (tmp_path / str(number)).write_bytes(bytes.fromhex(row["hex"]))
        files.append(ConfigFile(row["path"], tmp_path / str(number), row.get("variant")))
    tokens = {key: vector[key] for key in ("builder", "dataset_release", "medomni_release")}
    found = cfg1(files, **tokens)
    assert found.value == vector["hash"]
    assert {file.path: (file.size, file.sha256) for file in found.files} == {
        row["path"] + (f"#{row['variant']}" if "variant" in row else ""): (
            len(row["hex"]) // 2,
            sha256_bytes(bytes.fromhex(row["hex"])),
        )
        for row in vector["files"]
    }


@pytest.mark.parametrize("vector", VECTORS["set1"], ids=lambda vector: vector["entries"][0][0])
def test_task_set_hashes_equal_the_golden_ones(vector: dict[str, Any]) -> None:
    """MO-142."""
    assert task_set_hash([(pair, version) for pair, version in vector["entries"]]) == vector["hash"]


@pytest.mark.parametrize("vector", VECTORS["atoms"], ids=lambda vector: vector["atom"])
def test_atom_names_equal_the_golden_ones(vector: dict[str, Any]) -> None:
    pair = Pair.parse(vector["pair"])
    assert atom_name(pair, version=vector["version"], patient=vector["patient"]) == vector["atom"]
