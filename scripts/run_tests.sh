#!/usr/bin/env bash
# All tests, as two runs of pytest side by side: PYTEST [ARGUMENTS…]
#
# Conversations with the simulated device take the time that talking takes, and mostly wait; all other
# tests compute. So the others run beside them, with less claim on the processors, and the whole takes
# about as long as the conversations alone. With ARGUMENTS it is one plain run of them.
set -uo pipefail

pytest=$1
shift
if [ $# -gt 0 ]; then
    exec "$pytest" "$@"
fi

live=(tests/e2e tests/load tests/chaos firmware-test-client/tests)
ignored=("${live[@]/#/--ignore=}")

log=$(mktemp)
nice -n 10 "$pytest" -p no:cacheprovider "${ignored[@]}" </dev/null >"$log" 2>&1 &
others=$!
trap 'kill "$others" 2>/dev/null; rm -f "$log"' EXIT

"$pytest" "${live[@]}" | tee "$log.live"
live_status=${PIPESTATUS[0]}
wait "$others"
others_status=$?
cat "$log"

echo
echo "conversations: $(tail -n 1 "$log.live")"
echo "all others:    $(tail -n 1 "$log")"
rm -f "$log.live"
exit $((live_status ? live_status : others_status))
