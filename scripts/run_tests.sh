#!/bin/sh
# All tests, as several runs of pytest side by side, and mypy: run_tests.sh BIN [ARGUMENT…]
#
# Conversations with the simulated device take the time that talking takes, and mostly wait; all other
# tests compute. So four workers of conversations go on at a time, which pytest-xdist keeps busy, and
# three runs of the others beside them. All have the same claim on the processors: with less, the others
# would get next to nothing of a machine that another program keeps busy. The others are three plain runs,
# since each worker of pytest-xdist collects all tests of its run, and that takes 20 seconds for them.
# mypy takes a processor for a minute while the conversations mostly wait. With ARGUMENTs it is one plain
# run of pytest, behind mypy. tests/load and tests/chaos are left to `make test-load`, tests/trace to
# `make test-trace`.
set -u

bin=$1
shift
if [ $# -gt 0 ]; then
    "$bin/mypy" || exit
    exec "$bin/pytest" "$@"
fi
# Once, and not in each of seven processes, some of which may be told not to keep it.
"$bin/python" -m compileall -q -j 0 vixio firmware-test-client/firmware_test_client

here=$(mktemp -d)
running=
trap '[ -z "$running" ] || kill $running 2>/dev/null; rm -rf "$here"' EXIT

# start NAME COMMAND…: a command in the background; its output and status are kept as NAME.
start() {
    name=$1
    shift
    {
        "$@" </dev/null >"$here/$name" 2>&1
        echo $? >"$here/$name.status"
    } &
    running="$running $!"
}

pytest="$bin/pytest -p no:cacheprovider"
start types "$bin/mypy"
# The conversations of A2A and the questions from the API's document compute as well.
start others-1 $pytest tests/unit/providers tests/unit/transports tests/unit/examples tests/models \
    tests/e2e/a2a tests/e2e/test_api_document.py
start others-2 $pytest tests/contract tests/unit/tools
start others-3 $pytest tests --ignore=tests/e2e --ignore=tests/load --ignore=tests/chaos --ignore=tests/session \
    --ignore=tests/unit/providers --ignore=tests/contract --ignore=tests/models \
    --ignore=tests/trace --ignore=tests/unit/tools --ignore=tests/unit/examples --ignore=tests/unit/transports
# This one is shown while it runs.
{
    $pytest --numprocesses 4 --dist loadfile \
        --ignore=tests/e2e/a2a --ignore=tests/e2e/test_api_document.py \
        tests/e2e tests/session firmware-test-client/tests </dev/null
    echo $? >"$here/conversations.status"
} 2>&1 | tee "$here/conversations"
wait
running=

for name in types others-1 others-2 others-3; do
    cat "$here/$name"
done
status=0
for name in types conversations others-1 others-2 others-3; do
    its=$(cat "$here/$name.status")
    [ "$status" -ne 0 ] || status=$its
done
echo
for name in types conversations others-1 others-2 others-3; do
    echo "$name: $(tail -n 1 "$here/$name")"
done
exit "$status"
