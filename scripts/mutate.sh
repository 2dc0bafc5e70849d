#!/usr/bin/env bash
# Feeds 20,000 mutants of real logs and dumps to the readers: scripts/mutate.sh [MUTANTS] [SEED]. The tests themselves take 2,000 of
# Darshan's logs and 400 of LMT's texts.
# What came of the last such run is in benches/proofs/mutants.md.
set -euo pipefail
cd "$(dirname "$0")/.."
export IOLODE_MUTANTS="${1:-20000}" IOLODE_SEED="${2:-1}"
{
    echo "commit $(git rev-parse --short HEAD), $IOLODE_MUTANTS mutants, seed $IOLODE_SEED"
    cargo test --no-default-features --test it -- mutants
    cargo test --no-default-features --lib -- mutants --ignored
} 2>&1 | grep -vE '^ *(Compiling|Blocking|Finished|Running)'
