"""The service's OpenAPI document, so that an agent or a program can learn the service from itself.

Leaves to others: answering (`service`).
"""

from __future__ import annotations

from typing import Any

_ERROR = {
    "description": "A refusal: what is wrong, where, and what to do.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_TEXT = {"type": "string"}
_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "what", "where", "hint"],
                "properties": {"code": _TEXT, "what": _TEXT, "where": _TEXT, "hint": _TEXT},
            }
        },
    },
    "Encoder": {
        "type": "object",
        "required": ["name", "version", "description", "status", "reason"],
        "properties": {
            "name": _TEXT,
            "version": {"type": ["integer", "null"]},
            "description": _TEXT,
            "status": {"enum": ["ready", "refused", "unusable"]},
            "reason": _TEXT,
        },
    },
    "EncodeRequest": {
        "type": "object",
        "required": ["encoder", "path"],
        "additionalProperties": False,
        "properties": {
            "encoder": {**_TEXT, "examples": ["trends"]},
            "path": {
                **_TEXT,
                "description": "A file below /data, with or without that prefix.",
                "examples": ["record/hosp.labevents.csv"],
            },
        },
    },
    "Encoding": {
        "type": "object",
        "required": ["encoder", "version", "path", "numbers", "words"],
        "properties": {
            "encoder": _TEXT,
            "version": {"type": "integer"},
            "path": _TEXT,
            "numbers": {"type": "object", "description": "Figures with their units in their names."},
            "words": {"type": "array", "items": _TEXT, "description": "The same in sentences."},
        },
    },
}


def document() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    listing = {"type": "array", "items": {"$ref": "#/components/schemas/Encoder"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MedOmni perception service",
            "version": "1",
            "description": "Turns a staged file into numbers and words. The same file gives the same answer.",
        },
        "paths": {
            "/encoders": {
                "get": {
                    "summary": "What there is to encode with",
                    "responses": {
                        "200": _answer(
                            "All encoders", {"type": "object", "properties": {"encoders": listing}}
                        )
                    },
                }
            },
            "/encode": {
                "post": {
                    "summary": "Encode one file",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/EncodeRequest"}}
                        },
                    },
                    "responses": {
                        "200": _answer("The encoding", {"$ref": "#/components/schemas/Encoding"}),
                        "default": _ERROR,
                    },
                }
            },
        },
        "components": {"schemas": _SCHEMAS},
    }


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
