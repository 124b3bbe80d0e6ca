//! SCTP options of a dialogue: translation of its words, which are those of scenarios, to an SCTP
//! configuration.

use base::Span;
use sctp::Config;
use sctp::config::{
    Burst, Immediate, InitialWindow, Missing, PathMtu, Repeated, Response, Spurious, WindowUnit,
};
use toml::{Table, Value};
use transport::endpoint::Role;

/// SCTP options of a dialogue.
pub(crate) struct Options {
    pub(crate) config: Config,
    pub(crate) role: Role,
    /// The association is established at t = 0; otherwise it is closed.
    pub(crate) established: bool,
    /// Advertised window of the peer, bytes.
    pub(crate) peer_window: u32,
    /// Whether the peer supports FORWARD TSN, and ECN.
    pub(crate) peer: [bool; 2],
}

fn named<T>(target: &mut T, found: Option<T>) -> Option<()> {
    *target = found?;
    Some(())
}

/// Reads the options. The error is the word that is not supported.
pub(crate) fn read(options: &Table) -> Result<Options, String> {
    let profile = options.get("profile").and_then(Value::as_str).unwrap_or("rfc9260");
    let mut config = Config::profile(profile).ok_or_else(|| format!("profile = {profile}"))?;
    // One chunk of 1000 B in each packet, for simple numbers in dialogues.
    config.mtu = 1048;
    let mut out =
        Options { config, role: Role::Active, established: true, peer_window: 100_000, peer: [true, false] };
    for (key, value) in options.iter().filter(|(key, _)| *key != "profile") {
        set(&mut out, key, value).ok_or_else(|| format!("{key} = {value}"))?;
    }
    if out.config.rto.min > out.config.rto.max {
        return Err("rto-min is more than rto-max".to_owned());
    }
    Ok(out)
}

fn set(out: &mut Options, key: &str, value: &Value) -> Option<()> {
    let c = &mut out.config;
    let number =
        || value.as_float().or(value.as_integer().map(|i| i as f64)).filter(|n| (0.0..1e6).contains(n));
    let count = || value.as_integer().and_then(|n| u32::try_from(n).ok());
    let span = || number().map(Span::from_secs_f64);
    let flag = || value.as_bool();
    let word = || value.as_str();
    match key {
        "role" => {
            out.role = match word()? {
                "active" => Role::Active,
                "passive" => Role::Passive,
                _ => return None,
            }
        }
        "established" => out.established = flag()?,
        "peer-window" => out.peer_window = count()?,
        "peer-prsctp" => out.peer[0] = flag()?,
        "peer-ecn" => out.peer[1] = flag()?,
        "mtu" => c.mtu = count().filter(|mtu| (100..=65_535).contains(mtu))?,
        "path-mtu" => named(&mut c.path_mtu, PathMtu::from_name(word()?))?,
        "probe-timer" => c.probe_timer = span().filter(|timer| *timer >= Span::from_secs(1))?,
        "chunk" => c.chunk = Some(count()?),
        "bundle" => c.bundle = flag()?,
        "window" => c.window = u64::from(count()?),
        "window-unit" => named(&mut c.window_unit, WindowUnit::from_name(word()?))?,
        "initial-window" => named(&mut c.initial_window, InitialWindow::from_name(word()?))?,
        "initial-threshold" => c.initial_threshold = Some(u64::from(count()?)),
        "least-threshold" => c.least_threshold = count()?,
        "repeated-timeouts" => named(&mut c.repeated_timeouts, Repeated::from_name(word()?))?,
        "missing-reports" => c.missing_reports = count()?,
        "missing" => named(&mut c.missing, Missing::from_name(word()?))?,
        "fast-recovery" => c.fast_recovery = flag()?,
        "grows-if-full" => c.grows_if_full = flag()?,
        "grows-on-gaps" => c.grows_on_gaps = flag()?,
        "idle-decay" => c.idle_decay = flag()?,
        "sends-on-duplicates" => c.sends_on_duplicates = flag()?,
        "burst" => named(&mut c.burst, Burst::from_name(word()?))?,
        "max-burst" => c.max_burst = count()?,
        "sack-every" => c.sack_every = count()?,
        "sack-delay" => c.sack_delay = span()?,
        "sacks-first" => c.sacks_first = flag()?,
        "immediate" => named(&mut c.immediate, Immediate::from_name(word()?))?,
        "reports-duplicates" => c.reports_duplicates = flag()?,
        "rto-initial" => c.rto.initial = span()?,
        "rto-min" => c.rto.min = span()?,
        "rto-max" => c.rto.max = span()?,
        "path-max-retransmissions" => c.path_max_retransmissions = count()?,
        "association-max-retransmissions" => c.association_max_retransmissions = count()?,
        "init-max-retransmissions" => c.init_max_retransmissions = count()?,
        "heartbeat" if value.as_bool() == Some(false) => c.heartbeat = None,
        "heartbeat-interval" => c.heartbeat = Some(span()?),
        "verifies-path" => c.verifies_path = flag()?,
        "cookie-life" => c.cookie_life = span()?,
        "streams" => c.streams = count().and_then(|n| u16::try_from(n).ok())?,
        "paths" => c.paths = count().and_then(|n| u8::try_from(n).ok()).filter(|n| (1..=8).contains(n))?,
        "ecn" => c.ecn = flag()?,
        "partial-reliability" => c.forward_tsn = flag()?,
        "spurious" => named(&mut c.spurious, Spurious::from_name(word()?))?,
        "response" => named(&mut c.response, Response::from_name(word()?))?,
        _ => return None,
    }
    Some(())
}
