//! Messages and streams: what a message-oriented transport preserves of an application's writes: boundaries, streams,
//! order, lifetime (RFC 9260 section 1.5, RFC 3758, RFC 4340).
//!
//! An application that speaks in messages uses [`super::Socket::send`] over every transport. A byte stream appends the
//! bytes and forgets the boundaries; its applications mark them out of band.

use base::Span;

/// One message to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// Its length.
    pub bytes: u64,
    /// The stream that it belongs to, from 0.
    pub stream: u16,
    /// It may be delivered before earlier messages of its stream.
    pub unordered: bool,
    /// It is abandoned when it could not be delivered for so long.
    pub lifetime: Option<Span>,
    /// It is abandoned rather than retransmitted more often than this.
    pub retransmissions: Option<u32>,
}

impl Message {
    /// A reliable, ordered message of stream 0.
    pub const fn of(bytes: u64) -> Message {
        Message { bytes, stream: 0, unordered: false, lifetime: None, retransmissions: None }
    }
}

/// The number of a message among those that one end sent over one connection, from 0.
pub type MessageId = u64;

/// What an application learns of messages and streams, in the order in which it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageEvent {
    /// A whole message of the peer was delivered to the application.
    Received {
        /// Its stream.
        stream: u16,
        /// Its number at the peer, where the protocol lets it be known.
        message: Option<MessageId>,
        /// Its length.
        bytes: u64,
        /// It was sent as unordered.
        unordered: bool,
    },
    /// The peer has acknowledged all of a message.
    Acknowledged(MessageId),
    /// A message's lifetime ended before any of it was sent.
    Expired(MessageId),
    /// A message was given up after some of it was sent: its lifetime or its retransmissions were used up.
    Abandoned(MessageId),
    /// A major loss: the application may send less.
    Congested,
    /// The peer has aborted the connection, or it was given up.
    Broken,
}
