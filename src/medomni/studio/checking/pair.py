"""`task check` of one pair: its files, then what was built from them.

Leaves to others: each part (`definitions`, `built`, `visible`), and printing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from medomni.core.errors import InvalidNameError, MedomniError
from medomni.core.issues import Issue, error
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.checking.built import Built, built_problems, read_built
from medomni.studio.checking.definitions import DefinitionCheck, check_definitions, issues_of
from medomni.studio.checking.parts import PairCheck, Part, part, unlike
from medomni.studio.checking.visible import visible_problems
from medomni.studio.config_files import dataset_of
from medomni.studio.data.store import open_in
from medomni.studio.definitions.library import Library, open_library

NO_DATA, NOT_BUILT = "not checked (no data)", "not built"


@dataclass(slots=True)
class Checker:
    """Checks pairs of one workspace; each dataset's library is read once.

    Attributes:
        require_build: Whether a pair that is not built is wrong.
        with_build: Whether builds are looked at.
        also: Finds further problems of a build.
    """

    workspace: Workspace
    require_build: bool = False
    with_build: bool = True
    also: Callable[[Built], Iterable[Issue]] = lambda built: ()
    _libraries: dict[str, Library] = field(default_factory=dict)
    _families_right: set[str] = field(default_factory=set)

    def check(self, text: str) -> PairCheck:
        """Everything that is wrong with a pair, by its parts."""
        try:
            pair = Pair.parse(text).usable()
            dataset = dataset_of(pair.template)
        except InvalidNameError as refusal:
            issue = error(refusal.code, text, refusal.what, refusal.hint)
            return PairCheck(text, (part("pair", [issue]),))
        try:
            library = self._library(dataset)
        except MedomniError as failure:
            found = [part("dataset", issues_of(failure), dataset)]
            return PairCheck(text, unlike(found, str(self.workspace.root)))
        known = dataset in self._families_right
        check = check_definitions(library, pair, families_are_right=known)
        if not check.issues.get("recipes"):
            self._families_right.add(dataset)
        parts = check.parts()
        if self.with_build:
            parts.append(self._build(check))
        return PairCheck(str(pair), unlike(parts, str(self.workspace.root)))

    def _library(self, dataset: str) -> Library:
        if dataset not in self._libraries:
            self._libraries[dataset] = open_library(self.workspace, dataset)
        return self._libraries[dataset]

    def _build(self, check: DefinitionCheck) -> Part:
        folder = self.workspace.content(check.pair)
        if not folder.is_dir():
            state = NOT_BUILT if self._has_data(check) else NO_DATA
            if not self.require_build:
                return Part("build", state)
            what, hint = f"{check.pair} is not built", f"medomni studio build {check.pair}"
            return Part("build", state, issues=(error("build-missing", str(folder), what, hint),))
        built, issues = read_built(self.workspace, check.pair)
        if built is None:
            return part("build", issues)
        issues += built_problems(built, check)
        issues += visible_problems(built, check)
        issues += self.also(built)
        return part("build", issues, f"{len(built.atoms)} atoms, {len(built.manifest['files'])} files")

    def _has_data(self, check: DefinitionCheck) -> bool:
        if check.cohort is None:
            return False
        try:
            open_in(self.workspace, check.cohort.release)
        except MedomniError:
            # Not imported, or no longer as it was: nothing could be built of it.
            return False
        return True
