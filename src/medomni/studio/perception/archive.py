"""The whole service as one archive that a bare Python 3.11 or later runs: `python3 perception.pyz`.

Images of agents hold nothing of this project, and cannot fetch it. The archive is stored, not compressed,
with fixed times: equal sources give equal bytes on every machine.

Leaves to others: where it is put (`render`).
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

import medomni

NAME = "perception.pyz"
# The service and what it imports, and nothing else; a test runs the archive alone.
_FILES = (
    "__init__.py",
    "core/__init__.py",
    *(f"core/{name}.py" for name in ("errors", "files", "_csv", "_document", "_json", "_json_text")),
    *(f"core/{name}.py" for name in ("_paths", "_write", "_yaml", "_yaml_nodes")),
    "studio/__init__.py",
)
_PACKAGE = "studio/perception"
_MAIN = "import sys\n\nfrom medomni.studio.perception.__main__ import main\n\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def sources() -> dict[str, bytes]:
    """Every file of the archive by its path in it."""
    root = Path(medomni.__file__).parent
    service = sorted(path.relative_to(root).as_posix() for path in (root / _PACKAGE).glob("*.py"))
    files = {f"medomni/{name}": (root / name).read_bytes() for name in (*_FILES, *service)}
    return {"__main__.py": _MAIN.encode(), **files}


@cache
def archive_bytes() -> bytes:
    """The archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(sources().items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)
    return made.getvalue()
