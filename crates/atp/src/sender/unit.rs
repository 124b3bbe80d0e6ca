//! ADU of the ATP sender: standing of each fragment, with counts of fragments by standing.

use crate::packet::Vector;
use base::truth::Cause;
use base::{Span, Time};
use transport::app::message::{Message, MessageId};

/// Standing of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Waits for its first transmission or a retransmission.
    Waiting(Cause),
    /// In flight, with the number of its latest transmission.
    Flying(u64),
    /// Acknowledged by the receiver.
    Acked,
    /// Lost, and not to be sent again.
    Given,
}

/// A unit that is being sent.
#[derive(Clone, Debug)]
pub(super) struct Adu {
    pub(super) id: MessageId,
    pub(super) bytes: u64,
    /// First byte of the unit in the flow.
    pub(super) start: u64,
    pub(super) made: Option<Time>,
    pub(super) lifetime: Option<Span>,
    pub(super) retransmissions: u32,
    /// A fragment was sent.
    pub(super) begun: bool,
    /// Standing of each fragment and its number of transmissions.
    fragments: Vec<(Standing, u32)>,
    /// Acknowledged fragments.
    arrived: Vector,
    /// Fragments in [`Standing::Waiting`].
    waiting: u32,
    /// Fragments in [`Standing::Flying`].
    flying: u32,
    /// Fragments in [`Standing::Acked`].
    acked: u32,
    /// No fragment before this one waits.
    next: usize,
}

impl Adu {
    /// A unit of at least one byte in `fragments` fragments, of which none was sent.
    pub(super) fn new(id: MessageId, start: u64, message: Message, fragments: u32) -> Self {
        Adu {
            id,
            bytes: message.bytes.max(1),
            start,
            made: None,
            lifetime: message.lifetime,
            retransmissions: message.retransmissions.unwrap_or(u32::MAX),
            begun: false,
            fragments: vec![(Standing::Waiting(Cause::New), 0); fragments as usize],
            arrived: Vector::new(fragments),
            waiting: fragments,
            flying: 0,
            acked: 0,
            next: 0,
        }
    }

    /// Expiry time of the unit.
    pub(super) fn deadline(&self) -> Time {
        match (self.made, self.lifetime) {
            (Some(made), Some(lifetime)) => made + lifetime,
            _ => Time::NEVER,
        }
    }
    pub(super) fn len(&self) -> u32 {
        self.fragments.len() as u32
    }
    pub(super) fn flying(&self) -> u32 {
        self.flying
    }
    pub(super) fn waits(&self) -> bool {
        self.waiting > 0
    }
    /// The fate of all fragments is known.
    pub(super) fn is_settled(&self) -> bool {
        self.waiting == 0 && self.flying == 0
    }
    /// All fragments are acknowledged.
    pub(super) fn is_whole(&self) -> bool {
        self.acked == self.len()
    }
    /// All fragments are in flight or acknowledged.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.flying + self.acked == self.len()
    }
    /// Bytes not yet acknowledged.
    pub(super) fn left(&self, payload: u32) -> u64 {
        (u64::from(self.len() - self.acked) * u64::from(payload)).min(self.bytes)
    }
    /// Standing of fragment `number` and its number of transmissions.
    pub(super) fn fragment(&self, number: u32) -> Option<(Standing, u32)> {
        self.fragments.get(number as usize).copied()
    }

    fn count(&mut self, standing: Standing) -> Option<&mut u32> {
        match standing {
            Standing::Waiting(_) => Some(&mut self.waiting),
            Standing::Flying(_) => Some(&mut self.flying),
            Standing::Acked => Some(&mut self.acked),
            Standing::Given => None,
        }
    }

    /// Changes the standing of fragment `number`, which exists.
    pub(super) fn set(&mut self, number: u32, standing: Standing) {
        let old = std::mem::replace(&mut self.fragments[number as usize].0, standing);
        if let Some(count) = self.count(old) {
            *count -= 1;
        }
        if let Some(count) = self.count(standing) {
            *count += 1;
        }
        match standing {
            Standing::Waiting(_) => self.next = self.next.min(number as usize),
            Standing::Acked => {
                self.arrived.set(number);
            }
            _ => {}
        }
    }

    /// The first fragment that waits leaves in transmission `tx`: its number and cause.
    pub(super) fn depart(&mut self, tx: u64) -> Option<(u32, Cause)> {
        if self.waiting == 0 {
            return None;
        }
        let waits = |s: &(Standing, u32)| matches!(s.0, Standing::Waiting(_));
        let at = self.next + self.fragments[self.next..].iter().position(waits)?;
        let Standing::Waiting(cause) = self.fragments[at].0 else { return None };
        self.fragments[at].1 += 1;
        self.next = at + 1;
        self.begun = true;
        self.set(at as u32, Standing::Flying(tx));
        Some((at as u32, cause))
    }

    /// The fragments of `vector` have arrived. The transmissions of those that were in flight: count and highest number.
    pub(super) fn arrived(&mut self, vector: &Vector) -> (u32, u64) {
        let (mut fresh, mut highest) = (0, 0);
        for word in 0..self.arrived.words_64() {
            let mut new = vector.word_64(word) & !self.arrived.word_64(word);
            while new != 0 {
                let number = word as u32 * 64 + new.trailing_zeros();
                new &= new - 1;
                let Some((standing, _)) = self.fragment(number) else { break };
                if let Standing::Flying(tx) = standing {
                    highest = highest.max(tx);
                    fresh += 1;
                }
                self.set(number, Standing::Acked);
            }
        }
        (fresh, highest)
    }

    /// All fragments in flight are lost, the first by `first`.
    pub(super) fn time_out(&mut self, first: Cause) {
        let mut cause = first;
        for number in 0..self.len() {
            if self.flying == 0 {
                break;
            }
            let (standing, times) = self.fragments[number as usize];
            if matches!(standing, Standing::Flying(_)) {
                self.set(number, self.after_loss(times, cause));
                cause = Cause::GoBackN;
            }
        }
    }

    /// Standing of a lost fragment after `times` transmissions.
    pub(super) fn after_loss(&self, times: u32, cause: Cause) -> Standing {
        if times > self.retransmissions { Standing::Given } else { Standing::Waiting(cause) }
    }
}
