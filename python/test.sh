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
for python in $found; do
    if [ "$python" != "$oldest" ] && [ "$python" != "$newest" ]; then
        echo "SKIPPED: $python is neither the oldest nor the newest"
        continue
    fi
    echo "== $python"
    venv=$target/python-test
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install -q pytest "$target"/wheels/*.whl
    # What the package can work with and does not require. Without it the tests that need it skip.
    "$venv/bin/pip" install -q pyarrow pandas matplotlib 'dask[distributed]' mypy jsonschema marimo ||
        echo "SKIPPED in part: pyarrow, pandas, matplotlib, Dask, mypy, jsonschema or marimo could not be installed"
    # From a folder of its own, so that the wheel is tested and not the sources.
    # The tests find the wheel and not the sources: neither folder of theirs holds a package of its name.
    "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider --import-mode=append --rootdir python/tests python/tests
    [ "$oldest" != "$newest" ] || break
done
