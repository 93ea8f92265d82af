"""The errors of importing and opening data.

Leaves to others: problems found before or after an import, which are issues (`medomni.core.issues`).
"""

from __future__ import annotations

from medomni.core.errors import MedomniError


class DataImportError(MedomniError, ValueError):
    """Files of a dataset cannot be imported as they are; `code` says why. Nothing half-built is left."""

    code = "import-invalid"


class DataSpaceError(MedomniError, OSError):
    """There is not enough room on the disk, or in memory, for an import."""

    code = "disk-space"


class StoreError(MedomniError, LookupError):
    """A release, or a table of it, is asked for that is not imported, or no longer as it was."""

    code = "data-not-imported"
