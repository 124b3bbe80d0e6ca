#!/bin/sh
# Tests the wheel with the oldest and the newest Python from 3.10 that are found; others are named: test.sh PROFILE.
# Every Python gets a fresh virtual environment under target/, with what the tests can use where it can be installed.
set -eu
cd "$(dirname "$0")/.."
profile=$1
target=${CARGO_TARGET_DIR:-target}

found=""
for minor in 10 11 12 13 14 15; do
    for python in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor."*/bin/python; do
        if "$python" -c "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, $minor))" 2>/dev/null; then
            found="$found $python"
            break
        fi
    done
done
if [ -z "$found" ]; then
    echo "SKIPPED: no Python from 3.10 with venv and pip is here, so the Python package is not tested"
    exit 0
fi
oldest=${found# }
oldest=${oldest%% *}
newest=${found##* }
rm -rf "$target/wheels"
sh python/wheel.sh "$profile" "$newest" || { [ $? -eq 3 ] && echo "SKIPPED: the wheel cannot be built here" && exit 0; exit 1; }

# A fresh virtual environment with the wheel, and pytest in it: try NAME PYTHON. Output goes to a file.
try() {
    venv=$target/python-test/$1
    "$2" -m venv "$venv"
    # uv installs in seconds what takes pip a minute.
    install() { "$target/python-tools/bin/uv" pip install -q --python "$venv/bin/python" "$@"; }
    install pytest "$target"/wheels/*.whl
    # What the package can work with and does not require. Without it the tests that need it skip.
    install pyarrow pandas matplotlib 'dask[distributed]' mypy jsonschema marimo ||
        echo "SKIPPED in part: pyarrow, pandas, matplotlib, Dask, mypy, jsonschema or marimo could not be installed"
    # Ray starts a dozen processes: once is enough.
    [ "$1" != newest ] || install ray || echo "SKIPPED in part: Ray could not be installed"
    # The tests find the wheel and not the sources: neither folder of theirs holds a package of its name.
    "$venv/bin/python" -m pytest -q -rs --durations=5 -p no:cacheprovider --import-mode=append \
        --rootdir python/tests python/tests
}

rm -rf "$target/python-test"
mkdir -p "$target/python-test"
# Both at once: the tests wait for other processes most of their time.
try oldest "$oldest" >"$target/python-test/oldest.log" 2>&1 &
first=$!
if [ "$oldest" != "$newest" ]; then
    try newest "$newest" >"$target/python-test/newest.log" 2>&1 &
    second=$!
fi
for python in $found; do
    [ "$python" = "$oldest" ] || [ "$python" = "$newest" ] || echo "SKIPPED: $python is neither the oldest nor the newest"
done
status=0
echo "== $oldest"
wait "$first" || status=1
cat "$target/python-test/oldest.log"
if [ "$oldest" != "$newest" ]; then
    echo "== $newest"
    wait "$second" || status=1
    cat "$target/python-test/newest.log"
fi
exit "$status"
