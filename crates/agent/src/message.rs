//! Message framing on the control connection.
//!
//! A message is a line of JSON and bytes behind it: four bytes with the length of the JSON, the JSON, the bytes. It
//! is cut into pieces that a frame of the line can hold, each with a byte before it: 1 if more follow.

use emulate::accuracy::lateness::Packed;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::token::Token;
#[cfg(target_os = "linux")]
use emulate::remote::hosts::{Orders, Returned};
#[cfg(target_os = "linux")]
use emulate::remote::results::List;
#[cfg(target_os = "linux")]
use std::net::SocketAddr;

/// What one end says.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Agent: at your service. Its version, for people.
    Welcome(String),
    /// Agent: at somebody else's service already: whose, for people.
    Busy(String),
    /// Controller: make this ready. Packets travel in ways numbered from here, a way a device.
    Prepare(u32, Orders),
    /// Agent: it is.
    Prepared,
    /// Agent: it could not be made.
    Refused(String),
    /// Controller: t = 0 is this instant of your clock; and it is so far ahead of mine, nanoseconds.
    Start(u64, i64),
    /// Agent: an end or a command that is waited for is done.
    Done,
    /// Controller: end everything and tell.
    Finish,
    /// Agent: more of a list of an end of this flow: who opens, or who waits; the bytes hold some of it as JSON.
    List(usize, bool, List),
    /// Agent: more of what a command wrote: its number, and 0 for its output or 1 for that for errors.
    Output(usize, u8),
    /// Agent: what came out, after all lists and outputs.
    Returned(Returned, Carried),
    /// Agent: it went wrong.
    Failed(String),
    /// Controller: carry the path, with machines at these hosts, whose clocks may be known so badly, nanoseconds. The bytes
    /// say what the path is; they are for whoever plays it.
    Carry(Vec<Lender>, u64),
    /// Agent: it can; the bytes tell about it.
    Ready,
    /// Controller: play what the bytes say.
    Play,
    /// Controller: play no further.
    Stop,
    /// Agent: more of what came out, and of which kind.
    Piece(String),
    /// Agent: it has been played; the bytes tell the rest.
    Played,
    /// Controller: what time is it?
    Ping(u64),
    /// Agent: the number of the question, and the instant of its clock, nanoseconds.
    Pong(u64, u64),
}

/// A host that lends machines, as the host with the path is told of it.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lender {
    /// What the user calls it.
    pub name: String,
    /// Where its agent listens.
    pub address: SocketAddr,
    /// What its agent wants to see.
    pub token: Token,
    /// The nodes that it has.
    pub machines: Vec<String>,
}

/// What one end of the ways between two hosts saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// How long packets took that came here.
    pub took: Packed,
    /// Packets that never came here.
    pub lost: u64,
    /// Packets that others overtook.
    pub overtaken: u64,
    /// Packets that the device here would not take.
    pub refused: u64,
    /// The thread that carried them had real-time priority.
    pub realtime: bool,
}

/// The most bytes of a message: what a hostile peer can make the other end hold.
pub const MOST: usize = 16 << 20;
/// The most bytes of a piece, with the one before it: Noise frames hold 65 535 with their tag of 16.
pub const PIECE: usize = 65_535 - 16;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than [`MOST`].
    #[error("a message of more than {MOST} B")]
    Long,
    /// An empty piece, or one that says neither that more follow nor that none do.
    #[error("a piece that is none")]
    Piece,
    /// No message.
    #[error("a message that cannot be read")]
    Unread,
}

/// Writes a message as its pieces.
#[cfg(target_os = "linux")]
pub fn write(message: &Message, bytes: &[u8]) -> Vec<Vec<u8>> {
    // A plain structure without maps of foreign keys always becomes JSON.
    let json = serde_json::to_vec(message).unwrap_or_default();
    let mut whole = (json.len() as u32).to_be_bytes().to_vec();
    whole.extend(json);
    whole.extend(bytes);
    let count = whole.len().div_ceil(PIECE - 1);
    let more = |(i, piece): (usize, &[u8])| {
        let mut out = vec![u8::from(i + 1 < count)];
        out.extend(piece);
        out
    };
    whole.chunks(PIECE - 1).enumerate().map(more).collect()
}

/// Pieces that have come, until they are a message.
#[derive(Clone, Debug, Default)]
pub struct Pieces(Vec<u8>);

impl Pieces {
    /// Adds one; gives the message and its bytes when that was the last.
    ///
    /// # Errors
    /// Nothing that follows can be read either.
    #[cfg(target_os = "linux")]
    pub fn add(&mut self, piece: &[u8]) -> Result<Option<(Message, Vec<u8>)>, Fault> {
        let Some((more, rest)) = piece.split_first().filter(|(more, _)| **more < 2) else {
            return Err(Fault::Piece);
        };
        if self.0.len() + rest.len() > MOST {
            return Err(Fault::Long);
        }
        self.0.extend_from_slice(rest);
        if *more == 1 {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.0);
        let (length, rest) = whole.split_first_chunk::<4>().ok_or(Fault::Unread)?;
        let (json, bytes) =
            rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(Fault::Unread)?;
        let message = serde_json::from_slice(json).map_err(|_| Fault::Unread)?;
        Ok(Some((message, bytes.to_vec())))
    }
}
