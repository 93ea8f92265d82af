"""Every code of `docs/reference/issues.md` is named by some test; those that no other test raises, here."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundle_builders import BundleBuilder, box, write_nifti
from medomni.core import contracts
from medomni.core.errors import MedomniError, MissingExtraError
from medomni.core.files import check_relative, read_yaml
from medotter_bench import demo
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import CaseContext, CaseInputs
from medotter_bench.adapters.seg import SegAdapter
from medotter_bench.bundle import Bundle
from medotter_bench.engine import score_predictions
from medotter_bench.factory.definition import read_factory
from medotter_bench.factory.freeze import freeze
from medotter_bench.factory.new import new_bundle
from medotter_bench.factory.vendor import vendor
from medotter_bench.inference import Grid, LabelMap
from medotter_bench.label_map import IDENTITY, parse_label_remap
from medotter_bench.specs import HausdorffSpec, parse_eval_spec

REPOSITORY = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

from issue_codes import contract_codes, source_codes  # noqa: E402

# Words of the source that look like codes: names of commands, folders and templates, others' values.
OTHER_WORDS = (
    "content-refused",
    "demo-output",
    "dummy-mimic-iv",
    "import-v02",
    "memory-limit-reached",
    "no-network",
    "score-answers",
    "set-aside",
    "task-template",
)

# Codes that no test names, with the reason. This list only shrinks.
UNTESTED = dict.fromkeys(
    (
        "bench-invalid",
        "build-failed",
        "cohort-invalid",
        "document-invalid",
        "dummy-refused",
        "evidence-invalid",
        "execution-failed",
        "import-invalid",
        "journal-invalid",
        "label-invalid",
        "new-refused",
        "recipe-invalid",
        "results-refused",
        "run-refused",
        "scoring-refused",
        "spec-invalid",
        "vendor-refused",
        "volume-invalid",
    ),
    "the default of a class; every place that raises the class names a code of its own",
)


@cache
def all_codes() -> list[str]:
    found = [code.name for code in source_codes(REPOSITORY / "src")]
    return sorted({*found, *(code for codes in contract_codes().values() for code in codes)})


def named_in_tests() -> set[str]:
    """Whole codes in test files (not in the list above), and in the names of the contracts' invalid files."""
    words: set[str] = set()
    for path in (REPOSITORY / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path == Path(__file__).resolve():
            text = text.replace(text[text.index("UNTESTED =") : text.index("@cache")], "")
        words |= set(re.findall(r"[a-z][a-z0-9-]*", text))
    return words | {path.name.partition("__")[0] for path in (REPOSITORY / "tests/contracts").rglob("*__*")}


def test_every_code_is_named_by_a_test_or_stands_in_the_list_with_its_reason():
    named = named_in_tests()
    assert [code for code in all_codes() if code not in named] == sorted(UNTESTED)


def test_codes_of_classes_alone_are_never_what_is_raised():
    """A class of `UNTESTED` is raised with `code=`, or made by a subclass that has its own."""
    classes = {"DummyError", "NewBundleError", "ScoringError", "SpecError", "VendorError", "VolumeError"}
    bare = []
    for path in sorted((REPOSITORY / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if called in classes and not any(keyword.arg == "code" for keyword in node.keywords):
                bare.append(f"{path.name}:{node.lineno}")
    assert bare == []


def test_no_text_of_the_source_looks_like_a_code_and_is_not_listed():
    codes = set(all_codes())
    families = {code.split("-")[0] for code in codes if "-" in code}
    known_others = {*contracts.kinds(), *OTHER_WORDS}
    odd = set()
    for path in (REPOSITORY / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", text) and text.split("-")[0] in families:
                odd.add(text)
    assert odd - codes - known_others == set()


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box())
    builder.case("002", box(), box())
    return builder.write()


def score(builder: BundleBuilder, **options: Any) -> Any:
    return score_predictions(builder.bundle, builder.predictions, builder.data, **options)


def raised(action: Callable[[], Any]) -> MedomniError:
    with pytest.raises(MedomniError) as caught:
        action()
    return caught.value


def code_of(action: Callable[[], Any]) -> str:
    return raised(action).code


def test_bundle_invalid_lists_several_errors_that_decide_numbers(builder):
    builder.spec["eval_regions"] = {"lesion": [7], "macro_avg": [8]}
    builder.write()
    assert code_of(lambda: score(builder)) == "bundle-invalid"


def test_bundle_manifest_invalid_lists_several_missing_keys(builder):
    (builder.bundle / "manifest_test.json").write_text('{"task": "demo_task"}')
    assert code_of(lambda: Bundle(builder.bundle)) == "bundle-manifest-invalid"


def test_reference_invalid_lists_every_case_whose_reference_is_gone(builder):
    for name in ("001", "002"):
        (builder.data / f"DS_A/{name}_seg.nii.gz").unlink()
    error = raised(lambda: score(builder))
    assert error.code == "reference-invalid"
    assert "DS_A/001" in str(error)
    assert "DS_A/002" in str(error)


def test_case_unknown_is_also_a_key_error(builder):
    error = raised(lambda: Bundle(builder.bundle).case_meta("DS_A/404"))
    assert error.code == "case-unknown"
    assert isinstance(error, KeyError)


def test_adapter_stub_is_also_a_not_implemented_error(builder):
    builder.spec["task_type"] = "cls"
    error = raised(lambda: score(builder.write()))
    assert error.code == "adapter-stub"
    assert isinstance(error, NotImplementedError)


def test_adapter_taken_refuses_a_second_meaning_of_a_name():
    assert code_of(lambda: registry.register(SegAdapter())) == "adapter-taken"


class _Dying(Executor):
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("gone"))
        return future


def test_worker_died_says_what_to_do(builder):
    error = raised(lambda: score(builder, executor=_Dying()))
    assert error.code == "worker-died"
    assert error.hint


def context_of(builder: BundleBuilder, **hd95: Any) -> CaseContext:
    spec = parse_eval_spec(read_yaml(builder.bundle / "eval_spec.yaml"))
    return CaseContext(replace(spec, hd95=HausdorffSpec(**hd95)), IDENTITY, {})


def test_spacing_unknown_where_neither_the_file_nor_the_spec_states_one(builder):
    label_map = LabelMap(box(), Grid((8, 8, 8)), {})
    inputs = CaseInputs(label_map, label_map)
    assert code_of(lambda: SegAdapter().score(inputs, context=context_of(builder))) == "spacing-unknown"


def test_spacing_axes_where_the_spec_states_too_few_numbers(builder):
    label_map = LabelMap(box(), Grid((8, 8, 8), (1.0, 1.0, 1.0)), {})
    inputs = CaseInputs(label_map, label_map)
    context = context_of(builder, spacing=(1.0, 1.0))
    assert code_of(lambda: SegAdapter().score(inputs, context=context)) == "spacing-axes"


def test_remap_type_refuses_a_map_that_is_none():
    assert code_of(lambda: parse_label_remap([1, 2], where="task.yaml")) == "remap-type"
    assert code_of(lambda: parse_label_remap({"DS_A": 3}, where="task.yaml")) == "remap-type"


def test_file_not_found_is_also_a_file_not_found_error(tmp_path):
    error = raised(lambda: read_yaml(tmp_path / "absent.yaml"))
    assert error.code == "file-not-found"
    assert isinstance(error, FileNotFoundError)


def test_path_unsafe_refuses_what_is_no_text():
    assert code_of(lambda: check_relative(3)) == "path-unsafe"  # type: ignore[arg-type]


def test_contract_unknown_lists_those_that_exist():
    error = raised(lambda: contracts.schema("nonsense"))
    assert error.code == "contract-unknown"
    assert "eval-spec" in error.hint


@pytest.mark.parametrize("kind", ["bundle-manifest", "bundle-task", "eval-spec", "results"])
def test_contracts_refuse_infinite_numbers_and_endless_nesting(kind):
    """bundle-manifest-not-finite bundle-task-not-finite results-not-finite, and -depth of the four kinds:
    bundle-manifest-depth bundle-task-depth eval-spec-depth results-depth."""
    nested: Any = 1
    for _ in range(200):
        nested = {"a": nested}
    deep = {issue.code for issue in contracts.validate(kind, {"extra": nested})}
    assert f"{kind}-depth" in deep
    infinite = {issue.code for issue in contracts.validate(kind, {"extra": float("inf")})}
    assert f"{kind}-not-finite" in infinite


def test_results_unique_refuses_a_case_that_is_missing_twice():
    codes = {issue.code for issue in contracts.validate("results", {"missing": ["a", "a"]})}
    assert "results-unique" in codes


def test_factory_invalid_lists_several_problems(tmp_path):
    folder = new_bundle("liver_mr", tmp_path)
    (folder / "factory.yaml").write_text("schema: medotter/factory/1\nnonsense: 1\n")
    assert code_of(lambda: read_factory(folder)) == "factory-invalid"


def test_freeze_refused_lists_several_reasons(tmp_path):
    folder = new_bundle("liver_mr", tmp_path)
    lines = (folder / "factory.yaml").read_text().partition("split:\n")
    _, _, rest = lines[2].partition("skip:")
    split = "  policy: fixed\n  cases: {train: [], test: [EXAMPLE/x, EXAMPLE/y]}\n"
    (folder / "factory.yaml").write_text(f"{lines[0]}split:\n{split}skip:{rest}")
    for kind in ("images", "labels"):
        write_nifti(tmp_path / f"data/EXAMPLE/{kind}/z.nii.gz", box())
    error = raised(lambda: freeze(folder, data_root=tmp_path / "data"))
    assert error.code == "freeze-refused"
    assert "EXAMPLE/x" in str(error)
    assert "EXAMPLE/y" in str(error)


def test_vendor_lock_invalid_refuses_to_build_on_a_broken_lock(builder, tmp_path):
    target = tmp_path / "vendored"
    target.mkdir()
    (target / "bundles.lock.json").write_text('{"schema": "other"}')
    assert code_of(lambda: vendor(builder.bundle, target)) == "vendor-lock-invalid"


def test_demo_image_missing_and_extra_missing_say_what_to_install(monkeypatch, tmp_path):
    class _Empty:
        files: tuple[Any, ...] = ()

    monkeypatch.setattr(demo, "distribution", lambda name: _Empty())
    error = raised(lambda: demo.prepare(tmp_path, say=lambda line: None))
    assert error.code == "demo-image-missing"
    assert "nilearn" in error.hint
    missing = MissingExtraError.for_extra("imaging", "nibabel", "reading NIfTI files")
    assert missing.code == "extra-missing"
    assert 'pip install "medomni[imaging]"' in missing.hint


def test_labels_of_the_wrong_kind_are_refused_before_any_metric():
    """A mask of floats is not a mask: metric-dtype."""
    from medotter_bench.metrics import dice

    assert code_of(lambda: dice(np.zeros((2, 2)), np.zeros((2, 2)))) == "metric-dtype"
