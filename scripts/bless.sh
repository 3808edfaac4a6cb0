#!/usr/bin/env bash
# Writes what the compiler says to each mistake in ui-tests/fail anew. Read the difference before you commit it.
set -eu
cd "$(dirname "$0")/.."
TRYBUILD=overwrite cargo test --quiet --test ui misuse_does_not_compile
git --no-pager diff --stat -- ui-tests
git status --short ui-tests
