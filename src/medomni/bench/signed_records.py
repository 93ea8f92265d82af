"""Writes records that may leave the workspace: checked against their contract, and signed with its key.

Also what of a run may stand in them. Leaves to others: what the records say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import WriteError
from medomni.core.files import write_json
from medomni.core.issues import IssuesError
from medomni.core.keys import keyed_digest, load_or_make_key, load_or_make_secret
from medomni.core.signing import sign_file
from medomni.core.workspace import Workspace

_BARE_DIGEST = "_sha256"
_ODD = re.compile(r"[^A-Za-z0-9@._-]+")


def predicate_type(kind: str) -> str:
    """What the signature of a record of a kind says it is: the id of the record's contract."""
    return str(contracts.schema(kind)["$id"])


def write_signed(workspace: Workspace, path: Path, kind: str, record: Mapping[str, Any]) -> Path:
    """Write a record and, beside it, its signature; the same record gives the same bytes.

    Raises:
        IssuesError: The record breaks its contract, which is our own fault.
        WriteError: It cannot be written.
        SigningKeyError: The workspace's key cannot be used.
    """
    issues = contracts.validate(kind, record)
    if issues:
        raise IssuesError(f"the {kind} is not right", issues=issues, where=str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise WriteError(f"{path.parent} could not be made: {failure.strerror}", where=str(path)) from failure
    key = load_or_make_key(workspace.signing_key)
    write_json(path, record)
    sign_file(path, key, predicate_type=predicate_type(kind))
    return path


def public_agent(agent: Mapping[str, Any], secret: bytes) -> dict[str, Any]:
    """An agent as records for others have it.

    A bare digest of something that it was given could be that of its answers, which are few enough to guess:
    it becomes a keyed one.
    """
    settings = {
        f"{key.removesuffix(_BARE_DIGEST)}_hmac" if key.endswith(_BARE_DIGEST) else key: (
            keyed_digest(secret, {key: value}) if key.endswith(_BARE_DIGEST) else value
        )
        for key, value in agent["settings"].items()
    }
    return {"name": agent["name"], "version": agent["version"], "model": agent["model"], "settings": settings}


def answers_secret(workspace: Workspace) -> bytes:
    """The workspace's secret for keyed digests of answers.

    Raises:
        SigningKeyError: It cannot be used.
        WriteError: It could not be made.
    """
    return load_or_make_secret(workspace.answers_key)


def file_name(text: str) -> str:
    """A text as part of a file's name."""
    return _ODD.sub("_", text)[:160]
