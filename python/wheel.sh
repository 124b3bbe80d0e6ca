#!/bin/sh
# Builds the wheel of the Python package, with the program in it: wheel.sh PROFILE PYTHON. The file is target/wheels/*.whl.
# With PROFILE dev everything but the package itself is what `make test` has compiled (decision 0117).
set -eu
cd "$(dirname "$0")/.."
profile=$1
python=$2
case $profile in dev) built=debug ;; *) built=$profile ;; esac
target=${CARGO_TARGET_DIR:-target}

tools=$target/python-tools
if [ ! -x "$tools/bin/maturin" ]; then
    "$python" -m venv "$tools" || { echo "the wheel needs $python with its venv module" >&2; exit 3; }
    "$tools/bin/pip" install -q 'maturin>=1.9,<2' uv || { echo "maturin could not be installed" >&2; exit 3; }
fi
if [ "$profile" = dev ]; then
    # As in python/shared-cargo, which maturin calls in place of cargo.
    cargo build -q --locked --workspace --bin williwaw --test fuzz_corpus
    CARGO="$PWD/python/shared-cargo"
    export CARGO
else
    cargo build -q --locked --profile "$profile" -p williwaw
fi
mkdir -p python/williwaw.data/scripts
cp "$target/$built/williwaw" python/williwaw.data/scripts/williwaw
"$tools/bin/maturin" build -q --locked --profile "$profile" -m python/Cargo.toml --out "$target/wheels"
ls -l "$target"/wheels/*.whl
