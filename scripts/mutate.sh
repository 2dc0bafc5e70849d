#!/usr/bin/env bash
# Feeds 20,000 mutants of the small real logs to the reader: scripts/mutate.sh [MUTANTS] [SEED]. The test itself takes 2,000.
# What came of the last such run is in benches/proofs/mutants.md.
set -euo pipefail
cd "$(dirname "$0")/.."
export IOLODE_MUTANTS="${1:-20000}" IOLODE_SEED="${2:-1}"
{
    echo "commit $(git rev-parse --short HEAD), $IOLODE_MUTANTS mutants, seed $IOLODE_SEED"
    cargo test --no-default-features --lib -- mutation --nocapture
} 2>&1 | grep -vE '^ *(Compiling|Blocking|Finished|Running)'
