//! Messages of the control connection between controller and agent (`Message`), their serialisation in pieces, and
//! reassembly with a size limit.
//!
//! A message is a 4-byte length, JSON of that length, and bytes. It is split into pieces that fit a frame of the
//! connection. Each piece has a leading byte: 1 if more pieces follow.

use emulate::accuracy::lateness::Packed;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::token::Token;
#[cfg(target_os = "linux")]
use emulate::remote::hosts::{Orders, RemoteResults};
#[cfg(target_os = "linux")]
use emulate::remote::results::List;
#[cfg(target_os = "linux")]
use std::net::SocketAddr;

/// Message of the control connection.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Agent: the controller is accepted. Version of the agent, for display.
    Welcome(String),
    /// Agent: occupied by another controller. Address of that controller, for display.
    Busy(String),
    /// Controller: prepare these resources. Each device has a tunnel, numbered from here on.
    Prepare(u32, Orders),
    /// Agent: prepared.
    Prepared,
    /// Agent: the preparation failed, with the reason.
    Refused(String),
    /// Controller: t = 0 on the agent's clock, and agent's clock less controller's clock, ns.
    Start(u64, i64),
    /// Agent: an awaited flow end or command is done.
    Done,
    /// Controller: end the repetition and report the results.
    Finish,
    /// Agent: part of a list of a flow end: index of the flow, whether it is the active end, name of the list. The
    /// bytes are JSON.
    List(usize, bool, List),
    /// Agent: part of a command's output: index of the command, and 0 for standard output or 1 for standard error.
    Output(usize, u8),
    /// Agent: results, after all lists and outputs.
    #[serde(rename = "returned")]
    RemoteResults(RemoteResults, TunnelStats),
    /// Agent: the run failed, with the reason.
    Failed(String),
    /// Controller: carry the path, with nodes on these hosts and this limit of clock uncertainty, ns. The bytes are
    /// the task for the path's player.
    Carry(Vec<WorkerHost>, u64),
    /// Agent: ready to play repetitions; the bytes are details.
    Ready,
    /// Controller: play the repetition that the bytes describe.
    Play,
    /// Controller: stop playing.
    Stop,
    /// Agent: part of the results of this kind.
    Piece(String),
    /// Agent: the repetition is done; the bytes are the remaining results.
    Played,
    /// Controller: clock query with a sequence number.
    Ping(u64),
    /// Agent: sequence number of the query, and time on the agent's clock, ns.
    Pong(u64, u64),
}

/// Host that lends namespaces, as described to the host that carries the path.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerHost {
    /// Name from the user.
    pub name: String,
    /// Address of its agent.
    pub address: SocketAddr,
    /// Token of its agent.
    pub token: Token,
    /// Nodes on the host.
    pub machines: Vec<String>,
}

/// Statistics of tunnels, at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelStats {
    /// Transit times of received packets.
    pub took: Packed,
    /// Packets lost on the way to this host.
    pub lost: u64,
    /// Packets reordered on the way to this host.
    pub overtaken: u64,
    /// Packets refused by the devices of this host.
    pub refused: u64,
    /// The relay thread had real-time priority.
    pub realtime: bool,
}

/// Largest message, bytes; bounds the memory that a peer can occupy.
pub const MOST: usize = 16 << 20;
/// Largest piece with its leading byte: a Noise frame has at most 65 535 bytes with a tag of 16.
pub const PIECE: usize = 65_535 - 16;

/// Reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// Longer than [`MOST`].
    #[error("a message of more than {MOST} B")]
    Long,
    /// An empty piece, or an invalid leading byte.
    #[error("a piece that is none")]
    Piece,
    /// Invalid content.
    #[error("a message that cannot be read")]
    Unread,
}

/// Serialises a message and its bytes into pieces.
#[cfg(target_os = "linux")]
pub fn write(message: &Message, bytes: &[u8]) -> Vec<Vec<u8>> {
    // Serialising this structure cannot fail.
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

/// Reassembly buffer of an incomplete message.
#[derive(Clone, Debug, Default)]
pub struct Reassembly(Vec<u8>);

impl Reassembly {
    /// Adds a piece; returns message and bytes after the last piece.
    ///
    /// # Errors
    /// The piece is invalid; the stream is not usable afterwards.
    #[cfg(target_os = "linux")]
    pub fn add(&mut self, piece: &[u8]) -> Result<Option<(Message, Vec<u8>)>, MessageFault> {
        let Some((more, rest)) = piece.split_first().filter(|(more, _)| **more < 2) else {
            return Err(MessageFault::Piece);
        };
        if self.0.len() + rest.len() > MOST {
            return Err(MessageFault::Long);
        }
        self.0.extend_from_slice(rest);
        if *more == 1 {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.0);
        let (length, rest) = whole.split_first_chunk::<4>().ok_or(MessageFault::Unread)?;
        let (json, bytes) =
            rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(MessageFault::Unread)?;
        let message = serde_json::from_slice(json).map_err(|_| MessageFault::Unread)?;
        Ok(Some((message, bytes.to_vec())))
    }
}
