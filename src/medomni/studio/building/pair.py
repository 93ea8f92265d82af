"""Building one pair: draw, evidence, probes, content, atoms; then everything is moved into place at once.

Leaves to others: several pairs and task sets (`requests`), what a command prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from medomni.core import execution
from medomni.core.issues import Issue, IssuesError, errors_of, warning
from medomni.core.names import Pair
from medomni.core.progress import Progress, silent
from medomni.core.workspace import Workspace
from medomni.studio.building.earlier import Earlier, earlier_build
from medomni.studio.building.parts import (
    atom_names,
    built_answers,
    built_atoms,
    refuse_changed,
    write_content,
)
from medomni.studio.building.probing import Gathered, forbidden_of, gather_all, probe
from medomni.studio.building.rendering import RenderAtom, render_all
from medomni.studio.content.documents import manifest_text
from medomni.studio.content.fingerprint import data_fingerprint
from medomni.studio.content.opened import ArmVariant, Hashes, OpenPair, chosen_arms, open_for_build
from medomni.studio.content.placing import Staging, staging
from medomni.studio.draw import Drawn
from medomni.studio.errors import BuildError
from medomni.studio.evidence.gather import gather, moment_of
from medomni.studio.evidence.model import Evidence
from medomni.studio.render import render_atom
from medomni.studio.select import Selection, select

type EvidenceOf = Callable[[OpenPair, Sequence[Drawn], Limits], Iterable[Evidence]]
_MOST_OF_A_KIND = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """What DuckDB may use; None leaves it to the workspace and the machine."""

    memory: str | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build made.

    Attributes:
        atoms: How many.
        hashes: Config hash by arm and variant, of all that lie there now.
        removed: Arms whose atoms are gone, since what they were made from is another.
        files: How many, the manifest left out.
        warnings: What the probes and the selection want people to know.
    """

    selection: Selection
    atoms: int
    hashes: Mapping[tuple[str, str | None], str]
    removed: tuple[str, ...]
    files: int
    fingerprint: str
    warnings: tuple[Issue, ...]


def evidence_of(opened: OpenPair, drawn: Sequence[Drawn], limits: Limits) -> Iterable[Evidence]:
    """The evidence of drawn patients, of whom it is told who and when, and no answer."""
    return gather(
        opened.store,
        opened.bounds,
        [moment_of(each) for each in drawn],
        families=opened.families,
        memory_limit=limits.memory,
        threads=limits.threads,
    )


@dataclass(frozen=True, slots=True)
class Means:
    """With what a build works.

    Attributes:
        workers: Where atoms are rendered.
        evidence: Makes the evidence of drawn patients.
        render: Writes an atom task.
    """

    workers: execution.Workers
    limits: Limits = Limits()
    progress: Progress = silent
    evidence: EvidenceOf = evidence_of
    render: RenderAtom = render_atom


def build_pair(
    workspace: Workspace,
    pair: Pair,
    *,
    arms: tuple[str, ...] = (),
    version: int | None = None,
    means: Means | None = None,
) -> BuildReport:
    """Build a pair, or leave everything as it was.

    Args:
        workspace: Where everything lies.
        pair: The pair.
        arms: Under which arms; every one that the pair supports by default. Atoms of other arms stay where
            what they come from is the same.
        version: The N that is asked for; by default whatever the cohort says.
        means: With what it works; in this process by default.

    Raises:
        BuildError: `build-version`, `build-arm`, `build-arm-family`, `build-in-use`, `build-config-changed`,
            `build-atom-twice`, `build-answer`.
        IssuesError: The probes found a leak, or a definition is not right.
        CohortError: The cohort cannot be drawn.
        EvidenceError: The evidence cannot be gathered.
        StoreError: The release is not imported.
        WriteError: A file cannot be written.
    """
    opened = open_for_build(workspace, pair)
    _check_version(opened, version)
    chosen = chosen_arms(opened, arms)
    with staging(workspace, pair) as stage:
        build = _Build(opened, chosen, stage, means or Means(execution.here()))
        return build.run()


def _check_version(opened: OpenPair, version: int | None) -> None:
    mine = opened.cohort.version
    if version is not None and version != mine:
        raise BuildError(
            f"version {version} of {opened.pair} is asked for, and the cohort here is version {mine}",
            hint="build another version from the release that pinned it",
            code="build-version",
        )


@dataclass(frozen=True, slots=True)
class _Build:
    """One build, with its folder."""

    opened: OpenPair
    chosen: tuple[ArmVariant, ...]
    stage: Staging
    means: Means

    def run(self) -> BuildReport:
        """Take all steps, in their order; nothing is moved into place before the last."""
        opened, stage = self.opened, self.stage
        selection = self._select()
        drawn = selection.atoms
        names = atom_names(opened, drawn)
        forbidden = forbidden_of(opened, drawn, names)
        gathered = self._gather(selection)
        found = list(probe(opened, drawn, names, gathered, forbidden=forbidden, make=self._make))
        self._refuse(found)
        atoms = built_atoms(opened, drawn, names, gathered.evidence)
        answers = built_answers(opened, drawn, names)
        content = write_content(stage, opened, selection, atoms=atoms, answers=answers)
        rendered = render_all(
            opened.built,
            atoms,
            self.chosen,
            forbidden=forbidden,
            stage=stage,
            workers=self.means.workers,
            progress=self.means.progress,
            render=self.means.render,
        )
        self._refuse(rendered.issues)
        told = [warning("build-cohort", str(opened.pair), each) for each in selection.warnings]
        return self._place(selection, content, rendered.files, (*told, *found))

    def _select(self) -> Selection:
        opened, limits = self.opened, self.means.limits
        self.means.progress(0, 1, f"drawing {opened.pair}")
        found = select(
            opened.store,
            opened.library,
            opened.pair,
            opened.template,
            opened.cohort,
            release_class=opened.store.release_class,
            memory_limit=limits.memory,
            threads=limits.threads,
        )
        self.means.progress(1, 1, f"drawing {opened.pair}")
        return found

    def _make(self, drawn: Sequence[Drawn]) -> Iterable[Evidence]:
        return self.means.evidence(self.opened, drawn, self.means.limits)

    def _gather(self, selection: Selection) -> Gathered:
        step = f"evidence of {self.opened.pair}"
        return gather_all(
            self.opened,
            selection.atoms,
            selection.eligible,
            self._make,
            progress=lambda done, total: self.means.progress(done, total, step),
        )

    def _refuse(self, issues: Sequence[Issue]) -> None:
        errors = errors_of(issues)
        if errors:
            shown = [
                each
                for code in dict.fromkeys(issue.code for issue in errors)
                for each in [issue for issue in errors if issue.code == code][:_MOST_OF_A_KIND]
            ]
            raise IssuesError(
                f"{self.opened.pair} is not built: its atoms would give something away,"
                f" in {len(errors)} places (at most {_MOST_OF_A_KIND} of each kind follow)",
                issues=shown,
                where=str(self.opened.pair),
            )

    def _place(
        self,
        selection: Selection,
        content: Mapping[str, str],
        rendered: Mapping[str, str],
        warnings: tuple[Issue, ...],
    ) -> BuildReport:
        """Write the manifest, and move everything into place."""
        opened, stage, limits = self.opened, self.stage, self.means.limits
        subjects = [each.subject for each in selection.atoms]
        fingerprint = data_fingerprint(
            opened.store, subjects, memory_limit=limits.memory, threads=limits.threads
        )
        chosen = [(each.arm.name, each.variant) for each in self.chosen]
        kept = earlier_build(
            opened.workspace,
            opened.pair,
            chosen={arm for arm, _ in chosen},
            content=content,
            fingerprint=fingerprint,
            hashes=opened.hashes,
        )
        there = {key: found for key, found in opened.hashes.items() if key in (*chosen, *kept.kept)}
        files = {**content, **rendered, **kept.files}
        text = manifest_text(
            opened.built, hashes=there, steps=selection.steps, files=files, data_fingerprint=fingerprint
        )
        stage.write(stage.content / "manifest.json", text.encode())
        # Definitions were read after their bytes were hashed, and these are still the same.
        refuse_changed(opened)
        stage.commit(keep_arms=kept.kept_arms)
        return self._report(selection, there, kept, len(files), fingerprint, warnings)

    def _report(
        self,
        selection: Selection,
        there: Hashes,
        kept: Earlier,
        files: int,
        fingerprint: str,
        warnings: tuple[Issue, ...],
    ) -> BuildReport:
        values = {key: found.value for key, found in there.items()}
        return BuildReport(
            selection, len(selection.atoms), values, kept.removed, files, fingerprint, warnings
        )
