"""From a request to an answer: which encoder, which file, and one limited process for the work.

Leaves to others: HTTP (`service`), what happens inside the process (`work`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medomni.core.files import resolve_under
from medomni.studio.perception.encoders import BUILT_IN, Description, plug_ins
from medomni.studio.perception.errors import PerceptionError
from medomni.studio.perception.settings import MOUNTED, Settings

# More at a time would only share the same cores; the rest waits its turn.
_AT_ONCE = 2
_REFUSED = "it would restate a target of this task"


def program() -> list[str]:
    """The command that starts this package again: as a module, or from the archive that it runs from."""
    archive = getattr(__spec__.loader, "archive", None) if __spec__ else None
    return [sys.executable, *([str(archive)] if archive else ["-m", "medomni.studio.perception"])]


class Calls:
    """Answers requests within the settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._plugged: dict[str, Description] = {}

    def encoders(self) -> list[Description]:
        """Every encoder with its status, those of the service first."""
        own = [self._described(each.name, each.version, each.description) for each in BUILT_IN]
        return own + [self._plug_in(name) for name in plug_ins()]

    def encode(self, encoder: str, path: str) -> dict[str, Any]:
        """The encoding of a file.

        Args:
            encoder: Its name.
            path: The file, relative to the data root; a leading `/data/` is the root itself.

        Raises:
            PerceptionError: `encoder-unknown`, `encoder-refused`, `encoder-unusable`, `perception-file-size`,
                `perception-busy`, `encoder-timeout`, `encoder-failed` or `encoder-file`.
            UnsafePathError: The path leaves the data root, or is not a regular file.
            MissingPathError: There is no such file.
        """
        self._check_encoder(encoder)
        # The root is mounted at /data, where agents see it; they name files as they see them.
        relative = path.removeprefix(f"{MOUNTED}/")
        file = resolve_under(self.settings.data, relative, plain_file=True)
        size = file.stat().st_size
        if size > self.settings.most_file_bytes:
            what = f"the file has {size} bytes, and at most {self.settings.most_file_bytes} are read"
            raise PerceptionError(what, where=path, code="perception-file-size")
        answer = self._run({"encoder": encoder, "file": str(file)})
        return {"encoder": answer["encoder"], "version": answer["version"], "path": relative} | {
            name: answer[name] for name in ("numbers", "words")
        }

    def _check_encoder(self, name: str) -> None:
        known = {each.name: each for each in self.encoders()}
        if name not in known:
            hint = f"there are: {', '.join(known)}"
            raise PerceptionError(f"there is no encoder {name!r}", hint=hint, code="encoder-unknown")
        found = known[name]
        if found.status == "refused":
            hint = "read the file itself: what is in it may be used"
            raise PerceptionError(
                f"the encoder {name!r} is refused: {found.reason}", hint=hint, code="encoder-refused"
            )
        if found.status != "ready":
            raise PerceptionError(
                f"the encoder {name!r} cannot be used: {found.reason}", code="encoder-unusable"
            )

    def _plug_in(self, name: str) -> Description:
        if name in self.settings.refused:
            return self._described(name, None, "")
        if name not in self._plugged:
            try:
                said = self._run({"encoder": name})
                self._plugged[name] = self._described(name, said["version"], said["description"])
            except PerceptionError as failure:
                if failure.code == "perception-busy":
                    raise
                self._plugged[name] = Description(name, None, "", "unusable", failure.what)
        return self._plugged[name]

    def _described(self, name: str, version: int | None, description: str) -> Description:
        refused = name in self.settings.refused
        status, reason = ("refused", _REFUSED) if refused else ("ready", "")
        return Description(name, version, description, status, reason)

    def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request in a process of its own, which is gone when this returns."""
        limits = self.settings
        if not self._places.acquire(timeout=limits.time_limit_sec):
            raise PerceptionError(
                "other encodings take all places", hint="ask again later", code="perception-busy"
            )
        told = {"memory_bytes": limits.memory_bytes, "most_answer_bytes": limits.most_answer_bytes}
        try:
            done = subprocess.run(  # noqa: S603 - this program itself; the request travels as input
                [*program(), "--work"],
                input=json.dumps({**request, **told}),
                capture_output=True,
                check=False,
                encoding="utf-8",
                errors="replace",
                timeout=limits.time_limit_sec,
            )
        except subprocess.TimeoutExpired as failure:
            what = f"the encoder {request['encoder']!r} took longer than {limits.time_limit_sec:g} s"
            raise PerceptionError(what, code="encoder-timeout") from failure
        finally:
            self._places.release()
        return _answer(str(request["encoder"]), done)


def _answer(encoder: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        why = told[-1] if told else f"its process ended with {done.returncode}"
        raise PerceptionError(f"the encoder {encoder!r} failed: {why}"[:500], code="encoder-failed")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        told_error = answer["error"]
        where = Path(told_error["where"]).name
        raise PerceptionError(
            told_error["what"], where=where, hint=told_error["hint"], code=told_error["code"]
        )
    return answer
