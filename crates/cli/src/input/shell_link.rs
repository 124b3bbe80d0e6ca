//! Link of `shell` and `wire` as a scenario: from a file, or from a link specification with outages and
//! handovers; commands at its ends.

use super::files;
use super::nesting::Names;
use crate::console::environment;
use crate::console::exit::{CliError, Failure};
use scenario::Scenario;
use std::ffi::OsString;
use std::path::Path;

/// Name of the node of the user's command.
pub(crate) const COMMAND: &str = "shell-command";
/// Name of the node at the other end.
const SERVER: &str = "shell-server";

/// A link as a scenario, with the verb's nodes at its ends.
pub(crate) struct ShellLink {
    pub(crate) scenario: Scenario,
    /// Name of the link in prompts.
    pub(crate) name: String,
    /// Name of the node at the fixed end.
    pub(crate) far: String,
}

/// Generator of the nodes at both ends of a link: takes the scenario text and the names of the mobile and the fixed
/// end, and returns the text to append.
pub(crate) type EndTables<'a> = &'a dyn Fn(&str, &str, &str) -> String;

/// Path of the scenario in a file, with the tables of `at_ends` appended. The scenario needs no flow.
pub(crate) fn of_file(
    file: &Path,
    name: Option<&str>,
    at_ends: EndTables<'_>,
    set: &[String],
) -> Result<ShellLink, Failure> {
    let mut far = String::new();
    let more = |title: &str, text: &[u8], files: &dyn scenario::Files| {
        let Some([near, end]) = scenario::ends(title, text, files) else { return String::new() };
        let more = at_ends(&String::from_utf8_lossy(text), &near, &end);
        far = end;
        more
    };
    let scenario = files::read_more(file, set, more)?.scenario;
    if far.is_empty() {
        return Err(Failure::usage(
            "this scenario has no mobile end and no fixed end",
            "a [[hop]] has both, the fixed one first",
        ));
    }
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned());
    Ok(ShellLink { scenario, name: name.map(str::to_owned).or(stem).unwrap_or_default(), far })
}

/// Interruptions of a link from the command line.
pub(crate) struct Outages<'a> {
    pub(crate) outages: &'a [String],
    pub(crate) handovers: &'a [String],
}

impl Outages<'_> {
    /// No interruptions.
    pub(crate) const NONE: Outages<'static> = Outages { outages: &[], handovers: &[] };

    /// Tables of a hop: an outage holds packets, a handover drops packets that arrive at the closed link.
    fn tables(&self) -> Result<String, Failure> {
        let mut out = String::new();
        let kinds = [("outage", self.outages, "hold"), ("handover", self.handovers, "drop")];
        for (kind, all, mode) in kinds {
            for (i, spec) in all.iter().enumerate() {
                let (lasts, when) = break_of(kind, spec)?;
                let quoted = |text: &str| serde_json::Value::from(text).to_string();
                let when = match when {
                    OutageTimes::At(at) => format!("start = {}", quoted(at)),
                    OutageTimes::Every(every) => format!("every = {}", quoted(every)),
                };
                let name = if i == 0 { kind.to_owned() } else { format!("{kind}-{}", i + 1) };
                out.push_str(&format!(
                    "[[hop.gate]]\nname = \"{name}\"\nmode = \"{mode}\"\n{when}\nlasts = {}\n",
                    quoted(lasts)
                ));
            }
        }
        Ok(out)
    }
}

enum OutageTimes<'a> {
    At(&'a str),
    Every(&'a str),
}

/// Parses `LASTS at TIME` or `LASTS every TIME`; both may be distributions. `kind` names the option in errors.
fn break_of<'a>(kind: &str, spec: &'a str) -> Result<(&'a str, OutageTimes<'a>), Failure> {
    let parts = |word: &str| spec.split_once(word).map(|(lasts, when)| (lasts.trim(), when.trim()));
    let found = match (parts(" at "), parts(" every ")) {
        (Some((lasts, at)), None) => Some((lasts, OutageTimes::At(at))),
        (None, Some((lasts, every))) => Some((lasts, OutageTimes::Every(every))),
        _ => None,
    };
    let example = || format!("write --{kind} '5 s at 3 s' or --{kind} '2 s every exponential(30 s)'");
    let found = found
        .filter(|(lasts, _)| !lasts.is_empty())
        .ok_or_else(|| Failure::usage(format!("--{kind}: `{spec}` lacks a length or a time"), example()))?;
    let (OutageTimes::At(when) | OutageTimes::Every(when)) = found.1;
    // The scenario reads distributions, which have brackets.
    for time in [found.0, when].into_iter().filter(|time| !time.contains('(')) {
        base::units::parse_span(time).map_err(|why| Failure::usage(format!("--{kind}: {why}"), example()))?;
    }
    Ok(found)
}

/// Splits at commas outside of brackets and quotes.
fn parts(spec: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut quoted, mut from) = (Vec::new(), 0i32, false, 0);
    for (at, c) in spec.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if depth <= 0 && !quoted => {
                parts.push(&spec[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&spec[from..]);
    parts
}

/// Link from a specification such as `rate=2 Mbit/s, delay=50 ms`.
pub(crate) fn of_spec(
    spec: &str,
    breaks: &Outages<'_>,
    preset: Option<&str>,
    name: Option<&str>,
    at_ends: EndTables<'_>,
    set: &[String],
) -> Result<ShellLink, Failure> {
    let mut text = "williwaw = 1\n[[hop]]\nname = \"link\"\nbetween = [\"server\", \"phone\"]\n".to_owned();
    if let Some(preset) = preset {
        if !scenario::preset::NAMES.contains(&preset) {
            let remedy = match scenario::nearest(preset, scenario::preset::NAMES.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "`williwaw presets` lists them".to_owned(),
            };
            return Err(Failure::usage(format!("--preset: there is no preset `{preset}`"), remedy));
        }
        text.push_str(&format!("preset = {}\n", serde_json::Value::from(preset)));
    }
    let mut all: Vec<String> = Vec::new();
    let mut timeless = preset.is_none();
    let breaks = breaks.tables()?;
    for part in parts(spec).into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            return Err(Failure::usage(
                format!("--link: `{part}` is not a property of a link"),
                "write KEY=VALUE, with commas between: --link 'rate=2 Mbit/s, delay=50 ms, loss=1 %'",
            ));
        };
        timeless &= !matches!(key, "rate" | "delay" | "preset");
        match key {
            "loss" => {
                let number = value.strip_suffix('%').map(str::trim);
                let share = number
                    .unwrap_or(value)
                    .parse::<f64>()
                    .map(|x| if number.is_some() { x / 100.0 } else { x });
                let Ok(share) = share else {
                    return Err(Failure::usage(
                        format!("--link: `{value}` is not a packet loss rate"),
                        "write loss=1 % or loss=0.01",
                    ));
                };
                all.push(format!("hop.link.loss.loss.probability={share}"));
                text.push_str("[[hop.loss]]\nname = \"loss\"\nprobability = 0.0\n");
            }
            // A limit alone means a drop-tail queue.
            "queue" if value != "unlimited" && !value.starts_with('{') => {
                all.push(format!("hop.link.queue.drop-tail.limit=\"{value}\""))
            }
            _ => all.push(format!("hop.link.{key}={value}")),
        }
    }
    if timeless {
        // The shortest delay, because a scenario needs a positive round trip.
        all.push("hop.link.delay=\"1 us\"".into());
    }
    text.push_str(&breaks);
    let own = all.len();
    all.extend_from_slice(set);
    text.push_str(&at_ends(&text, "phone", "server"));
    let read = files::read_again("--link", &text, files::Inputs::new(), &all);
    let scenario = read.map_err(|failure| as_written(failure, own))?.scenario;
    Ok(ShellLink { scenario, name: name.or(preset).unwrap_or("link").to_owned(), far: "server".into() })
}

/// The failure with the first `own` overrides shown as the properties of `--link` that they come from.
fn as_written(mut failure: Failure, own: usize) -> Failure {
    if let CliError::Scenario(diagnostics) = &mut failure.why {
        diagnostics.show_overrides_as("--link", own, "hop.link.");
    }
    failure
}

/// Scenario text with commands at both ends.
pub(crate) fn commands(before: &str, near: &str, far: &str, server: Option<&str>, mtu: u64) -> String {
    let mut text = String::new();
    if !before.contains("[[node]]") {
        for node in [near, far] {
            text.push_str(&format!("\n[[node]]\nname = \"{node}\"\nlinux = {{ mtu = \"{mtu} B\" }}\n"));
        }
    }
    text.push_str(&format!("\n[[command]]\nname = \"{COMMAND}\"\nat = \"{near}\"\nrun = \"$SHELL\"\n"));
    if let Some(server) = server {
        let quoted = serde_json::Value::from(server); // escapes as TOML does
        text.push_str(&format!(
            "\n[[command]]\nname = \"{SERVER}\"\nat = \"{far}\"\nrun = {quoted}\nserves = true\n"
        ));
    }
    text
}

/// Arguments of the command, or of the user's shell with a prompt that names the links.
pub(crate) fn words(command: &[OsString], names: &Names) -> (Vec<OsString>, Option<String>) {
    if !command.is_empty() {
        return (command.to_vec(), None);
    }
    let shell = environment::shell();
    if !shell.ends_with("bash") {
        return (vec![shell.into()], None);
    }
    // The start-up files of bash set the prompt, so that it is set again after them.
    let start = format!("[ -f ~/.bashrc ] && . ~/.bashrc\nPS1={}\"$PS1\"\n", quoted(&names.prompt()));
    (vec![shell.into(), "--rcfile".into(), "{}".into()], Some(start))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Resolver configuration of the namespaces; `uplink` is the level of nesting with an uplink.
pub(crate) fn resolver(uplink: Option<u8>) -> String {
    if let Some(level) = uplink {
        netns::uplink::resolver(level)
    } else {
        "# This link has no resolver. The names of its nodes are in /etc/hosts.\n".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_settings_is_cut_outside_of_brackets() {
        assert_eq!(
            parts(
                "rate=2 Mbit/s, delay=uniform(10 ms, 20 ms),queue={ red = { limit = \"9 packets\", ecn = true } }"
            ),
            [
                "rate=2 Mbit/s",
                " delay=uniform(10 ms, 20 ms)",
                "queue={ red = { limit = \"9 packets\", ecn = true } }"
            ]
        );
        assert_eq!(parts("a=\"x, y\""), ["a=\"x, y\""]);
    }

    #[test]
    fn interruptions_are_gates() {
        let outages = ["5 s at 3 s".to_owned(), "2 s every exponential(30 s)".to_owned()];
        let text = Outages { outages: &outages, handovers: &["1 s at 9 s".to_owned()] }.tables().unwrap();
        for line in
            ["name = \"outage-2\"", "every = \"exponential(30 s)\"", "start = \"3 s\"", "mode = \"drop\""]
        {
            assert!(text.contains(line), "{line}: {text}");
        }
        for wrong in ["5 s", "at 3 s", " at ", "1 s at 2 s every 3 s"] {
            assert!(Outages { outages: &[wrong.to_owned()], handovers: &[] }.tables().is_err(), "{wrong}");
        }
    }
}
