"""A run's folder: lock, copies, going on after a kill, and a new folder for whatever is another run."""

from __future__ import annotations

from pathlib import Path

import pytest
from workspace_builders import SET, make_workspace, refresh_manifest

from medomni.bench import environments, harbor_program, harbor_setup
from medomni.bench.agents import parse_agent
from medomni.bench.environments import Survey
from medomni.bench.errors import BenchError, HarnessError, RunRefusedError
from medomni.bench.jobs import opened_job, write_harbor_config
from medomni.bench.planning import Run, Wish, make_run
from medomni.bench.run_records import write_records
from medomni.core.errors import WriteError
from medomni.core.files import read_json
from medomni.core.names import SetName
from medomni.core.workspace import load_workspace

HELD = dict.fromkeys(("network", "processes", "user", "host_user", "wall_time", "memory"), True)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(environments, "survey", lambda kind, rootfs=None: Survey(kind, True, "", HELD))
    return planned(make_workspace(tmp_path / "w", ["a", "b"]))


def planned(root: Path) -> Run:
    wish = Wish(SetName.parse(SET), parse_agent("prior"), environment="local", attempts=2)
    return make_run(load_workspace(root), wish)


def test_copies_have_neutral_names_and_nothing_of_the_atom_s(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        assert sorted(path.name for path in job.tasks.iterdir()) == ["0001", "0002"]
        assert list(job.atoms.values()) == [atom.name for atom in run.atoms]
        for number, atom in job.atoms.items():
            text = (job.tasks / number / "task.toml").read_text()
            assert f'name = "medomni/{number}"' in text
            assert f'name = "medomni/{atom}"' not in text
        assert not job.resumed
        assert len(job.label) == 12


def test_an_unfinished_run_goes_on_and_a_finished_one_begins_anew(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        first = job.folder
    with opened_job(run, tmp_path / "runs") as job:
        assert (job.folder, job.resumed) == (first, True)
        job.save_state({**job.state(), "finished": True})
    with opened_job(run, tmp_path / "runs") as job:
        assert (job.folder.name, job.resumed) == (f"{first.name}-2", False)


def test_a_changed_task_is_another_run(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        first = job.folder
    file = run.atoms[0].folder / "instruction.md"
    file.write_text(file.read_text() + "\n")
    refresh_manifest(tmp_path / "w")
    with opened_job(planned(tmp_path / "w"), tmp_path / "runs") as job:
        assert job.folder != first


def test_a_copy_that_was_changed_is_refused(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        (job.tasks / "0001" / "instruction.md").write_text("The answer is 3.\n")
    refused = pytest.raises(RunRefusedError, match="not as it was made")
    with refused as failure, opened_job(run, tmp_path / "runs"):
        pass
    assert failure.value.code == "run-copy-changed"


def test_copies_that_a_killed_process_left_half_made_are_made_anew(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        (job.folder / "job.json").unlink()
        (job.tasks / "0001" / "instruction.md").unlink()
    with opened_job(run, tmp_path / "runs") as job:
        assert (job.tasks / "0001" / "instruction.md").is_file()


def test_only_one_process_holds_a_run(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs"):
        refused = pytest.raises(RunRefusedError, match="another process")
        with refused as failure, opened_job(run, tmp_path / "runs"):
            pass
        assert failure.value.code == "run-locked"


def test_a_folder_that_cannot_be_made_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError), opened_job(run, tmp_path / "file"):
        pass


def test_a_task_that_does_not_name_its_atom_is_refused(run: Run, tmp_path: Path) -> None:
    config = run.atoms[0].folder / "task.toml"
    config.write_text(config.read_text().replace("medomni/", "other/"))
    with pytest.raises(BenchError) as failure, opened_job(run, tmp_path / "runs"):
        pass
    assert failure.value.code == "run-task-name"


def test_harbor_is_told_explicit_paths_and_our_classes(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        write_harbor_config(run, job, concurrency=3)
        found = read_json(job.config).value
        assert [Path(task["path"]).name for task in found["tasks"]] == ["0001", "0002"]
        assert found["n_attempts"] == 2
        assert found["n_concurrent_trials"] == 3
        assert found["environment"]["import_path"] == "medomni_harbor.bubblewrap:Bubblewrap"
        assert found["environment"]["kwargs"]["job"] == job.label
        write_harbor_config(run, job, concurrency=9)
        assert read_json(job.config).value == found


def test_what_was_not_run_has_a_row_and_makes_a_record_unpublishable(run: Run, tmp_path: Path) -> None:
    with opened_job(run, tmp_path / "runs") as job:
        [written] = write_records(run, job, [], stopped=None)
        assert not written.publishable
        record = read_json(written.path).value
        assert record["counts"] == {"atoms": 4, "ran": 0, "timeout": 0, "agent_error": 0, "harness_error": 4}
        [written] = write_records(run, job, [], stopped="no more money")
        assert written.publishable
        assert read_json(written.path).value["counts"]["agent_error"] == 4


def test_harbor_goes_into_no_folder_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(HarnessError, match="something else") as failure:
        harbor_setup.install(tmp_path)
    assert failure.value.code == "harbor-setup"
    assert (tmp_path / "mine.txt").is_file()


def test_the_list_of_harbor_s_packages_is_found(repository: Path, tmp_path: Path) -> None:
    assert harbor_setup.lock_file() == repository / "requirements-harbor.lock"
    ready = tmp_path / "ready"
    ready.mkdir()
    (ready / ".ready").write_text(harbor_program.VERSION)
    assert harbor_setup.install(ready) == ready


def test_a_machine_that_cannot_be_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harbor_program.sys, "executable", "/none")
    with pytest.raises(HarnessError) as failure:
        harbor_program.ask_host("survey")
    assert failure.value.code == "harness-failed"
