"""The service as a program: from the module, from its archive, and inside a sandbox beside the agent's."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from service_builders import LABS, staged

from medomni.studio.perception import __main__ as program
from medomni.studio.perception import work
from medomni.studio.perception.archive import NAME, archive_bytes, sources
from medomni.studio.perception.settings import config_text

ROW = "7,Sodium,Blood,-48,140,140,mEq/L"
MODULE = [sys.executable, "-m", "medomni.studio.perception"]


@contextlib.contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[str]:
    """A service as a process; gives where it listens."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().removeprefix("perception: ")
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 0


def encoded(url: str) -> dict[str, object]:
    body = json.dumps({"encoder": "trends", "path": LABS}).encode()
    with urllib.request.urlopen(f"{url}/encode", body, timeout=20) as answer:
        found: dict[str, object] = json.loads(answer.read())
    return found


def archive(folder: Path) -> Path:
    file = folder / NAME
    file.write_bytes(archive_bytes())
    return file


def test_the_module_and_the_archive_answer_alike(tmp_path: Path) -> None:
    data = staged(tmp_path / "data", ROW)
    options = ["--data", str(data), "--port", "0"]
    with started([*MODULE, *options], tmp_path) as url:
        from_module = encoded(url)
    # -S and -E: nothing of this environment, the archive alone.
    bare = [sys.executable, "-S", "-E", str(archive(tmp_path))]
    with started([*bare, *options], tmp_path) as url:
        assert encoded(url) == from_module


def test_the_archive_holds_the_service_and_no_more() -> None:
    with zipfile.ZipFile(io.BytesIO(archive_bytes())) as opened:
        assert sorted(opened.namelist()) == sorted(sources())
        assert {each.date_time for each in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    own = [name for name in sources() if not name.startswith(("medomni/core/", "medomni/studio/perception/"))]
    assert own == ["__main__.py", "medomni/__init__.py", "medomni/studio/__init__.py"]


def test_the_archive_is_the_same_in_every_process() -> None:
    script = (
        "import hashlib; from medomni.studio.perception.archive import archive_bytes;"
        " print(hashlib.sha256(archive_bytes()).hexdigest())"
    )
    made = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=env).stdout
        for env in (dict(os.environ), {**os.environ, "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"})
    }
    assert len(made) == 1


def test_everything_in_the_archive_is_python_of_3_11() -> None:
    for name, data in sources().items():
        ast.parse(data.decode(), name, feature_version=(3, 11))


def test_wrong_settings_end_the_program_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["--data", str(tmp_path / "none")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error[perception-setup]: ")
    assert "hint: " in told


def test_the_program_stops_when_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(
        program.PerceptionServer, "serve_forever", lambda _self: os.kill(os.getpid(), signal.SIGTERM)
    )
    try:
        assert program.main(["--data", str(tmp_path), "--port", "0"]) == 0
        monkeypatch.setattr(program.PerceptionServer, "serve_forever", lambda _self: None)
        assert program.main(["--data", str(tmp_path), "--port", "0"]) == 0
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_work_of_a_request_answers_on_the_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = staged(tmp_path, ROW) / LABS
    limits: list[int] = []
    monkeypatch.setattr(work, "limit_memory", limits.append)
    request = {"encoder": "trends", "file": str(file), "memory_bytes": 7, "most_answer_bytes": 10_000}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    kept = os.dup(1)
    try:
        assert program.main(["--work"]) == 0
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert json.loads(capfd.readouterr().out)["words"]
    assert limits == [7]


def test_the_work_of_a_request_is_limited_and_tells_its_failures(tmp_path: Path) -> None:
    file = staged(tmp_path, ROW) / LABS
    assert json.loads(work.work({"encoder": "trends"}))["version"] == 1
    short = json.loads(work.work({"encoder": "trends", "file": str(file), "most_answer_bytes": 3}))
    assert short["error"]["code"] == "encoder-failed"
    unknown = json.loads(work.work({"encoder": "none"}))
    assert unknown["error"]["code"] == "encoder-unknown"


def test_memory_is_limited_within_what_the_process_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    for hard, expected in ((resource.RLIM_INFINITY, 1000), (500, 500)):
        seen: list[tuple[int, int]] = []
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, hard=hard: (hard, hard))
        monkeypatch.setattr(resource, "setrlimit", lambda _kind, pair, seen=seen: seen.append(pair))
        work.limit_memory(1000)
        assert seen == [(expected, expected)]


def sandboxes_work() -> bool:
    programs = all(shutil.which(name) for name in ("bwrap", "unshare", "nsenter", "ip"))
    if not programs:
        return False
    tried = ["unshare", "-n", "bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not sandboxes_work(), reason="no bubblewrap, or no right to make a network namespace")
def test_two_sandboxes_share_a_loopback_and_nothing_else(tmp_path: Path) -> None:
    data = staged(tmp_path / "data", ROW)
    config = tmp_path / "config.json"
    config.write_text(config_text(frozenset()), encoding="utf-8")
    service = [
        "python3",
        "/run/service.pyz",
        "--data",
        "/data",
        "--config",
        "/run/config.json",
        "--port",
        "8080",
    ]
    seen = [
        "--ro-bind",
        str(archive(tmp_path)),
        "/run/service.pyz",
        "--ro-bind",
        str(config),
        "/run/config.json",
    ]
    asks = """
import json, socket, time, urllib.request
body = json.dumps({"encoder": "trends", "path": "record/hosp.labevents.csv"}).encode()
for _ in range(100):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:8080/encode", body, timeout=20).read().decode())
        break
    except OSError:
        time.sleep(0.1)
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
    print("open")
except OSError:
    print("closed")
"""
    with subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up && exec sleep 60"]) as holder:
        try:
            wait_for_namespace(holder.pid)
            inside = ["nsenter", "-t", str(holder.pid), "-n"]
            with subprocess.Popen([*inside, *sandbox(data, *seen), *service]) as running:
                client = [*inside, *sandbox(data), "python3", "-c", asks]
                told = subprocess.run(client, capture_output=True, text=True, check=True, timeout=60).stdout
                running.kill()
        finally:
            holder.kill()
    answer, network = told.splitlines()[0], told.splitlines()[-1]
    assert json.loads(answer)["numbers"]["items"][0]["last"] == 140.0
    assert network == "closed"


def wait_for_namespace(pid: int) -> None:
    own = Path("/proc/self/ns/net").readlink()
    for _ in range(100):
        # The loopback is up when the shell has become the sleep.
        name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
        if Path(f"/proc/{pid}/ns/net").readlink() != own and name == "sleep":
            return
        time.sleep(0.05)
    raise TimeoutError("the network namespace did not come up")


def sandbox(data: Path, *more: str) -> list[str]:
    """A sandbox with the system's programs, the staged files, and the network that it is started in."""
    system = [
        ("--ro-bind", f"/{name}", f"/{name}")
        for name in ("usr", "lib", "lib64", "bin")
        if Path(f"/{name}").exists()
    ]
    return [
        *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"),
        *("--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"),
        *(part for bind in system for part in bind),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"),
        *("--ro-bind", str(data), "/data", *more),
    ]
