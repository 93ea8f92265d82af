"""The service's refusals, each with the HTTP status that goes with it.

Leaves to others: refusals of paths (`medomni.core.errors.UnsafePathError`).
"""

from __future__ import annotations

from http import HTTPStatus

from medomni.core.errors import MedomniError, MissingPathError, UnsafePathError

_STATUS = {
    "perception-request": HTTPStatus.BAD_REQUEST,
    "perception-route": HTTPStatus.NOT_FOUND,
    "perception-method": HTTPStatus.METHOD_NOT_ALLOWED,
    "perception-length": HTTPStatus.LENGTH_REQUIRED,
    "perception-request-size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "perception-busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "perception-file-size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "encoder-unknown": HTTPStatus.NOT_FOUND,
    "encoder-refused": HTTPStatus.FORBIDDEN,
    "encoder-unusable": HTTPStatus.NOT_IMPLEMENTED,
    "encoder-timeout": HTTPStatus.GATEWAY_TIMEOUT,
    "encoder-failed": HTTPStatus.BAD_GATEWAY,
    "encoder-file": HTTPStatus.UNPROCESSABLE_ENTITY,
}


class PerceptionError(MedomniError, ValueError):
    """The service cannot do what it is asked; `code` says why."""

    code = "perception-request"


class PerceptionSetupError(MedomniError, ValueError):
    """The service cannot start as it is told to; `code` says why."""

    code = "perception-setup"


def status_of(failure: MedomniError) -> HTTPStatus:
    """The HTTP status of an answer that tells this failure."""
    if isinstance(failure, MissingPathError):
        return HTTPStatus.NOT_FOUND
    if isinstance(failure, UnsafePathError):
        return HTTPStatus.BAD_REQUEST
    return _STATUS.get(failure.code, HTTPStatus.BAD_REQUEST)
