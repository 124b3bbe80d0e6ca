//! Partial reliability (RFC 3758): abandons messages with an expired lifetime or used-up retransmissions, and
//! sends FORWARD TSN for them.

use super::{Association, Fate, Sent};
use crate::chunk::{Chunk, Data};
use crate::stream::outbound::Fragment;
use base::Time;
use base::truth::Cause;
use transport::app::message::{MessageEvent, MessageId};

impl Association {
    /// Abandons expired messages. Without FORWARD TSN at both ends, only messages of which nothing was sent.
    pub(super) fn abandon_expired(&mut self, now: Time) {
        let (events, counts) = (&mut self.events, &mut self.counts);
        self.outbound.expire(now, |id| {
            counts.expired += 1;
            events.push_back(MessageEvent::Expired(id));
        });
        if !self.peer.forward_tsn || !self.sent.iter().any(|sent| sent.message.is_some()) {
            return;
        }
        // Without a limited message, no message is searched for each packet.
        if !self.outbound.is_limited() {
            self.advanced = self.advanced.max(self.una);
            return;
        }
        let over = |s: &Sent| {
            let used_up = s.fate == Fate::Resend && s.retransmissions.is_some_and(|n| s.transmissions > n);
            s.message.filter(|_| s.may_be_abandoned() && (s.expires <= now || used_up))
        };
        let mut gone: Vec<MessageId> = self.sent.iter().filter_map(over).collect();
        gone.dedup();
        for id in gone {
            self.abandon(id);
        }
        self.advance();
    }

    /// Abandons a message: its chunks are no longer in flight or retransmitted, and its unsent rest is removed.
    pub(super) fn abandon(&mut self, id: MessageId) {
        let rest = self.outbound.abandon(id);
        for sent in self.sent.iter_mut().filter(|sent| sent.message == Some(id)) {
            match sent.fate {
                Fate::Flight => self.paths[usize::from(sent.path)].flight -= u64::from(sent.data.len),
                Fate::Resend => self.resends -= 1,
                Fate::Acked | Fate::Abandoned => {}
            }
            sent.fate = Fate::Abandoned;
        }
        if let Some(rest) = rest {
            self.mark_end(&rest);
        }
        self.counts.abandoned += 1;
        self.events.push_back(MessageEvent::Abandoned(id));
    }

    //= RFC 3758 section 4.1, TR4: the TSN is marked as eligible for FORWARD TSN
    /// Assigns a TSN that is never transmitted to the unsent rest of an abandoned message. A FORWARD TSN that
    /// includes this TSN advances even a peer that has received all chunks sent. Otherwise that peer would wait for
    /// the end of the message, and deliver no later message of the stream.
    fn mark_end(&mut self, rest: &Fragment) {
        let data = Data {
            tsn: self.next,
            stream: rest.stream,
            ssn: rest.ssn,
            begin: false,
            end: true,
            unordered: rest.unordered,
            immediate: false,
            len: rest.len,
            ppid: 0,
            cause: Cause::New,
        };
        self.next += 1;
        self.sent.push_back(Sent {
            data,
            fate: Fate::Abandoned,
            path: self.data_path,
            transmissions: 0,
            missing: 0,
            fast: false,
            message: rest.message,
            expires: rest.expires,
            retransmissions: rest.retransmissions,
        });
    }

    //= RFC 3758 section 3.5, C2: the Advanced.Peer.Ack.Point moves over abandoned chunks
    /// Advances the Advanced.Peer.Ack.Point over abandoned chunks, and queues a FORWARD TSN if it moved.
    pub(super) fn advance(&mut self) {
        let before = self.advanced.max(self.una);
        self.advanced = before;
        for sent in &self.sent {
            if sent.data.tsn == self.advanced && sent.fate == Fate::Abandoned {
                self.advanced += 1;
            }
        }
        if self.advanced > self.una && self.advanced > before {
            self.queue_forward();
        }
    }

    /// Queues a FORWARD TSN up to the Advanced.Peer.Ack.Point, in place of an older one.
    pub(super) fn queue_forward(&mut self) {
        if self.advanced <= self.una {
            return;
        }
        let mut streams: Vec<(u16, u64)> = Vec::new();
        for sent in self.sent.iter().filter(|s| s.data.tsn < self.advanced && !s.data.unordered) {
            match streams.iter_mut().find(|(stream, _)| *stream == sent.data.stream) {
                Some((_, ssn)) => *ssn = (*ssn).max(sent.data.ssn),
                None => streams.push((sent.data.stream, sent.data.ssn)),
            }
        }
        self.waiting.retain(|(_, chunk)| !matches!(chunk, Chunk::ForwardTsn(..)));
        self.waiting.push_back((self.data_path, Chunk::ForwardTsn(self.advanced, streams)));
    }
}
