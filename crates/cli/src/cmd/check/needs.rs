//! Programs that a scenario needs on this host (the PCU of a real GPRS network): path, Debian package,
//! whether installed, as text and JSON.

use scenario::Model;
use scenario::model::radio::BearerKind;
use serde_json::{Value, json};
use std::path::Path;

/// A program that a scenario needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Path relative to `/`.
    path: &'static str,
    /// Debian package of the program.
    package: &'static str,
    installed: bool,
}

/// Programs of a model, each once; `root` is the directory in which they are looked for.
pub(super) fn of(model: &Model, root: &Path) -> Vec<Need> {
    let mut all: Vec<Need> = Vec::new();
    for bearer in &model.bearers {
        let BearerKind::Gprs(of) = &bearer.kind else { continue };
        let Some(program) = of.pcu else { continue };
        if all.iter().all(|need| need.path != program.path()) {
            let installed = root.join(program.path()).is_file();
            all.push(Need { path: program.path(), package: program.package(), installed });
        }
    }
    all
}

/// Text about the programs; empty if none is needed.
pub(super) fn words(all: &[Need]) -> String {
    let line = |need: &Need| {
        let Need { path, package, installed } = need;
        if *installed {
            format!("  /{path}\n")
        } else {
            format!(
                "  /{path}, which is missing and required for a run: install the package {package}, or leave \
                 `pcu` out\n"
            )
        }
    };
    let lines: String = all.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\nNeeds\n{lines}") }
}

/// JSON of all needed programs, installed or missing.
pub(super) fn document(all: &[Need]) -> Value {
    let one = |need: &Need| json!({ "program": format!("/{}", need.path), "package": need.package, "installed": need.installed });
    Value::Array(all.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(pcu: &str, root: &Path) -> Vec<Need> {
        let text = format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n[hop.radio.gprs]\n{pcu}\
             errors = {{ constant = {{ rate = 0.05 }} }}\n[[flow]]\nname = \"download\"\nfrom = \"server\"\n\
             to = \"phone\"\napp = {{ bulk = {{ bytes = \"10 kB\" }} }}\n"
        );
        match scenario::read("needs", text.as_bytes(), &scenario::NoFiles) {
            Ok(scenario) => of(scenario.first(), root),
            Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
        }
    }

    /// Reports a missing osmo-pcu before the run, with its package, or names the present one.
    #[test]
    fn a_missing_pcu_is_reported() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(words(&needs("", root.path())), "");
        let missing = needs("pcu = \"osmo\"\n", root.path());
        assert!(words(&missing).contains("install the package osmo-pcu"), "{}", words(&missing));
        assert_eq!(document(&missing)[0]["installed"], false);
        std::fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        std::fs::write(root.path().join("usr/bin/osmo-pcu"), "").unwrap();
        let found = needs("pcu = \"osmo\"\n", root.path());
        assert_eq!(words(&found), "\nNeeds\n  /usr/bin/osmo-pcu\n");
        assert_eq!(document(&found)[0]["package"], "osmo-pcu");
    }
}
