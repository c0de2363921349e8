#!/bin/sh
# All tests, as several runs of pytest side by side: run_tests.sh PYTEST [ARGUMENT…]
#
# Conversations with the simulated device take the time that talking takes, and mostly wait; all other
# tests compute. So three runs of conversations go on at a time, and two of the others beside them. All
# have the same claim on the processors: with less, the others would get next to nothing of a machine
# that another program keeps busy. With ARGUMENTs it is one plain run of them.
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

start others-1 tests/unit/providers tests/unit/devices tests/contract tests/models tests/e2e/a2a \
    tests/e2e/test_api_document.py
start others-2 tests --ignore=tests/e2e --ignore=tests/load --ignore=tests/chaos --ignore=tests/session \
    --ignore=tests/unit/providers --ignore=tests/unit/devices --ignore=tests/contract --ignore=tests/models
start conversations-1 tests/e2e/test_[a-h]*.py tests/session --ignore=tests/e2e/test_api_document.py \
    --ignore=tests/e2e/test_drain.py
start conversations-2 tests/load tests/chaos firmware-test-client/tests tests/e2e/test_[s-z]*.py
# One of them is shown while it runs.
{
    "$pytest" -p no:cacheprovider tests/e2e/test_drain.py tests/e2e/test_[i-r]*.py </dev/null
    echo $? >"$here/conversations-3.status"
} 2>&1 | tee "$here/conversations-3"
wait
running=

for name in conversations-1 conversations-2 others-1 others-2; do
    cat "$here/$name"
done
status=0
for name in conversations-1 conversations-2 conversations-3 others-1 others-2; do
    its=$(cat "$here/$name.status")
    [ "$status" -ne 0 ] || status=$its
done
echo
for name in conversations-1 conversations-2 conversations-3 others-1 others-2; do
    echo "$name: $(tail -n 1 "$here/$name")"
done
exit "$status"
