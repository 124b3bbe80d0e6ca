//! Outbound streams: messages wait in the order in which they were written, and are cut into fragments when they can be sent.

use base::Time;
use std::collections::VecDeque;
use transport::app::message::{Message, MessageId};

/// What becomes the user data of one DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Its stream.
    pub stream: u16,
    /// Its stream sequence number.
    pub ssn: u64,
    /// First and last of its message.
    pub ends: [bool; 2],
    /// Its message has no place in the order of its stream.
    pub unordered: bool,
    /// Bytes.
    pub len: u32,
    /// Its message, if that is one of an application of messages.
    pub message: Option<MessageId>,
    /// When its message is given up.
    pub expires: Time,
    /// It may be sent again so often.
    pub retransmissions: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    message: Message,
    id: Option<MessageId>,
    left: u64,
    begun: bool,
    ssn: u64,
    /// None: its lifetime begins when the endpoint is told the time next.
    expires: Option<Time>,
}

impl Pending {
    fn expires(&self) -> Time {
        self.expires.unwrap_or(Time::NEVER)
    }
}

/// The send queue of all streams.
#[derive(Clone, Debug)]
pub struct Outbound {
    queue: VecDeque<Pending>,
    /// Next stream sequence number of each stream.
    next: Vec<u64>,
    messages: MessageId,
    written: u64,
    waiting: u64,
}

impl Outbound {
    /// Empty, with this number of streams.
    pub fn new(streams: u16) -> Self {
        let next = vec![0; usize::from(streams.max(1))];
        Outbound { queue: VecDeque::new(), next, messages: 0, written: 0, waiting: 0 }
    }

    /// Appends a message.
    pub fn push(&mut self, message: Message) -> MessageId {
        let id = self.messages;
        self.messages += 1;
        let bytes = message.bytes.max(1);
        let message = Message { bytes, stream: message.stream.min(self.next.len() as u16 - 1), ..message };
        let expires = if message.lifetime.is_some() { None } else { Some(Time::NEVER) };
        (self.written, self.waiting) = (self.written + bytes, self.waiting + bytes);
        self.queue.push_back(Pending { message, id: Some(id), left: bytes, begun: false, ssn: 0, expires });
        id
    }

    /// The messages that were appended since the last call were made now.
    pub fn stamp(&mut self, now: Time) {
        for pending in self.queue.iter_mut().rev().take_while(|pending| pending.expires.is_none()) {
            pending.expires = pending.message.lifetime.map(|lifetime| now + lifetime);
        }
    }

    /// Appends bytes without boundaries: every fragment of them is a message.
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

    /// Length of the next fragment of at most `most` bytes; none if nothing waits.
    pub fn peek(&self, most: u32) -> Option<u32> {
        self.queue.front().map(|pending| pending.left.min(u64::from(most)) as u32)
    }

    /// Cuts the next fragment of at most `most` bytes.
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
        pending.begun = true;
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

    /// Takes out messages of which nothing was sent and whose lifetime is over.
    pub fn expire(&mut self, now: Time, mut expired: impl FnMut(MessageId)) {
        if self.queue.iter().all(|pending| pending.expires() > now) {
            return;
        }
        let waiting = &mut self.waiting;
        self.queue.retain(|pending| {
            let over = pending.expires() <= now && !pending.begun;
            if over {
                *waiting -= pending.left;
                pending.id.into_iter().for_each(&mut expired);
            }
            !over
        });
    }

    /// Takes out the unsent rest of a message that was given up; true if there was one.
    pub fn abandon(&mut self, id: MessageId) -> bool {
        let at = self.queue.iter().position(|pending| pending.id == Some(id));
        let gone = at.and_then(|at| self.queue.remove(at));
        self.waiting -= gone.map_or(0, |pending| pending.left);
        gone.is_some()
    }

    /// When the next lifetime of a message that waits is over.
    pub fn next_expiry(&self) -> Time {
        self.queue.iter().map(Pending::expires).min().unwrap_or(Time::NEVER)
    }

    /// Withdraws all that was not sent.
    pub fn clear(&mut self) {
        // A message that was begun must be finished: its receiver waits for its end.
        self.queue.retain_mut(|pending| {
            let keep = pending.begun && pending.id.is_some();
            self.waiting -= if keep { 0 } else { pending.left };
            keep
        });
    }

    /// The association begins again: stream sequence numbers too. Of a message that was begun, the rest is lost.
    pub fn restart(&mut self) {
        self.queue.retain(|pending| !pending.begun || pending.id.is_none());
        self.waiting = self.queue.iter().map(|pending| pending.left).sum();
        self.next.fill(0);
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Number of streams.
    pub fn streams(&self) -> u16 {
        self.next.len() as u16
    }
    /// The peer takes fewer streams.
    pub fn limit(&mut self, streams: u16) {
        self.next.truncate(usize::from(streams.max(1)));
    }
}
