//! Validation of the `reach` column of the feature catalogue (`docs/features.toml`): keys, TCP options, metrics and
//! verbs in backticks exist; flags are not checked.

use crate::Findings;
use crate::features::Features;
use std::collections::BTreeSet;
use transport::tcp::Config;

/// The verbs of the command line.
const VERBS: &[&str] = &[
    "run",
    "emulate",
    "agent",
    "shell",
    "trigger",
    "plot",
    "analyse",
    "measure",
    "check",
    "compare",
    "new",
    "schema",
    "presets",
    "import",
    "reproduce",
    "script",
    "completions",
    "doctor",
    "linux",
    "man",
    "merge",
    "print",
    "serve",
    "wire",
];

/// Reports words that are no key, option, metric or verb.
pub(crate) fn check(features: &Features, findings: &mut Findings) {
    let reference = scenario::schema::reference();
    let known: BTreeSet<&str> = reference.split(|c: char| !is_key(c)).chain(VERBS.iter().copied()).collect();
    for feature in features.all.iter().filter(|f| f.reachable()) {
        // Every second part is between backticks.
        for token in feature.reach.split('`').skip(1).step_by(2) {
            if let Some(message) = wrong(token, &known) {
                findings.errors.push(format!("docs/features.toml: {}: {message}", feature.id));
            }
        }
    }
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Defect of `key`, `key = value` or `verb --flag`; values alone are not checked.
fn wrong(token: &str, known: &BTreeSet<&str>) -> Option<String> {
    if !token.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let (key, value) = token.split_once('=').map_or((token, None), |(k, v)| (k, Some(v)));
    let key = key.split_whitespace().next().unwrap_or_default();
    if Config::OPTIONS.iter().any(|o| o.key == key) {
        let value = value?.trim().trim_matches('"');
        return Config::default().set(key, value).err().map(String::from);
    }
    let unknown = key.split('.').find(|part| !known.contains(part))?;
    Some(format!("`{token}` leads nowhere: there is no `{unknown}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reach: &str) -> Vec<String> {
        let text =
            format!("[groups]\nNS = \"S\"\n[features]\nNS-01 = {{ name = \"x\", reach = '{reach}' }}\n");
        let mut findings = Findings::default();
        check(&crate::features::read(&text).unwrap(), &mut findings);
        findings.errors
    }

    #[test]
    fn what_there_is_can_be_reached() {
        let reaches = [
            r#"`gate.at = "before-queue"`, `hop.queue`, several `flow`"#,
            r#"`recovery = "reno"`, `rto.min = "1 s"`, `goodput_ratio`, `run --out`"#,
            r#"`{ down = ..., up = ... }`, `"uniform(3 s, 15 s)"`"#,
        ];
        for reach in reaches {
            assert_eq!(of(reach), [""; 0]);
        }
    }

    #[test]
    fn what_there_is_not_is_told() {
        assert!(of("`gate.colour`")[0].contains("there is no `colour`"));
        assert!(of("`recovery = \"vegas\"`")[0].contains("vegas"));
        assert!(of("`fly`")[0].contains("NS-01"));
    }
}
