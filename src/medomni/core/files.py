"""Strict reading and safe writing of the files that people and programs exchange.

This is the public face; the private siblings hold the code. Leaves to others: what a document must
hold (`contracts`), archives, where folders lie.
"""

from __future__ import annotations

from medomni.core._csv import MAX_CSV_BYTES, parse_csv, read_csv
from medomni.core._document import Document, JsonPath, render_path
from medomni.core._json import MAX_JSON_BYTES, parse_json, read_json
from medomni.core._json_text import canonical_json, json_text, write_json
from medomni.core._paths import check_relative, copy_real, resolve_under
from medomni.core._write import write_atomic
from medomni.core._yaml import MAX_YAML_BYTES, parse_yaml, read_yaml

__all__ = [
    "Document",
    "JsonPath",
    "MAX_CSV_BYTES",
    "MAX_JSON_BYTES",
    "MAX_YAML_BYTES",
    "canonical_json",
    "check_relative",
    "copy_real",
    "json_text",
    "parse_csv",
    "parse_json",
    "parse_yaml",
    "read_csv",
    "read_json",
    "read_yaml",
    "render_path",
    "resolve_under",
    "write_atomic",
    "write_json",
]
