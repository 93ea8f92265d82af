"""The first process of a sandbox: runs commands, takes and gives files, ends everything. It is never
imported.

Requests and answers are JSON with a length of four bytes before it, on standard input and output. As
process 1 of its own process namespace no signal from within can end it, and it cannot be traced; when it
ends, the kernel ends every other process there. All that agents write lies in file systems of a fixed size
that go away with it. Standard library alone; Python 3.11 or later.

Leaves to others: limits and namespaces, which are made before it starts (`sandbox`).
"""

import base64
import ctypes
import json
import os
import queue
import selectors
import shutil
import signal
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PR_SET_DUMPABLE = 4
_WORKERS = 8
_DRAIN_SECONDS = 0.5
_CHUNK = 65536
# Ends before this process where memory runs out, starts in its folder, and becomes the command.
_SHELL = (
    "echo 1000 > /proc/self/oom_score_adj 2>/dev/null; "
    'cd "$1" || { echo "there is no folder $1" >&2; exit 126; }; exec bash -c "$2"'
)


class Children:
    """Reaps every process that ends, and tells of those that were started here."""

    def __init__(self) -> None:
        self._ended: dict[int, int] = {}
        self._changed = threading.Condition()
        self._any = threading.Event()
        threading.Thread(target=self._reap, daemon=True).start()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                self._any.wait()
                self._any.clear()
                continue
            with self._changed:
                self._ended[pid] = os.waitstatus_to_exitcode(status)
                self._changed.notify_all()

    def started(self) -> None:
        """A process was started."""
        self._any.set()

    def ended(self, pid: int, wait: float = 0.0) -> int | None:
        """The exit code of a process; None while it runs."""
        with self._changed:
            self._changed.wait_for(lambda: pid in self._ended, timeout=wait)
            return self._ended.pop(pid, None)


class Captured:
    """The beginning of a stream, and how much there was."""

    def __init__(self, limit: int) -> None:
        self._parts: list[bytes] = []
        self._room = limit
        self.left_out = 0

    def add(self, data: bytes) -> None:
        """Take what there is room for."""
        kept = data[: self._room]
        self._room -= len(kept)
        self.left_out += len(data) - len(kept)
        if kept:
            self._parts.append(kept)

    def text(self) -> str:
        """What was kept, and a note of the rest."""
        told = b"".join(self._parts).decode("utf-8", "replace")
        return f"{told}\n[{self.left_out} bytes left out]\n" if self.left_out else told


def run(children: Children, request: dict[str, Any]) -> dict[str, Any]:
    """Run a command to its end or its time limit; what it leaves in the background lives on."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    nothing = os.open("/dev/null", os.O_RDONLY)
    actions = [
        (os.POSIX_SPAWN_DUP2, nothing, 0),
        (os.POSIX_SPAWN_DUP2, out_write, 1),
        (os.POSIX_SPAWN_DUP2, err_write, 2),
    ]
    argv = ["bash", "-c", _SHELL, "sh", request["cwd"], request["command"]]
    default = [signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ]
    try:
        pid = os.posix_spawn(
            shutil.which("bash") or "/bin/bash",
            argv,
            request["env"],
            file_actions=actions,
            setsid=True,
            setsigdef=default,
        )
    except OSError as failure:
        for descriptor in (out_read, err_read):
            os.close(descriptor)
        return {"stdout": "", "stderr": f"no process can be started: {failure.strerror}\n", "code": 126}
    finally:
        for descriptor in (out_write, err_write, nothing):
            os.close(descriptor)
    children.started()
    return _finish(children, pid, {out_read: "stdout", err_read: "stderr"}, request)


def _finish(children: Children, pid: int, streams: dict[int, str], request: dict[str, Any]) -> dict[str, Any]:
    kept = {name: Captured(request["most_bytes"]) for name in streams.values()}
    limit = request.get("timeout")
    deadline = None if limit is None else time.monotonic() + limit
    timed_out, code, drain_until = False, None, None
    with selectors.DefaultSelector() as selector:
        for descriptor in streams:
            selector.register(descriptor, selectors.EVENT_READ)
        while drain_until is None or (selector.get_map() and time.monotonic() < drain_until):
            for key, _ in selector.select(0.02):
                data = os.read(key.fd, _CHUNK)
                if data:
                    kept[streams[key.fd]].add(data)
                else:
                    selector.unregister(key.fd)
            if code is None:
                code = children.ended(pid, 0.0 if selector.get_map() else 0.02)
            if code is not None and drain_until is None:
                # A background process may hold the streams open for ever.
                drain_until = time.monotonic() + _DRAIN_SECONDS
            if code is None and deadline is not None and time.monotonic() > deadline and not timed_out:
                timed_out = True
                os.killpg(pid, signal.SIGKILL)
    for descriptor in streams:
        os.close(descriptor)
    told = {name: each.text() for name, each in kept.items()}
    left_out = sum(each.left_out for each in kept.values())
    code = 128 - code if code is not None and code < 0 else code
    return {**told, "code": code, "timed_out": timed_out, "left_out": left_out}


def give(request: dict[str, Any]) -> dict[str, Any]:
    """A plain file's bytes, or those of the plain files below a folder; links are never followed."""
    path, most = request["path"], request["most_bytes"]
    try:
        mode = os.lstat(path).st_mode
    except OSError as failure:
        return {"error": f"{path}: {failure.strerror}", "missing": True}
    if stat.S_ISLNK(mode):
        return {"error": f"{path} is a link"}
    if not stat.S_ISDIR(mode):
        return _files([(path, "")], most)
    found = []
    for folder, _, names in os.walk(path):
        found += [(f"{folder}/{name}", f"{folder}/{name}".removeprefix(f"{path}/")) for name in names]
        if len(found) > request["most_files"]:
            return {"error": f"{path} holds more than {request['most_files']} files"}
    return _files(sorted(found), most)


def _files(paths: list[tuple[str, str]], most: int) -> dict[str, Any]:
    files, skipped = [], []
    for path, name in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            skipped.append(name)
            continue
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                skipped.append(name)
                continue
            data = stream.read(most + 1)
        most -= len(data)
        if most < 0:
            return {"error": f"{path} is larger than what is taken out of a sandbox", "too_large": True}
        files.append([name, base64.b64encode(data).decode("ascii")])
    return {"files": files, "skipped": skipped}


def take(request: dict[str, Any]) -> dict[str, Any]:
    """Write files; nothing that was there before is written through."""
    try:
        for path, mode, data in request["files"]:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(path):
                Path(path).unlink()
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                stream.write(base64.b64decode(data))
    except OSError as failure:
        return {"error": f"{failure.filename}: {failure.strerror}"}
    return {}


def halt() -> dict[str, Any]:
    """End every process but this one."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return {}
    return {}


def kinds(request: dict[str, Any]) -> dict[str, Any]:
    """Whether a path is a folder or a plain file, without following a link at its end."""
    try:
        mode = os.lstat(request["path"]).st_mode
    except OSError:
        return {"folder": False, "file": False}
    return {"folder": stat.S_ISDIR(mode), "file": stat.S_ISREG(mode)}


def answer(children: Children, request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks."""
    operations: dict[str, Callable[[], dict[str, Any]]] = {
        "run": lambda: run(children, request),
        "give": lambda: give(request),
        "take": lambda: take(request),
        "halt": halt,
        "kinds": lambda: kinds(request),
    }
    return operations[request["op"]]()


def main() -> None:
    """Answer requests until standard input ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        sys.exit("this process could not be closed to the others")
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    children, lock = Children(), threading.Lock()
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def send(told: dict[str, Any]) -> None:
        data = json.dumps(told).encode()
        with lock:
            sink.write(struct.pack(">I", len(data)) + data)
            sink.flush()

    def work() -> None:
        while True:
            request = waiting.get()
            try:
                told = answer(children, request)
            except (OSError, ValueError, MemoryError) as failure:
                told = {"error": f"{type(failure).__name__}: {failure}"}
            send({"id": request["id"], **told})

    # Made now: there may be no room for another thread when they are needed.
    for _ in range(_WORKERS):
        threading.Thread(target=work, daemon=True).start()
    send({"id": 0, "ready": True})
    while len(length := source.read(4)) == 4:
        request = json.loads(source.read(struct.unpack(">I", length)[0]))
        # A process that fills every worker with endless commands must not keep itself from being ended.
        if request["op"] == "halt":
            send({"id": request["id"], **halt()})
        else:
            waiting.put(request)
    os._exit(0)


if __name__ == "__main__":
    main()
