//! TCP options of a dialogue: translation of its words to a TCP configuration.
//!
//! A word that no option offers makes the dialogue unsupported.

use std::collections::BTreeMap;
use toml::Value;
use transport::tcp::Config;

/// TCP options of a dialogue.
#[derive(Clone, Debug)]
pub struct Options {
    /// TCP configuration of the tested end.
    pub config: Config,
    /// Round-trip time measured by the handshake, seconds; 0: none was measured.
    pub handshake_rtt: f64,
    /// Window of the peer, bytes.
    pub peer_window: u64,
    /// Whether the tested end receives the data.
    pub receiver: bool,
}

/// The unsupported word, or its error.
pub type Unsupported = String;

/// Defaults of the notation for absent keys, as options of this project.
const DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "newreno"),
    ("sack", "false"),
    ("timestamps", "false"),
    ("limited-transmit", "false"),
    ("dupthresh", "3"),
    ("spurious", "none"),
    ("response", "rfc4015"),
    ("byte-counting", "none"),
    ("cwnd-validation", "false"),
    ("rto.min", "1 s"),
    ("delayed-ack.timer", "0 s"),
    ("restart-on-fast-retransmit", "false"),
    // Dialogues state the peer's window in bytes; the tested end's own buffer must not be the limit.
    ("window", "1 GB"),
];

/// Keys of the notation whose word is also that of an option of this project, with the option's name.
const PLAIN: &[(&str, &str)] = &[
    ("mss", "mss"),
    ("recovery", "recovery"),
    ("sack", "sack"),
    ("timestamps", "timestamps"),
    ("limited_transmit", "limited-transmit"),
    ("dupthresh", "dupthresh"),
    ("spurious", "spurious"),
    ("response", "response"),
    ("byte_counting", "byte-counting"),
    ("cwnd_validation", "cwnd-validation"),
];

/// Whether this configuration has an option of that name.
fn offered(key: &str) -> bool {
    Config::OPTIONS.iter().any(|option| option.key == key)
}

/// Reads the options. `rfc` are the RFCs that the dialogue cites.
pub fn read(options: &BTreeMap<String, Value>, rfc: &[String]) -> Result<Options, Unsupported> {
    let mut out =
        Options { config: Config::default(), handshake_rtt: 0.0, peer_window: 1_000_000, receiver: false };
    // A profile sets all options; the words of the dialogue change some.
    match options.get("x").and_then(|x| x.get("profile")).and_then(Value::as_str) {
        Some(name) => {
            out.config = Config::profile(name).ok_or_else(|| format!("x.profile = {name}"))?;
        }
        None => {
            for (key, value) in DEFAULTS {
                out.config.set(key, value)?;
            }
            // RFC 5681 has no lower bound below which duplicate ACKs do not count (RFC 6582 has one).
            if options.get("recovery").and_then(Value::as_str) == Some("reno") {
                out.config.set("bug-fix", "off")?;
            }
        }
    }
    let c = &mut out.config;
    for (key, value) in options {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let number = value.as_float().or(value.as_integer().map(|i| i as f64));
        let number = || {
            let sound = number.filter(|n| (0.0..1e12).contains(n));
            sound.ok_or_else(|| format!("{key} = {value}: not a number that can be"))
        };
        let error = |e: String| format!("{key} = {value}: {e}");
        if key == "cwnd_validation" && value.as_bool() == Some(true) {
            c.set("cwnd-validation", validation(rfc)).map_err(|e| error(e.into()))?;
            continue;
        }
        if let Some((_, ours)) = PLAIN.iter().find(|(theirs, _)| theirs == key) {
            c.set(ours, &word).map_err(|e| error(e.into()))?;
            continue;
        }
        match key.as_str() {
            "initial_cwnd_mss" if number()? > 10_000.0 => return Err(format!("{key} = {value}")),
            "initial_cwnd_mss" => {
                c.set("initial-window", &format!("{word} segments")).map_err(|e| error(e.into()))?
            }
            "rto_min" => c.set("rto.min", &format!("{} s", number()?)).map_err(|e| error(e.into()))?,
            "handshake_rtt" => out.handshake_rtt = number()?.min(900.0),
            "peer_window" => out.peer_window = number()? as u64,
            "role" => match word.as_str() {
                "sender" => out.receiver = false,
                "receiver" => out.receiver = true,
                _ => return Err(format!("role = {word}")),
            },
            "delayed_ack" => match value.as_bool() {
                Some(true) => c.set("delayed-ack.timer", "200 ms")?,
                Some(false) => {}
                None => return Err(error("neither true nor false".to_owned())),
            },
            "cc" if offered("cc") => c.set("cc", &word).map_err(|e| error(e.into()))?,
            "cc" if word == "reno" => {}
            "cc" => return Err(format!("cc = {word}")),
            "ecn" if offered("ecn") => c.set("ecn", &word).map_err(|e| error(e.into()))?,
            "ecn" if word == "false" => {}
            "ecn" => return Err(format!("ecn = {word}")),
            "x" => {}
            _ if offered(key) => {
                return Err(format!("option {key}: options of the project stand under [options.x]"));
            }
            _ => return Err(format!("option {key}")),
        }
    }
    // Options of this project are set last, so that they override those of the notation.
    match options.get("x") {
        None => {}
        Some(Value::Table(table)) => extensions(c, "", table)?,
        Some(_) => return Err("options.x is not a table".to_owned()),
    }
    Ok(out)
}

/// Congestion window validation meant by `true`: that of the cited RFC. If the dialogue cites RFC 5681 only,
/// the window grows while it is used, as in Linux, and section 4.1 applies after an idle period.
fn validation(rfc: &[String]) -> &'static str {
    let cites = |number: &str| rfc.iter().any(|r| r.contains(number));
    match (cites("7661"), cites("2861"), cites("5681")) {
        (true, _, _) | (false, false, false) => "rfc7661",
        (false, true, _) => "rfc2861",
        (false, false, true) => "linux",
    }
}

/// `[options.x]`: any option of this project by its own key, dotted or as nested tables.
fn extensions(config: &mut Config, before: &str, table: &toml::Table) -> Result<(), Unsupported> {
    for (key, value) in table.iter().filter(|(key, _)| !(before.is_empty() && *key == "profile")) {
        let key = format!("{before}{key}");
        match value {
            Value::Table(inner) => extensions(config, &format!("{key}."), inner)?,
            Value::String(word) => config.set(&key, word).map_err(|e| format!("x.{key}: {e}"))?,
            other => config.set(&key, &other.to_string()).map_err(|e| format!("x.{key}: {e}"))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::tcp::config::Validation;

    fn of(text: &str) -> Result<Options, Unsupported> {
        let table: toml::Table = text.parse().unwrap();
        read(&table.into_iter().collect(), &[])
    }

    #[test]
    fn the_rfc_that_is_cited_says_which_validation_is_meant() {
        let table: toml::Table = "cwnd_validation = true".parse().unwrap();
        let options: BTreeMap<String, Value> = table.into_iter().collect();
        let validation = |rfc: &[&str]| {
            let rfc: Vec<String> = rfc.iter().map(|r| (*r).to_owned()).collect();
            read(&options, &rfc).unwrap().config.windows.validation
        };
        assert_eq!(validation(&[]), Validation::Rfc7661);
        assert_eq!(validation(&["5681"]), Validation::Linux);
        assert_eq!(validation(&["2861", "7661"]), Validation::Rfc7661);
        assert_eq!(validation(&["RFC 2861 section 3.2"]), Validation::Rfc2861);
    }

    #[test]
    fn absent_keys_take_the_defaults_of_the_notation() {
        let options = of("").unwrap();
        let config = options.config;
        assert_eq!(config.recovery.name(), "newreno");
        assert!(!config.uses_sack() && !config.timestamps && !config.limited_transmit);
        assert_eq!((config.dupthresh, config.rto.min), (3, base::Span::from_secs(1)));
        assert_eq!((options.peer_window, options.handshake_rtt, options.receiver), (1_000_000, 0.0, false));
    }

    #[test]
    fn what_is_not_offered_is_said_by_name() {
        assert_eq!(of("teleport = true").unwrap_err(), "option teleport");
        assert!(of("recovery = \"prayer\"").unwrap_err().starts_with("recovery = \"prayer\""));
        assert!(of("cc = \"prayer\"").unwrap_err().starts_with("cc = "));
        assert!(of("role = \"middlebox\"").unwrap_err().contains("middlebox"));
        assert!(of("rto_min = \"long\"").unwrap_err().contains("rto_min"));
        assert!(of("[x]\nnothing = 1").unwrap_err().starts_with("x.nothing"));
    }

    #[test]
    fn a_profile_makes_the_choices_that_are_absent() {
        let config =
            of("dupthresh = 4\n[x]\nprofile = \"windows-98\"\n\"rto.min\" = \"2 s\"").unwrap().config;
        let mut expected = Config::profile("windows-98").unwrap();
        expected.set("dupthresh", "4").unwrap();
        expected.set("rto.min", "2 s").unwrap();
        assert_eq!(config, expected);
        assert!(of("[x]\nprofile = \"windows-3\"").unwrap_err().contains("windows-3"));
    }

    #[test]
    fn our_own_options_come_last_dotted_or_nested() {
        let a = of("rto_min = 1.0\n[x]\n\"rto.min\" = \"200 ms\"").unwrap().config;
        let b = of("rto_min = 1.0\n[x.rto]\nmin = \"200 ms\"").unwrap().config;
        assert_eq!(a, b);
        assert_eq!(a.rto.min, base::Span::from_millis(200));
    }
}
