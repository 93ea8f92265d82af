"""Vendoring: full, frozen copies of bundles for the site and the worker, and the lock that pins them.

Leaves to others: freezing (`freeze`), and refusing to serve a bundle that differs from its lock (the site,
the worker, `bundle check`).
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core.errors import MedomniError, WriteError
from medomni.core.files import copy_real, json_text, read_json, write_atomic
from medomni.core.hashing import sha256_file
from medomni.core.issues import Issue, error
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory.errors import VendorError
from medotter_bench.factory.folders import make_folder

LOCK = "bundles.lock.json"
SCHEMA = "medotter/bundles-lock/1"
_REQUIRED = ("eval_spec.yaml", "manifest_test.json")
_OPTIONAL = ("task.yaml", "coverage_report.json", "coverage_report.md")


@dataclass(frozen=True, slots=True)
class VendorReport:
    """Where a bundle was copied to, at which version, and which files."""

    target: Path
    version: str
    files: list[str]


def vendor(bundle_dir: str | Path, target_dir: str | Path) -> VendorReport:
    """Copies a bundle as real files to `target_dir/<name>` and pins it in `bundles.lock.json`.

    Copied: `task.yaml`, `eval_spec.yaml`, `manifest_test.json`, `coverage_report.{json,md}` and the
    bundle's own `*.py`, where they exist. What lay in the target's folder is replaced as a whole.

    Raises:
        BundleNotFoundError: `eval_spec.yaml` or `manifest_test.json` is missing.
        VendorError: the manifest or the lock is malformed (`vendor-manifest`, `vendor-lock-invalid`).
        WriteError: the copy could not be written; the old one is untouched.
    """
    source, root = Path(bundle_dir).resolve(), Path(target_dir)
    for name in _REQUIRED:
        if not (source / name).is_file():
            hint = "freeze it first with `medotter bundle freeze`" if name == "manifest_test.json" else ""
            raise BundleNotFoundError(f"no {name} to vendor", where=str(source / name), hint=hint)
    manifest = read_json(source / "manifest_test.json").value
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if not isinstance(version, str):
        where = str(source / "manifest_test.json")
        raise VendorError("the manifest states no version", where=where, code="vendor-manifest")
    pinned = _read_lock(root / LOCK)["bundles"] if (root / LOCK).exists() else {}
    names = [name for name in (*_REQUIRED, *_OPTIONAL) if (source / name).is_file()]
    names += [path.name for path in source.glob("*.py") if path.is_file()]
    files = _replace(source, root / source.name, sorted(names))
    bundles = {**pinned, source.name: {"version": version, "files": files}}
    write_atomic(root / LOCK, json_text({"schema": SCHEMA, "bundles": dict(sorted(bundles.items()))}))
    return VendorReport(root / source.name, version, list(files))


def _replace(source: Path, target: Path, names: list[str]) -> dict[str, dict[str, Any]]:
    """Copies beside the old folder first, so that a failure on the way leaves the old copy whole."""
    fresh, old = (target.with_name(f".{target.name}.{state}") for state in ("new", "old"))
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    make_folder(fresh)
    for name in names:
        copy_real(source / name, fresh / name)
    files = {name: _pin(fresh / name) for name in names}
    try:
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    except OSError as fault:
        if old.exists() and not target.exists():
            old.rename(target)
        raise WriteError(f"the copy cannot be put in place: {fault.strerror}", where=str(target)) from fault
    shutil.rmtree(old, ignore_errors=True)
    return files


def _pin(path: Path) -> dict[str, Any]:
    return {"sha256": sha256_file(path), "size": path.stat().st_size}


def _read_lock(path: Path) -> dict[str, Any]:
    value = read_json(path).value
    sound = (
        isinstance(value, dict) and value.get("schema") == SCHEMA and isinstance(value.get("bundles"), dict)
    )
    if sound:
        for entry in value["bundles"].values():
            pins = entry.get("files") if isinstance(entry, dict) else None
            sound = sound and isinstance(pins, dict)
            for pin in (pins or {}).values() if sound else ():
                sound = sound and isinstance(pin, dict) and {"sha256", "size"} <= set(pin)
    if not sound:
        hint = "restore it from version control; vendoring writes it"
        raise VendorError(f"{LOCK} is no {SCHEMA}", where=str(path), hint=hint, code="vendor-lock-invalid")
    return dict(value)


def verify_lock(target_dir: str | Path) -> list[Issue]:
    """Everything in which a folder of vendored bundles differs from its lock; empty where nothing does.

    Names each file that differs, is missing, is extra, or is a link (code `lock-differs`); a lock that is
    missing or malformed is `lock-unreadable`.
    """
    root = Path(target_dir)
    try:
        lock = _read_lock(root / LOCK)
    except MedomniError as fault:
        return [error("lock-unreadable", str(root / LOCK), fault.what, fault.hint)]
    pinned = {
        f"{name}/{file}": pin
        for name, entry in lock["bundles"].items()
        for file, pin in entry["files"].items()
    }
    present = _files_below(root)
    issues = [
        _differs(root / path, "is pinned in the lock and is not there")
        for path in pinned
        if path not in present
    ]
    for path in sorted(present):
        if path not in pinned:
            issues.append(_differs(root / path, "is not in the lock"))
        elif (root / path).is_symlink() or not (root / path).is_file():
            issues.append(_differs(root / path, "must be a plain file, not a link or folder"))
        elif _pin(root / path) != {key: pinned[path][key] for key in ("sha256", "size")}:
            issues.append(_differs(root / path, "has other contents than the lock says"))
    return sorted(issues, key=lambda issue: issue.where)


def _differs(path: Path, what: str) -> Issue:
    hint = "restore it from version control, or vendor the bundle again with `medotter bundle vendor`"
    return error("lock-differs", str(path), f"{path.parent.name}/{path.name} {what}", hint)


def _files_below(root: Path) -> set[str]:
    """Every file below the bundle folders, and links to folders; the lock and notes beside it are none."""
    found = set()
    for folder, names, files in os.walk(root):
        below = Path(folder).relative_to(root)
        links = [name for name in names if (Path(folder) / name).is_symlink()]
        if below != Path():
            found |= {(below / name).as_posix() for name in files}
        found |= {(below / name).as_posix() for name in links}
    return found
