#!/bin/sh
# All tests, as several runs of pytest side by side: run_tests.sh PYTEST [ARGUMENT…]
#
# Conversations with the simulated device take the time that talking takes, and mostly wait; all other
# tests compute. So four workers of conversations go on at a time, which pytest-xdist keeps busy, and
# two runs of the others beside them. All have the same claim on the processors: with less, the others
# would get next to nothing of a machine that another program keeps busy. The others are two plain runs,
# since each worker of pytest-xdist collects all tests of its run, and that takes 20 seconds for them.
# With ARGUMENTs it is one plain run of them.
set -u

pytest=$1
shift
if [ $# -gt 0 ]; then
    exec "$pytest" "$@"
fi

here=$(mktemp -d)
running=
trap '[ -z "$running" ] || kill $running 2>/dev/null; rm -rf "$here"' EXIT

# start NAME ARGUMENT…: a run in the background; its output and status are kept as NAME.
start() {
    name=$1
    shift
    {
        "$pytest" -p no:cacheprovider "$@" </dev/null >"$here/$name" 2>&1
        echo $? >"$here/$name.status"
    } &
    running="$running $!"
}

# The conversations of A2A and the questions from the API's document compute as well.
start others-1 tests/unit/providers tests/contract tests/models tests/e2e/a2a tests/e2e/test_api_document.py
start others-2 tests --ignore=tests/e2e --ignore=tests/load --ignore=tests/chaos --ignore=tests/session \
    --ignore=tests/unit/providers --ignore=tests/contract --ignore=tests/models
# This one is shown while it runs.
{
    "$pytest" -p no:cacheprovider --numprocesses 4 --dist loadfile \
        --ignore=tests/e2e/a2a --ignore=tests/e2e/test_api_document.py \
        tests/e2e tests/load tests/chaos tests/session firmware-test-client/tests </dev/null
    echo $? >"$here/conversations.status"
} 2>&1 | tee "$here/conversations"
wait
running=

for name in others-1 others-2; do
    cat "$here/$name"
done
status=0
for name in conversations others-1 others-2; do
    its=$(cat "$here/$name.status")
    [ "$status" -ne 0 ] || status=$its
done
echo
for name in conversations others-1 others-2; do
    echo "$name: $(tail -n 1 "$here/$name")"
done
exit "$status"
