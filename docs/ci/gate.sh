#!/usr/bin/env bash
# Script of the action: inputs come as variables, so that none of them is parsed by the shell.
set -euo pipefail
williwaw=${WILLIWAW:-williwaw}
summary=${GITHUB_STEP_SUMMARY:-/dev/stderr}

# Real time needs rights that few runners give.
doctor() {
    if ! "$williwaw" doctor; then
        echo "::error::this runner offers no TUN device or no namespaces: use --device /dev/net/tun --cap-add NET_ADMIN, or a runner of your own"
        exit 3
    fi
}

if [ -n "${BEFORE:-}" ]; then
    status=0
    real=()
    if [ "${EMULATE:-false}" = true ]; then
        doctor
        real=(--emulate)
    fi
    "$williwaw" compare "$BEFORE" "${AFTER:?the input 'after' is missing}" "${real[@]}" \
        --metrics "${METRIC:-download_time_s}" --no-worse="${SHARE:-10%}" \
        --reps "${REPETITIONS:-20}" --max-reps "${BOUND:-320}" \
        --junit "${JUNIT:-williwaw-gate.xml}" --summary "$summary" --yes || status=$?
    case $status in
        0) echo "williwaw: no worse than ${SHARE:-10%}" ;;
        1) echo "::error::williwaw: worse than ${SHARE:-10%}" ;;
        5) echo "::error::williwaw: undecided within ${BOUND:-320} repetitions" ;;
        *) echo "::error::williwaw: exit code $status" ;;
    esac
    exit "$status"
fi

if [ -n "${RUN:-}" ]; then
    doctor
    exec "$williwaw" shell --preset "${PRESET:-lte}" -- bash -c "$RUN"
fi

echo "::error::give the inputs 'before' and 'after', or 'run'"
exit 2
