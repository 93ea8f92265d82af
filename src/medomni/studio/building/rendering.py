"""Rendering atoms in workers: each atom under every arm, its bytes probed and hashed where they are written.

Leaves to others: the files of an atom task (`render`), how many workers there are (`medomni.core.execution`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medomni.core import execution
from medomni.core.errors import ExecutionError
from medomni.core.issues import Issue
from medomni.core.progress import Progress
from medomni.studio.content.model import BuiltAtom, BuiltPair
from medomni.studio.content.opened import ArmVariant
from medomni.studio.content.placing import Staging
from medomni.studio.definitions.arms import Arm
from medomni.studio.errors import BuildError
from medomni.studio.probes.forbidden import Forbidden
from medomni.studio.probes.rendered import Probed, rendered_issues
from medomni.studio.record.markdown import markdown

type RenderAtom = Callable[[BuiltPair, BuiltAtom, Arm, str | None, Path], None]


@dataclass(frozen=True, slots=True)
class AtomJob:
    """An atom to render: under which arms, into which folders.

    Attributes:
        places: Arm or variant, and the new folder of the atom there.
        root: Stands for `atomtasks/`.
        forbidden: What must not be found in what an agent sees.
    """

    built: BuiltPair
    atom: BuiltAtom
    places: tuple[tuple[ArmVariant, Path], ...]
    root: Path
    forbidden: tuple[Forbidden, ...]
    render: RenderAtom


@dataclass(frozen=True, slots=True)
class RenderedAtom:
    """What came of it: SHA-256 by path below `atomtasks/`, and what the probes found."""

    files: Mapping[str, str]
    issues: tuple[Issue, ...]


def render_one(job: AtomJob) -> RenderedAtom:
    """Render an atom under all of its arms; runs in a worker.

    Raises:
        MedomniError: The atom cannot be rendered or written.
    """
    issues: list[Issue] = []
    probed = Probed()
    for place, folder in job.places:
        job.render(job.built, job.atom, place.arm, place.variant, folder)
        record = markdown(job.atom.record.only(place.families))
        issues += rendered_issues(
            job.atom.name, str(place), folder, record=record, forbidden=job.forbidden, probed=probed
        )
    files = {
        f"{folder.relative_to(job.root).as_posix()}/{name}": digest
        for folder, digests in probed.digests.items()
        for name, digest in digests.items()
    }
    return RenderedAtom(files, tuple(issues))


def render_all(
    built: BuiltPair,
    atoms: Sequence[BuiltAtom],
    arms: Sequence[ArmVariant],
    *,
    forbidden: Mapping[str, Sequence[Forbidden]],
    stage: Staging,
    workers: execution.Workers,
    progress: Progress,
    render: RenderAtom,
) -> RenderedAtom:
    """Render every atom under every arm, and put together what came of it, in the order of atoms.

    Raises:
        BuildError: An atom cannot be rendered.
        ExecutionError: The workers failed.
    """
    jobs = (
        (
            atom.name,
            AtomJob(
                built,
                atom,
                tuple((arm, stage.rendered(arm.arm.name, arm.variant) / atom.name) for arm in arms),
                stage.new,
                tuple(forbidden[atom.name]),
                render,
            ),
        )
        for atom in atoms
    )
    found: dict[str, RenderedAtom] = {}
    progress(0, len(atoms), f"rendering {built.pair}")
    for name, outcome in execution.run_each(render_one, jobs, workers=workers):
        if isinstance(outcome, execution.Failure):
            raise _failed(name, outcome)
        found[name] = outcome
        progress(len(found), len(atoms), f"rendering {built.pair}")
    ordered = [found[atom.name] for atom in atoms]
    files = {path: digest for each in ordered for path, digest in each.files.items()}
    return RenderedAtom(files, tuple(issue for each in ordered for issue in each.issues))


def _failed(name: str, failure: execution.Failure) -> Exception:
    if failure.error is not None:
        return failure.error
    if failure.code == execution.INTERNAL:
        return ExecutionError(f"{name}: {failure.what}", where=failure.where, hint=failure.hint)
    return BuildError(f"{name}: {failure.what}", where=failure.where, hint=failure.hint, code=failure.code)
