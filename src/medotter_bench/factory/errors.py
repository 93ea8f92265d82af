"""Errors of making bundles; `code` says which fault it is.

Leaves to others: the errors of reading and scoring finished bundles (`medotter_bench.errors`).
"""

from __future__ import annotations

from medomni.core.issues import IssuesError
from medotter_bench.errors import MedotterError


class FactoryError(IssuesError, MedotterError):
    """`factory.yaml` is malformed; `issues` lists every problem of the file."""

    code = "factory-invalid"


class FreezeError(IssuesError, MedotterError):
    """A data root cannot be frozen into a manifest; `issues` lists every reason."""

    code = "freeze-refused"


class HashError(MedotterError, ValueError):
    """A manifest holds something that its hash cannot cover."""

    code = "freeze-unhashable"


class DummyError(MedotterError, ValueError):
    """Generated data cannot be made as asked."""

    code = "dummy-refused"


class VendorError(MedotterError, ValueError):
    """A bundle cannot be vendored, or the lock of vendored bundles cannot be read."""

    code = "vendor-refused"


class NewBundleError(MedotterError, ValueError):
    """A new bundle cannot be laid out as asked."""

    code = "new-refused"
