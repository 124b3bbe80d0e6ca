//! What does a dialogue file say? Its words, as they are written.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One dialogue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialogue {
    /// Version of the notation.
    pub format: u32,
    /// Its name.
    pub id: String,
    /// The claim.
    #[serde(default)]
    pub title: String,
    /// Where it comes from.
    #[serde(default)]
    pub source: String,
    /// RFC numbers.
    #[serde(default)]
    pub rfc: Vec<String>,
    /// Anything else worth saying.
    #[serde(default)]
    pub notes: String,
    /// Where Linux is known to differ.
    #[serde(default)]
    pub linux_differs: String,
    /// What is tested.
    #[serde(default)]
    pub options: BTreeMap<String, toml::Value>,
    /// What happens.
    #[serde(default)]
    pub event: Vec<Event>,
}

/// One event.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// When, seconds.
    pub t: f64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// A range of bytes, `[first, one past the last]`.
pub type Range = [u64; 2];

/// What happens or must happen.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// The application writes.
    AppWrite {
        /// How much.
        bytes: u64,
    },
    /// An acknowledgement comes in.
    Ack {
        /// Next byte expected.
        ack: u64,
        /// SACK blocks.
        #[serde(default)]
        sack: Vec<Range>,
        /// The first block reports a duplicate; it says so by itself.
        #[serde(default)]
        dsack_first: bool,
        /// The time whose timestamp is echoed.
        tsecr: Option<f64>,
        /// ECN-Echo.
        #[serde(default)]
        ece: bool,
        /// Window, bytes; as before if absent.
        window: Option<u64>,
    },
    /// Exactly this leaves.
    Expect(Expect),
    /// Nothing leaves.
    Silence {
        /// Until then.
        until: f64,
    },
    /// Values that can be observed.
    State(BTreeMap<String, toml::Value>),
    /// A segment comes in (receiver).
    Receive {
        /// First byte.
        seq: u64,
        /// One past the last.
        end: u64,
        /// When it was sent, for its timestamp; the event's time if absent.
        tsval: Option<f64>,
        /// Congestion was experienced.
        #[serde(default)]
        ce: bool,
    },
    /// An acknowledgement leaves (receiver).
    ExpectAck {
        /// Next byte expected.
        ack: u64,
        /// SACK blocks.
        #[serde(default)]
        sack: Vec<Range>,
        /// How late it may be.
        tol: Option<f64>,
    },
}

/// What must leave.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Expect {
    /// Ranges; segmentation is free, adjacent ranges may merge.
    pub send: Vec<Range>,
    /// How late it may be, seconds.
    pub tol: Option<f64>,
    /// They are retransmissions.
    pub rtx: bool,
    /// In any order.
    pub any_order: bool,
    /// So many more segments may follow.
    pub extra_mss: u64,
    /// Ranges that may leave too.
    pub may_send: Vec<Range>,
    /// A non-empty prefix is enough.
    pub prefix_ok: bool,
    /// A probe of the window or of the path's end.
    pub probe: bool,
    /// Any new data may leave too.
    pub any_new_ok: bool,
    /// Nothing is resent.
    pub no_rtx: bool,
    /// Whatever leaves is right.
    pub any_send_ok: bool,
    /// The first new segment carries CWR.
    pub first_new_has_cwr: bool,
    /// Segments are ECN-capable.
    pub ect: bool,
}

impl Dialogue {
    /// Reads a dialogue. The error is a sentence with the place.
    pub fn read(text: &str) -> Result<Dialogue, String> {
        let dialogue: Dialogue = toml::from_str(text).map_err(|e| e.to_string())?;
        if dialogue.format != 1 {
            return Err(format!("format {} is not known; this reads format 1", dialogue.format));
        }
        Ok(dialogue)
    }
}
