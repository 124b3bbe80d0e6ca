//! Reader of the TCP options of a flow over a profile, from the option table of the TCP model.
//!
//! Nested tables are dotted keys: `rto = { min = "1 s" }` is `rto.min`.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::spelling::{alternatives, nearest};
use crate::grammar::tree::{Table, Tree, Value};
use transport::tcp::{Config, OptionKind, OptionSpec};

/// Key of the profile; all other keys are options.
pub(crate) const PROFILE: &str = "profile";
/// Default profile.
pub(crate) const DEFAULT_PROFILE: &str = "rfc";

/// Declaration of a dotted key.
pub(crate) fn option(key: &str) -> Option<&'static OptionSpec> {
    Config::OPTIONS.iter().find(|o| o.key == key)
}

/// True if `key` is a prefix of dotted option keys (`rto`).
pub(crate) fn is_group(key: &str) -> bool {
    Config::OPTIONS.iter().any(|o| o.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

/// All keys, for spelling suggestions.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> + Clone {
    Config::OPTIONS.iter().map(|o| o.key).chain([PROFILE])
}

/// A written option.
pub(crate) struct WrittenOption<'t> {
    pub(crate) key: &'static str,
    pub(crate) tree: &'t Tree,
}

/// TCP of a flow: configuration, and the written options with their spans.
pub(crate) struct Tcp<'t> {
    pub(crate) profile: String,
    pub(crate) config: Config,
    pub(crate) written: Vec<WrittenOption<'t>>,
}

impl<'t> Tcp<'t> {
    /// Span of an option, if written.
    pub(crate) fn place(&self, key: &str) -> Option<SourceSpan> {
        self.written.iter().find(|w| w.key == key).map(|w| w.tree.place)
    }
}

/// Reports all mistakes in the options.
pub(crate) fn check(tree: &Tree, cx: &Cx<'_>) {
    read(tree, Some(cx));
}

/// Configuration of the options; diagnostics go to `cx`, if given.
pub(crate) fn read<'t>(tree: &'t Tree, cx: Option<&Cx<'_>>) -> Option<Tcp<'t>> {
    let push = |diagnostic| {
        if let Some(cx) = cx {
            cx.push(diagnostic);
        }
    };
    let fresh = || Tcp {
        profile: DEFAULT_PROFILE.to_owned(),
        config: Config::profile(DEFAULT_PROFILE).unwrap_or_default(),
        written: Vec::new(),
    };
    let table = match &tree.value {
        Value::Table(table) => table,
        // transport = "tcp"
        Value::Text(_) => return Some(fresh()),
        _ => {
            push(
                Diagnostic::error(
                    "wrong-type",
                    tree.place,
                    format!("`tcp` must be a table, not {}", tree.kind()),
                )
                .help("write tcp = { profile = \"rfc\" }"),
            );
            return None;
        }
    };
    let mut tcp = fresh();
    let mut good = true;
    if let Some(entry) = table.get(PROFILE) {
        let found = entry.tree.text().and_then(|name| Some((name, Config::profile(name)?)));
        match found {
            Some((name, config)) => {
                tcp.profile = name.to_owned();
                tcp.config = config;
            }
            None => {
                good = false;
                let written = entry.tree.text().unwrap_or("").chars().take(40).collect::<String>();
                let mut d = Diagnostic::error(
                    "bad-value",
                    entry.tree.place,
                    format!("there is no tcp profile `{written}`"),
                )
                .help(format!(
                    "the profiles are {}",
                    alternatives(Config::profiles()).replace(" or ", " and ")
                ));
                if let Some(meant) = nearest(&written, Config::profiles()) {
                    d = d.label(format!("did you mean `{meant}`?"));
                }
                push(d);
            }
        }
    }
    let mut written = Vec::new();
    let mut unknown = Vec::new();
    flatten(table, "", 0, &mut written, &mut unknown);
    for (key, place) in unknown {
        good = false;
        match cx {
            Some(cx) if !cx.full() => cx.push(self::unknown(&key, place)),
            _ => {}
        }
    }
    for option in &written {
        if cx.is_some_and(Cx::full) {
            return None;
        }
        match set(&mut tcp.config, option) {
            Ok(()) => {}
            Err(diagnostic) => {
                good = false;
                push(*diagnostic);
            }
        }
    }
    tcp.written = written;
    good.then_some(tcp)
}

fn flatten<'t>(
    table: &'t Table,
    prefix: &str,
    depth: usize,
    out: &mut Vec<WrittenOption<'t>>,
    unknown: &mut Vec<(String, SourceSpan)>,
) {
    for entry in &table.entries {
        let key = format!("{prefix}{}", entry.key);
        if prefix.is_empty() && key == PROFILE {
            continue;
        }
        match (option(&key), &entry.tree.value) {
            (Some(spec), _) => out.push(WrittenOption { key: spec.key, tree: &entry.tree }),
            (None, Value::Table(inner)) if is_group(&key) && depth < 4 => {
                flatten(inner, &format!("{key}."), depth + 1, out, unknown);
            }
            (None, _) => unknown.push((key, entry.key_place)),
        }
    }
}

fn unknown(key: &str, place: SourceSpan) -> Diagnostic {
    let shown: String = key.chars().take(60).collect();
    let inside = |k: &'static str| k.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    if is_group(key) {
        let members = alternatives(keys().filter(|k| inside(k)));
        return Diagnostic::error("wrong-type", place, format!("`{shown}` is a group of options"))
            .help(format!("write one of {members}"));
    }
    let diagnostic = Diagnostic::error("unknown-key", place, format!("`{shown}` is not an option of tcp"));
    // The option may be meant by its last component ("min" for "rto.min").
    let by_tail = || keys().find(|k| k.rsplit('.').next() == key.rsplit('.').next());
    match nearest(key, keys()).or_else(by_tail) {
        Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
        None => {
            let group = key.split_once('.').map(|(g, _)| format!("{g}."));
            let listed = match group {
                Some(g) if keys().any(|k| k.starts_with(&g)) => {
                    alternatives(keys().filter(|k| k.starts_with(&g)))
                }
                _ => alternatives(keys().filter(|k| !k.contains('.'))),
            };
            diagnostic.help(format!("the options are {}", listed.replace(" or ", " and ")))
        }
    }
}

/// Sets one option from its text without quotes.
fn set(config: &mut Config, option: &WrittenOption<'_>) -> Result<(), Box<Diagnostic>> {
    let spec = self::option(option.key);
    let kind = spec.map_or(OptionKind::Bool, |s| s.kind);
    let place = option.tree.place;
    let wrong = |found: &str| {
        let message = format!("`{}` must be {}, not {found}", option.key, expected(kind));
        Box::new(Diagnostic::error("wrong-type", place, message).help(spec.map_or("", |s| s.doc)))
    };
    let text = match (&option.tree.value, kind) {
        (Value::Text(text), OptionKind::Bool) => {
            let help = format!("write {} = true or {} = false, without quotes", option.key, option.key);
            let message =
                format!("`{}` must be true or false, not the string \"{}\"", option.key, short(text));
            return Err(Box::new(Diagnostic::error("wrong-type", place, message).help(help)));
        }
        (Value::Text(text), _) => text.clone(),
        (Value::Integer(n), OptionKind::Span) => {
            return Err(
                wrong("a number without its unit").also_help(format!("write \"{n} s\" or \"{n} ms\""))
            );
        }
        (Value::Integer(n), OptionKind::Window) => {
            return Err(
                wrong("a number without its unit").also_help(format!("write \"{n} segments\" or \"{n} B\""))
            );
        }
        (Value::Integer(n), OptionKind::Count | OptionKind::Bytes) => n.to_string(),
        (Value::Flag(b), OptionKind::Bool) => b.to_string(),
        (Value::Flag(b), OptionKind::Word(words)) if words.contains(&"true") => b.to_string(),
        _ => return Err(wrong(option.tree.kind())),
    };
    config.set(option.key, &text).map_err(|error| {
        let diagnostic = Diagnostic::error("bad-value", place, error.to_string());
        Box::new(match kind {
            OptionKind::Word(words) => match nearest(&text, words.iter().copied()) {
                Some(meant) => {
                    let mut d = diagnostic;
                    d.message = format!("`{}` is no {} of tcp", short(&text), option.key);
                    d.label(format!("did you mean `{meant}`?"))
                        .help(format!("there is {}", alternatives(words.iter().copied())))
                }
                None => diagnostic,
            },
            _ if diagnostic.message.contains("must be") => diagnostic,
            _ => diagnostic.help(format!("this must be {}", expected(kind))),
        })
    })
}

trait AlsoHelp {
    fn also_help(self, help: String) -> Self;
}
impl AlsoHelp for Box<Diagnostic> {
    fn also_help(mut self, help: String) -> Self {
        self.help = help;
        self
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Expected values of an option, as messages name them.
pub(crate) fn expected(kind: OptionKind) -> String {
    match kind {
        OptionKind::Bool => "true or false".into(),
        OptionKind::Count => "a whole number".into(),
        OptionKind::Span => "a time such as \"200 ms\"".into(),
        OptionKind::Bytes => "an amount of data such as \"1460 B\"".into(),
        OptionKind::Window => "a window such as \"20 segments\", \"64 kB\" or \"unlimited\"".into(),
        OptionKind::Word(words) => {
            let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
            format!("one of {}", quoted.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_found_by_its_own_key() {
        for spec in Config::OPTIONS {
            assert!(option(spec.key).is_some());
            if let Some((group, _)) = spec.key.split_once('.') {
                assert!(is_group(group), "{group}");
            }
        }
    }
}
