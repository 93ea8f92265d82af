"""Command lines of bubblewrap: the agent's sandbox, and a service's beside it on one loopback.

The root is made of the base image's own folders, or of this machine's programs, without what a task must not
see: no `/tests`, no home folders, no `/sys`. Everything but the folders for writing is read-only, `/dev` too.

Leaves to others: limits per process and cgroups (`starting`), starting (`sandbox`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medomni_harbor.settings import MB, Limits, Place, Service

INSIDE = "/run/medomni/inside.py"
HOME = "/home/agent"
UID = "1000"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "HOME": HOME, "LANG": "C.UTF-8", "TMPDIR": "/tmp"}  # noqa: S108 - in the sandbox
_PROGRAMS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
_OF_AN_IMAGE = (*_PROGRAMS, "etc", "opt", "var")
# What programs look up; nothing that tells of this machine's users or network.
_OF_THIS_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "ca-certificates")
_SMALL = 16 * MB


def main_command(place: Place, limits: Limits, *, seccomp: int | None, network: bool) -> list[str]:
    """The command line of the agent's sandbox, whose first process answers on its standard streams.

    Args:
        place: Where its files come from; `staging` holds `inside.py`.
        limits: The room for files.
        seccomp: The descriptor of the filter.
        network: Whether it has a network namespace of its own; else it shares that of whoever starts it.
    """
    sizes = _sizes(place.writable, limits)
    data = ("--ro-bind", str(place.data), "/data") if place.data is not None else ()
    return [
        *_base(place.rootfs, place.staging, seccomp=seccomp, network=network),
        *("--as-pid-1", "--ro-bind", str(place.staging / "inside.py"), INSIDE),
        *(part for path, size in sizes for part in ("--size", str(size), "--tmpfs", path)),
        *data,
        *("--chdir", "/", *_closed(), "--", "python3", "-I", "-S", INSIDE),
    ]


def service_command(place: Place, service: Service, *, seccomp: int | None) -> list[str]:
    """The command line of a service's sandbox; it shares the network of whoever starts it."""
    data = ("--ro-bind", str(place.data), "/data") if place.data is not None else ()
    files = [
        part for inside, file in sorted(service.files.items()) for part in ("--ro-bind", str(file), inside)
    ]
    return [
        *_base(place.rootfs, place.staging, seccomp=seccomp, network=False),
        *("--size", str(64 * MB), "--tmpfs", "/tmp"),  # noqa: S108 - in the sandbox
        *data,
        *files,
        *("--chdir", "/tmp", *_closed(), "--", *service.command),  # noqa: S108 - in the sandbox
    ]


def pod_command(commands: Sequence[Sequence[str]]) -> list[str]:
    """One network namespace with nothing but a loopback, and the commands in it.

    The last command takes the place of the shell, so that it has the standard streams; the others end with
    it.
    """
    *beside, last = commands
    script = "".join(f"{_quoted(each)} </dev/null >/dev/null 2>&1 & " for each in beside)
    return [
        *("bwrap", "--unshare-user", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--"),
        *("sh", "-c", f"{script}exec {_quoted(last)}"),
    ]


def _quoted(command: Sequence[str]) -> str:
    import shlex

    return shlex.join(command)


def _base(rootfs: Path | None, staging: Path, *, seccomp: int | None, network: bool) -> list[str]:
    return [
        *("bwrap", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *(("--unshare-net",) if network else ()),
        *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"),
        *("--uid", UID, "--gid", UID, "--hostname", "sandbox"),
        *(part for name, value in ENVIRONMENT.items() for part in ("--setenv", name, value)),
        *(("--seccomp", str(seccomp)) if seccomp is not None else ()),
        *_root(rootfs, staging),
        *("--proc", "/proc", "--dev", "/dev", "--size", str(_SMALL), "--tmpfs", "/dev/shm"),  # noqa: S108
    ]


def _root(rootfs: Path | None, staging: Path) -> list[str]:
    root = rootfs or Path("/")
    found: list[str] = []
    for name in _PROGRAMS if rootfs is None else _OF_AN_IMAGE:
        entry = root / name
        if entry.is_symlink():
            found += ["--symlink", str(entry.readlink()).lstrip("/"), f"/{name}"]
        elif entry.is_dir():
            found += ["--ro-bind", str(entry), f"/{name}"]
    if rootfs is None:
        for name in _OF_THIS_ETC:
            found += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        for name in ("passwd", "group"):
            found += ["--ro-bind", str(staging / name), f"/etc/{name}"]
    return found


def _closed() -> list[str]:
    """Nothing may be written but in the folders for it."""
    return ["--remount-ro", "/dev", "--remount-ro", "/"]


def _sizes(writable: Sequence[str], limits: Limits) -> list[tuple[str, int]]:
    half = limits.storage_bytes // 2
    each = max(MB, half // (len(writable) + 1))
    return [("/tmp", half), (HOME, each), *((path, each) for path in writable)]  # noqa: S108 - in the sandbox
