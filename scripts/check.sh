#!/usr/bin/env bash
# Everything that must be green before a change is added to: run it before a commit.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all -- --check
cargo clippy --all-targets -- -D warnings
cargo test
# The tests of the crate itself that need the real logs.
if [ -d "${IOLODE_SHARED_DATA:-../shared/data}/darshan" ]; then cargo test --lib -- --ignored; fi
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
cargo check --no-default-features
