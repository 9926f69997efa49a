# The commands of the README. Everything is installed into .venv, pinned by requirements*.txt.
PYTHON ?= python3
VENV := .venv
UV_VERSION := 0.13.8
COMPILE ?= --compile-bytecode # so that no first command takes longer than the others
UV = $(VENV)/bin/uv pip install --quiet $(COMPILE) --python $(VENV)/bin/python

BY_FILE := --dist loadfile --no-loadscope-reorder # what tests of one file share is made once

export PATH := $(abspath $(VENV))/bin:$(PATH)
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true

.PHONY: run run-neural train-trio test test-slow test-all install-all browser postgres pictures check lint docs ui perf requirements dist try-dist clean
.DELETE_ON_ERROR:

run: $(VENV)/installed ## evaluate what params.yaml selects, version it, show it in MLflow; what others have pushed is pulled
	@driftledger run

run-neural: export OMP_NUM_THREADS := 1
run-neural: $(VENV)/installed-all ## the same for the small checkpoints in lab/checkpoints/, with torch, in a worktree of its own: build/neural
	test -e build/neural || git worktree add --quiet --force --detach build/neural
	now=$$(git stash create) && git -C build/neural checkout --quiet --force --detach $${now:-$$(git rev-parse HEAD)}
	cd build/neural && driftledger preset neural && driftledger run
	cd build/neural/lab/checkpoints && dvc repro --single-item validity
	cp build/neural/reports/validity.* reports/
	cp build/neural/lab/checkpoints/dvc.lock lab/checkpoints/

train-trio: $(VENV)/installed-all ## train the checkpoints in lab/checkpoints/ again, or go on; takes more than an hour
	cd lab/checkpoints && dvc repro train_trio measure_trio

test: $(VENV)/installed-dev ## run the tests that need no torch, browser or server, in eight minutes on two cores
	pytest -n auto $(BY_FILE) -m "not slow" --ignore=tests/extras
	@echo "'make test-slow' runs the others: whole pipelines, many kills, and tests/extras: torch, S3, PostgreSQL, a browser."

test-slow: $(VENV)/installed-all ## run the tests that 'make test' leaves out; installs every optional library, torch included
	pytest -n auto $(BY_FILE) -m slow

test-all: $(VENV)/installed-all ## run all tests
	pytest -n auto $(BY_FILE)

install-all: $(VENV)/installed-all ## install every optional library

pictures: $(VENV)/installed-dev ## make the pictures of README and docs again, and what its first commands print; needs chromium
	python -m lab.pictures
	python -m lab.first_use

browser: ## install Debian's chromium where there is none, for the tests that look at pages
	command -v chromium > /dev/null || (apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium) > /dev/null

postgres: ## install Debian's PostgreSQL where there is none, for the tests that share an MLflow
	ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || (apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql) > /dev/null

check: lint test-all ## what a change must pass

lint: $(VENV)/installed-dev
	ruff check .
	ruff format --check .
	mypy
	driftledger upgrade --check

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(VENV)/installed-dev ## build README and docs/ as a site in build/docs; a broken link fails
	mkdocs build --strict --quiet

ui: $(VENV)/installed ## open MLflow on the scores
	driftledger ui

perf: $(VENV)/installed-all ## measure; results in reports/perf/ and reports/speed.md
	python -m lab.perf.waits
	python -m lab.performance

# requirements-all.txt has no hashes: its torch may come from PyPI or, built for the CPU, from PyTorch's own index.
requirements: $(VENV)/uv ## pin the newest versions that pyproject.toml allows
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --generate-hashes --upgrade --extra demo pyproject.toml \
		-o requirements.txt
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --generate-hashes --constraint requirements.txt --extra dev pyproject.toml \
		-o requirements-dev.txt
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --constraint requirements-dev.txt --extra test-all \
		pyproject.toml -o requirements-all.txt

dist: $(VENV)/uv ## build what an upload would hold
	rm -rf dist
	$(VENV)/bin/uv build --quiet --build-constraints requirements-dev.txt --require-hashes --out-dir dist

try-dist: $(VENV)/uv ## check what 'make dist' built; install it by pip and by uv, with EXTRAS=openai,sentence too
	$(VENV)/bin/uv run --quiet --isolated --no-project --with twine twine check --strict dist/*.whl dist/*.tar.gz
	.ci/try_dist $(abspath $(VENV))/bin/uv $(abspath $(VENV))/bin/python dist $(EXTRAS)

clean: ## remove what was installed; data, results and MLflow stay
	rm -rf $(VENV)

$(VENV)/uv:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	touch $@

$(VENV)/installed: $(VENV)/uv requirements.txt pyproject.toml
	$(UV) -r requirements.txt
	$(UV) --no-deps -e .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.txt
	$(UV) -r requirements-dev.txt
	touch $@

# LiteLLM's proxy contradicts what others want, and runs apart from them; without it, its tests are skipped.
# torch for the CPU is 7 GB smaller than torch for CUDA, which is what PyPI has.
$(VENV)/installed-all: $(VENV)/installed-dev requirements-all.txt
	$(UV) --torch-backend=cpu --constraint requirements-all.txt -e '.[test-all]' 2> /dev/null || \
		$(UV) --constraint requirements-all.txt -e '.[test-all]'
	-$(VENV)/bin/uv venv --quiet --clear --python $(VENV)/bin/python $(VENV)/litellm && \
		$(VENV)/bin/uv pip install --quiet --python $(VENV)/litellm/bin/python 'litellm[proxy]==1.83.14'
	touch $@
