#!/usr/bin/env bash
# Measurements that need an idle machine, each with its intervals or its single times:
#
#   benchmarks/idle.sh cores MODEL        one board by a search on one thread and on all of them
#   benchmarks/idle.sh pause OLD NEW      the pause of a checkpoint of two programs, in turn
#   benchmarks/idle.sh downgrade MODEL    strength with and without downgrading
#   benchmarks/idle.sh judge FILE         the time of judging a file of records
#
# AFTERSTATE is the program, target/release/afterstate by default. ROUNDS is how often (5).
set -euo pipefail
program=${AFTERSTATE:-target/release/afterstate}
rounds=${ROUNDS:-5}

# Seconds that a command takes; its output goes to /dev/null.
seconds() {
    local begun ended
    begun=$(date +%s%N)
    "$@" > /dev/null
    ended=$(date +%s%N)
    awk -v ns="$((ended - begun))" 'BEGIN { printf "%.2f\n", ns / 1e9 }'
}

# Boards of the middle of a game, with 3 to 8 empty cells.
boards=(
    1024,512,8,2/256,64,4,0/2,0,0,0/0,2,0,0
    2048,256,64,2/128,32,8,4/4,8,2,0/0,2,0,0
    4,16,512,1024/2,8,64,256/0,4,2,16/0,0,2,4
    4096,1024,128,8/64,32,16,4/2,8,4,0/0,0,2,0
)

case ${1:-} in
cores)
    model=${2:?a model}
    # Reading the model takes the same time in both.
    for round in $(seq "$rounds"); do
        for board in "${boards[@]}"; do
            for threads in 1 0; do
                search=(analyze "$board" --model "$model" --search 5ply --threads "$threads" -q)
                echo "round $round, $board, threads $threads (0: all): $(seconds "$program" "${search[@]}") s"
            done
        done
    done
    for threads in 1 0; do
        search=(analyze "${boards[0]}" --model "$model" --threads "$threads" --search 2ply -q)
        echo "reading the model: $(seconds "$program" "${search[@]}") s"
    done
    ;;
pause)
    old=${2:?the program before} new=${3:?the program after}
    folder=$(mktemp -d)
    trap 'rm -r "$folder"' EXIT
    # The time of a run with a checkpoint a second minus that of a run with none, over the number of
    # checkpoints (`checkpoint` events). At most 1.2 times that of before is wanted.
    for round in $(seq "$rounds"); do
        for program in "$old" "$new"; do
            for every in 1 3600; do
                train=(train --episodes 30000 --threads 1 --seed 1 -q
                    --set "checkpoint_seconds=$every" --out "$folder/run")
                echo "round $round, $program, a checkpoint every $every s: $(seconds "$program" "${train[@]}") s"
                rm -r "$folder/run"
            done
        done
    done
    ;;
downgrade)
    model=${2:?a model}
    # The model should have seen boards with this tile seldom, and reach it by a search often.
    "$program" compare "$model" "$model" --search 2ply --downgrade "${TILE:-16384}" --plain-b \
        --games "${GAMES:-2000}" --sequential
    ;;
judge)
    records=${2:?a file of records}
    for round in $(seq "$rounds"); do
        echo "round $round: $(seconds "$program" judge "$records") s"
    done
    ;;
*)
    sed -n '2,8p' "$0"
    exit 2
    ;;
esac
