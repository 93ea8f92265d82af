"""The documentation is true: commands run and print what they are said to print, links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from markdown_pages import (
    REPOSITORY,
    Block,
    Command,
    agrees,
    all_markdown,
    anchors,
    blocks,
    commands,
    links,
    pages,
    without_progress,
)

# Commands that would start all over again, or fetch something: only what they name is checked.
NOT_RUN = ("make ", "git clone ", "pip install ", "cd ", "python3 -m venv ", ". ")
RUNNABLE = [page for page in pages() if any(b.info in ("console", "python") for b in blocks(page))]


def name_of(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder with copies of what the pages use; `.venv` is the environment of this very test."""
    for name in ("benchmarks", "evaluation"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def run(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "error",
        "COLUMNS": "100",
    }
    return subprocess.run(
        ["bash", "-c", text],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


def run_python(block: Block, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.body], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, f"python block on line {block.line}:\n{done.stderr}"


def run_command(command: Command, cwd: Path) -> None:
    done = run(command.text, cwd)
    where = f"line {command.line}: $ {command.text}\n"
    assert done.returncode == 0, f"{where}ended with {done.returncode}\n{done.stdout}"
    if command.expected:
        found = without_progress(done.stdout)
        shown = "\n".join(command.expected)
        assert agrees(command.expected, found), f"{where}the page shows\n{shown}\nit prints\n" + "\n".join(
            found
        )


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_every_command_of_a_page_runs_and_prints_what_the_page_shows(page, workspace):
    for block in blocks(page):
        if block.info == "python":
            run_python(block, workspace)
        elif block.info == "console":
            for command in commands(block):
                if not command.text.startswith(NOT_RUN):
                    run_command(command, workspace)


def test_the_page_example_of_bundle_runs_from_the_repository_root():
    """MB-029."""
    example = [
        block
        for page in pages()
        for block in blocks(page)
        if block.info == "python" and 'b = Bundle("benchmarks/thoracic_lesion_ct")' in block.body
    ]
    assert example
    for used in ("b.task", "list(b.cases())", "b.task_spec()", "b.eval_spec()", "b.case_meta("):
        assert used in example[0].body
    run_python(example[0], REPOSITORY)


def test_every_make_target_that_is_named_exists():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.M))
    named = set()
    for page in all_markdown():
        text = page.read_text(encoding="utf-8")
        named |= set(re.findall(r"`make ([a-z-]+)`", text))
        for block in blocks(page):
            named |= set(re.findall(r"^(?:\$ )?make ([a-z-]+)", block.body, re.M))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_the_test_command_of_the_readme_is_make_test():
    lines = [line for block in blocks(REPOSITORY / "README.md") for line in block.body.splitlines()]
    assert "make test" in lines
    assert "make demo" in lines


@pytest.mark.parametrize("page", all_markdown(), ids=name_of)
def test_relative_links_lead_to_files_and_headings(page):
    for link in links(page):
        target, _, anchor = link.partition("#")
        file = page if not target else (page.parent / target).resolve()
        if target == "../bench/benchmarks/":
            continue  # agent benchmarks, which come with a later release; the link is part of the layout
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file), link


def known_commands() -> dict[str, set[str]]:
    """Every command by its words, with its options."""
    from medotter_bench.cli import app

    found: dict[str, set[str]] = {}

    def walk(command: Any, name: str) -> None:
        options = {option for parameter in command.params for option in parameter.opts}
        found[name] = options | {"--help", "-h"}
        for inner, child in getattr(command, "commands", {}).items():
            walk(child, f"{name} {inner}")

    walk(typer.main.get_command(app), "medotter")
    return found


@pytest.mark.parametrize("page", all_markdown(), ids=name_of)
def test_every_medotter_command_and_option_that_is_named_exists(page):
    known = known_commands()
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for words in re.findall(r"(?:^|[`$/] ?)(medotter(?: [^`\n|;&]*)?)", text, re.M):
        parts = words.split()
        if len(parts) > 1 and not re.fullmatch(r"[a-z][a-z-]*", parts[1]):
            continue  # prose, or an option of the program itself
        name = "medotter"
        for part in parts[1:]:
            if f"{name} {part}" not in known:
                break
            name = f"{name} {part}"
        inside_code = f"`{words}`" in text or any(words in block.body for block in blocks(page))
        if not inside_code:
            continue
        assert len(parts) == 1 or name != "medotter", words
        for option in re.findall(r"(?<![\w-])--[a-z-]+", words):
            assert option in known[name], words


def test_generated_reference_pages_are_current():
    command = [sys.executable, str(REPOSITORY / "tools/build_reference_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_and_functions_are_short_enough():
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tools/check_sizes.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def own_files() -> list[Path]:
    """The files that version control would hold; nothing where this is no checkout."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    names = [name for name in done.stdout.split("\0") if name] if done.returncode == 0 else []
    return [REPOSITORY / name for name in names if (REPOSITORY / name).is_file()]


def test_no_file_names_a_machine_or_a_package_host():
    # Put together here, so that this file is no find of its own.
    private = [
        "/" + "root/",
        "/" + "work/",
        "files.python" + "hosted",
        "pypi.org/" + "simple",
        "/home/" + "user",
    ]
    files = own_files()
    if not files:
        pytest.skip("no checkout under version control")
    finds = []
    for path in files:
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            continue
        text = data.decode("utf-8", errors="replace")
        finds += [f"{path.relative_to(REPOSITORY)}: {word}" for word in private if word in text]
    assert finds == []


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        (["a"], ["a"], True),
        (["a"], ["a", "b"], False),
        (["a …", "…", "z"], ["a 1", "b", "c", "z"], True),
        (["n = …"], ["n = 8", ""], True),
        (["…", "z"], ["z"], True),
        (["a.c"], ["abc"], False),
    ],
)
def test_the_comparison_of_outputs_is_strict_but_for_ellipses(expected, found, same):
    assert agrees(expected, found) is same
