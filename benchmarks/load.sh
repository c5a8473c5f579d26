#!/usr/bin/env bash
# The time of an answer under load: 100 clients ask for 1,000 1-ply analyses a second in all while the
# recipe `quick` trains on two threads; then the same without the training. The goal: p99 < 50 ms.
#
#   benchmarks/load.sh [SECONDS]
#
# AFTERSTATE is the program, and LOAD the clients; by default both are built in target/release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-30}
if [ -z "${AFTERSTATE:-}" ]; then
    cargo build --release -q -p afterstate-cli
    AFTERSTATE=${CARGO_TARGET_DIR:-target}/release/afterstate
fi
if [ -z "${LOAD:-}" ]; then
    cargo build --release -q -p afterstate-web --example load
    LOAD=${CARGO_TARGET_DIR:-target}/release/examples/load
fi
folder=$(mktemp -d)
server='' training=''
end() {
    for process in $training $server; do
        kill -INT "$process" 2>/dev/null && wait "$process" || true
    done
    rm -r "$folder"
}
trap end EXIT

# The model that answers is trained for long enough to have many weights.
"$AFTERSTATE" train --episodes 3000 --threads 2 --out "$folder/runs/model" --no-progress >/dev/null 2>&1
"$AFTERSTATE" serve --port 0 --runs "$folder/runs" >/dev/null &
server=$!
until [ -s "$folder/runs/.serve.lock" ]; do sleep 0.05; done
address=$(sed 's,http://,,; s,/$,,' "$folder/runs/.serve.lock")

"$AFTERSTATE" train --episodes 1e7 --threads 2 --out "$folder/training" --no-progress >/dev/null 2>&1 &
training=$!
until [ -s "$folder/training/blocks.csv" ]; do sleep 0.2; done
echo 'while quick trains on two threads:'
"$LOAD" "$address" 100 1000 "$seconds"
kill -INT "$training" && wait "$training" || true
training=''
echo 'without it:'
"$LOAD" "$address" 100 1000 "$seconds"
