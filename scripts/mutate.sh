#!/usr/bin/env bash
# Feeds 20,000 mutants of the small real logs to the reader: scripts/mutate.sh [MUTANTS] [SEED]. The test itself takes 2,000.
# What it says is kept in benches/runs.
set -euo pipefail
cd "$(dirname "$0")/.."
export IOLODE_MUTANTS="${1:-20000}" IOLODE_SEED="${2:-1}"
log="benches/runs/$(date +%F)-mutants.log"
mkdir -p benches/runs
{
    echo "commit $(git rev-parse --short HEAD), $IOLODE_MUTANTS mutants, seed $IOLODE_SEED"
    cargo test --no-default-features --lib -- mutation --nocapture
} 2>&1 | grep -vE '^ *(Compiling|Blocking|Finished|Running)' | tee -a "$log"
