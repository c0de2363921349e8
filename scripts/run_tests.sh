#!/bin/sh
# All tests, as two runs of pytest side by side: run_tests.sh PYTEST [ARGUMENT…]
#
# Conversations with the simulated device take the time that talking takes, and mostly wait; all other
# tests compute. So the others run beside them, with less claim on the processors, and the whole takes
# about as long as the conversations alone. With ARGUMENTs it is one plain run of them.
set -u

pytest=$1
shift
if [ $# -gt 0 ]; then
    exec "$pytest" "$@"
fi

here=$(mktemp -d)
others=
trap '[ -z "$others" ] || kill "$others" 2>/dev/null; rm -rf "$here"' EXIT

nice -n 10 "$pytest" -p no:cacheprovider --ignore=tests/e2e --ignore=tests/load \
    --ignore=tests/chaos --ignore=firmware-test-client/tests </dev/null >"$here/others" 2>&1 &
others=$!

{
    "$pytest" tests/e2e tests/load tests/chaos firmware-test-client/tests
    echo $? >"$here/status"
} | tee "$here/conversations"
status=$(cat "$here/status")

wait "$others"
others_status=$?
others=
cat "$here/others"

echo
echo "conversations: $(tail -n 1 "$here/conversations")"
echo "all others:    $(tail -n 1 "$here/others")"
[ "$status" -ne 0 ] || status=$others_status
exit "$status"
