"""Settings of every test: hypothesis without deadlines, and where the shared material lies if it is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = REPOSITORY.parent / "shared"
    if not (folder / "README.md").is_file():
        pytest.skip("the shared material is not beside this repository")
    return folder
