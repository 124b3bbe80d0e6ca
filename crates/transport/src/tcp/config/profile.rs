//! TCP profiles by name (`rfc`, `linux-6.x`, `freebsd-4.1` and others): embedded lists of TCP options, applied to the
//! default configuration.
//!
//! A profile is data: the default changed by `key = value` lines.

use super::Config;

/// The profiles: name, and the options as `key = value` lines.
const PROFILES: &[(&str, &str)] = &[
    ("rfc", include_str!("../profiles/rfc.toml")),
    ("rfc-2002", include_str!("../profiles/rfc-2002.toml")),
    ("rfc3481", include_str!("../profiles/rfc3481.toml")),
    ("linux-2.2", include_str!("../profiles/linux-2.2.toml")),
    ("linux-2.4", include_str!("../profiles/linux-2.4.toml")),
    ("linux-6.x", include_str!("../profiles/linux-6.x.toml")),
    ("freebsd-4.1", include_str!("../profiles/freebsd-4.1.toml")),
    ("windows-98", include_str!("../profiles/windows-98.toml")),
    ("ns2-2001", include_str!("../profiles/ns2-2001.toml")),
];

impl Config {
    /// The names of all profiles.
    pub fn profiles() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(|(name, _)| *name)
    }
    /// Text of a profile: its options and the comments that explain them.
    pub fn profile_text(name: &str) -> Option<&'static str> {
        PROFILES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }
    /// A profile by name: the default configuration changed by the profile's options.
    pub fn profile(name: &str) -> Option<Config> {
        let mut config = Config::default();
        for (key, value) in choices(Config::profile_text(name)?) {
            config.set(key, value).ok()?;
        }
        Some(config)
    }
}

/// The `key = value` lines of a profile (a subset of TOML: dotted keys, one line each).
fn choices(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let (key, value) = line.split_once('=')?;
        Some((key.trim(), value.trim().trim_matches('"')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_made_of_options_that_exist() {
        for name in Config::profiles() {
            let mut config = Config::default();
            for (key, value) in choices(Config::profile_text(name).unwrap()) {
                config.set(key, value).unwrap_or_else(|e| panic!("{name}: {key}: {e}"));
            }
        }
    }

    #[test]
    fn the_default_profile_is_the_default() {
        assert_eq!(Config::profile("rfc"), Some(Config::default()));
    }
}
