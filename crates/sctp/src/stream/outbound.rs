//! Outbound streams: send queue of messages in the order of writing, fragmentation at transmission, expiry
//! and abandonment (RFC 3758).

use base::Time;
use std::collections::{BTreeSet, VecDeque};
use transport::app::message::{Message, MessageId};

/// User data of one DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Stream of the message.
    pub stream: u16,
    /// Stream sequence number of the message.
    pub ssn: u64,
    /// Whether it is the first and the last fragment of its message.
    pub ends: [bool; 2],
    /// Whether the message is unordered.
    pub unordered: bool,
    /// Length of the user data, bytes.
    pub len: u32,
    /// Identifier of the message; `None` for bulk data.
    pub message: Option<MessageId>,
    /// Time at which the message is abandoned.
    pub expires: Time,
    /// Maximum number of retransmissions; `None`: unlimited.
    pub retransmissions: Option<u32>,
}

/// A message in the queue, or bulk data without boundaries.
#[derive(Clone, Copy, Debug)]
struct Pending {
    message: Message,
    /// Identifier of the message; `None` for bulk data.
    id: Option<MessageId>,
    /// Bytes not yet sent.
    left: u64,
    /// Whether a fragment was sent.
    begun: bool,
    /// Stream sequence number, valid once a fragment was sent.
    ssn: u64,
    /// Time at which the message expires; `None`: the lifetime starts at the endpoint's next event.
    expires: Option<Time>,
}

impl Pending {
    fn expires(&self) -> Time {
        self.expires.unwrap_or(Time::NEVER)
    }
    fn forget(&self, expiries: &mut BTreeSet<(Time, MessageId)>) {
        if let Some(one) = self.expires.zip(self.id) {
            expiries.remove(&one);
        }
    }
}

/// The send queue of all streams.
#[derive(Clone, Debug)]
pub struct Outbound {
    queue: VecDeque<Pending>,
    /// Expiry times of queued messages of which nothing was sent, earliest first: lifetimes differ, so that the
    /// queue has another order.
    expiries: BTreeSet<(Time, MessageId)>,
    /// Whether a message with a lifetime or a limit of retransmissions was written.
    limited: bool,
    /// Next stream sequence number of each stream.
    next: Vec<u64>,
    /// Identifier of the next message.
    messages: MessageId,
    /// Bytes written in total.
    written: u64,
    /// Bytes in the queue.
    waiting: u64,
}

impl Outbound {
    /// An empty queue with `streams` streams, at least one.
    pub fn new(streams: u16) -> Self {
        let next = vec![0; usize::from(streams.max(1))];
        Outbound {
            queue: VecDeque::new(),
            expiries: BTreeSet::new(),
            limited: false,
            next,
            messages: 0,
            written: 0,
            waiting: 0,
        }
    }

    /// Appends a message; returns its identifier.
    pub fn push(&mut self, message: Message) -> MessageId {
        let id = self.messages;
        self.messages += 1;
        let bytes = message.bytes.max(1);
        let message = Message { bytes, stream: message.stream.min(self.next.len() as u16 - 1), ..message };
        self.limited |= message.lifetime.is_some() || message.retransmissions.is_some();
        let expires = if message.lifetime.is_some() { None } else { Some(Time::NEVER) };
        (self.written, self.waiting) = (self.written + bytes, self.waiting + bytes);
        self.queue.push_back(Pending { message, id: Some(id), left: bytes, begun: false, ssn: 0, expires });
        id
    }

    /// Starts the lifetimes of the messages appended since the last call, at `now`.
    pub fn stamp(&mut self, now: Time) {
        for pending in self.queue.iter_mut().rev().take_while(|pending| pending.expires.is_none()) {
            pending.expires = pending.message.lifetime.map(|lifetime| now + lifetime);
            self.expiries.extend(pending.expires.zip(pending.id));
        }
    }

    /// Appends bytes without boundaries: each of their fragments is a message.
    pub fn push_bulk(&mut self, bytes: u64) {
        (self.written, self.waiting) = (self.written + bytes, self.waiting + bytes);
        let last = self.queue.back_mut().filter(|last| last.id.is_none());
        match last {
            Some(last) => last.left += bytes,
            None => {
                let message = Message::of(bytes);
                let expires = Some(Time::NEVER);
                self.queue.push_back(Pending {
                    message,
                    id: None,
                    left: bytes,
                    begun: false,
                    ssn: 0,
                    expires,
                });
            }
        }
    }

    /// Length of the next fragment of at most `most` bytes; `None` with an empty queue.
    pub fn peek(&self, most: u32) -> Option<u32> {
        self.queue.front().map(|pending| pending.left.min(u64::from(most)) as u32)
    }

    /// Takes the next fragment of at most `most` bytes.
    pub fn cut(&mut self, most: u32) -> Option<Fragment> {
        let len = self.peek(most).filter(|len| *len > 0)?;
        let pending = self.queue.front_mut()?;
        let Message { stream, unordered, retransmissions, .. } = pending.message;
        let bulk = pending.id.is_none();
        let begin = bulk || !pending.begun;
        if begin && !unordered {
            let next = self.next.get_mut(usize::from(stream))?;
            pending.ssn = *next;
            *next += 1;
        }
        if !pending.begun {
            pending.begun = true;
            pending.forget(&mut self.expiries);
        }
        pending.left -= u64::from(len);
        self.waiting -= u64::from(len);
        let fragment = Fragment {
            stream,
            ssn: pending.ssn,
            ends: [begin, bulk || pending.left == 0],
            unordered,
            len,
            message: pending.id,
            expires: pending.expires(),
            retransmissions,
        };
        if pending.left == 0 {
            self.queue.pop_front();
        }
        Some(fragment)
    }

    /// The partly sent message, if its lifetime has expired.
    pub fn begun_and_over(&self, now: Time) -> Option<MessageId> {
        self.queue.front().filter(|front| front.begun && front.expires() <= now)?.id
    }

    /// Removes expired messages of which nothing was sent.
    pub fn expire(&mut self, now: Time, mut expired: impl FnMut(MessageId)) {
        if self.next_expiry() > now {
            return;
        }
        let begun = self.pop_if(|front| front.begun);
        let mut left = self.expiries.iter().take_while(|(at, _)| *at <= now).count();
        // Lifetimes are mostly equal, so expired messages are at the front.
        while left > 0
            && let Some(gone) = self.pop_if(|front| front.expires() <= now)
        {
            left -= 1;
            self.withdraw(&gone, &mut expired);
        }
        if left > 0 {
            let all = std::mem::take(&mut self.queue).into_iter();
            let (gone, kept): (VecDeque<_>, VecDeque<_>) = all.partition(|pending| pending.expires() <= now);
            self.queue = kept;
            gone.iter().for_each(|gone| self.withdraw(gone, &mut expired));
        }
        begun.into_iter().for_each(|begun| self.queue.push_front(begun));
    }

    /// Removes the front of the queue if `is` holds for it.
    fn pop_if(&mut self, is: impl Fn(&Pending) -> bool) -> Option<Pending> {
        if self.queue.front().is_some_and(is) { self.queue.pop_front() } else { None }
    }

    /// Accounts for an expired message removed from the queue, and reports its identifier.
    fn withdraw(&mut self, gone: &Pending, expired: &mut impl FnMut(MessageId)) {
        self.waiting -= gone.left;
        gone.forget(&mut self.expiries);
        gone.id.into_iter().for_each(expired);
    }

    /// Removes the unsent rest of an abandoned message; returns an empty last fragment for it, `None` without a rest.
    pub fn abandon(&mut self, id: MessageId) -> Option<Fragment> {
        // A message that is partly sent stays at the front of the queue.
        let gone = self.pop_if(|front| front.id == Some(id))?;
        self.waiting -= gone.left;
        Some(Fragment {
            stream: gone.message.stream,
            ssn: gone.ssn,
            ends: [false, true],
            unordered: gone.message.unordered,
            len: 0,
            message: gone.id,
            expires: gone.expires(),
            retransmissions: gone.message.retransmissions,
        })
    }

    /// Whether any message so far had a lifetime or a limit of retransmissions.
    pub fn is_limited(&self) -> bool {
        self.limited
    }

    /// Next expiry of a message of which nothing was sent.
    pub fn next_expiry(&self) -> Time {
        self.expiries.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Removes all messages of which nothing was sent.
    pub fn clear(&mut self) {
        // A partly sent message must be completed: its receiver waits for its end.
        self.queue.retain_mut(|pending| {
            let keep = pending.begun && pending.id.is_some();
            self.waiting -= if keep { 0 } else { pending.left };
            keep
        });
        self.list();
    }

    /// Rebuilds `expiries` from the queue.
    fn list(&mut self) {
        let unsent = self.queue.iter().filter(|pending| !pending.begun);
        self.expiries = unsent.filter_map(|pending| pending.expires.zip(pending.id)).collect();
        self.expiries.retain(|(at, _)| !at.is_never());
    }

    /// Restart of the association: stream sequence numbers start at 0, and the rest of a partly sent message
    /// is lost.
    pub fn restart(&mut self) {
        self.queue.retain(|pending| !pending.begun || pending.id.is_none());
        self.waiting = self.queue.iter().map(|pending| pending.left).sum();
        self.list();
        self.next.fill(0);
    }

    /// True if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
    /// Total number of bytes written.
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Number of streams.
    pub fn streams(&self) -> u16 {
        self.next.len() as u16
    }
    /// Limits the number of streams to `streams`, the peer's maximum of inbound streams.
    pub fn limit(&mut self, streams: u16) {
        self.next.truncate(usize::from(streams.max(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn lives(ms: Option<u64>) -> Message {
        Message { lifetime: ms.map(Span::from_millis), ..Message::of(10) }
    }

    /// Next expiry by a search through all queued messages, for comparison with the list.
    fn looked_at(outbound: &Outbound) -> Time {
        let unsent = outbound.queue.iter().filter(|pending| !pending.begun);
        unsent.map(Pending::expires).min().unwrap_or(Time::NEVER)
    }

    #[test]
    fn lifetimes_in_any_order_are_over_in_their_time() {
        let mut outbound = Outbound::new(1);
        let mut state = 7u64;
        let mut draw = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut gone = Vec::new();
        for ms in 0..5_000 {
            match draw(6) {
                0..3 => drop(outbound.push(lives((draw(3) > 0).then(|| draw(400))))),
                3 => drop(outbound.cut(6)),
                4 if draw(40) == 0 => outbound.clear(),
                _ => {}
            }
            outbound.stamp(at(ms));
            let begun = outbound.queue.front().filter(|front| front.begun).and_then(|front| front.id);
            let due = |p: &&Pending| p.expires() <= at(ms) && p.id != begun;
            let expected: Vec<_> = outbound.queue.iter().filter(due).filter_map(|p| p.id).collect();
            let mut expired = Vec::new();
            outbound.expire(at(ms), |id| expired.push(id));
            assert_eq!(expired, expected);
            assert_eq!(outbound.next_expiry(), looked_at(&outbound));
            assert_eq!(outbound.waiting, outbound.queue.iter().map(|p| p.left).sum::<u64>());
            if let Some(id) = begun.filter(|_| draw(20) == 0) {
                assert!(outbound.abandon(id).is_some() && outbound.abandon(id).is_none());
                assert_eq!(outbound.next_expiry(), looked_at(&outbound));
            }
            gone.extend(expired);
        }
        assert!(gone.len() > 300, "{}", gone.len());
    }

    /// Half a million messages of 1 B while nothing is sent: a search through all messages for each message would be
    /// 10^11 steps.
    #[test]
    fn many_messages_that_wait_cost_nothing_each_time() {
        let mut outbound = Outbound::new(1);
        for ms in 0..500_000 {
            outbound.push(lives((ms % 2 == 0).then_some(1_000_000)));
            outbound.stamp(at(ms));
            outbound.expire(at(ms), |_| ());
            assert_eq!(outbound.next_expiry(), at(1_000_000));
        }
        let mut expired = 0;
        outbound.expire(at(2_000_000), |_| expired += 1);
        assert_eq!((expired, outbound.waiting), (250_000, 2_500_000));
    }
}
