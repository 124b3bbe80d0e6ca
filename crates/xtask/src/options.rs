//! Generated reference page of TCP options and profiles, from `transport::tcp::Config`: kind, meaning and
//! value in each profile.
//!
//! No option is named in this file: the value of an option in a profile is the candidate text that does not
//! change the configuration.

use crate::NOTE;
use base::Span;
use std::fmt::Write;
use transport::tcp::{Config, OptionKind, OptionSpec};

/// The generated page.
pub(crate) fn page() -> String {
    let mut out = String::from(NOTE);
    out.push_str(
        "# Options of TCP\n\n\
         Written under `transport.tcp` of a flow; a dot is a nested table: `rto = { min = \"1 s\" }`. `profile` names\n\
         the choices to start from; the columns on the right are what each profile chooses.\n\n",
    );
    let profiles: Vec<(&str, Config)> =
        Config::profiles().filter_map(|name| Some((name, Config::profile(name)?))).collect();
    let names: String = profiles.iter().map(|(name, _)| format!(" `{name}` |")).collect();
    let _ =
        writeln!(out, "| option | meaning | takes |{names}\n|---|---|---|{}", "---|".repeat(profiles.len()));
    for spec in Config::OPTIONS {
        let values: String = profiles
            .iter()
            .map(|(_, config)| match value(config, spec) {
                Some(text) => format!(" `{text}` |"),
                None => " |".to_owned(),
            })
            .collect();
        let _ = writeln!(out, "| `{}` | {} | {} |{values}", spec.key, spec.doc, takes(spec.kind));
    }
    out.push_str("\n## Profiles\n");
    for (name, _) in &profiles {
        let text = Config::profile_text(name).unwrap_or_default();
        let _ = writeln!(out, "\n### `{name}`\n\n```toml\n{}\n```", text.trim_end());
    }
    out
}

fn takes(kind: OptionKind) -> String {
    match kind {
        OptionKind::Bool => "true or false".into(),
        OptionKind::Count => "whole number".into(),
        OptionKind::Span => "time".into(),
        OptionKind::Bytes => "data".into(),
        OptionKind::Window => "window".into(),
        OptionKind::Word(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
    }
}

/// Text of the option's value in `config`.
fn value(config: &Config, spec: &OptionSpec) -> Option<String> {
    written(spec.key).chain(candidates(spec.kind)).find(|text| {
        let mut changed = *config;
        changed.set(spec.key, text).is_ok() && changed == *config
    })
}

/// Values of this option in the texts of all embedded profiles.
fn written(key: &str) -> impl Iterator<Item = String> {
    let texts = Config::profiles().filter_map(Config::profile_text);
    texts.flat_map(str::lines).filter_map(move |line| {
        let line = line.split('#').next().unwrap_or_default();
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Candidate texts of an option of this kind, likely ones first.
fn candidates(kind: OptionKind) -> Box<dyn Iterator<Item = String>> {
    let words = |all: &'static [&'static str]| all.iter().map(|w| (*w).to_owned());
    match kind {
        OptionKind::Bool => Box::new(words(&["true", "false"])),
        OptionKind::Word(all) => Box::new(words(all)),
        OptionKind::Count => Box::new((0..=1000u32).map(|n| n.to_string())),
        OptionKind::Span => {
            let hours = (1..=24u64).map(|h| Span::from_secs(3600 * h));
            Box::new((0..=120_000u64).map(Span::from_millis).chain(hours).map(|span| span.to_string()))
        }
        OptionKind::Bytes => Box::new((0..=65_535u32).map(|n| format!("{n} B"))),
        OptionKind::Window => {
            let segments = (1..=200).map(|n| format!("{n} segments"));
            let bytes = (1..=65_535u32).map(|n| format!("{n} B"));
            Box::new(words(&["rfc3390", "rfc6928", "peer", "unlimited"]).chain(segments).chain(bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value of an option in a profile, from the page.
    fn of(page: &str, profile: &str, key: &str) -> String {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
        let from_end = Config::profiles().count() - Config::profiles().position(|p| p == profile).unwrap();
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        cells[cells.len() - from_end].trim_matches('`').to_owned()
    }

    #[test]
    fn every_option_has_a_value_in_every_profile() {
        for name in Config::profiles() {
            let config = Config::profile(name).unwrap();
            for spec in Config::OPTIONS {
                assert!(value(&config, spec).is_some(), "{name}: {}", spec.key);
            }
        }
    }

    #[test]
    fn values_are_those_of_the_profiles() {
        let page = page();
        let both = |key| [of(&page, "rfc", key), of(&page, "ns2-2001", key)];
        assert_eq!(both("rto.min"), ["1 s", "1 s"]);
        assert_eq!(both("rto.tick"), ["1 ms", "100 ms"]);
        assert_eq!(both("window"), ["65535 B", "20 segments"]);
        assert_eq!(both("handshake"), ["two-way", "one-way"]);
    }
}
