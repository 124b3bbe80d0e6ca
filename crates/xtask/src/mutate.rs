//! Mutation test of the dialogues: faults injected into a copy of the sources, suite played against each, and
//! a page with the results.
//!
//! `cargo run -p xtask -- mutate` injects one fault after the other; a fault that fewer than two dialogues
//! detect is a gap of the suite. The faults are data: `crates/script/mutants.toml` and
//! `crates/script/mutants-sctp.toml`; `mutate sctp` plays one suite.
//!
//! The copy lies in the system's temporary folder and keeps its build folder between runs.

use crate::say;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Dialogues of one protocol, and the faults that they must detect.
struct Suite {
    /// Name of the suite on the command line.
    name: &'static str,
    /// File with the list of faults.
    faults: &'static str,
    /// Path of the generated page.
    page: &'static str,
    /// Folder of the dialogues.
    dialogues: &'static str,
    /// Code under mutation, as the page names it, and the folder omitted from its paths.
    tested: [&'static str; 2],
}

const SUITES: &[Suite] = &[
    Suite {
        name: "tcp",
        faults: "crates/script/mutants.toml",
        page: "docs/mutants.md",
        dialogues: "crates/script/dialogues",
        tested: ["the sender or the receiver", "crates/transport/src/"],
    },
    Suite {
        name: "sctp",
        faults: "crates/script/mutants-sctp.toml",
        page: "docs/mutants-sctp.md",
        dialogues: "crates/script/sctp",
        tested: ["the SCTP association", "crates/sctp/src/"],
    },
];

/// Copied crates: those under test, their tests, and their dependencies.
const CRATES: &[&str] = &["base", "transport", "path", "host", "sctp", "script"];
/// Number of dialogues that must detect a fault.
const LEAST: usize = 2;

/// A fault that is injected into the sources.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mutant {
    name: String,
    fault: String,
    /// A file, or a folder in which exactly one file contains the text to replace.
    place: String,
    find: String,
    with: String,
}

/// A mutation applied to its file: path and mutated text.
struct Fitted {
    path: String,
    text: String,
}

/// Plays the suite of this name, or all suites; false if a fault was detected by too few dialogues.
pub(crate) fn run(root: &Path, name: Option<&str>) -> Result<bool, String> {
    let suites: Vec<&Suite> =
        SUITES.iter().filter(|suite| name.is_none_or(|name| name == suite.name)).collect();
    if suites.is_empty() {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(format!("there are dialogues of {}", names.join(" and ")));
    }
    let mut good = true;
    for suite in suites {
        good &= suite.run(root)?;
    }
    Ok(good)
}

impl Suite {
    fn run(&self, root: &Path) -> Result<bool, String> {
        let tree = Tree::read(root)?;
        let mutants = read(self.faults, tree.text(self.faults)?)?;
        // All faults that do not apply are reported before the first build.
        let fitted: Vec<Result<Fitted, String>> =
            mutants.iter().map(|m| fit(self.faults, &tree, m)).collect();
        let misfits: Vec<&str> = fitted.iter().filter_map(|f| f.as_ref().err().map(String::as_str)).collect();
        if !misfits.is_empty() {
            return Err(misfits.join("\nerror: "));
        }
        let scratch = Scratch::make(root, &tree)?;
        let began = clock();
        let sound = scratch.play(root, self.dialogues)?;
        let wrong: Vec<&str> =
            sound.iter().filter(|(_, word)| *word != "pass").map(|(id, _)| id.as_str()).collect();
        if !wrong.is_empty() {
            return Err(format!("without any fault these do not pass: {}", wrong.join(", ")));
        }
        say(&format!(
            "{} dialogues pass without a fault ({:.0} s)",
            sound.len(),
            began.elapsed().as_secs_f64()
        ));
        let mut rows = Vec::new();
        let mut broken = 0;
        for (mutant, fitted) in mutants.iter().zip(fitted.into_iter().flatten()) {
            let original = tree.text(&fitted.path)?.to_owned();
            scratch.write(&fitted.path, &fitted.text)?;
            let began = clock();
            let played = scratch.play(root, self.dialogues);
            scratch.write(&fitted.path, &original)?;
            let played = match played {
                Ok(played) => played,
                Err(error) => {
                    say(&format!("error: {}: {error}", mutant.name));
                    broken += 1;
                    continue;
                }
            };
            let caught: Vec<String> =
                played.into_iter().filter(|(_, word)| word != "pass").map(|(id, _)| id).collect();
            let verdict = if caught.len() < LEAST { "TOO FEW" } else { "" };
            let some = caught.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let took = began.elapsed().as_secs_f64();
            say(&format!("{:>3} {:38} {took:>4.0} s  {some} {verdict}", caught.len(), mutant.name));
            rows.push((mutant, fitted.path, caught));
        }
        if broken > 0 {
            return Err(format!("{broken} faults could not be played; {} is as it was", self.page));
        }
        let few = rows.iter().filter(|(_, _, caught)| caught.len() < LEAST).count();
        let page = self.page(sound.len(), &rows);
        std::fs::write(root.join(self.page), page).map_err(|e| format!("cannot write {}: {e}", self.page))?;
        let took = began.elapsed().as_secs_f64();
        say(&format!(
            "{} faults, {few} caught by fewer than {LEAST} dialogues, {took:.0} s; see {}",
            rows.len(),
            self.page
        ));
        Ok(few == 0)
    }
}

/// Reports the duration of a run; no result depends on it.
#[allow(clippy::disallowed_methods, reason = "the time that a tool takes, for its user")]
fn clock() -> Instant {
    Instant::now()
}

/// Faults that no longer apply to their sources, for `check`.
pub(crate) fn misfits(tree: &Tree) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for Suite { faults, .. } in SUITES {
        let Ok(text) = tree.text(faults) else { continue };
        all.extend(read(faults, text)?.iter().filter_map(|m| fit(faults, tree, m).err()));
    }
    Ok(all)
}

fn read(faults: &str, text: &str) -> Result<Vec<Mutant>, String> {
    let table: toml::Table = text.parse().map_err(|e| format!("{faults}: {e}"))?;
    let list = table.get("mutant").and_then(toml::Value::as_array);
    let list = list.ok_or_else(|| format!("{faults}: there is no [[mutant]]"))?;
    let mut out: Vec<Mutant> = Vec::new();
    for entry in list {
        let text = |key: &str| {
            let found = entry.get(key).and_then(toml::Value::as_str).filter(|s| !s.is_empty());
            found.map(str::to_owned).ok_or_else(|| format!("{faults}: a fault has no `{key}`: {entry}"))
        };
        let mutant = Mutant {
            name: text("name")?,
            fault: text("fault")?,
            place: text("in")?,
            find: text("find")?,
            with: text("with")?,
        };
        if out.iter().any(|m| m.name == mutant.name) {
            return Err(format!("{faults}: `{}` is there twice", mutant.name));
        }
        out.push(mutant);
    }
    Ok(out)
}

/// Applies a fault to its file.
fn fit(faults: &str, tree: &Tree, mutant: &Mutant) -> Result<Fitted, String> {
    let within = |path: &str| {
        path == mutant.place || path.strip_prefix(&mutant.place).is_some_and(|rest| rest.starts_with('/'))
    };
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (path, text) in tree.all().filter(|(path, _)| within(path)) {
        found.extend(text.matches(mutant.find.as_str()).map(|_| (path, text)));
    }
    match found[..] {
        [(path, text)] => {
            Ok(Fitted { path: path.to_owned(), text: text.replace(&mutant.find, &mutant.with) })
        }
        [] => Err(format!(
            "{faults}: {} no longer fits: `{}` is not in {}",
            mutant.name,
            mutant.find.trim(),
            mutant.place
        )),
        [(first, _), ..] => Err(format!(
            "{faults}: {} fits {} times in {}, first in {first}; make it unique",
            mutant.name,
            found.len(),
            mutant.place
        )),
    }
}

/// The copy of the sources that is mutated.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Copies the crates that are needed into a workspace.
    fn make(root: &Path, tree: &Tree) -> Result<Scratch, String> {
        // One copy for each working tree, so that concurrent runs do not interfere.
        let real = root.canonicalize().map_err(|e| e.to_string())?;
        let key = real
            .to_string_lossy()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let scratch = Scratch { folder: std::env::temp_dir().join(format!("williwaw-mutants-{key:016x}")) };
        let crates = scratch.folder.join("crates");
        if crates.exists() {
            std::fs::remove_dir_all(&crates).map_err(|e| format!("{}: {e}", crates.display()))?;
        }
        let wanted = |path: &str| CRATES.iter().any(|c| path.starts_with(&format!("crates/{c}/")));
        for (path, text) in tree.all().filter(|(path, _)| wanted(path)) {
            scratch.write(path, text)?;
        }
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).map_err(|e| e.to_string())?;
        scratch.write("Cargo.toml", &bare(&manifest))?;
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).map_err(|e| e.to_string())?;
        scratch.write("Cargo.lock", &lock)?;
        Ok(scratch)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let to = self.folder.join(path);
        let fail = |e: std::io::Error| format!("cannot write {}: {e}", to.display());
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).map_err(fail)?;
        }
        std::fs::write(&to, text).map_err(fail)
    }

    /// Builds the copy and plays the suite: verdict of each dialogue.
    fn play(&self, root: &Path, dialogues: &str) -> Result<BTreeMap<String, String>, String> {
        let cargo = option_env!("CARGO").unwrap_or("cargo");
        let mut build = Command::new(cargo);
        build
            .current_dir(&self.folder)
            .args(["build", "--quiet", "--offline", "-p", "williwaw-script", "--example", "suite"])
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            // A fault may cause warnings.
            .env("CARGO_PROFILE_DEV_DEBUG", "none")
            .env("RUSTFLAGS", "-Awarnings")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        let built = build.output().map_err(|e| format!("cannot run cargo: {e}"))?;
        if !built.status.success() {
            return Err(format!("it does not compile:\n{}", String::from_utf8_lossy(&built.stderr)));
        }
        let suite = self.folder.join("target/debug/examples/suite");
        let folder = root.join(dialogues);
        let played = Command::new(suite).arg(folder).output().map_err(|e| format!("cannot play: {e}"))?;
        let text = String::from_utf8_lossy(&played.stdout).into_owned();
        let lines = text.lines().filter_map(|l| l.split_once(' '));
        let verdicts: BTreeMap<String, String> =
            lines.map(|(word, id)| (id.to_owned(), word.to_owned())).collect();
        if verdicts.is_empty() || !played.status.success() {
            return Err("the suite could not be played".to_owned());
        }
        Ok(verdicts)
    }
}

/// A manifest without default members and Python package, which are not in the copy, and without profiles:
/// compilation takes longer than the tests.
fn bare(manifest: &str) -> String {
    let lines = manifest.lines().take_while(|line| !line.starts_with("[profile"));
    let kept: Vec<&str> = lines.filter(|line| !line.starts_with("default-members")).collect();
    kept.join("\n").replace(", \"python\"]", "]") + "\n"
}

impl Suite {
    fn page(&self, dialogues: usize, rows: &[(&Mutant, String, Vec<String>)]) -> String {
        let Suite { faults, dialogues: folder, tested: [tested, below], name, .. } = self;
        let title = if *name == "tcp" {
            "Detection of injected faults by the dialogues"
        } else {
            "Detection of injected faults by the SCTP dialogues"
        };
        let mut out =
            format!("<!-- Written by `cargo run -p xtask -- mutate`; do not edit. -->\n\n# {title}\n\n");
        let _ = write!(
            out,
            "Each of these {} faults was injected alone into a copy of {tested}, and the {dialogues}\n\
         dialogues of `{folder}` were played against it. At least {LEAST} must detect each. The faults\n\
         are in `{faults}`.\n\n\
         | fault | in | detected by | among them |\n|---|---|---:|---|\n",
            rows.len(),
        );
        for (mutant, path, caught) in rows {
            let some: Vec<String> = caught.iter().take(4).map(|id| format!("`{id}`")).collect();
            let path = path.strip_prefix(below).unwrap_or(path);
            let _ = writeln!(out, "| {} | `{path}` | {} | {} |", mutant.fault, caught.len(), some.join(", "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[mutant]]\nname = \"n\"\nfault = \"f\"\nin = \"crates/a/src\"\nfind = \"x = 1;\"\nwith = \"x = 2;\"\n";

    #[test]
    fn a_fault_is_put_where_it_fits_once() {
        let mutant = &read("faults.toml", ONE).unwrap()[0];
        let tree = Tree::of(&[("crates/a/src/b/c.rs", "let x = 1;\n"), ("crates/a/srcs.rs", "x = 1;")]);
        let fitted = fit("faults.toml", &tree, mutant).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((fitted.path.as_str(), fitted.text.as_str()), ("crates/a/src/b/c.rs", "let x = 2;\n"));
    }

    #[test]
    fn a_fault_that_does_not_fit_is_said() {
        let mutant = &read("faults.toml", ONE).unwrap()[0];
        let error = |files: &[(&str, &str)]| fit("faults.toml", &Tree::of(files), mutant).err().unwrap();
        assert!(error(&[("crates/a/src/b.rs", "x = 3;")]).contains("n no longer fits: `x = 1;`"));
        assert!(error(&[("crates/a/src/b.rs", "x = 1; x = 1;")]).contains("fits 2 times"));
        let twice = [("crates/a/src/b.rs", "x = 1;"), ("crates/a/src/c.rs", "x = 1;")];
        assert!(error(&twice).contains("fits 2 times"));
    }

    #[test]
    fn what_is_wrong_with_the_list_is_said() {
        assert!(read("faults.toml", "x = 1").unwrap_err().contains("no [[mutant]]"));
        assert!(read("faults.toml", &ONE.replace("fault", "faults")).unwrap_err().contains("no `fault`"));
        assert!(read("faults.toml", &format!("{ONE}{ONE}")).unwrap_err().contains("twice"));
    }
}
