# `make demo` and `make test` do everything on a fresh machine with python3 >= 3.12 and git.
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
UV_VERSION := 0.13.9
READY := $(VENV)/.ready

.PHONY: setup demo test slow lint fix docs check lock bench bench-studio bench-agents harbor harbor-lint base-image clean

setup: $(READY)

$(READY): requirements.lock requirements-demo.lock pyproject.toml
	@python3 -c 'import sys; sys.exit("python3 >= 3.12 is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 12) else None'
	test -x $(PY) || python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) pip install --quiet --require-hashes -r requirements.lock
	$(UV) pip install --quiet --no-deps --require-hashes -r requirements-demo.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(READY)

# Without Harbor (no network, say) the demo ends before the leaderboard, and says so.
demo: setup  ## score a real brain image; build a task from made-up records, run two agents on it, rank them
	$(VENV)/bin/medotter demo --out demo-output
	-$(MAKE) --no-print-directory harbor
	$(VENV)/bin/medomni demo --out demo-output/medomni

test: setup  ## every test but the slow ones
	$(PY) -m pytest -n 2 --dist loadfile

slow: setup  ## the slow proofs
	$(PY) -m pytest -m slow -n 2

lint: setup  ## style, types, import rules, sizes
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) tools/check_sizes.py

fix: setup  ## what can be mended by a program
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

docs: setup  ## regenerate docs/reference
	$(PY) tools/build_reference_docs.py

check: test lint  ## test and lint

PEERS ?= .venv-peers
PEERS_PYTHON ?= python3.11

bench: setup $(PEERS)/.ready  ## time scoring against other tools and the physical limit, as ratios
	$(PY) benchmarks-perf/imaging.py --peers $(PEERS)/bin/python

SCALE ?= 0.05

bench-studio: setup  ## time a cohort against a query by hand; SCALE=1.0 is MIMIC-IV 3.1's real size
	$(PY) benchmarks-perf/studio.py --scale $(SCALE)

bench-agents: setup  ## time scores and intervals of agents against loops over scikit-learn
	$(PY) benchmarks-perf/bench.py

# What cannot be installed is missing from the table; that is no reason to stop.
$(PEERS)/.ready: benchmarks-perf/peers-requirements.txt
	-$(PEERS_PYTHON) -m venv $(PEERS) && echo '*' > $(PEERS)/.gitignore
	-test ! -x $(PEERS)/bin/pip || $(PEERS)/bin/pip install --quiet --disable-pip-version-check -r $< \
	  || grep -o '^[a-z][^ #]*' $< | xargs -n 1 $(PEERS)/bin/pip install --quiet --disable-pip-version-check
	-test ! -x $(PEERS)/bin/pip || touch $@

lock: setup  ## resolve the dependencies anew
	$(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-header --all-extras \
	  --no-emit-index-url --no-emit-find-links --upgrade pyproject.toml -o requirements.lock
	echo 'nilearn==0.14.1' | $(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes \
	  --no-header --no-deps --no-emit-index-url --no-emit-find-links - -o requirements-demo.lock

HARBOR := .venv-harbor

harbor: $(HARBOR)/.ready  ## Harbor, which runs the atom tasks, in an environment of its own

$(HARBOR)/.ready: requirements-harbor.lock $(READY)
	test -x $(HARBOR)/bin/python || python3 -m venv $(HARBOR)
	echo '*' > $(HARBOR)/.gitignore
	$(UV) pip sync --quiet --require-hashes --python $(HARBOR)/bin/python requirements-harbor.lock
	@touch $@

harbor-lint: harbor  ## every rule of Harbor over everything that is built, and its loader
	$(PY) tools/harbor_lint.py atomtasks

base-image:  ## the local image that all atom tasks are built from, and its files for bubblewrap; as root, on Debian
	tools/base_image.sh .medomni/base

clean:
	rm -rf $(VENV) demo-output .hypothesis .mypy_cache .ruff_cache .import_linter_cache .coverage
