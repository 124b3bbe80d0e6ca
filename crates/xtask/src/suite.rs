//! Runner of test binaries in parallel lanes: those that wait for real clocks beside those that compute.
//!
//! `cargo test` runs one binary after the other, and waits for real clocks most of the time. The list of
//! binaries comes from `cargo test --no-run --message-format=json`. Binaries in real time run three at once at
//! normal priority; all others run one by one at a lower priority with one thread each. A lane without
//! further binaries in real time takes binaries of the other kind. Each binary gets the working folder, the
//! variables and the line `Running ...` of `cargo test`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Packages whose integration tests drive real clocks: sockets, namespaces, TUN devices, a browser.
const REAL_TIME: [&str; 5] = ["emulate", "measure", "netns", "serve", "uml"];

/// Integration tests of other packages that drive real clocks.
const REAL_TIME_TESTS: [(&str, &str); 27] = [
    ("analyse", "ends"),
    ("analyse", "live"),
    ("cli", "agent"),
    ("cli", "apart"),
    ("cli", "away"),
    ("cli", "clamp"),
    ("cli", "emulate"),
    ("cli", "flush"),
    ("cli", "gate"),
    ("cli", "gprs_elements"),
    ("cli", "kill"),
    ("cli", "link_process"),
    ("cli", "lives"),
    ("cli", "numbers"),
    ("cli", "outputs"),
    ("cli", "phone"),
    ("cli", "programs"),
    ("cli", "sctp"),
    ("cli", "serial"),
    ("cli", "shell"),
    ("cli", "taps"),
    ("cli", "timing"),
    ("cli", "wire"),
    ("radio", "osmo_core"),
    ("radio", "osmo_pcu"),
    ("radio", "osmo_pcu_egprs"),
    ("radio", "station"),
];

/// Number of binaries in real time that run at once: each takes a fifth of a core.
const AT_ONCE: usize = 3;

/// Number of binaries in the closing list of durations.
const LISTED: usize = 12;

/// A test binary.
#[derive(Debug, PartialEq)]
struct Binary {
    /// Folder of the package, in which its tests start.
    folder: PathBuf,
    /// Source of the target, relative to the folder, such as `tests/gate.rs`.
    source: PathBuf,
    executable: PathBuf,
    /// Path of the file with its output.
    log: PathBuf,
    /// Arguments of `cargo test` that run the binary alone.
    alone: String,
    real_time: bool,
}

/// Runs the binaries in the messages of the file `list`, each with `args`. Writes the output of each to
/// `out`, then the names of failed ones. False if one failed.
pub(crate) fn run(list: &Path, args: &[String], out: &mut (impl Write + Send)) -> Result<bool, String> {
    let messages =
        std::fs::read_to_string(list).map_err(|e| format!("cannot read {}: {e}", list.display()))?;
    let logs = list.with_extension("logs");
    std::fs::create_dir_all(&logs).map_err(|e| format!("cannot make {}: {e}", logs.display()))?;
    let all = binaries(&messages, &logs)?;
    if all.is_empty() {
        return Err(format!("{} names no test binary", list.display()));
    }
    let (waiting, computing): (Vec<_>, Vec<_>) = all.into_iter().partition(|binary| binary.real_time);
    let shared = Mutex::new((Vec::new(), Vec::new(), out));
    let lane = |next: &AtomicUsize, lane: &[Binary]| {
        while let Some(binary) = lane.get(next.fetch_add(1, Ordering::Relaxed)) {
            #[expect(clippy::disallowed_methods, reason = "wall time of a test binary, for its reader")]
            let begun = Instant::now();
            let (passed, output) = outcome(binary, args);
            let (failed, times, out) = &mut *shared.lock().expect("no lane panics");
            // There is no other output to report a failure to.
            let _ =
                writeln!(out, "     Running {} ({})", binary.source.display(), binary.executable.display());
            let _ = out.write_all(&output);
            let seconds = begun.elapsed().as_secs_f64();
            let _ = writeln!(out, "binary finished in {seconds:.1} s\n");
            times.push((seconds, binary.alone.clone()));
            if !passed {
                failed.push(binary.alone.clone());
            }
        }
    };
    let (next_waiting, next_computing) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                lane(&next_waiting, &waiting);
                lane(&next_computing, &computing);
            });
        }
        lane(&next_computing, &computing);
    });
    let (failed, mut times, out) = shared.into_inner().expect("no lane panicked");
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let _ = writeln!(out, "binaries that took longest:");
    for (seconds, alone) in times.iter().take(LISTED) {
        let _ = writeln!(out, "{seconds:>8.1} s  {alone}");
    }
    for alone in &failed {
        let _ = writeln!(out, "error: test failed, to rerun pass `{alone}`");
    }
    Ok(failed.is_empty())
}

/// Runs one binary to its end: whether it passed, and its output.
fn outcome(binary: &Binary, args: &[String]) -> (bool, Vec<u8>) {
    let mut command = if binary.real_time {
        Command::new(&binary.executable)
    } else {
        let mut nice = Command::new("nice");
        nice.args(["-n", "10"]).arg(&binary.executable).env("RUST_TEST_THREADS", "1");
        nice
    };
    command
        .args(args)
        .current_dir(&binary.folder)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .env("CARGO", std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .stdin(Stdio::null());
    // A file instead of a pipe: a process that a test left behind would keep a pipe open.
    let written = std::fs::File::create(&binary.log).and_then(|log| {
        let status = command.stdout(log.try_clone()?).stderr(log).status()?;
        Ok((status, std::fs::read(&binary.log)?))
    });
    match written {
        Ok((status, output)) if status.code().is_some() => (status.success(), output),
        Ok((status, mut output)) => {
            output.extend_from_slice(format!("{status}\n").as_bytes());
            (false, output)
        }
        Err(e) => (false, format!("cannot run {}: {e}\n", binary.executable.display()).into_bytes()),
    }
}

/// Test binaries in cargo's messages, one JSON document per line.
fn binaries(messages: &str, logs: &Path) -> Result<Vec<Binary>, String> {
    let mut all = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: serde_json::Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let word = |pointer: &str| message.pointer(pointer).and_then(serde_json::Value::as_str);
        let is_test = message.pointer("/profile/test") == Some(&true.into());
        let (Some(executable), Some(manifest), Some(source), Some(name), Some(kind), true) = (
            word("/executable"),
            word("/manifest_path"),
            word("/target/src_path"),
            word("/target/name"),
            word("/target/kind/0"),
            is_test,
        ) else {
            continue;
        };
        let folder = Path::new(manifest).parent().unwrap_or(Path::new("/")).to_owned();
        let package = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let which = if kind == "lib" { "--lib".to_owned() } else { format!("--{kind} {name}") };
        let live =
            REAL_TIME.contains(&package.as_str()) || REAL_TIME_TESTS.contains(&(package.as_str(), name));
        all.push(Binary {
            source: Path::new(source).strip_prefix(&folder).unwrap_or(Path::new(source)).to_owned(),
            executable: executable.into(),
            log: logs.join(format!("{package}-{kind}-{name}.log")),
            alone: format!("--manifest-path {manifest} {which}"),
            real_time: kind == "test" && live,
            folder,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = concat!(
        r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/uml/Cargo.toml","target":{"kind":["test"],"name":"live","src_path":"/w/crates/uml/tests/live.rs"},"profile":{"test":true},"executable":"/t/live-1"}"#,
        "\n",
        r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/uml/Cargo.toml","target":{"kind":["lib"],"name":"uml","src_path":"/w/crates/uml/src/lib.rs"},"profile":{"test":true},"executable":"/t/uml-1"}"#,
        "\n",
        r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/uml/Cargo.toml","target":{"kind":["lib"],"name":"uml","src_path":"/w/crates/uml/src/lib.rs"},"profile":{"test":false},"executable":null}"#,
        "\n",
        r#"{"reason":"build-finished","success":true}"#,
    );

    #[test]
    fn integration_tests_with_real_clocks_have_a_lane_of_their_own() {
        let all = binaries(MESSAGES, Path::new("/l")).unwrap();
        let seen: Vec<_> =
            all.iter().map(|b| (b.source.to_str().unwrap(), b.alone.as_str(), b.real_time)).collect();
        assert_eq!(
            seen,
            [
                ("tests/live.rs", "--manifest-path /w/crates/uml/Cargo.toml --test live", true),
                ("src/lib.rs", "--manifest-path /w/crates/uml/Cargo.toml --lib", false),
            ]
        );
        assert_eq!(all[0].log, Path::new("/l/uml-test-live.log"));
    }

    #[test]
    fn a_failure_of_either_lane_is_a_failure_and_names_the_binary() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("tests.json");
        let line = |kind: &str, executable: &str| {
            format!(
                r#"{{"manifest_path":"{0}/uml/Cargo.toml","target":{{"kind":["{kind}"],"name":"x","src_path":"{0}/uml/x.rs"}},"profile":{{"test":true}},"executable":"{executable}"}}"#,
                folder.path().display()
            )
        };
        std::fs::create_dir(folder.path().join("uml")).unwrap();
        for (lines, passes) in [
            ([line("lib", "/bin/true"), line("test", "/bin/true")], true),
            ([line("lib", "/bin/false"), line("test", "/bin/true")], false),
            ([line("lib", "/bin/true"), line("test", "/bin/false")], false),
            ([line("lib", "/bin/true"), line("test", "/no/such/file")], false),
        ] {
            std::fs::write(&list, lines.join("\n")).unwrap();
            let mut out = Vec::new();
            assert_eq!(run(&list, &[], &mut out).unwrap(), passes, "{lines:?}");
            assert_eq!(String::from_utf8(out).unwrap().contains("to rerun pass"), !passes);
        }
        std::fs::write(&list, "").unwrap();
        assert!(run(&list, &[], &mut Vec::new()).unwrap_err().contains("names no test binary"));
    }
}
