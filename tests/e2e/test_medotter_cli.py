"""The real command in a subprocess: exit codes, streams, what is written and what is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bundle_builders import BundleBuilder, box, write_nifti


def medotter(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "medotter_bench", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box())
    builder.case("002", box(), box(size=3))
    return builder.write()


def score(builder: BundleBuilder, *more: object) -> subprocess.CompletedProcess[str]:
    return medotter("score", builder.bundle, builder.predictions, "--data-root", builder.data, *more)


def test_score_prints_the_headline_and_writes_results_and_timings(builder, tmp_path):
    out = tmp_path / "results.json"
    done = score(builder, "--out", out)
    assert done.returncode == 0
    assert done.stdout.startswith("lesion dice = ")
    assert str(out) in done.stdout
    assert json.loads(out.read_text())["schema"] == "medotter/results/1"
    assert (tmp_path / "results.timings.json").is_file()


def test_json_on_stdout_is_the_document_alone_and_equal_for_any_number_of_jobs(
    builder, tmp_path, monkeypatch
):
    monkeypatch.setenv("MEDOTTER_WORKERS", "always")
    out = tmp_path / "results.json"
    one = score(builder, "--json", "--jobs", "1", "--out", out)
    two = score(builder, "--json", "--jobs", "2")
    assert one.stdout == two.stdout == out.read_text()
    assert json.loads(one.stdout)["headline"]["n"] == 2


def test_missing_predictions_exit_0_and_with_strict_1_and_the_result_is_written_all_the_same(
    builder, tmp_path
):
    (builder.predictions / "DS_A/002.nii.gz").unlink()
    assert score(builder).returncode == 0
    out = tmp_path / "strict.json"
    assert score(builder, "--strict", "--out", out).returncode == 1
    assert json.loads(out.read_text())["missing"] == ["DS_A/002"]


def test_errors_are_three_lines_on_stderr_and_exit_2(builder, tmp_path):
    done = medotter("score", tmp_path / "nowhere", builder.predictions, "--data-root", builder.data, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("error[bundle-not-found]: ")
    assert "nowhere" in lines[1]
    assert lines[2].startswith("hint: ")


@pytest.mark.parametrize(
    "arguments", [["score"], ["score", "a", "b"], ["nonsense"], ["score", "--jobs", "0"]]
)
def test_a_malformed_command_line_exits_2(arguments):
    assert medotter(*arguments).returncode == 2


def test_our_own_fault_exits_3_without_a_traceback(tmp_path):
    code = (
        "import sys, medotter_bench.engine as e\n"
        "def broken(*a, **k): raise RuntimeError('boom')\n"
        "e.score_predictions = broken\n"
        "sys.argv = ['medotter', 'score', 'a', 'b', '--data-root', 'c']\n"
        "from medotter_bench.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "error[internal]" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_needs_no_command():
    done = medotter("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "medotter")


def test_debug_shows_the_traceback(tmp_path):
    command = [sys.executable, "-m", "medotter_bench", "--debug", "bundle", "show", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_an_output_that_cannot_be_written_is_refused_before_the_work(builder, tmp_path):
    done = score(builder, "--out", tmp_path / "absent" / "results.json")
    assert done.returncode == 2
    assert "error[write-failed]" in done.stderr
    assert score(builder, "--out", builder.data).returncode == 2


def test_a_full_disk_leaves_the_old_result_whole(builder, tmp_path):
    """Writes go to /dev/full's kin: a tmpfs of a few kilobytes, where one can be mounted."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small tmpfs here")
    try:
        out = small / "results.json"
        out.write_text('{"old": true}')
        (small / "filler").write_bytes(b"x" * 9000)
        done = score(builder, "--out", out)
        assert done.returncode == 2
        assert "error[write-failed]" in done.stderr
        assert out.read_text() == '{"old": true}'
        # The journal may stay: with it, `--resume` need not score again.
        left = {path.name for path in small.iterdir()} - {"results.json.journal"}
        assert left == {"filler", "results.json"}
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_writes_nothing_and_leaves_no_process(tmp_path, monkeypatch, jobs):
    monkeypatch.setenv("MEDOTTER_WORKERS", "always")
    builder = BundleBuilder(tmp_path)
    rng = np.random.default_rng(0)
    for number in range(40):
        noise = (rng.random((70, 70, 70)) > 0.7).astype(np.uint8)
        builder.case(f"{number:03}", noise, noise[::-1].copy())
    builder.write()
    out = tmp_path / "results.json"
    out.write_text("old")
    command = [sys.executable, "-m", "medotter_bench", "score", str(builder.bundle), str(builder.predictions)]
    command += ["--data-root", str(builder.data), "--out", str(out), "--jobs", jobs]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stderr is not None
    first = process.stderr.readline()  # a case is done: the work is under way
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in first + rest
    assert out.read_text() == "old"
    assert {path.name for path in tmp_path.glob("results.json?*")} <= {"results.json.journal"}
    for _ in range(100):
        if not processes_of(process.pid):
            break
        time.sleep(0.1)
    assert processes_of(process.pid) == []


def processes_of(session: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def test_check_predictions_exits_1_with_every_fault_and_0_without(builder):
    good = medotter("check-predictions", builder.bundle, builder.predictions, "--data-root", builder.data)
    assert (good.returncode, good.stdout.splitlines()[-1]) == (
        0,
        "2 expected predictions: 0 errors, 0 warnings",
    )
    write_nifti(builder.predictions / "DS_A/001.nii.gz", box(label=5))
    bad = medotter("check-predictions", builder.bundle, builder.predictions, "--json")
    assert bad.returncode == 1
    document = json.loads(bad.stdout)
    assert document["ok"] is False
    assert document["issues"][0]["code"] == "labels-unknown"


def test_bundle_check_exits_0_1_and_1_for_an_absent_bundle(builder, tmp_path):
    assert medotter("bundle", "check", builder.bundle, "--data-root", builder.data).returncode == 0
    (builder.bundle / "task.yaml").write_text("task: 3\n")
    assert medotter("bundle", "check", builder.bundle).returncode == 1
    absent = medotter("bundle", "check", tmp_path / "nowhere")
    assert absent.returncode == 1
    assert "error[bundle-not-found]" in absent.stderr


def test_show_and_list_speak_to_people_and_to_programs(builder):
    """MB-032, MB-099."""
    builder.task["task"]["description"] = "What is measured."
    builder.spec["prediction_format"]["note"] = "Same grid."
    builder.write()
    shown = json.loads(medotter("bundle", "show", builder.bundle, "--json").stdout)
    assert [shown[key] for key in ("name", "modality", "anatomy", "description")] == [
        "Demo",
        "CT",
        "none",
        "What is measured.",
    ]
    text = medotter("bundle", "show", builder.bundle).stdout
    assert "What is measured." in text
    assert "note: Same grid." in text
    listed = json.loads(medotter("bundle", "list", "--dir", builder.root, "--json").stdout)
    assert listed["bundles"][0]["name"] == "demo_task"
    assert medotter("bundle", "list", "--dir", builder.root / "nowhere").returncode == 2


def test_a_new_bundle_goes_from_nothing_to_a_score(tmp_path):
    """new -> dummy -> freeze -> dummy predictions -> check -> score, each through the command."""
    folder, data = tmp_path / "liver_mr", tmp_path / "data"
    assert medotter("bundle", "new", "liver_mr", "--dir", tmp_path).returncode == 0
    assert medotter("bundle", "dummy", folder, "--out", data).returncode == 0
    frozen = medotter("bundle", "freeze", folder, "--data-root", data, "--json")
    assert frozen.returncode == 0
    assert json.loads(frozen.stdout)["test"] > 0
    again = tmp_path / "again"
    predictions = tmp_path / "predictions"
    assert medotter("bundle", "dummy", folder, "--out", again, "--predictions", predictions).returncode == 0
    checked = medotter("bundle", "check", folder, "--data-root", data)
    assert checked.returncode == 0, checked.stdout
    scored = medotter("score", folder, predictions, "--data-root", again, "--json")
    assert scored.returncode == 0
    assert 0 < json.loads(scored.stdout)["headline"]["value"] < 1
    assert medotter("bundle", "vendor", folder, tmp_path / "vendored").returncode == 0
    assert medotter("bundle", "check", tmp_path / "vendored" / "liver_mr").returncode == 0
    (tmp_path / "vendored" / "liver_mr" / "eval_spec.yaml").write_text("metrics: [dice]\n")
    drifted = medotter("bundle", "check", tmp_path / "vendored" / "liver_mr", "--json")
    assert drifted.returncode == 1
    assert "lock-differs" in drifted.stdout


def test_doctor_says_what_this_machine_can_do():
    found = json.loads(medotter("doctor", "--json").stdout)
    assert "seg" in found["task_types"]
    assert found["extras"]["imaging"]["installed"]
    assert medotter("doctor").stdout.startswith("medomni ")


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["score"],
        ["check-predictions"],
        ["doctor"],
        ["demo"],
        *(["bundle", name] for name in ("new", "list", "show", "check", "freeze", "dummy", "vendor")),
    ],
)
def test_every_command_has_help_with_an_example_and_json(command):
    text = medotter(*command, "--help").stdout
    assert "Example: medotter" in text.replace("\n", " ").replace("  ", " ")
    if command:
        assert "--json" in text


def test_help_and_import_load_nothing_heavy():
    """Loading is what costs time; the seconds themselves are measured in benchmarks-perf."""
    heavy = {"numpy", "scipy", "nibabel", "PIL", "tifffile", "SimpleITK", "jsonschema", "cryptography"}
    code = "import sys, {}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    for module in ("medotter_bench", "medomni", "medotter_bench.cli"):
        done = subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True)
        assert not heavy & set(done.stdout.split()), module
