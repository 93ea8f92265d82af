"""A workspace for one case of a clinical record: a few tables, a label, and the commands on them.

Tables are declared as this repository declares them for MIMIC-IV; columns that a case leaves out stay empty.
Leaves to others: what a case must give (the tests).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from medomni.cli import app

REPOSITORY = Path(__file__).resolve().parent.parent
RELEASE = "case/it"
_MIMIC = REPOSITORY / "studio" / "datasets" / "mimic-iv"

type Rows = Iterable[Mapping[str, str]]


def mimic_tables(*names: str) -> dict[str, Any]:
    """Definitions of tables of MIMIC-IV; links to tables that are not among them are left out."""
    every = yaml.safe_load((_MIMIC / "recipes" / "tables.yaml").read_text(encoding="utf-8"))["tables"]
    found = {name: every[name] for name in names}
    for table in found.values():
        if table.get("dictionary") not in names:
            table.pop("dictionary", None)
        table.pop("show", None)
    return found


@dataclass(frozen=True)
class CaseWorkspace:
    """A workspace with the dataset `case`, and the folder of its CSV files."""

    root: Path
    tables: Mapping[str, Any]

    @classmethod
    def of(cls, root: Path, tables: Mapping[str, Any], *, optional: Sequence[str] = ()) -> CaseWorkspace:
        """Write the definitions; the `optional` tables need not be there."""
        home = root / "work" / "studio" / "datasets" / "case"
        for folder in (home / "recipes", home / "labels", home / "tasks"):
            folder.mkdir(parents=True)
        (root / "work" / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
        modules = sorted({name.partition(".")[0] for name in tables})
        needed = {name.partition(".")[0] for name in tables if name not in optional}
        release = {
            "class": "demo",
            "access": "open",
            "licence": "none",
            "terms": ["It is made up."],
            "modules": {name: "required" if name in needed else "optional" for name in modules},
            "counts": {},
        }
        patterns = {name: {"files": [name + "/{file}.csv.gz", name + "/{file}.csv"]} for name in modules}
        dataset = {"dataset": "case", "version": 1, "title": "Case", "modules": patterns}
        _write(home / "dataset.yaml", dataset | {"releases": {"it": release}})
        for name, table in tables.items():
            table["required"] = [] if name in optional else ["demo"]
        _write(home / "recipes" / "tables.yaml", {"recipe": "tables", "version": 1, "tables": dict(tables)})
        outside = [name for name, table in tables.items() if "patient" not in table]
        inside = {name.replace(".", "_"): [{"table": name}] for name in tables if name not in outside}
        families = {"recipe": "families", "version": 1, "families": inside}
        not_evidence = {"not_evidence": outside} if outside else {}
        _write(home / "recipes" / "families.yaml", families | not_evidence)
        return cls(root, tables)

    @property
    def home(self) -> Path:
        """The dataset's folder."""
        return self.root / "work" / "studio" / "datasets" / "case"

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a command prints, which must end with `code`."""
        done = CliRunner().invoke(app, [*arguments, "--workspace", str(self.root / "work")])
        assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
        return done.output

    def write_rows(self, **tables: Rows) -> None:
        """Write the files of tables: `hosp__patients=[…]`; their columns are the table's, by name."""
        for name, rows in tables.items():
            declared = self.tables[name.replace("__", ".")]
            text = io.StringIO()
            writer = csv.DictWriter(text, list(declared["columns"]), restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            path = self.root / "files" / name.partition("__")[0] / f"{declared['file']}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.getvalue(), encoding="utf-8")

    def import_rows(self, **tables: Rows) -> str:
        """Write the files of tables, and import them."""
        self.write_rows(**tables)
        files = str(self.root / "files")
        return self.run("studio", "data", "import", "case", "--from", files, "--release", "it")

    def label(self, body: str, *, kind: str = "type: number\nunit: units\nrange: [-1000, 1000]\n") -> None:
        """Write the label `it`; `body` begins with its predicates."""
        head = f"label: it\nversion: 1\nrequires: {{releases: [{RELEASE}]}}\nquestion: What?\n{kind}"
        guards = "guards: [{table: hosp.patients, columns: [dod]}]\n"
        path = self.home / "labels" / "it.yaml"
        path.write_text(head + body.strip() + "\n" + ("" if "guards:" in body else guards), encoding="utf-8")

    def table(self) -> list[dict[str, str]]:
        """The rows of `label table it`."""
        out = self.root / "table.csv"
        self.run("studio", "label", "table", "it", "--out", str(out))
        with out.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def eligible(self) -> dict[str, str]:
        """Value by patient of the eligible rows, each of whom has one."""
        rows = [row for row in self.table() if row["eligible"] == "true"]
        found = {row["subject_id"]: row["value"] for row in rows}
        assert len(found) == len(rows)
        return found

    def cohort(self, *, draw: Mapping[str, Any] | None = None) -> None:
        """Write the template `case_it` and its cohort `demo`: of everybody, or as `draw` says."""
        folder = self.home / "tasks" / "case_it"
        (folder / "cohorts").mkdir(parents=True, exist_ok=True)
        label = yaml.safe_load((self.home / "labels" / "it.yaml").read_text(encoding="utf-8"))
        metric = {"binary": "auc", "ordinal": "qwk", "number": "mae"}[label["type"]]
        limits = {"cpus": 1, "memory_mb": 512, "internet": False}
        agent = {
            "statement": "What?",
            "instruction": "Now.",
            "environment": limits | {"agent_timeout_sec": 60, "verifier_timeout_sec": 60},
            "submission_path": "/workspace/answer.json",
        }
        template = {
            "template_id": "case_it",
            "dataset": "case",
            "authors": [{"name": "A", "github": "a"}],
            "targets": [{"name": "it", "label": "it", "metric": metric}],
            "input": {"tables": list(self.tables)},
            "agent": agent,
        }
        _write(folder / "template.yaml", template)
        cohort = {"cohort": "demo", "version": 1, "release": RELEASE, "unit": "subject_id", "n": "all"}
        pick = {"per": "subject_id", "order": "hash"}
        _write(folder / "cohorts" / "demo.yaml", cohort | {"pick": pick, "order": "hash"} | dict(draw or {}))


def _write(path: Path, value: Any) -> None:
    path.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
