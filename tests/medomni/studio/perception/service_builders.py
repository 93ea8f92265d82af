"""A running service over a folder, a caller for it, and encoders that others plug in."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medomni.studio.perception.service import PerceptionServer
from medomni.studio.perception.settings import Settings

LABS = "record/hosp.labevents.csv"
HEADER = "itemid,label,fluid,charttime_h,value,valuenum,valueuom"


def staged(folder: Path, *rows: str, header: str = HEADER, path: str = LABS) -> Path:
    """A folder of staged files with one table; gives the folder."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return folder


@contextmanager
def running(data: Path, **changes: Any) -> Iterator[PerceptionServer]:
    """A service on a free port."""
    with PerceptionServer(replace(Settings(data), **changes), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(
    server: PerceptionServer,
    method: str,
    route: str,
    body: bytes | str | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:
    """Status and parsed answer of one request."""
    caller = http.client.HTTPConnection("127.0.0.1", int(server.server_address[1]), timeout=30)
    try:
        caller.request(method, route, body=body, headers=headers or {})
        answer = caller.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        caller.close()


def encode(server: PerceptionServer, path: str = LABS, encoder: str = "trends") -> tuple[int, Any]:
    """Status and parsed answer of a request to /encode."""
    return ask(server, "POST", "/encode", json.dumps({"encoder": encoder, "path": path}))


def plug_in(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, code: str) -> None:
    """Install an encoder `name` as a package that others wrote; `code` defines `Made`."""
    module = f"plugged_{name}"
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    about = folder / f"{module}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n", encoding="utf-8")
    entry = f"[medomni.encoders]\n{name} = {module}:Made\n"
    (about / "entry_points.txt").write_text(entry, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    # The process of an encoding finds it too.
    monkeypatch.setenv("PYTHONPATH", str(folder))


def encoder_code(name: str, body: str) -> str:
    """The source of an encoder whose `encode` has this body."""
    return f"""
import os, sys, time

class Made:
    name = "{name}"
    version = 3
    description = "For a test."

    def encode(self, file):
        {body}
"""
