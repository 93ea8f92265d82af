"""The error of evidence that cannot be gathered as it must be.

Leaves to others: problems of definitions, which are issues (`checking`).
"""

from __future__ import annotations

from medomni.core.errors import MedomniError


class EvidenceError(MedomniError, ValueError):
    """Evidence cannot be gathered without showing too much or something wrong; `code` says why."""

    code = "evidence-invalid"
