"""What is refused before anything starts, each by the name of what is wrong."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from workspace_builders import SET, atom_of, invoke, make_workspace, refresh_manifest

from medomni.bench import environments
from medomni.bench.environments import Survey

HELD = dict.fromkeys(("network", "processes", "user", "host_user", "wall_time", "memory"), True)
CONTENT = Path("atomtasks/_content/mimic-iv_ckd-staging@dummy")


@pytest.fixture(autouse=True)
def everything_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's sandbox is no part of these tests."""
    monkeypatch.setattr(environments, "survey", lambda kind, rootfs=None: Survey(kind, True, "", HELD))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path, ["a", "b"])


def run(root: Path, *more: str) -> Any:
    given = [*more] if "--agent" in more else ["--agent", "prior", *more]
    return invoke("run", SET, *given, "--environment", "local", "--workspace", str(root), "--dry-run")


def edit(root: Path, file: Path | str, change: Callable[[Any], None]) -> None:
    path = root / file
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def refused(told: Any, code: str, *words: str) -> None:
    assert told.exit_code == 2, told.output
    assert f"error[{code}]" in told.output
    for word in words:
        assert word in told.output


def test_a_sound_run_is_shown_and_nothing_is_started(workspace: Path) -> None:
    told = run(workspace)
    assert told.exit_code == 0, told.output
    assert "2 atoms, 1 attempt each, with prior in local; nothing was started" in told.output
    assert not (workspace / "runs").exists()
    document = json.loads(run(workspace, "--json").stdout)
    assert document["set"] == "smoke"
    assert len(document["atoms"]) == 2


def test_an_edited_built_file_is_named(workspace: Path) -> None:
    file = workspace / "atomtasks" / "no-perception" / atom_of(workspace, "a") / "instruction.md"
    file.write_text(file.read_text() + "The answer is 3.\n")
    refused(run(workspace), "run-file-changed", "instruction.md is not as it was built")


def test_a_file_that_was_added_is_named(workspace: Path) -> None:
    folder = workspace / "atomtasks" / "no-perception" / atom_of(workspace, "a") / "data"
    folder.chmod(folder.stat().st_mode | stat.S_IWUSR)
    (folder / "hint.txt").write_text("3\n")
    refused(run(workspace), "run-file-changed", "hint.txt is not in the manifest")


def test_a_file_that_is_gone_is_named(workspace: Path) -> None:
    (workspace / CONTENT / "answers.csv").unlink()
    refused(run(workspace), "run-file-changed", "answers.csv is missing")


def test_a_file_that_became_a_link_is_named(workspace: Path, tmp_path: Path) -> None:
    file = workspace / "atomtasks" / "no-perception" / atom_of(workspace, "a") / "instruction.md"
    copy = tmp_path / "copy.md"
    copy.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(copy)
    refused(run(workspace), "run-file-changed", "instruction.md")


def test_a_config_hash_that_its_files_do_not_give_is_refused(workspace: Path) -> None:
    (workspace / CONTENT / "config" / "studio" / "arms" / "no-perception.yaml").write_text("arm: other\n")
    refused(run(workspace), "run-config-hash", "cfg1:")


def test_a_config_file_that_is_gone_is_refused(workspace: Path) -> None:
    (workspace / CONTENT / "config" / "studio" / "arms" / "no-perception.yaml").unlink()
    refused(run(workspace), "run-config-hash", "cannot be recomputed")


def test_another_version_than_the_set_pins_is_refused(workspace: Path) -> None:
    edit(workspace, CONTENT / "content.json", lambda each: each.update(version=2))
    refresh_manifest(workspace, version=2)
    refused(run(workspace), "run-version", "pins version 1", "version 2 is built")


def test_a_manifest_of_another_version_is_refused(workspace: Path) -> None:
    refresh_manifest(workspace, version=2)
    refused(run(workspace), "run-pair-differs", "manifest.json")


def test_another_builder_than_the_set_names_is_refused(workspace: Path) -> None:
    file = workspace / "bench" / "benchmarks" / "toy" / "sets" / "smoke.yaml"
    file.write_text(file.read_text().replace("medomni-v1", "medomni-v2"))
    refused(run(workspace), "run-builder", "medomni-v2", "medomni-v1")


def test_an_arm_that_was_not_built_is_refused(workspace: Path) -> None:
    file = workspace / "bench" / "benchmarks" / "toy" / "sets" / "smoke.yaml"
    file.write_text(file.read_text().replace("[no-perception]", "[no-perception, encoders]"))
    refused(run(workspace), "run-arm", "name an arm")
    refused(run(workspace, "--arm", "other"), "run-arm", "other")
    refused(run(workspace, "--arm", "encoders"), "run-not-built", "encoders", "medomni studio build")


def test_a_pair_that_is_not_built_is_refused(workspace: Path) -> None:
    (workspace / CONTENT / "content.json").unlink()
    refused(run(workspace), "run-not-built", "medomni studio build")


def test_a_benchmark_without_agents_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from medomni.core import contracts

    real = contracts.load

    def load(kind: str, path: Path) -> Any:
        found = real(kind, path)
        return {**found, "accepts": ["model"]} if kind == "benchmark" else found

    monkeypatch.setattr(contracts, "load", load)
    refused(run(workspace), "run-card", "accepts model")


def test_a_set_that_is_not_there_is_refused(workspace: Path) -> None:
    told = invoke("run", "toy/none", "--agent", "prior", "--workspace", str(workspace))
    refused(told, "run-set", "toy/none")


def test_imported_sets_cannot_be_run(workspace: Path) -> None:
    sets = workspace / "bench" / "benchmarks" / "toy" / "sets"
    text = (sets / "smoke.yaml").read_text().replace("smoke", "v0.2-mid").replace("medomni-v1", "medomni-v0")
    (sets / "v0.2-mid.yaml").write_text(text.replace("version: 1", "version: 0"))
    told = invoke("run", "toy/v0.2-mid", "--agent", "prior", "--workspace", str(workspace))
    refused(told, "run-set", "imported")


def test_a_pair_outside_the_set_is_refused(workspace: Path) -> None:
    refused(run(workspace, "--only", "mimic-iv_sepsis3@dummy"), "run-pair", "mimic-iv_ckd-staging@dummy")


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (["none"], "there is no agent"),
        (["scripted:/none"], "there is no file"),
        (["scripted:"], "there is no file"),
        (["prior:x"], "nothing behind a colon"),
        (["shell"], "needs --model"),
        (["prior", "--model", "m"], "asks no model"),
    ],
)
def test_an_agent_that_cannot_be_is_refused(workspace: Path, agent: list[str], words: str) -> None:
    refused(run(workspace, "--agent", *agent), "run-agent", words)


def test_open_and_credentialed_data_need_their_terms_acknowledged(workspace: Path, tmp_path: Path) -> None:
    def credentialed(content: Any) -> None:
        content.update(access="credentialed", release_class="real", terms=["Send it nowhere."])

    edit(workspace, CONTENT / "content.json", credentialed)
    refresh_manifest(workspace)
    refused(run(workspace), "run-terms", "Send it nowhere.", "data_terms_ack: [mimic-iv]")
    shell = run(workspace, "--agent", "shell", "--model", "m", "--base-url", "http://x/v1")
    refused(shell, "run-terms", "sends to somebody else")
    plan = tmp_path / "plan.yaml"
    plan.write_text("attempts: 2\naggregate: mean\nseed: 7\ndata_terms_ack: [mimic-iv]\n")
    told = run(workspace, "--plan", str(plan))
    assert told.exit_code == 0, told.output
    assert "2 attempts each" in told.output
    refused(run(workspace, "--plan", str(plan), "--attempts", "3"), "run-plan", "declares 2")


def test_an_environment_that_does_not_work_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "survey", lambda kind, rootfs=None: Survey(kind, False, "no bwrap", {}))
    refused(run(workspace), "run-environment", "no bwrap", "medomni doctor")
    told = invoke("run", SET, "--agent", "prior", "--environment", "x", "--workspace", str(workspace))
    refused(told, "run-environment", "there is no environment 'x'")


@pytest.mark.parametrize(("limit", "words"), sorted(environments.FLOOR.items()))
def test_each_limit_of_the_floor_is_refused_by_name(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, limit: str, words: str
) -> None:
    held = {**HELD, limit: False}
    monkeypatch.setattr(environments, "survey", lambda kind, rootfs=None: Survey(kind, True, "", held))
    refused(run(workspace), "run-limits", words, "unsafe-host")


def test_harbor_that_is_not_installed_is_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEDOMNI_HARBOR", str(tmp_path / "none"))
    told = invoke("run", SET, "--agent", "prior", "--environment", "local", "--workspace", str(workspace))
    refused(told, "run-harbor", "setup-harbor")
    (tmp_path / "none" / "bin").mkdir(parents=True)
    (tmp_path / "none" / "bin" / "python").write_text("")
    told = invoke("run", SET, "--agent", "prior", "--environment", "local", "--workspace", str(workspace))
    refused(told, "run-harbor", "is needed, and there is none")


def test_another_agent_setting_or_file_is_another_run(workspace: Path, tmp_path: Path) -> None:
    def digest(*more: str) -> dict[str, Any]:
        told = run(workspace, *more, "--json")
        assert told.exit_code == 0, told.output
        found: dict[str, Any] = json.loads(told.stdout)
        return found

    script = tmp_path / "a.sh"
    script.write_text("true\n")
    runs = [
        digest(),
        digest("--agent", "rule"),
        digest("--agent", f"scripted:{script}"),
        digest("--attempts", "2"),
    ]
    script.write_text("false\n")
    runs.append(digest("--agent", f"scripted:{script}"))
    shell = ["--agent", "shell", "--model"]
    runs += [digest(*shell, "a"), digest(*shell, "b"), digest(*shell, "b", "--base-url", "http://x")]
    assert len({json.dumps(each, sort_keys=True) for each in runs}) == len(runs)
