//! Link of `shell` and `wire`: a scenario from a file or from arguments.
//!
//! A scenario: from a file, or made of a few words; with what each verb puts at its ends.

use crate::environment;
use crate::exit::Failure;
use crate::input;
use crate::surroundings::Names;
use scenario::Scenario;
use std::ffi::OsString;
use std::path::Path;

/// What the command in front of the user is called.
pub(crate) const COMMAND: &str = "shell-command";
/// What the one at the other end is called.
const SERVER: &str = "shell-server";

/// A link with something at its ends.
pub(crate) struct Link {
    pub(crate) scenario: Scenario,
    /// What prompts call it.
    pub(crate) name: String,
    /// The node at its fixed end.
    pub(crate) far: String,
}

/// What is put at the two ends of a link: told the text before, and the names of the mobile and of the fixed end, it gives
/// what follows the text.
pub(crate) type AtEnds<'a> = &'a dyn Fn(&str, &str, &str) -> String;

/// The path of the scenario in a file, with something of ours at its ends. It needs no flow.
pub(crate) fn of_file(
    file: &Path,
    name: Option<&str>,
    at_ends: AtEnds<'_>,
    set: &[String],
) -> Result<Link, Failure> {
    let mut far = String::new();
    let more = |title: &str, text: &[u8], files: &dyn scenario::Files| {
        let Some([near, end]) = scenario::ends(title, text, files) else { return String::new() };
        let more = at_ends(&String::from_utf8_lossy(text), &near, &end);
        far = end;
        more
    };
    let scenario = input::read_more(file, set, more)?.scenario;
    if far.is_empty() {
        return Err(Failure::usage(
            "this scenario has no mobile end and no fixed end",
            "a [[hop]] has both, the fixed one first",
        ));
    }
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned());
    Ok(Link { scenario, name: name.map(str::to_owned).or(stem).unwrap_or_default(), far })
}

/// A link of a few words, such as `rate=2 Mbit/s, delay=50 ms`.
pub(crate) fn of_spec(
    spec: &str,
    preset: Option<&str>,
    name: Option<&str>,
    at_ends: AtEnds<'_>,
    set: &[String],
) -> Result<Link, Failure> {
    let mut text = "williwaw = 1\n[[hop]]\nname = \"link\"\nbetween = [\"server\", \"phone\"]\n".to_owned();
    if let Some(preset) = preset {
        text.push_str(&format!("preset = {}\n", serde_json::Value::from(preset)));
    }
    let mut all: Vec<String> = Vec::new();
    let mut timeless = preset.is_none();
    for part in spec.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            return Err(Failure::usage(
                format!("--link: `{part}` says nothing about a link"),
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
                        format!("--link: `{value}` is no share of packets"),
                        "write loss=1 % or loss=0.01",
                    ));
                };
                all.push(format!("hop.link.loss.loss.probability={share}"));
                text.push_str("[[hop.loss]]\nname = \"loss\"\nprobability = 0.0\n");
            }
            // A queue of so much is the usual one.
            "queue" if value != "unlimited" => {
                all.push(format!("hop.link.queue.drop-tail.limit=\"{value}\""))
            }
            _ => all.push(format!("hop.link.{key}={value}")),
        }
    }
    if timeless {
        // A round trip takes some time, and this one as little as can be told.
        all.push("hop.link.delay=\"1 us\"".into());
    }
    all.extend_from_slice(set);
    text.push_str(&at_ends(&text, "phone", "server"));
    let scenario = input::read_again("--link", &text, input::Inputs::new(), &all)?.scenario;
    Ok(Link { scenario, name: name.or(preset).unwrap_or("link").to_owned(), far: "server".into() })
}

/// What follows the text of a scenario so that commands run at its ends.
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

/// What to run: the command, or the user's shell with a prompt that names the links.
pub(crate) fn words(command: &[OsString], names: &Names) -> (Vec<OsString>, Option<String>) {
    if !command.is_empty() {
        return (command.to_vec(), None);
    }
    let shell = environment::shell();
    if !shell.ends_with("bash") {
        return (vec![shell.into()], None);
    }
    // What bash reads at its start sets the prompt, so ours comes after it.
    let start = format!("[ -f ~/.bashrc ] && . ~/.bashrc\nPS1={}\"$PS1\"\n", quoted(&names.prompt()));
    (vec![shell.into(), "--rcfile".into(), "{}".into()], Some(start))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What the resolver inside is told; `uplink` is the level of nesting where there is one.
pub(crate) fn resolver(uplink: Option<u8>) -> String {
    if let Some(level) = uplink {
        emulate::uplink::resolver(level)
    } else {
        "# No resolver is behind this link. The names of its nodes are in /etc/hosts.\n".into()
    }
}
