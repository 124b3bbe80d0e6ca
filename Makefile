# make        builds williwaw and reproduces the published tables and figures (the main job)
# make test   the whole test suite, formatting, lints, and whether the generated pages are true
# make wheel  the Python package with the program in it, as target/wheels/*.whl (needs Python and pip)
# make test-python  pytest on the wheel, with the oldest and the newest Python from 3.10 that are found
# make install  program, manual pages and completions under PREFIX (/usr/local); make uninstall removes them
# make deb    a Debian package (needs cargo-deb)
# make licences  what is linked, with versions and licences, as a list and as a bill of materials (CycloneDX)
# make docs   writes the generated pages anew, and builds the book where mdBook is installed

CARGO ?= cargo
MAIN_JOB = gprs-eifel/table2 gprs-eifel/table3 gprs-eifel/fig2 gprs-eifel/fig3 gprs-eifel/fig7

# Files that a list of variants declares (docs/adding.md); cargo fmt does not see them.
LISTED = $(wildcard $(addprefix crates/transport/src/tcp/,cc/*.rs spurious/*.rs response/*.rs))

.DEFAULT_GOAL := run
.PHONY: run test test-python wheel install uninstall dist-files licences deb docs mutants toolchain

# Without pictures as PNG, a quarter of the build; `cargo build --release` has them.
run: toolchain
	$(CARGO) run --release --locked -p williwaw --no-default-features -- reproduce $(MAIN_JOB)

# Random cases are the same in every run, so that what is red is red again. `make test PROPTEST_RNG_SEED=$$RANDOM`
# looks at others.
PROPTEST_RNG_SEED ?= 1
export PROPTEST_RNG_SEED

# Arguments of the test binaries: .ci/run asks for `--show-output`, in which tests say that they were skipped.
TEST_ARGS ?=

# What cargo builds; which test binaries there are is read from its messages. The Python package has no tests of cargo's
# and is named nevertheless: its features count, so that its wheel shares what is compiled here.
BUILT = $(or $(CARGO_TARGET_DIR),target)
SUITE = $(CARGO) test --workspace --locked --tests --no-run

test: toolchain
	$(SUITE)
	$(SUITE) -q --message-format=json > $(BUILT)/suite.json
	$(BUILT)/debug/xtask suite $(BUILT)/suite.json $(TEST_ARGS)
	$(CARGO) test --workspace --locked --no-fail-fast --doc
	@if $(CARGO) fmt --version >/dev/null 2>&1; then \
		echo "$(CARGO) fmt --all -- --check" && $(CARGO) fmt --all -- --check && \
		rustfmt --edition 2024 --check $(LISTED); \
	else echo "rustfmt is not installed, so formatting is not checked"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then \
		echo "$(CARGO) clippy" && $(CARGO) clippy --workspace --all-targets --locked -- -D warnings; \
	else echo "clippy is not installed, so the lints are not checked"; fi

# The profile of the wheel: `make wheel PROFILE=dev` is quick to build and slow to run.
PROFILE ?= dist
PYTHON ?= python3

wheel: toolchain
	sh python/wheel.sh "$(PROFILE)" "$(PYTHON)"

test-python: toolchain
	sh python/test.sh "$(PROFILE)"

PREFIX ?= /usr/local
FILES = target/dist-files

# Manual pages and completions as the built program writes them.
dist-files: toolchain
	$(CARGO) build --locked --profile dist -p williwaw -p williwaw-serve
	rm -rf $(FILES) && mkdir -p $(FILES)
	target/dist/williwaw --quiet man --out $(FILES)/man
	target/dist/williwaw completions bash > $(FILES)/williwaw.bash
	target/dist/williwaw completions zsh > $(FILES)/_williwaw
	target/dist/williwaw completions fish > $(FILES)/williwaw.fish
	$(MAKE) licences

licences: toolchain
	mkdir -p $(FILES)
	$(CARGO) tree --locked -p williwaw -e normal --prefix none --format '{p} {l}' | sed 's/ ([^)]*)//g' | sort -u > $(FILES)/licences.txt
	@if $(PYTHON) -c "import json" >/dev/null 2>&1; then \
		CARGO="$(CARGO)" $(PYTHON) python/sbom.py $(FILES)/williwaw.cdx.json; \
	else echo "$(PYTHON) is not here, so only licences.txt is written"; fi

install: dist-files
	install -Dm755 target/dist/williwaw $(DESTDIR)$(PREFIX)/bin/williwaw
	install -Dm755 target/dist/williwaw-serve $(DESTDIR)$(PREFIX)/bin/williwaw-serve
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m644 $(FILES)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -Dm644 $(FILES)/williwaw.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/williwaw
	install -Dm644 $(FILES)/_williwaw $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_williwaw
	install -Dm644 $(FILES)/williwaw.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/williwaw.fish
	install -Dm644 $(FILES)/licences.txt $(DESTDIR)$(PREFIX)/share/doc/williwaw/licences.txt
	[ ! -f $(FILES)/williwaw.cdx.json ] || install -Dm644 $(FILES)/williwaw.cdx.json $(DESTDIR)$(PREFIX)/share/doc/williwaw/williwaw.cdx.json

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/williwaw $(DESTDIR)$(PREFIX)/bin/williwaw-serve $(DESTDIR)$(PREFIX)/share/man/man1/williwaw.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/williwaw-*.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/williwaw \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_williwaw \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/williwaw.fish
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/williwaw

deb: dist-files
	$(CARGO) deb --locked -p williwaw --profile dist --no-build

# Deliberate faults in the sender, and the dialogues that catch them (docs/mutants.md): some minutes.
mutants: toolchain
	$(CARGO) run --quiet -p xtask -- mutate

docs: toolchain
	$(CARGO) run --quiet -p xtask -- generate
	@if mdbook --version >/dev/null 2>&1; then mdbook build && echo "the book is target/book/index.html"; \
	else echo "mdbook is not installed, so the book is not built; docs/README.md is its first page"; fi

# One clear sentence when Rust is missing or too old.
toolchain:
	@need=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	have=$$($(CARGO) --version 2>/dev/null | sed -n 's/^cargo \([0-9]*\.[0-9]*\).*/\1/p'); \
	if [ -z "$$have" ]; then \
		echo "williwaw needs Rust $$need or newer: install the stable toolchain with rustup (or your system's cargo and rustc)." >&2; exit 1; \
	fi; \
	if [ "$$(printf '%s\n%s\n' "$$need" "$$have" | sort -t. -k1,1n -k2,2n | head -n 1)" != "$$need" ]; then \
		echo "williwaw needs Rust $$need or newer, and this is $$have: run \`rustup update stable\`." >&2; exit 1; \
	fi
