#!/usr/bin/env bash
# Makes the virtual environment of the tests that compare with pydarshan and DuckDB: scripts/venv.sh [DIR].
# The versions are pinned: what they answer is what the tests expect.
set -euo pipefail
cd "$(dirname "$0")/.."
venv="${1:-${CARGO_TARGET_DIR:-target}/venv}"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/oracles/python/requirements.txt
