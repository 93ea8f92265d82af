"""Which files decide a pair: a byte in any of them changes the config hash, and a byte elsewhere does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from medomni.core.errors import InvalidNameError
from medomni.core.issues import IssuesError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.config_files import BUILDER, config_files, dataset_of, hash_pair, line_ending_issues

PAIR = Pair.parse("demo-data_kidney@n20")
LADDER = Pair.parse("demo-data_kidney@ladder")
DATASET = "studio/datasets/demo-data"
TEMPLATE = f"{DATASET}/tasks/demo-data_kidney"
RUNGS = f"{TEMPLATE}/arms/modality-ladder.yaml"
CONTENT = {
    "medomni.toml": 'release = "0.3.0"\n',
    "studio/arms/encoders.yaml": "arm: encoders\n",
    "studio/arms/no-perception.yaml": "arm: no-perception\n",
    "studio/arms/modality-ladder.yaml": "arm: modality-ladder\n",
    f"{DATASET}/dataset.yaml": "dataset: demo-data\n",
    f"{DATASET}/recipes/tables.yaml": "version: 1\n",
    f"{DATASET}/recipes/families.yaml": "version: 1\n",
    f"{DATASET}/recipes/renal.yaml": "recipe: renal\n",
    f"{DATASET}/recipes/shared.yaml": "recipe: shared\n",
    f"{DATASET}/recipes/unused.yaml": "recipe: unused\n",
    f"{DATASET}/labels/stage.yaml": "label: stage\nimports: [renal, shared]\n",
    f"{DATASET}/labels/death.yaml": "label: death\nimports: [shared]\n",
    f"{DATASET}/labels/days.yaml": "label: days\n",
    f"{DATASET}/labels/unused.yaml": "label: unused\nimports: [unused]\n",
    f"{TEMPLATE}/template.yaml": "targets:\n- {label: stage}\n- {label: death}\n- {label: days}\n",
    f"{TEMPLATE}/README.md": "For people.\n",
    f"{TEMPLATE}/cohorts/n20.yaml": "cohort: n20\nrelease: demo-data/1.0\n",
    f"{TEMPLATE}/cohorts/demo.yaml": "cohort: demo\nrelease: demo-data/demo-1\n",
    f"{TEMPLATE}/cohorts/ladder.yaml": "cohort: ladder\nrelease: demo-data/1.0\n",
    RUNGS: "variants:\n  r1: {families: [a]}\n  r2: {families: [b]}\n",
}  # fmt: skip
COMMON = {
    f"{TEMPLATE}/template.yaml",
    f"{DATASET}/recipes/tables.yaml",
    f"{DATASET}/recipes/families.yaml",
    f"{DATASET}/recipes/renal.yaml",
    f"{DATASET}/recipes/shared.yaml",
    f"{DATASET}/labels/stage.yaml",
    f"{DATASET}/labels/death.yaml",
    f"{DATASET}/labels/days.yaml",
}
ENCODERS = COMMON | {f"{TEMPLATE}/cohorts/n20.yaml", "studio/arms/encoders.yaml"}


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    for name, text in CONTENT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return load_workspace(tmp_path)


def write(place: Workspace, name: str, text: str) -> None:
    (place.root / name).write_text(text)


def paths(place: Workspace, pair: Pair, **arm: str) -> list[str]:
    return sorted(file.hashed_path for file in config_files(place, pair, **arm).files)


def issues_of(place: Workspace, pair: Pair = PAIR, **arm: str):
    with pytest.raises(IssuesError) as caught:
        config_files(place, pair, **(arm or {"arm": "encoders"}))
    return [(issue.code, issue.where) for issue in caught.value.issues]


def test_the_files_of_a_pair_are_those_that_its_template_cohort_labels_and_arm_reach(
    place: Workspace,
) -> None:
    """MO-103, MO-104."""
    assert paths(place, PAIR, arm="encoders") == sorted(ENCODERS)
    found = config_files(place, PAIR, arm="encoders")
    assert (found.dataset, found.dataset_release) == ("demo-data", "demo-data/1.0")
    assert all(file.source == place.root / file.path for file in found.files)


def test_one_byte_in_a_named_file_changes_the_hash_and_one_byte_elsewhere_does_not(place: Workspace) -> None:
    """MO-102, MO-104, MO-110."""
    before = hash_pair(place, PAIR, arm="encoders")
    assert {file.path for file in before.files} == ENCODERS
    for name, text in CONTENT.items():
        if name == "medomni.toml":
            continue
        write(place, name, text + " ")
        changed = hash_pair(place, PAIR, arm="encoders").value != before.value
        assert changed == (name in ENCODERS), name
        write(place, name, text)
    assert hash_pair(place, PAIR, arm="encoders") == before


def test_stray_files_never_count(place: Workspace) -> None:
    before = hash_pair(place, PAIR, arm="encoders").value
    for name in (*ENCODERS, *COMMON):
        folder, _, file = name.rpartition("/")
        for stray in (f".{file}.swp", f"{file}~", f"._{file}", ".DS_Store", f"#{file}#", f"{file}.bak"):
            write(place, f"{folder}/{stray}", "x")
    assert hash_pair(place, PAIR, arm="encoders").value == before


def test_the_tokens_are_the_builder_the_cohorts_release_and_the_content_release(place: Workspace) -> None:
    """MO-105, MO-106."""
    found = hash_pair(place, PAIR, arm="encoders")
    assert (found.builder, found.dataset_release, found.medomni_release) == (
        BUILDER,
        "demo-data/1.0",
        "medomni/0.3.0",
    )
    write(place, "medomni.toml", 'release = "0.3.1"\n')
    assert hash_pair(load_workspace(place.root), PAIR, arm="encoders").value != found.value
    demo = hash_pair(place, Pair("demo-data_kidney", "demo"), arm="encoders")
    assert demo.dataset_release == "demo-data/demo-1"


def test_each_arm_and_each_rung_has_a_hash_of_its_own(place: Workspace) -> None:
    """MO-100."""
    arms = [{"arm": "encoders"}, {"arm": "no-perception"}]
    arms += [{"arm": "modality-ladder", "variant": rung} for rung in ("r1", "r2")]
    assert len({hash_pair(place, LADDER, **arm).value for arm in arms}) == 4


def test_a_rung_stands_behind_the_path_of_the_file_that_defines_it(place: Workspace) -> None:
    found = paths(place, LADDER, arm="modality-ladder", variant="r1")
    assert f"{RUNGS}#r1" in found
    assert "studio/arms/modality-ladder.yaml" in found
    assert len(found) == len(COMMON) + 3


def test_a_rung_that_is_not_there_or_not_named_is_refused(place: Workspace) -> None:
    assert issues_of(place, LADDER, arm="modality-ladder") == [("arm-variant-missing", RUNGS)]
    assert issues_of(place, LADDER, arm="modality-ladder", variant="r9") == [("arm-variant-unknown", RUNGS)]
    assert issues_of(place, LADDER, arm="encoders", variant="r1") == [
        ("arm-variant-unknown", "studio/arms/encoders.yaml")
    ]
    (place.root / RUNGS).unlink()
    assert issues_of(place, PAIR, arm="modality-ladder", variant="r1") == [("config-file-missing", RUNGS)]
    for text in ("variants: [r1]\n", "arm: modality-ladder\n"):
        write(place, RUNGS, text)
        assert issues_of(place, PAIR, arm="modality-ladder", variant="r1")[0][0] == "config-file-invalid"


def test_variants_may_stand_in_the_arm_itself_and_a_template_may_have_its_part_of_any_arm(
    place: Workspace,
) -> None:
    write(place, "studio/arms/encoders.yaml", "variants:\n  small: {}\n")
    assert issues_of(place) == [("arm-variant-missing", "studio/arms/encoders.yaml")]
    assert "studio/arms/encoders.yaml#small" in paths(place, PAIR, arm="encoders", variant="small")
    write(place, f"{TEMPLATE}/arms/encoders.yaml", "arm: encoders\n")
    assert paths(place, PAIR, arm="encoders") == sorted({*ENCODERS, f"{TEMPLATE}/arms/encoders.yaml"})


def test_everything_that_is_missing_is_told_at_once(place: Workspace) -> None:
    gone = [
        f"{DATASET}/labels/days.yaml",
        f"{DATASET}/recipes/renal.yaml",
        f"{DATASET}/recipes/families.yaml",
    ]
    for name in gone:
        (place.root / name).unlink()
    assert sorted(issues_of(place)) == sorted(("config-file-missing", name) for name in gone)
    assert ("config-file-missing", f"{TEMPLATE}/cohorts/other.yaml") in issues_of(
        place, Pair(PAIR.template, "other")
    )
    assert ("config-file-missing", "studio/arms/other.yaml") in issues_of(place, arm="other")
    missing = issues_of(place, Pair.parse("demo-data_other@n20"))
    assert ("config-file-missing", f"{DATASET}/tasks/demo-data_other/template.yaml") in missing


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        (f"{TEMPLATE}/template.yaml", "targets: x\n", ":1, targets"),
        (f"{TEMPLATE}/template.yaml", "targets: [x]\n", ":1, targets"),
        (f"{TEMPLATE}/template.yaml", "targets: []\n", ":1, targets"),
        (f"{TEMPLATE}/template.yaml", "name: x\n", ", targets"),
        (f"{TEMPLATE}/template.yaml", "targets:\n- label: ../../x\n", ":2, targets[0].label"),
        (f"{TEMPLATE}/template.yaml", "targets:\n- name: a\n", ":2, targets[0].label"),
        (f"{TEMPLATE}/template.yaml", "- x\n", ""),
        (f"{TEMPLATE}/template.yaml", "", ""),
        (f"{TEMPLATE}/cohorts/n20.yaml", "release: 1.0\n", ":1, release"),
        (f"{TEMPLATE}/cohorts/n20.yaml", "release: vitaldb/1.0\n", ":1, release"),
        (f"{TEMPLATE}/cohorts/n20.yaml", "cohort: n20\n", ", release"),
        (f"{TEMPLATE}/cohorts/n20.yaml", "- x\n", ""),
        (f"{DATASET}/labels/stage.yaml", "imports: renal\n", ":1, imports"),
        (f"{DATASET}/labels/stage.yaml", "imports: [A b]\n", ":1, imports[0]"),
        (f"{DATASET}/labels/stage.yaml", "- x\n", ""),
        (f"{DATASET}/labels/stage.yaml", "sql: ../x.sql\n", ":1, sql"),
    ],
)
def test_a_file_that_cannot_be_followed_is_told_with_file_and_line(
    place: Workspace, name: str, text: str, where: str
) -> None:
    write(place, name, text)
    assert ("config-file-invalid", f"{place.root / name}{where}") in issues_of(place)


def test_a_file_that_is_no_yaml_is_told_with_its_own_code(place: Workspace) -> None:
    write(place, f"{DATASET}/labels/stage.yaml", "label: stage\nlabel: x\n")
    assert issues_of(place)[0][0] == "document-duplicate-key"


def test_the_query_of_a_label_counts(place: Workspace) -> None:
    write(place, f"{DATASET}/labels/days.yaml", "label: days\nsql: days.sql\n")
    assert issues_of(place) == [("config-file-missing", f"{DATASET}/labels/days.sql")]
    write(place, f"{DATASET}/labels/days.sql", "select 1")
    assert f"{DATASET}/labels/days.sql" in paths(place, PAIR, arm="encoders")


def test_a_label_of_two_targets_is_one_file(place: Workspace) -> None:
    write(place, f"{TEMPLATE}/template.yaml", "targets: [{label: days}, {label: days}]\n")
    assert paths(place, PAIR, arm="encoders").count(f"{DATASET}/labels/days.yaml") == 1


def test_an_evidence_variant_and_a_template_of_no_dataset_are_refused(place: Workspace) -> None:
    """MO-041."""
    with pytest.raises(InvalidNameError, match="builds only 'default'"):
        config_files(place, Pair.parse("demo-data_kidney:full@n20"), arm="encoders")
    with pytest.raises(InvalidNameError) as caught:
        config_files(place, Pair.parse("kidney@n20"), arm="encoders")
    assert caught.value.code == "template-without-dataset"
    assert dataset_of("mimic-iv_ckd-staging") == "mimic-iv"


def test_line_ends_are_named_as_that(place: Workspace) -> None:
    """EH-27, its kind."""
    files = config_files(place, PAIR, arm="encoders").files
    assert line_ending_issues(files) == []
    lf = hash_pair(place, PAIR, arm="encoders").value
    path = place.root / f"{TEMPLATE}/template.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert hash_pair(place, PAIR, arm="encoders").value != lf
    (issue,) = line_ending_issues(files)
    assert (issue.code, issue.where) == ("line-endings", f"{TEMPLATE}/template.yaml:1")
    assert "template.yaml has CRLF line endings" in issue.what
