//! Sysctl commands of packetdrill scripts: kernel settings as options of the TCP configuration.

use transport::tcp::Config;

/// Kernel settings without effect on the model.
const IDLE_SETTINGS: &[&str] = &[
    "tcp_no_metrics_save",
    "tcp_moderate_rcvbuf",
    "tcp_min_tso_segs",
    "tcp_tso_win_divisor",
    "tcp_wmem",
    "tcp_rmem",
    "tcp_window_scaling",
    "tcp_syncookies",
    "tcp_metrics_save",
    "wmem_max",
    "rmem_max",
];

/// Words of a command; quotes keep blanks together, a backslash at the end of a line joins lines.
fn words(command: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    let lines = command.lines().map(|line| match line.find(" #") {
        Some(comment) => &line[..comment],
        None => line,
    });
    let text = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    for letter in text.chars() {
        match letter {
            '"' | '\'' => quoted = !quoted,
            c if !quoted && (c.is_whitespace() || c == ';' || c == '&') => out.push(String::new()),
            c => {
                if let Some(last) = out.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

/// Whether a command applies packetdrill's own default settings, those of its authors' Linux.
pub(super) fn makes_defaults(command: &str) -> bool {
    words(command).iter().any(|word| word.ends_with("/defaults.sh"))
}

/// Applies a command: sysctl settings that the model has; others change nothing or are unsupported.
pub(super) fn shell(config: &mut Config, command: &str) -> Result<(), String> {
    for word in words(command) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let name = name.rsplit(['/', '.']).next().unwrap_or_default();
        let switch = |on: &str| if on == "0" { "false" } else { "true" };
        let file = word.rsplit('/').next().unwrap_or_default();
        match (name, value) {
            (_, None) if file == "defaults.sh" || file == "set_sysctls.py" => {}
            // Scripts that restore settings at the end have no effect here.
            (_, None) if file.starts_with("sysctl_restore_") => {}
            ("sysctl" | "sysctls", None) => {}
            (_, None) if word.starts_with('-') => {}
            ("tcp_sack", Some(v)) => config.set("sack", switch(v))?,
            ("tcp_timestamps", Some(v)) => config.set("timestamps", switch(v))?,
            ("tcp_dsack", Some(v)) => config.set("dsack", switch(v))?,
            // ECN is negotiated in the handshake.
            ("tcp_ecn", Some(_)) => {}
            ("tcp_early_retrans", Some(v)) => config.set("tail-loss-probe", switch(v))?,
            ("tcp_recovery", Some("0")) => config.set("recovery", "rfc6675")?,
            ("tcp_recovery", Some("1")) => {}
            ("tcp_frto", Some("0")) => config.set("spurious", "none")?,
            ("tcp_reordering", Some(v)) => config.set("dupthresh", v)?,
            ("tcp_slow_start_after_idle", Some(v)) => {
                config.set("idle-restart", if v == "0" { "false" } else { "decay" })?;
            }
            ("tcp_congestion_control", Some(v @ ("reno" | "cubic" | "bbr"))) => config.set("cc", v)?,
            (idle, Some(_)) if IDLE_SETTINGS.contains(&idle) => {}
            _ => return Err(format!("the command `{word}`")),
        }
    }
    Ok(())
}
