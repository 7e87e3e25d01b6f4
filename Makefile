# Penstock: `make help` lists what can be made. Everything happens inside .venv.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup java programs kafka test all-tests plain-tests compiled-tests spark-tests check test-slow test-spark lint format demo bench papers docs lock clean

BIN := .venv/bin
WORKERS ?= 2
export SPARK_LOCAL_IP ?= 127.0.0.1

PYTEST := $(BIN)/python -m pytest -q
PARALLEL := -n $(WORKERS) --dist worksteal
# The kernels' tests run as plain Python, where an index out of bounds is an error; see tests/conftest.py.
KERNELS := $(wildcard tests/kernel tests/policies tests/engine tests/profile/test_lossy.py \
	tests/precision/test_simulator_kernel.py tests/precision/test_thinning.py \
	tests/simulate/test_band.py tests/simulate/test_optimum_cache.py tests/simulate/test_optimum_join.py \
	tests/simulate/test_distortion_tally.py \
	tests/simulate/test_skewed_repeating.py tests/papers/test_printed.py \
	tests/spark/test_archiver.py tests/spark/test_shares.py tests/bench)
WITH_JAVA = home="$$(scripts/java.sh)"; export JAVA_HOME="$$home";
# The queries of tests are short: Java's second compiler would cost more than it gains.
TEST_JAVA = $(WITH_JAVA) export SPARK_SUBMIT_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

help: ## say what can be made
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## build .venv from requirements.lock, and nothing else
	@scripts/setup.sh

java: ## find Java 17 or newer, or install it (apt-get, where root)
	@scripts/java.sh >/dev/null

programs: ## find the programs that tests talk to, or install them (apt-get, where root); without them their tests are skipped
	@scripts/programs.sh

kafka: setup ## find a Kafka broker and Spark's connector, or fetch them (Maven); without them their tests are skipped
	@scripts/kafka.sh >/dev/null || true

test: ## lint, then all tests but the slow ones
	@$(MAKE) --no-print-directory -j 4 all-tests

# One kind of test after the other, as each keeps all processors busy; what is fetched comes meanwhile.
all-tests: lint plain-tests compiled-tests spark-tests

plain-tests: setup
ifneq ($(KERNELS),)
	@echo "== tests of the kernels, as plain Python"
	@NUMBA_DISABLE_JIT=1 PENSTOCK_HYPOTHESIS=nojit $(PYTEST) $(PARALLEL) -m "not slow and not spark" $(KERNELS)
endif

compiled-tests: plain-tests programs
	@echo "== tests"
	@$(PYTEST) $(PARALLEL) -m "not slow and not spark and not uncompiled"

spark-tests: compiled-tests java kafka
	@echo "== tests on Spark" # a session for each worker; only files with such tests are imported
	@files="$$(grep -rl --include='test_*.py' 'mark\.spark' tests)"; $(TEST_JAVA) \
		$(PYTEST) -n $(WORKERS) --dist loadfile -m "spark and not slow" $$files

check: setup ## one policy's tests, contract and twin: make check POLICY=lru
	@test -n "$(POLICY)" || { echo "name a policy: make check POLICY=lru" >&2; exit 2; }
	@$(PYTEST) -m "not slow" -k "$(POLICY)" tests/policies/test_contract.py \
		$(or $(wildcard tests/policies/test_$(POLICY).py),tests/policies)

test-slow: setup java ## the slow tests, which take many minutes
	@$(TEST_JAVA) PENSTOCK_HYPOTHESIS=thorough $(PYTEST) -m slow
	@$(PYTEST) $(PARALLEL) -m uncompiled

test-spark: setup java ## the tests of joins on another Spark, beside .venv: make test-spark SPARK=4.0.2
	@test -n "$(SPARK)" || { echo "name a version: make test-spark SPARK=4.0.2" >&2; exit 2; }
	@scripts/test_spark.sh "$(SPARK)"

lint: setup ## ruff, mypy, import-linter; the lock against pyproject.toml
	@echo "== lint"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "run: make format" >&2; exit 1; }
	@$(BIN)/mypy
	@said="$$($(BIN)/lint-imports --no-logo)" || { echo "$$said"; exit 1; }; tail -n 1 <<<"$$said"
	@$(BIN)/python scripts/lock.py --check

format: setup ## lay the code out, and mend what ruff can mend
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

demo: setup java ## join two real streams live on Spark, and draw recall by policy
	@$(WITH_JAVA) $(BIN)/penstock demo

bench: setup java ## measure every policy, and first results with no kernels compiled, into bench/results
	@mkdir -p bench/results
	@$(BIN)/python bench/policies.py --json bench/results/policies.json --html bench/results/policies.html
	@$(WITH_JAVA) $(BIN)/python bench/cold.py --spark --json bench/results/cold.json

papers: setup ## repeat the experiments of the papers, and write docs/reproduction.md (some 20 minutes of processor time; resumable)
	@$(BIN)/python -m papers reproduce all --out papers/results
	@$(BIN)/python -m papers page reproduction papers/results

docs: setup ## build the documentation site into site/; warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open site/index.html in a browser; with search: $(BIN)/mkdocs serve"

lock: ## write requirements.lock anew from pyproject.toml
	@"$$(scripts/python.sh)" scripts/lock.py

clean: ## remove .venv and everything else that can be made again
	@rm -rf .venv .venv-spark-* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@rm -rf build dist src/*.egg-info .coverage htmlcov spark-warehouse metastore_db derby.log artifacts site
	@rm -rf bench/results papers/results recall-by-policy.png
	@find src tests scripts bench papers -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
