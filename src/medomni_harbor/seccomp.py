"""System calls that no task needs and that reach into the kernel or other processes, as a filter for
bubblewrap.

Source: Linux's `seccomp` filters (classic BPF), and the call numbers of the x86-64 and generic (aarch64)
tables. Leaves to others: handing the filter over (`sandbox`).
"""

from __future__ import annotations

import errno
import platform
import struct

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4
_X32_BIT = 0x40000000
# Name -> number on x86-64 and on aarch64; None where there is no such call.
_CALLS: dict[str, tuple[int | None, int]] = {
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "uselib": (134, 0x3FFFFFFF),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
}
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}


def filter_bytes(machine: str | None = None) -> bytes | None:
    """The filter for a machine; None where its call numbers are not known here.

    Args:
        machine: As `platform.machine()` names it; this one by default.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    architecture, column = known
    numbers = sorted({number for row in _CALLS.values() if (number := row[column]) is not None})
    program = [
        _instruction(_LOAD, 0, 0, _ARCHITECTURE),
        _instruction(_JUMP_EQUAL, 1, 0, architecture),
        _instruction(_RETURN, 0, 0, _KILL),
        _instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        program += [_instruction(_JUMP_AT_LEAST, 0, 1, _X32_BIT), _instruction(_RETURN, 0, 0, _KILL)]
    for number in numbers:
        program += [
            _instruction(_JUMP_EQUAL, 0, 1, number),
            _instruction(_RETURN, 0, 0, _REFUSE | errno.EPERM),
        ]
    return b"".join([*program, _instruction(_RETURN, 0, 0, _ALLOW)])


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
