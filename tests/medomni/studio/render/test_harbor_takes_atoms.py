"""Harbor itself: every rule of its lint, and its loader, over atoms of each kind.

Skipped with the reason where Harbor or a Docker client that suits its lint is not there; `make harbor-lint`
gets both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from atom_builders import (
    DAYS,
    ENCODERS,
    LADDER,
    NO_PERCEPTION,
    RISK,
    STAGE,
    atom,
    full_atom,
    pair,
)

from medomni.studio.render import render_atom

REPOSITORY = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(REPOSITORY / "tools"))

import harbor_lint  # noqa: E402


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("atomtasks")
    one, empty, several = full_atom(), atom(patient="8"), pair(STAGE, RISK, DAYS)
    render_atom(several, one, ENCODERS, None, root / "encoders" / one.name)
    render_atom(pair(), one, NO_PERCEPTION, None, root / "no-perception" / one.name)
    render_atom(pair(), empty, NO_PERCEPTION, None, root / "no-perception" / empty.name)
    for rung in LADDER.variants:
        render_atom(pair(), one, LADDER, rung, root / "modality-ladder" / rung / one.name)
    (root / "_content" / "x").mkdir(parents=True)
    (root / "_content" / "x" / "content.json").write_text("{}", encoding="utf-8")
    return root


@pytest.fixture
def client() -> dict[str, str]:
    try:
        harbor_lint.harbor("harbor")
        return harbor_lint.client_environment(unpack=False)
    except harbor_lint.NotCheckedError as reason:
        pytest.skip(str(reason))


def test_atoms_are_found_under_arms_and_rungs(built: Path) -> None:
    found = [path.relative_to(built).parts[:2] for path in harbor_lint.atoms([built])]
    assert [parts[0] for parts in found] == ["encoders", *["modality-ladder"] * 2, *["no-perception"] * 2]


def test_every_rule_of_the_lint_is_kept(built: Path, client: dict[str, str]) -> None:
    assert list(harbor_lint.lint(harbor_lint.atoms([built]), client)) == []


def test_harbor_loads_every_atom(built: Path, client: dict[str, str]) -> None:
    assert list(harbor_lint.load(harbor_lint.atoms([built]))) == []


@pytest.mark.slow
def test_the_lint_and_the_loader_can_fail(tmp_path: Path, client: dict[str, str]) -> None:
    folder = tmp_path / "atom"
    render_atom(pair(), full_atom(), NO_PERCEPTION, None, folder)
    config = folder / "task.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('user = "agent"', 'user = "root"'), encoding="utf-8")
    assert any("root-agent" in each for each in harbor_lint.lint([folder], client))
    (folder / "tests" / "test.sh").unlink()
    assert any("test.sh" in each for each in harbor_lint.load([folder]))
    assert harbor_lint.main([str(tmp_path)]) == 1


def test_without_harbor_the_reason_is_told(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harbor_lint, "HARBOR", tmp_path)
    assert harbor_lint.main([str(built)]) == 2
    assert "make harbor" in capsys.readouterr().err
    assert harbor_lint.main([str(tmp_path)]) == 2
    assert "medomni studio build" in capsys.readouterr().err


def test_without_a_client_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harbor_lint, "HARBOR", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(harbor_lint.NotCheckedError, match="make harbor-lint"):
        harbor_lint.client_environment(unpack=False)
    with pytest.raises(harbor_lint.NotCheckedError, match="no Debian"):
        harbor_lint.client_environment()


def test_no_package_of_this_project_imports_harbor_and_its_lock_names_no_index() -> None:
    lock = (REPOSITORY / "requirements-harbor.lock").read_text(encoding="utf-8")
    assert "harbor==0.26.0 \\\n" in lock
    assert "://" not in lock
    assert "--index-url" not in lock
