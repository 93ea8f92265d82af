"""Versions order as people expect."""

from __future__ import annotations

import pytest

from medotter_bench.factory.versions import parse_version


def test_versions_order_by_number_and_releases_stand_above_their_pre_releases():
    ordered = [
        "0.0.0-dummy", "0.0.0", "0.0.1", "0.9.0", "0.10.0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha",
        "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "10.0.0",
    ]  # fmt: skip
    keys = [parse_version(text) for text in ordered]
    assert None not in keys
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "text", ["", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.0-", "01.0.0", "1.0.0-a..b", "1.0.0\n", "1.0.٠"]
)
def test_what_is_no_version_is_none(text):
    assert parse_version(text) is None
