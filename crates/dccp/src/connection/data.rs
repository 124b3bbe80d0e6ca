//! Application data of a DCCP connection: send buffer, fates of packets, message reassembly.

use crate::ccid::{Fate, Sending};
use crate::packet::Dccp;
use base::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transport::app::message::{Message, MessageEvent, MessageId};

/// Lifetime of a data packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// No limit: the network never discards the packet for its age.
    #[default]
    Always,
    /// Until the retransmission timeout of an equivalent TCP (the paper's TFRC test).
    Rto,
    /// The retransmission timeout plus one smoothed round-trip time.
    RtoAndRtt,
    /// Remaining lifetime of the packet's message; no limit for messages without a lifetime.
    Message,
    /// A fixed time.
    For(Span),
}

/// Part of a message that fits into one data packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) message: (MessageId, bool),
    /// Expiry time of the message.
    pub(super) deadline: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: MessageId,
    start: u64,
    from: u64,
    to: u64,
    /// Time of the write; unknown before the endpoint runs.
    made: Option<Time>,
    lifetime: Option<Span>,
}

impl Waiting {
    fn deadline(&self) -> Time {
        match (self.made, self.lifetime) {
            (Some(made), Some(lifetime)) => made + lifetime,
            _ => Time::NEVER,
        }
    }
}

/// A data packet in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u64,
    to: u64,
    message: MessageId,
    settled: bool,
}

/// Unsettled parts of a message.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Packets of the message that were sent.
    sent: u32,
    /// Packets of known fate, arrived or lost.
    settled: u32,
    /// Packets lost, or a discarded unsent rest.
    lost: u32,
    whole: bool,
}

/// The sending side's data.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    written: u64,
    closed: bool,
    next_id: MessageId,
    /// Unsent data, by stream offset.
    waiting: VecDeque<Waiting>,
    /// Deadline and stream offset of the start of each message in `waiting` that has a lifetime.
    deadlines: BTreeSet<(Time, u64)>,
    /// Bytes of a stream without messages, as one message that grows.
    stream: bool,
    sent: VecDeque<Sent>,
    progress: BTreeMap<MessageId, Progress>,
    /// Stream offset below which the fate (delivered or lost) of all data is known.
    settled: u64,
    events: VecDeque<MessageEvent>,
}

impl Outbox {
    pub(super) fn append(&mut self, bytes: u64) {
        if self.closed || bytes == 0 {
            return;
        }
        let from = self.written;
        self.written += bytes;
        self.stream = true;
        match self.waiting.back_mut() {
            Some(last) if last.id == u64::MAX => last.to = self.written,
            _ => self.waiting.push_back(Waiting {
                id: u64::MAX,
                start: from,
                from,
                to: self.written,
                made: None,
                lifetime: None,
            }),
        }
    }

    pub(super) fn queue(&mut self, message: Message, most: u32) -> MessageId {
        let id = self.next_id;
        self.next_id += 1;
        let bytes = message.bytes.max(1);
        if self.closed {
            return id;
        }
        let (from, to) = (self.written, self.written + bytes);
        self.written = to;
        self.waiting.push_back(Waiting { id, start: from, from, to, made: None, lifetime: message.lifetime });
        // A full buffer discards the oldest message of which nothing was sent.
        while most > 0 && self.waiting.len() > most as usize {
            let started = self.waiting.front().is_some_and(|w| self.progress.contains_key(&w.id));
            let Some(gone) = self.waiting.remove(usize::from(started)) else { break };
            self.deadlines.remove(&(gone.deadline(), gone.start));
            self.events.push_back(MessageEvent::Expired(gone.id));
        }
        id
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }
    pub(super) fn stop(&mut self) {
        self.closed = true;
        self.waiting.clear();
        self.deadlines.clear();
    }

    /// Sets the write time of messages written since the endpoint last ran.
    pub(super) fn stamp(&mut self, now: Time) {
        for waiting in self.waiting.iter_mut().rev().take_while(|w| w.made.is_none()) {
            waiting.made = Some(now);
            if waiting.lifetime.is_some() {
                self.deadlines.insert((waiting.deadline(), waiting.start));
            }
        }
    }

    /// Discards unsent data of messages whose lifetime has expired (catalogue AT-36).
    pub(super) fn expire(&mut self, now: Time) {
        let mut expired = Vec::new();
        while let Some((_, start)) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now)
        {
            self.deadlines.pop_first();
            expired.push(start);
        }
        expired.sort_unstable();
        for start in expired {
            let at = self.waiting.partition_point(|w| w.start < start);
            let Some(gone) = self.waiting.remove(at) else { continue };
            let event = match self.progress.get_mut(&gone.id) {
                Some(progress) => {
                    progress.whole = true;
                    progress.lost += 1;
                    MessageEvent::Abandoned(gone.id)
                }
                None => MessageEvent::Expired(gone.id),
            };
            self.events.push_back(event);
        }
    }

    pub(super) fn next_expiry(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |(deadline, _)| *deadline)
    }
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
    /// True if unsent data remain after the next piece of at most `payload` bytes.
    pub(super) fn has_more(&self, payload: u32) -> bool {
        self.waiting.len() > 1 || self.waiting.front().is_some_and(|w| w.to - w.from > u64::from(payload))
    }

    /// Stream offset of the first byte of the message that is sent next.
    pub(super) fn next_start(&self) -> u64 {
        self.waiting.front().map_or(0, |w| w.start)
    }

    /// Removes and returns the next piece, of at most `payload` bytes.
    pub(super) fn take(&mut self, payload: u32) -> Option<Piece> {
        let first = self.waiting.front_mut()?;
        let bytes = (first.to - first.from).min(u64::from(payload.max(1)));
        let offset = first.from;
        first.from += bytes;
        let last = first.from >= first.to;
        let (id, deadline, start) = (first.id, first.deadline(), first.start);
        if last {
            self.waiting.pop_front();
            self.deadlines.remove(&(deadline, start));
        }
        Some(Piece { offset, bytes: bytes as u32, message: (id, last), deadline })
    }

    pub(super) fn on_sent(&mut self, seq: u64, piece: &Piece) {
        let to = piece.offset + u64::from(piece.bytes);
        self.sent.push_back(Sent { seq, to, message: piece.message.0, settled: false });
        if piece.message.0 != u64::MAX {
            let progress = self.progress.entry(piece.message.0).or_default();
            progress.sent += 1;
            progress.whole |= piece.message.1;
        }
    }

    /// Sets the fate of a packet; true if that is a new loss.
    pub(super) fn on_fate(&mut self, fate: Fate) -> bool {
        let at = self.sent.partition_point(|s| s.seq < fate.seq);
        let Some(sent) = self.sent.get_mut(at).filter(|s| s.seq == fate.seq && !s.settled) else {
            return false;
        };
        sent.settled = true;
        let message = sent.message;
        if let Some(progress) = self.progress.get_mut(&message) {
            progress.settled += 1;
            progress.lost += u32::from(!fate.arrived);
            if progress.whole && progress.settled >= progress.sent {
                let lost = progress.lost > 0;
                self.progress.remove(&message);
                let event =
                    if lost { MessageEvent::Abandoned(message) } else { MessageEvent::Acknowledged(message) };
                self.events.push_back(event);
            }
        }
        while let Some(sent) = self.sent.front().copied().filter(|s| s.settled) {
            self.settled = self.settled.max(sent.to);
            self.sent.pop_front();
        }
        !fate.arrived
    }

    /// After a timeout of a window the fate of packets in flight stays unknown.
    pub(super) fn settle_all_sent(&mut self, sending: &Sending) {
        if !matches!(sending, Sending::Tcplike(_)) {
            return;
        }
        let all: Vec<u64> = self.sent.iter().filter(|s| !s.settled).map(|s| s.seq).collect();
        for seq in all {
            self.on_fate(Fate { seq, arrived: false });
        }
    }

    /// The connection has ended: nothing more is learned of anything.
    pub(super) fn end(&mut self) {
        let all: Vec<u64> = self.sent.iter().filter(|s| !s.settled).map(|s| s.seq).collect();
        for seq in all {
            self.on_fate(Fate { seq, arrived: true });
        }
        self.waiting.clear();
        self.deadlines.clear();
        self.settled = self.written;
    }

    pub(super) fn settled(&self) -> u64 {
        self.settled
    }
    pub(super) fn unsettled(&self) -> u64 {
        self.sent.back().map_or(0, |s| s.to.saturating_sub(self.settled))
    }
    pub(super) fn end_offset(&self) -> u64 {
        self.written
    }
    pub(super) fn written(&self) -> (u64, bool) {
        (self.written, self.closed)
    }
    /// All data has left and the application has closed.
    pub(super) fn is_done(&self) -> bool {
        self.closed && self.waiting.is_empty()
    }
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    pub(super) fn event(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }
}

/// A message that arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number at the sender.
    pub message: MessageId,
    /// Arrival time of its last piece.
    pub at: Time,
    /// Its length.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Assembly {
    bytes: u64,
    /// Lowest offset seen, and the end once it is known.
    from: u64,
    to: Option<u64>,
}

/// The receiving side's data.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    position: u64,
    bytes: u64,
    assembling: BTreeMap<MessageId, Assembly>,
    delivered: Vec<Delivered>,
    events: VecDeque<MessageEvent>,
}

/// Messages in assembly that are kept; the oldest are forgotten.
const ASSEMBLING: usize = 256;

impl Inbox {
    /// A data packet arrived, for the first time.
    pub(super) fn on_data(&mut self, now: Time, packet: &Dccp) {
        let end = packet.offset.saturating_add(u64::from(packet.payload));
        self.position = self.position.max(end);
        self.bytes += u64::from(packet.payload);
        let (id, last) = packet.message;
        if id == u64::MAX {
            return;
        }
        let new = Assembly { bytes: 0, from: packet.offset, to: None };
        let assembly = self.assembling.entry(id).or_insert(new);
        assembly.bytes += u64::from(packet.payload);
        assembly.from = assembly.from.min(packet.offset);
        if last {
            assembly.to = Some(end);
        }
        // The first piece of a message begins where the one before it ended: nothing lies between.
        let whole =
            assembly.to.is_some_and(|to| to - assembly.from == assembly.bytes) && self.begins(id, packet);
        if whole && let Some(done) = self.assembling.remove(&id) {
            self.delivered.push(Delivered { message: id, at: now, bytes: done.bytes });
            self.events.push_back(MessageEvent::Received {
                stream: 0,
                message: Some(id),
                bytes: done.bytes,
                unordered: true,
            });
        }
        while self.assembling.len() > ASSEMBLING {
            self.assembling.pop_first();
        }
    }

    /// Whether the lowest piece here is the message's first one.
    fn begins(&self, id: MessageId, packet: &Dccp) -> bool {
        self.assembling.get(&id).is_some_and(|a| a.from == packet.start)
    }

    /// The peer ends its stream here.
    pub(super) fn end(&mut self, offset: u64) {
        self.position = self.position.max(offset);
    }
    pub(super) fn position(&self) -> u64 {
        self.position
    }
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(super) fn delivered(&self) -> &[Delivered] {
        &self.delivered
    }
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    pub(super) fn event(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }
}
