//! Properties of an application's writes that a message-oriented transport preserves: boundaries, streams,
//! order, lifetime (RFC 9260 section 1.5, RFC 3758, RFC 4340).
//!
//! A message application uses [`super::Socket::send`] over every transport. A byte stream appends the bytes
//! and drops the boundaries; its applications keep them out of band.

use base::Span;

/// One message to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// Length, bytes.
    pub bytes: u64,
    /// Stream number, from 0.
    pub stream: u16,
    /// May be delivered before earlier messages of its stream.
    pub unordered: bool,
    /// Abandoned if not delivered within this time.
    pub lifetime: Option<Span>,
    /// Abandoned rather than retransmitted more often.
    pub retransmissions: Option<u32>,
}

impl Message {
    /// A reliable, ordered message of stream 0.
    pub const fn of(bytes: u64) -> Message {
        Message { bytes, stream: 0, unordered: false, lifetime: None, retransmissions: None }
    }
}

/// Number of a message within its direction of a connection, from 0.
pub type MessageId = u64;

/// Events of messages and streams, in order of occurrence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageEvent {
    /// A whole message of the peer was delivered.
    Received {
        /// Stream.
        stream: u16,
        /// Number at the sender, if the protocol reveals it.
        message: Option<MessageId>,
        /// Length, bytes.
        bytes: u64,
        /// Sent as unordered.
        unordered: bool,
    },
    /// The peer has acknowledged the whole message.
    Acknowledged(MessageId),
    /// The lifetime ended before any of the message was sent.
    Expired(MessageId),
    /// The message was abandoned after part of it was sent: lifetime or retransmissions exhausted.
    Abandoned(MessageId),
    /// Major loss: the application may reduce its rate.
    Congested,
    /// The connection was aborted by the peer or by this end.
    Broken,
}
