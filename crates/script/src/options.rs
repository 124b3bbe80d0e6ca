//! Which TCP does a dialogue ask for? Its option words, as a configuration; a word that nothing here
//! answers to makes the dialogue unsupported.

use std::collections::BTreeMap;
use transport::tcp::Config;

/// A dialogue's options.
#[derive(Clone, Debug)]
pub struct Options {
    /// The TCP.
    pub config: Config,
    /// Round trip measured by the handshake, seconds; 0: none was.
    pub handshake_rtt: f64,
    /// The peer's window, bytes.
    pub peer_window: u64,
    /// It is the receiver that is tested.
    pub receiver: bool,
}

/// The word that is not offered, or what is wrong with it.
pub type Unsupported = String;

/// Reads them.
pub fn read(options: &BTreeMap<String, toml::Value>) -> Result<Options, Unsupported> {
    let mut out =
        Options { config: Config::default(), handshake_rtt: 0.1, peer_window: 1_000_000, receiver: false };
    let c = &mut out.config;
    // What the notation says of absent keys.
    let defaults = [
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
    ];
    for (key, value) in defaults {
        c.set(key, value)?;
    }
    for (key, value) in options {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let number = value.as_float().or(value.as_integer().map(|i| i as f64));
        match key.as_str() {
            "mss" => c.set("mss", &word)?,
            "initial_cwnd_mss" => c.set("initial-window", &format!("{word} segments"))?,
            "recovery" | "sack" | "timestamps" | "dupthresh" | "spurious" | "response" => {
                c.set(key, &word)?
            }
            "limited_transmit" | "byte_counting" | "cwnd_validation" => {
                c.set(&key.replace('_', "-"), &word)?;
            }
            "rto_min" => c.set("rto.min", &format!("{} s", number.unwrap_or(1.0)))?,
            "handshake_rtt" => out.handshake_rtt = number.unwrap_or(0.0),
            "peer_window" => out.peer_window = number.unwrap_or(0.0) as u64,
            "role" => out.receiver = word == "receiver",
            "delayed_ack" if word == "true" => c.set("delayed-ack.timer", "200 ms")?,
            "delayed_ack" => {}
            "cc" => c.set(key, &word)?,
            "ecn" if word == "false" => {}
            "ecn" => return Err("ecn".to_owned()),
            "x" => extensions(c, value)?,
            _ => return Err(format!("option {key}")),
        }
    }
    // Dialogues number their windows in bytes; ours must not be the limit.
    c.set("window", "1 GB")?;
    Ok(out)
}

/// `[options.x]`: any option of the project by its own key.
fn extensions(config: &mut Config, value: &toml::Value) -> Result<(), Unsupported> {
    let Some(table) = value.as_table() else { return Err("options.x is not a table".to_owned()) };
    for (key, value) in table {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        config.set(key, &word)?;
    }
    Ok(())
}
