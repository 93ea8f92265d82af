"""`medomni bench verify`: only the reader's keyring makes a record trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from board_builders import a_set, agent, score
from typer.testing import CliRunner, Result

from medomni.cli import app
from medomni.core import contracts
from medomni.core.keys import SigningKey, load_or_make_key
from medomni.core.signing import sign_file


def keyring(folder: Path, key: SigningKey, name: str = "ours") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(f"keys:\n  - name: {name}\n    public_key: {key.public_key}\n")
    return path


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path]:
    """A signed score record, and the keyring that trusts it."""
    path = tmp_path / "a.score.json"
    path.write_text(json.dumps(score(agent("rule"), a_set())))
    key = load_or_make_key(tmp_path / "key.pem")
    sign_file(path, key, predicate_type=str(contracts.schema("score-record")["$id"]))
    return path, keyring(tmp_path, key)


def verify(path: Path, ring: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["bench", "verify", str(path), "--keyring", str(ring), *options])


def test_signed_record_is_verified_and_the_signer_named(signed: tuple[Path, Path]) -> None:
    run = verify(*signed)
    assert run.exit_code == 0
    assert run.output.endswith("a.score.json: a score record, signed by ours\n")
    run = verify(*signed, "--json")
    assert json.loads(run.stdout) == {"ok": True, "kind": "score-record", "signers": ["ours"], "issues": []}


def test_one_changed_digit_is_found(signed: tuple[Path, Path]) -> None:
    path, ring = signed
    path.write_text(path.read_text().replace('"value": 0.7', '"value": 0.9'))
    run = verify(path, ring)
    assert (run.exit_code, "signature-subject" in run.output) == (1, True)


def test_record_is_not_trusted_by_another_keyring_though_its_signature_is_right(
    signed: tuple[Path, Path], tmp_path: Path
) -> None:
    other = keyring(tmp_path, load_or_make_key(tmp_path / "other.pem"), "other")
    run = verify(signed[0], other)
    assert (run.exit_code, "signature-untrusted" in run.output) == (1, True)


def test_signature_of_something_else_does_not_count(signed: tuple[Path, Path], tmp_path: Path) -> None:
    path, ring = signed
    sign_file(path, load_or_make_key(tmp_path / "key.pem"), predicate_type="urn:another")
    run = verify(path, ring)
    assert (run.exit_code, "signature-kind" in run.output) == (1, True)


def test_record_without_a_signature_or_without_its_contract_is_refused(signed: tuple[Path, Path]) -> None:
    path, ring = signed
    Path(f"{path}.dsse").unlink()
    assert "signature-missing" in verify(path, ring).output
    path.write_text(path.read_text().replace('"n": 20', '"n": -1'))
    run = verify(path, ring, "--json")
    assert run.exit_code == 1
    assert {issue["code"] for issue in json.loads(run.stdout)["issues"]} == {"score-record-minimum"}


@pytest.mark.parametrize("text", ['{"schema": "medomni/run-record/1"}', "{}", "no JSON"])
def test_file_that_is_no_signed_kind_of_record_is_refused(signed: tuple[Path, Path], text: str) -> None:
    signed[0].write_text(text)
    run = verify(*signed)
    assert (run.exit_code, "record-kind" in run.output) == (1, True)


def test_absent_record_or_keyring_is_exit_1(signed: tuple[Path, Path], tmp_path: Path) -> None:
    for path, ring in ((tmp_path / "none.json", signed[1]), (signed[0], tmp_path / "none.yaml")):
        run = verify(path, ring)
        assert (run.exit_code, "file-not-found" in run.output) == (1, True)
