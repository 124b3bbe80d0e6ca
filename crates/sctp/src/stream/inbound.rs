//! Inbound streams: reassembly of messages from DATA chunks, and delivery in stream order (RFC 9260 sections
//! 6.5, 6.6, 6.9), FORWARD TSN.

use crate::chunk::Data;
use std::collections::BTreeMap;

/// A message delivered to the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Stream of the message.
    pub stream: u16,
    /// Length of the message, bytes.
    pub bytes: u64,
    /// Whether it was sent as unordered.
    pub unordered: bool,
    /// Payload protocol identifier.
    pub ppid: u32,
}

/// Receive state of all streams.
#[derive(Clone, Debug, Default)]
pub struct Inbound {
    /// Fragments of incomplete messages, by TSN.
    fragments: BTreeMap<u64, Data>,
    /// Complete messages that wait for an earlier one of their stream, by stream and stream sequence number.
    waiting: BTreeMap<(u16, u64), Delivered>,
    /// Next stream sequence number, and bytes delivered, by stream.
    streams: BTreeMap<u16, (u64, u64)>,
    /// Bytes in `fragments` and `waiting`.
    held: u64,
    /// Bytes delivered on all streams.
    delivered: u64,
}

/// The stream sequence number near `near` with these lowest 16 bits.
fn unwrap_ssn(near: u64, ssn: u64) -> u64 {
    let forward = (ssn as u16).wrapping_sub(near as u16);
    if forward < 0x8000 {
        near + u64::from(forward)
    } else {
        near.saturating_sub(u64::from(forward.wrapping_neg()))
    }
}

impl Inbound {
    /// Adds a new chunk, and delivers the messages that become complete.
    pub fn receive(&mut self, data: Data, mut deliver: impl FnMut(Delivered)) {
        let next = self.streams.entry(data.stream).or_default().0;
        let data = Data { ssn: unwrap_ssn(next, data.ssn), ..data };
        self.held += u64::from(data.len);
        if data.begin && data.end {
            return self.whole(data, u64::from(data.len), &mut deliver);
        }
        self.fragments.insert(data.tsn, data);
        let Some((first, last)) = self.run_around(data.tsn) else { return };
        let mut bytes = 0;
        for tsn in first..=last {
            bytes += self.fragments.remove(&tsn).map_or(0, |d| u64::from(d.len));
        }
        self.whole(data, bytes, &mut deliver);
    }

    /// TSNs of the first and last fragment of the message around a fragment, if all fragments have arrived.
    fn run_around(&self, tsn: u64) -> Option<(u64, u64)> {
        let mut first = tsn;
        while !self.fragments.get(&first)?.begin {
            first = first.checked_sub(1)?;
        }
        let mut last = tsn;
        while !self.fragments.get(&last)?.end {
            last += 1;
        }
        Some((first, last))
    }

    /// Delivers a complete message of `bytes` bytes, or stores it until the earlier messages of its stream are
    /// complete.
    fn whole(&mut self, data: Data, bytes: u64, deliver: &mut impl FnMut(Delivered)) {
        let Data { stream, ssn, unordered, ppid, .. } = data;
        let message = Delivered { stream, bytes, unordered, ppid };
        let next = self.streams.get(&stream).map_or(0, |(next, _)| *next);
        if unordered {
            self.hand_over(message, deliver);
        } else if ssn == next {
            self.hand_over(message, deliver);
            self.streams.entry(stream).or_default().0 += 1;
            self.follow(stream, deliver);
        } else if ssn > next {
            self.waiting.insert((stream, ssn), message);
        } else {
            // A FORWARD TSN has skipped this message.
            self.held -= bytes.min(self.held);
        }
    }

    fn hand_over(&mut self, message: Delivered, deliver: &mut impl FnMut(Delivered)) {
        self.held -= message.bytes.min(self.held);
        self.delivered += message.bytes;
        self.streams.entry(message.stream).or_default().1 += message.bytes;
        deliver(message);
    }

    /// Delivers the stored messages that follow the last delivered one in stream order without a gap.
    fn follow(&mut self, stream: u16, deliver: &mut impl FnMut(Delivered)) {
        loop {
            let next = self.streams.get(&stream).map_or(0, |(next, _)| *next);
            let Some(message) = self.waiting.remove(&(stream, next)) else { return };
            self.streams.entry(stream).or_default().0 += 1;
            self.hand_over(message, deliver);
        }
    }

    //= RFC 3758 section 3.6: stranded messages are delivered, fragments below the new cumulative number are thrown away
    /// Processes a FORWARD TSN: the sender has abandoned all TSNs below `cumulative`, and on each listed stream all
    /// messages up to the stream sequence number with it.
    pub fn forward(&mut self, cumulative: u64, streams: &[(u16, u64)], mut deliver: impl FnMut(Delivered)) {
        let kept = self.fragments.split_off(&cumulative);
        let gone: u64 = self.fragments.values().map(|d| u64::from(d.len)).sum();
        self.held -= gone.min(self.held);
        self.fragments = kept;
        for &(stream, ssn) in streams {
            let next = self.streams.entry(stream).or_default().0;
            let ssn = unwrap_ssn(next, ssn);
            while let Some((&key, &message)) = self.waiting.range((stream, 0)..=(stream, ssn)).next() {
                self.waiting.remove(&key);
                self.hand_over(message, &mut deliver);
            }
            let line = self.streams.entry(stream).or_default();
            line.0 = line.0.max(ssn + 1);
            self.follow(stream, &mut deliver);
        }
    }

    /// Restart of the association: undelivered data are lost, and stream sequence numbers start at 0.
    pub fn restart(&mut self) {
        self.fragments.clear();
        self.waiting.clear();
        self.held = 0;
        self.streams.values_mut().for_each(|(next, _)| *next = 0);
    }

    /// Bytes received and not yet delivered.
    pub fn held(&self) -> u64 {
        self.held
    }
    /// Number of undelivered chunks; a complete message counts as chunks of `most` bytes.
    pub fn held_chunks(&self, most: u64) -> u64 {
        let whole = self.waiting.values().map(|message| message.bytes.div_ceil(most.max(1)).max(1));
        self.fragments.len() as u64 + whole.sum::<u64>()
    }
    /// Bytes delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Bytes delivered on a stream.
    pub fn delivered_on(&self, stream: u16) -> u64 {
        self.streams.get(&stream).map_or(0, |(_, bytes)| *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::truth::Cause;

    fn data(tsn: u64, stream: u16, ssn: u64, ends: [bool; 2]) -> Data {
        Data {
            tsn,
            stream,
            ssn,
            begin: ends[0],
            end: ends[1],
            unordered: false,
            immediate: false,
            len: 100,
            ppid: tsn as u32,
            cause: Cause::New,
        }
    }
    const BOTH: [bool; 2] = [true, true];

    fn take(inbound: &mut Inbound, chunk: Data) -> Vec<u32> {
        let mut out = Vec::new();
        inbound.receive(chunk, |m| out.push(m.ppid));
        out
    }

    #[test]
    fn a_gap_holds_back_its_own_stream_only() {
        let mut i = Inbound::default();
        assert_eq!(take(&mut i, data(1, 0, 1, BOTH)), Vec::<u32>::new());
        assert_eq!(take(&mut i, data(2, 1, 0, BOTH)), [2]);
        assert_eq!(take(&mut i, data(0, 0, 0, BOTH)), [0, 1]);
        assert_eq!((i.held(), i.delivered(), i.delivered_on(1)), (0, 300, 100));
    }

    #[test]
    fn fragments_in_any_order_make_one_message() {
        let mut i = Inbound::default();
        assert_eq!(take(&mut i, data(2, 0, 0, [false, true])), Vec::<u32>::new());
        assert_eq!(take(&mut i, data(0, 0, 0, [true, false])), Vec::<u32>::new());
        assert_eq!(i.held(), 200);
        assert_eq!(take(&mut i, data(1, 0, 0, [false, false])).len(), 1);
        assert_eq!((i.held(), i.delivered()), (0, 300));
    }

    #[test]
    fn unordered_messages_wait_for_nothing() {
        let mut i = Inbound::default();
        let chunk = Data { unordered: true, ..data(5, 0, 0, BOTH) };
        assert_eq!(take(&mut i, chunk), [5]);
    }

    #[test]
    fn what_was_given_up_is_passed_and_what_waited_behind_it_delivered() {
        let mut i = Inbound::default();
        take(&mut i, data(1, 0, 1, BOTH));
        take(&mut i, data(3, 0, 3, BOTH));
        let mut out = Vec::new();
        i.forward(1, &[(0, 0)], |m| out.push(m.ppid));
        assert_eq!(out, [1]);
        i.forward(3, &[(0, 2)], |m| out.push(m.ppid));
        assert_eq!((out, i.held()), (vec![1, 3], 0));
    }

    #[test]
    fn stream_numbers_wrap_on_the_wire() {
        assert_eq!(unwrap_ssn(65_530, 2), 65_538);
        assert_eq!(unwrap_ssn(65_538, 65_535), 65_535);
        assert_eq!(unwrap_ssn(0, 3), 3);
    }
}
