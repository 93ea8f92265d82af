"""The registry of adapters: `register`, `get`, `names`. Filled by `adapters/__init__.py`.

Packages outside add adapters through the entry-point group `medotter_bench.adapters`; they are loaded when a
name is asked for that is not registered here.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from medotter_bench.adapters.base import Adapter
from medotter_bench.errors import MedotterError, UnknownTaskTypeError

GROUP = "medotter_bench.adapters"
_ADAPTERS: dict[str, Adapter] = {}


def register(adapter: Adapter) -> None:
    """Add an adapter under its `task_type`.

    Raises:
        MedotterError: the name is taken (`adapter-taken`): two meanings of one task type would give two
            numbers for one bundle.
    """
    known = _ADAPTERS.get(adapter.task_type)
    if known is not None and known is not adapter:
        raise MedotterError(
            f"task_type {adapter.task_type!r} is registered already, by {type(known).__qualname__}",
            hint="choose another name for the new adapter",
            code="adapter-taken",
        )
    _ADAPTERS[adapter.task_type] = adapter


def get(task_type: str) -> Adapter:
    """The adapter of a task type.

    Raises:
        UnknownTaskTypeError: nobody registered one; lists the known names.
    """
    if task_type not in _ADAPTERS:
        for entry in entry_points(group=GROUP, name=task_type):
            register(_loaded(task_type, entry))
    try:
        return _ADAPTERS[task_type]
    except KeyError:
        raise UnknownTaskTypeError(
            f"unknown task_type {task_type!r}; known are {', '.join(names())}",
            where="eval_spec.yaml, task_type",
            hint="correct the name, or install the package that brings its adapter",
        ) from None


def _loaded(task_type: str, entry: Any) -> Adapter:
    """The adapter behind an installed package's entry point.

    Raises:
        MedotterError: `adapter-broken`: it cannot be imported, is no adapter, or bears another name.
    """
    where = f"entry point {task_type!r} of the group {GROUP}"
    hint = "this is a fault of the package that brings the adapter"
    try:
        adapter = entry.load()
    except Exception as failure:  # a stranger's module may raise anything
        what = f"it cannot be imported: {type(failure).__name__}: {failure}"
        raise MedotterError(what, where=where, hint=hint, code="adapter-broken") from failure
    if isinstance(adapter, type) or not isinstance(adapter, Adapter):
        what = f"it gives {adapter!r:.80}, which is no adapter (an instance with the members of `Adapter`)"
        raise MedotterError(what, where=where, hint=hint, code="adapter-broken")
    if adapter.task_type != task_type:
        what = f"its adapter calls itself {adapter.task_type!r}"
        raise MedotterError(what, where=where, hint=hint, code="adapter-broken")
    return adapter


def names() -> list[str]:
    """The registered task types, sorted; those of installed packages included."""
    return sorted({*_ADAPTERS, *(entry.name for entry in entry_points(group=GROUP))})
