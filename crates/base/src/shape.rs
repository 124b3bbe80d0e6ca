//! Grammar of scenario files as data: tables, keys, value types with bounds and units, defaults and
//! documentation.
//!
//! Every table of a scenario file is one static [`TableShape`], declared beside the code that it configures.
//! The checker, the JSON Schema, the reference page, override paths and spelling suggestions all use these
//! declarations. They are in this crate so that an element of the path can declare its own options.

use crate::dist;
use crate::{Rate, Span};

/// One table of the file and its keys.
#[derive(Debug)]
pub struct TableShape {
    /// Name in messages and the reference: `hop`, `flow`, `bulk`.
    pub name: &'static str,
    /// Documentation, one or two sentences.
    pub doc: &'static str,
    /// Keys, in the order of the reference.
    pub fields: &'static [Field],
    /// Groups of keys of which exactly one is required.
    pub one_of: &'static [&'static [&'static str]],
    /// Keys that require one of the listed keys beside them.
    pub needs: &'static [(&'static str, &'static [&'static str])],
}

/// One key of a table.
#[derive(Debug)]
pub struct Field {
    /// Key as written.
    pub key: &'static str,
    /// Documentation, with the unit.
    pub doc: &'static str,
    /// Type of the value.
    pub shape: Shape,
    /// Whether the key is required.
    pub need: Need,
}

/// Whether a key is required.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Required; with an example value.
    Required(&'static str),
    /// Optional, without a default.
    Optional,
    /// Optional, with this default as it would be written.
    Default(&'static str),
}

/// Type of a key's value.
#[derive(Debug)]
pub enum Shape {
    /// A single value.
    One(ValueKind),
    /// A list of values of one shape.
    List(&'static Shape),
    /// A list of exactly two values, such as `["30 s", "9 s"]`.
    Pair(ValueKind, ValueKind),
    /// A table.
    Table(&'static TableShape),
    /// Any number of tables (`[[hop]]`), each with its own name.
    Tables(&'static TableShape),
    /// Either the value for both directions or `{ down = ..., up = ... }`.
    PerDirection(&'static Shape),
    /// Either the value for both ends of a flow or `{ from = ..., to = ... }`.
    PerEnd(&'static Shape),
    /// A table with exactly one of these keys, such as `{ drop-tail = {...} }`; or the bare name.
    Choice(&'static [Variant]),
    /// One of several types, distinguished by syntax: a single value, a list or a table.
    Either(&'static [Shape]),
    /// The options of `transport.tcp`, from the transport's own table.
    TcpOptions,
    /// Settings of a kernel's network stack by their own names.
    Settings,
    /// `[grid]`: paths and lists of values.
    Grid,
    /// `[expect]`: metrics and comparisons.
    Expect,
}

/// Keys and names of a pair of values.
#[derive(Debug)]
pub struct Parts {
    /// Keys.
    pub keys: [&'static str; 2],
    /// Name of one part: a direction, an end.
    pub one: &'static str,
    /// Name of both parts.
    pub both: &'static str,
    /// Explanation of the two keys.
    pub which: &'static str,
}

/// Parts of a [`Shape::PerDirection`].
pub static DIRECTIONS: Parts = Parts {
    keys: ["down", "up"],
    one: "direction",
    both: "both directions",
    which: "down is toward the mobile end",
};
/// Parts of a [`Shape::PerEnd`].
pub static ENDS: Parts =
    Parts { keys: ["from", "to"], one: "end", both: "both ends", which: "from is the end that writes" };

/// One alternative of a [`Shape::Choice`].
#[derive(Debug)]
pub struct Variant {
    /// Name.
    pub name: &'static str,
    /// Documentation.
    pub doc: &'static str,
    /// Type of the value behind the name.
    pub shape: Shape,
    /// Whether the bare name, as a string, suffices.
    pub bare: bool,
}

/// Quantity of a value drawn from a distribution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quantity {
    /// Duration; stored in nanoseconds.
    Span,
    /// Amount of data; stored in bytes.
    Bytes,
    /// Dimensionless number.
    Number,
    /// Rate; stored in bit/s.
    Rate,
    /// Probability, from 0 to 1.
    Share,
}

/// A single value.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// A name: letters, digits, `-` and `_`, starting with a letter.
    Name,
    /// true or false.
    Flag,
    /// A whole number within bounds.
    Count(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// Duration, or time from the start.
    Span,
    /// A rate.
    Rate,
    /// An amount of data.
    Bytes,
    /// Queue limit: packets, bytes, or both with a comma.
    Limits,
    /// A constant or a distribution.
    Dist(Quantity),
    /// Packet numbers from 1, such as `"9-15, 20"`.
    Ordinals,
    /// Name of a file beside the scenario.
    File,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl ValueKind {
    /// Description for "must be ...", with an example.
    pub fn expected(self) -> String {
        match self {
            ValueKind::Text => "a string".into(),
            ValueKind::Name => "a name such as \"radio\"".into(),
            ValueKind::Flag => "true or false, without quotes".into(),
            ValueKind::Count(least, most) if least == most => format!("the number {least}"),
            ValueKind::Count(least, i64::MAX) => format!("a whole number, at least {least}"),
            ValueKind::Count(least, most) => format!("a whole number from {least} to {most}"),
            ValueKind::Number(least, f64::INFINITY) => format!("a number, at least {least}"),
            ValueKind::Number(least, most) => format!("a number from {least} to {most}"),
            ValueKind::Span => "a time such as \"300 ms\"".into(),
            ValueKind::Rate => "a rate such as \"30 kbit/s\"".into(),
            ValueKind::Bytes => "an amount of data such as \"300 KiB\"".into(),
            ValueKind::Limits => "a limit such as \"10 packets\" or \"100 kB\"".into(),
            ValueKind::Dist(Quantity::Span) => "a time such as \"5 s\" or \"uniform(3 s, 15 s)\"".into(),
            ValueKind::Dist(Quantity::Bytes) => {
                "an amount of data such as \"500 B\" or \"lognormal(10 kB, 25 kB)\"".into()
            }
            ValueKind::Dist(Quantity::Number) => "a number such as 5, or \"uniform(1, 10)\"".into(),
            ValueKind::Dist(Quantity::Rate) => {
                "a rate such as \"30 kbit/s\" or \"uniform(10 kbit/s, 40 kbit/s)\"".into()
            }
            ValueKind::Dist(Quantity::Share) => "a number from 0 to 1, or \"uniform(0.01, 0.1)\"".into(),
            ValueKind::Ordinals => "packet numbers such as \"9-15\"".into(),
            ValueKind::File => "the name of a file".into(),
            ValueKind::Word(words) => {
                format!("one of {}", words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Title on the reference page.
    pub fn title(self) -> String {
        match self {
            ValueKind::Text => "text".into(),
            ValueKind::Name => "name".into(),
            ValueKind::Flag => "true or false".into(),
            ValueKind::Count(..) => self.expected(),
            ValueKind::Number(..) => self.expected(),
            ValueKind::Span => "time".into(),
            ValueKind::Rate => "rate".into(),
            ValueKind::Bytes => "data".into(),
            ValueKind::Limits => "packets, data, or both".into(),
            ValueKind::Dist(Quantity::Span) => "time or distribution".into(),
            ValueKind::Dist(Quantity::Bytes) => "data or distribution".into(),
            ValueKind::Dist(Quantity::Number) => "number or distribution".into(),
            ValueKind::Dist(Quantity::Rate) => "rate or distribution".into(),
            ValueKind::Dist(Quantity::Share) => "a number from 0 to 1, or distribution".into(),
            ValueKind::Ordinals => "packet numbers".into(),
            ValueKind::File => "file".into(),
            ValueKind::Word(words) => {
                words.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Distributions available for every random quantity.
pub const DISTRIBUTIONS: &[&str] = dist::FORMS;

impl TableShape {
    /// Field of this key.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        let fields: &'static [Field] = self.fields;
        fields.iter().find(|f| f.key == key)
    }

    /// Number of keys in `written` that belong to this table.
    pub fn fits<'a>(&self, written: impl Iterator<Item = &'a str>) -> usize {
        written.filter(|key| self.field(key).is_some()).count()
    }
}

/// Declares a field; for the static tables.
pub const fn field(key: &'static str, shape: Shape, need: Need, doc: &'static str) -> Field {
    Field { key, doc, shape, need }
}

/// A [`TableShape`] without rules between its keys.
pub const fn table(name: &'static str, doc: &'static str, fields: &'static [Field]) -> TableShape {
    TableShape { name, doc, fields, one_of: &[], needs: &[] }
}

/// Checked values of one table, by key; defaults come from the declaration. `None`: absent without a default,
/// or the reader has already reported an error.
pub trait Values {
    /// Whether the key is present in the file.
    fn given(&self, key: &str) -> bool;
    /// Boolean.
    fn flag(&self, key: &str) -> Option<bool>;
    /// Duration.
    fn span(&self, key: &str) -> Option<Span>;
    /// Rate.
    fn rate(&self, key: &str) -> Option<Rate>;
    /// Bytes.
    fn bytes(&self, key: &str) -> Option<u64>;
    /// Whole number within the declared bounds.
    fn count(&self, key: &str) -> Option<u64>;
    /// Number within the declared bounds.
    fn number(&self, key: &str) -> Option<f64>;
    /// One of the declared words.
    fn word(&self, key: &str) -> Option<&'static str>;
    /// Queue limits in packets and bytes; neither: unlimited.
    fn limits(&self, key: &str) -> Option<(Option<u32>, Option<u64>)>;
}
