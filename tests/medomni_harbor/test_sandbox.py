"""The sandbox, tried from within as a hostile agent would: real processes, nothing made up."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

import pytest
from sandbox_builders import LIMITS, in_sandbox, need_sandbox, printed

from medomni_harbor import cgroups
from medomni_harbor.sandbox import PREFIX, PathInsideError, Sandbox, SandboxError, remove_left
from medomni_harbor.settings import MOST_PRINTED_BYTES, Place, Service


def test_the_network_is_closed_by_trying() -> None:
    found = need_sandbox()["held"]
    assert found["network"]
    told = printed("python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), timeout=3)\"")
    assert "unreachable" in told["stderr"]
    assert printed("cat /proc/net/dev | grep -c :")["stdout"] == "1\n"


def test_everything_that_a_run_must_have_is_held() -> None:
    held = need_sandbox()["held"]
    assert all(held[name] for name in ("network", "processes", "user", "host_user", "memory", "wall_time"))
    assert held["read_only_data"]
    assert held["new_privileges"]


def test_the_agent_is_nobody_and_sees_nothing_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("a\n1\n")
    os.environ["MEDOMNI_TEST_SECRET"] = "hidden"
    try:
        told = printed(
            "id -u; env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; ls /; ls /root /home /tests 2>&1",
            data=tmp_path / "data",
        )
    finally:
        del os.environ["MEDOMNI_TEST_SECRET"]
    lines = told["stdout"].splitlines()
    assert lines[0] == "1000"
    assert "hidden" not in told["stdout"]
    assert str(tmp_path) not in told["stdout"]
    assert {"sys", "tests", "root", "mnt"}.isdisjoint(lines)


def test_data_programs_and_devices_are_read_only(tmp_path: Path) -> None:
    told = printed("touch /data/x /usr/x /x /dev/x /etc/x", data=tmp_path)
    assert told["stderr"].count("Read-only file system") == 5


def test_memory_of_all_processes_is_limited() -> None:
    if not need_sandbox()["held"]["memory_of_all"]:
        pytest.skip("no cgroups can be made here")

    async def work(sandbox: Sandbox) -> tuple[int, bool]:
        told = await sandbox.run("python3 -c 'x = bytearray(400 << 20)'", timeout=20)
        again = await sandbox.run("echo alive", timeout=20)
        assert again["stdout"] == "alive\n"
        return told["code"], sandbox.group is not None and sandbox.group.memory_ran_out()

    assert in_sandbox(work) == (137, True)


def test_a_fork_bomb_is_stopped_and_its_files_can_still_be_read() -> None:
    async def work(sandbox: Sandbox) -> bytes:
        await sandbox.run("echo 1 > /workspace/answer.json; b() { b | b & }; b", timeout=3)
        await sandbox.halt()
        assert (await sandbox.run("ls /proc | grep -c '^[0-9]'"))["stdout"].strip() in ("3", "4", "5")
        return (await sandbox.give("/workspace/answer.json"))[0][1]

    assert in_sandbox(work) == b"1\n"


def test_the_disk_cannot_be_filled() -> None:
    told = printed(
        "for i in $(seq 40); do dd if=/dev/zero of=/workspace/$i bs=1M count=4 2>&1; done | tail -1;"
        " du -sm /workspace | cut -f1"
    )
    assert int(told["stdout"].split()[-1]) <= LIMITS.storage_bytes >> 20
    assert printed("dd if=/dev/zero of=/tmp/x bs=1M count=12 2>/dev/null; echo $?")["stdout"] == "153\n"


def test_a_flood_of_output_is_cut_and_counted() -> None:
    told = printed("head -c 3000000 /dev/zero | tr '\\0' x")
    assert told["left_out"] == 3000000 - MOST_PRINTED_BYTES
    assert told["stdout"].endswith("bytes left out]\n")
    assert len(told["stdout"]) < MOST_PRINTED_BYTES + 100


def test_a_command_is_killed_at_its_time_limit_and_the_sandbox_lives() -> None:
    async def work(sandbox: Sandbox) -> tuple[bool, str]:
        told = await sandbox.run("sleep 60", timeout=0.3)
        return told["timed_out"], (await sandbox.run("echo alive"))["stdout"]

    assert in_sandbox(work) == (True, "alive\n")


def test_background_processes_live_until_they_are_ended() -> None:
    async def work(sandbox: Sandbox) -> tuple[str, str]:
        await sandbox.run("setsid sh -c 'while true; do date >> beat; sleep 0.05; done' &")
        await asyncio.sleep(0.4)
        running = (await sandbox.run("wc -l < beat"))["stdout"]
        await sandbox.halt()
        before = (await sandbox.give("/workspace/beat"))[0][1]
        await asyncio.sleep(0.4)
        assert (await sandbox.give("/workspace/beat"))[0][1] == before
        return running, (await sandbox.run("ls /proc | grep -c '^[0-9]'"))["stdout"]

    running, processes = in_sandbox(work)
    assert int(running) > 1
    assert int(processes) <= 5


def test_the_first_process_can_be_neither_killed_nor_read_nor_traced() -> None:
    told = printed("kill -9 1; kill -9 -1; cat /proc/1/environ /proc/1/mem; ls /proc/1/fd; echo still here")
    assert told["stdout"].endswith("still here\n")
    assert told["stderr"].count("Permission denied") >= 3


@pytest.mark.parametrize("command", ["unshare -U true", "unshare -m true", "mount -t tmpfs none /tmp"])
def test_the_kernel_is_not_offered_new_namespaces_or_mounts(command: str) -> None:
    assert printed(command)["code"] != 0


def test_nothing_is_taken_out_through_a_link() -> None:
    async def work(sandbox: Sandbox) -> list[str]:
        await sandbox.run(
            "ln -s /etc/passwd link; mkfifo pipe; mkdir folder; echo 1 > folder/a; ln -s /etc folder/b;"
            " ln -s /etc/passwd folder/c; dd if=/dev/zero of=big bs=1M count=7 2>/dev/null"
        )
        said = []
        for path in ("link", "pipe", "none"):
            with pytest.raises(PathInsideError) as failure:
                await sandbox.give(f"/workspace/{path}")
            said.append(str(failure.value))
        assert await sandbox.give("/workspace/folder") == [("a", b"1\n")]
        assert await sandbox.kinds("/workspace/link") == (False, False)
        assert await sandbox.kinds("/workspace/folder") == (True, False)
        assert await sandbox.kinds("/workspace/none") == (False, False)
        return said

    assert in_sandbox(work) == [
        "/workspace/link is a link",
        "/workspace/pipe is no plain file",
        "/workspace/none: No such file or directory",
    ]


def test_what_is_put_in_replaces_a_link_and_never_writes_through_it() -> None:
    async def work(sandbox: Sandbox) -> str:
        await sandbox.run("echo old > target; ln -s target link")
        await sandbox.take([("/workspace/link", 0o644, b"new\n"), ("/workspace/a/b.sh", 0o755, b"echo b\n")])
        with pytest.raises(PathInsideError):
            await sandbox.take([("/usr/x", 0o644, b"")])
        told = await sandbox.run("cat target link; ./a/b.sh")
        return str(told["stdout"])

    assert in_sandbox(work) == "old\nnew\nb\n"


def test_a_service_shares_the_loopback_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text("served\n")
    command = ("python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/run/site", "8080")
    service = Service(command, {"/run/site/page.txt": page})

    async def work(sandbox: Sandbox) -> str:
        ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/page.txt').read().decode())"
        for _ in range(100):
            told = await sandbox.run(f'python3 -c "{ask}"')
            if told["code"] == 0:
                break
            await asyncio.sleep(0.1)
        closed = await sandbox.run("ls /run/site /proc | grep -c http; cat /proc/net/dev | grep -c :")
        assert closed["stdout"] == "0\n1\n"
        return str(told["stdout"])

    assert in_sandbox(work, service=service).strip() == "served"


def test_an_ended_sandbox_says_so_and_leaves_nothing() -> None:
    async def work(sandbox: Sandbox) -> Sandbox:
        return sandbox

    sandbox = in_sandbox(work, job="leaves-nothing")
    with pytest.raises(SandboxError, match="has ended"):
        asyncio.run(sandbox.run("true"))
    assert not list(Path(tempfile.gettempdir()).glob(f"{PREFIX}leaves-nothing-*"))
    assert remove_left("leaves-nothing") == []


def test_a_sandbox_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    need_sandbox()
    script = tmp_path / "starts.py"
    script.write_text(
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from medomni_harbor.sandbox import Sandbox\n"
        "from medomni_harbor.settings import Limits, Place\n"
        "async def main():\n"
        "    place = Place(Path(), None, None, ('/workspace',), '/workspace')\n"
        "    sandbox = Sandbox(place, Limits(), job='orphans')\n"
        "    await sandbox.start()\n"
        "    await sandbox.run('setsid sleep 98765 &')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    import subprocess
    import sys

    subprocess.run([sys.executable, str(script)], check=False)
    deadline = time.monotonic() + 10
    while (left := _processes_with(b"98765")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert remove_left("orphans")
    assert not list(Path(tempfile.gettempdir()).glob(f"{PREFIX}orphans-*"))
    if cgroups.ROOT.is_dir():
        assert not list(cgroups.ROOT.glob(f"**/{cgroups.PARENT}/orphans-*"))


def _processes_with(text: bytes) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_without_a_program_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from medomni_harbor.host import survey

    monkeypatch.setenv("PATH", str(tmp_path))
    assert survey(None) == {"works": False, "why": "bubblewrap is not installed (program bwrap)", "held": {}}


def test_a_root_that_is_not_there_is_told(tmp_path: Path) -> None:
    need_sandbox()

    async def whole() -> None:
        sandbox = Sandbox(Place(Path(), tmp_path, None, ("/workspace",), "/workspace"), LIMITS, job="no-root")
        try:
            await sandbox.start()
        finally:
            await sandbox.stop()

    with pytest.raises(SandboxError, match="did not start"):
        asyncio.run(whole())
