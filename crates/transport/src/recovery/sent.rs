//! Send records of outstanding segments ([`SendRecords`]): transmission times, SACK and loss marks, delivery counters,
//! for rate samples and RACK.
//!
//! A sender keeps records only if its loss recovery or congestion control needs them.
//!
//! Records form a ring in sequence order without gaps: together they cover exactly the outstanding data.
//! New data are appended at the back and a cumulative ACK removes from the front, both in constant time. A
//! retransmission or a SACK block is found by bisection. A boundary inside a record, such as an ACK of half a
//! segment, splits it.
//!
//! The delivery counters are those of draft-cheng-iccrg-delivery-rate-estimation-02. Every transmission saves
//! a snapshot, which the rate estimator compares with the counters at delivery.

use super::order::Order;
use base::Time;
use base::tcp::Block;
use std::collections::VecDeque;

/// Record of one outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Time of the last transmission.
    pub sent: Time,
    /// Time of the first transmission.
    pub first_sent: Time,
    /// Retransmitted at least once.
    pub resent: bool,
    /// SACKed, and SACK marks were not cleared since.
    pub sacked: bool,
    /// Marked lost and not retransmitted since.
    pub lost: bool,
    /// Counted as delivered; stays set when SACK marks are cleared.
    pub counted: bool,
    /// Delivery counters at the last transmission.
    pub then: Snapshot,
}

impl Record {
    /// Length, bytes.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Whether the last transmission of this record is later than that of a segment sent at `sent` that ends at `end`.
    //= RFC 8985 section 6.1: segments sent at the same time are ordered by sequence number
    pub fn sent_after(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) > (sent, end)
    }
}

/// Delivery counters at one transmission (draft, section 3.1.2: `P.delivered` and its companions).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot {
    /// Bytes delivered on the connection before the transmission.
    pub delivered: u64,
    /// Time of the last delivery.
    pub delivered_at: Time,
    /// `P.first_sent_time`: start of the flight to which the segment belongs.
    pub flight_began: Time,
    /// The sender was application-limited, not window-limited.
    pub app_limited: bool,
    /// Bytes in flight, this segment included.
    pub in_flight: u32,
}

/// Losses of the connection: segments marked lost, or retransmitted by a loss recovery without loss marks.
#[derive(Clone, Debug, Default)]
pub struct FoundLost {
    /// Bytes lost.
    pub bytes: u64,
    /// Number of separate ranges.
    pub ranges: u64,
    /// One past the last byte of the record found lost last.
    end: Option<u64>,
    /// Losses not yet taken by [`SendRecords::take_losses`], each with the total of bytes lost so far; none: recording
    /// is off.
    news: Option<Vec<(Record, u64)>>,
}

impl FoundLost {
    fn add(&mut self, record: Record) {
        self.bytes += record.bytes();
        self.ranges += u64::from(self.end != Some(record.start));
        self.end = Some(record.end);
        if let Some(news) = &mut self.news {
            news.push((record, self.bytes));
        }
    }
}

/// Records and delivery counters of one sender.
#[derive(Clone, Debug)]
pub struct SendRecords {
    ring: VecDeque<Record>,
    /// First byte of the records; equal to `tail` if there are none.
    head: u64,
    /// One past the last byte of the records.
    tail: u64,
    /// Records delivered by the current ACK, in their state before the ACK.
    fresh: Vec<Record>,
    /// Index in `fresh` of the most recently sent record.
    newest: usize,
    sacked: u64,
    sacked_segments: u32,
    lost: u64,
    delivered: u64,
    delivered_at: Time,
    flight_began: Time,
    /// Rate samples are application-limited until `delivered` exceeds this number of bytes; 0: not limited.
    app_limited_until: u64,
    found_lost: FoundLost,
    /// Loss recovery marks losses: a retransmission of an unmarked record (a tail loss probe) is no loss.
    marks: bool,
    /// Records in order of transmission time, for RACK.
    order: Order,
}

impl Default for SendRecords {
    fn default() -> Self {
        SendRecords {
            ring: VecDeque::new(),
            head: 0,
            tail: 0,
            fresh: Vec::new(),
            newest: 0,
            sacked: 0,
            sacked_segments: 0,
            lost: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            flight_began: Time::ZERO,
            app_limited_until: 0,
            found_lost: FoundLost::default(),
            marks: false,
            order: Order::default(),
        }
    }
}

impl SendRecords {
    /// Empty records with the order of transmission times that [`SendRecords::before`] and [`SendRecords::first_lost`] need.
    pub fn ordered() -> Self {
        SendRecords { order: Order::kept(), marks: true, ..SendRecords::default() }
    }

    /// Turns on the recording of losses for [`SendRecords::take_losses`].
    pub fn tell_losses(&mut self) {
        self.found_lost.news = Some(Vec::new());
    }

    /// Takes the losses since the last call, in their state at detection, each with the running total of
    /// bytes.
    pub fn take_losses(&mut self) -> Vec<(Record, u64)> {
        self.found_lost.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records the transmission of `[start, end)` at `now`: new data, or a retransmission.
    pub fn transmitted(&mut self, now: Time, start: u64, end: u64) {
        if self.head == self.tail {
            // draft-cheng-iccrg-delivery-rate-estimation-02 section 3.2: start of a flight
            (self.flight_began, self.delivered_at) = (now, now);
            (self.head, self.tail) = (start, start);
        }
        let tail = self.tail;
        let then = Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            flight_began: self.flight_began,
            app_limited: self.app_limited_until > 0,
            in_flight: u32::try_from(self.in_flight() + end - start).unwrap_or(u32::MAX),
        };
        if start < tail {
            self.retransmitted(now, start, end.min(tail), then);
        }
        let start = start.max(tail);
        if start < end {
            let record = Record {
                start,
                end,
                sent: now,
                first_sent: now,
                resent: false,
                sacked: false,
                lost: false,
                counted: false,
                then,
            };
            self.order.add(&record);
            self.ring.push_back(record);
            self.tail = end;
        }
    }

    /// Updates the records of `[start, end)`, which were sent before and are sent again.
    #[cold]
    fn retransmitted(&mut self, now: Time, start: u64, end: u64, then: Snapshot) {
        self.order.disturb(&self.ring);
        let (from, to) = self.span(start, end);
        for record in self.ring.range_mut(from..to) {
            self.order.remove(record);
            if record.lost {
                record.lost = false;
                self.lost -= record.bytes();
            } else if !record.counted && !self.marks {
                self.found_lost.add(*record);
            }
            (record.sent, record.resent, record.then) = (now, true, then);
            self.order.add(record);
        }
    }

    /// Starts a new ACK: clears the records that the previous ACK delivered.
    #[inline]
    pub fn begin(&mut self) {
        self.newest = 0;
        self.fresh.clear();
    }

    /// Processes a cumulative ACK at `now`: all bytes below `una` are acknowledged.
    pub fn acked(&mut self, now: Time, una: u64) {
        while self.head < una && self.head < self.tail {
            if self.ring.front().is_none_or(|front| front.end > una) {
                self.acked_in_part(now, una);
                break;
            }
            let Some(gone) = self.ring.pop_front() else { break };
            // Records cover the outstanding data without gaps.
            self.head = gone.end;
            self.order.remove(&gone);
            if gone.sacked {
                self.sacked -= gone.bytes();
                self.sacked_segments -= 1;
            }
            if gone.lost {
                self.lost -= gone.bytes();
            }
            self.deliver(now, gone);
        }
        self.order.acked(una);
    }

    /// Processes a cumulative ACK that ends inside of the first record.
    #[cold]
    fn acked_in_part(&mut self, now: Time, una: u64) {
        let Some(front) = self.ring.front_mut() else { return };
        let gone = Record { end: una, ..*front };
        self.order.remove(front);
        front.start = una;
        self.order.add(front);
        self.head = una;
        if gone.sacked {
            self.sacked -= gone.bytes();
        }
        if gone.lost {
            self.lost -= gone.bytes();
        }
        self.deliver(now, gone);
    }

    /// Processes a SACK block at `now`.
    pub fn sack(&mut self, now: Time, block: Block) {
        let Some(front) = self.ring.front() else { return };
        let (left, right) = (block.left.max(front.start), block.right.min(self.end().unwrap_or_default()));
        if left >= right {
            return;
        }
        self.order.disturb(&self.ring);
        let (from, to) = self.span(left, right);
        for i in from..to {
            let record = &mut self.ring[i];
            if record.sacked {
                continue;
            }
            let before = *record;
            self.order.remove(&before);
            (record.sacked, record.lost, record.counted) = (true, false, true);
            self.sacked += before.bytes();
            self.sacked_segments += 1;
            if before.lost {
                self.lost -= before.bytes();
            }
            self.deliver(now, before);
        }
    }

    #[inline]
    fn deliver(&mut self, now: Time, record: Record) {
        if record.counted {
            return;
        }
        self.delivered += record.bytes();
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        // draft-cheng-iccrg-delivery-rate-estimation-02 section 3.3: the newest segment starts the next
        // flight
        if self.newest().is_none_or(|n| record.sent_after(n.sent, n.end)) {
            (self.flight_began, self.newest) = (record.sent, self.fresh.len());
        }
        self.fresh.push(record);
    }

    /// Clears all SACK marks (RFC 2018 section 8). Delivered bytes stay delivered.
    pub fn disbelieve(&mut self) {
        for record in &mut self.ring {
            record.sacked = false;
        }
        (self.sacked, self.sacked_segments) = (0, 0);
        self.order.rebuild(&self.ring);
    }

    /// Marks the record at `index` lost.
    pub fn mark_lost(&mut self, index: usize) {
        self.order.disturb(&self.ring);
        let record = &mut self.ring[index];
        if !record.lost && !record.sacked {
            self.order.remove(record);
            record.lost = true;
            self.order.add(record);
            self.lost += record.bytes();
            self.found_lost.add(*record);
        }
    }

    /// Losses so far: segments marked lost, or retransmitted without a mark.
    pub fn found_lost(&self) -> &FoundLost {
        &self.found_lost
    }

    /// Clears all loss marks: the losses were spurious.
    pub fn none_lost(&mut self) {
        for record in &mut self.ring {
            record.lost = false;
        }
        self.lost = 0;
        self.order.rebuild(&self.ring);
    }

    /// Records neither SACKed nor lost and last sent before `newest` (transmission time, end), earliest
    /// first, each with its time and end. Empty unless [`SendRecords::ordered`].
    pub fn before(&self, newest: (Time, u64)) -> impl DoubleEndedIterator<Item = (Time, u64)> + '_ {
        self.order.before(&self.ring, newest)
    }

    /// First record marked lost. None unless [`SendRecords::ordered`].
    pub fn first_lost(&self) -> Option<&Record> {
        self.at(self.order.first_lost()?)
    }

    /// Marks the sender application-limited: the window has room, but there are no data. Until all
    /// outstanding data are delivered, samples measure the application's rate and not the path's.
    pub fn limited_by_application(&mut self) {
        self.app_limited_until = (self.delivered + self.in_flight()).max(1);
    }

    /// Records that the current ACK delivered, in their state before the ACK and in the order of processing.
    pub fn fresh(&self) -> &[Record] {
        &self.fresh
    }

    /// The most recently sent record of [`SendRecords::fresh`].
    pub fn newest(&self) -> Option<&Record> {
        self.fresh.get(self.newest)
    }

    /// All records, in sequence order.
    pub fn records(&self) -> &VecDeque<Record> {
        &self.ring
    }

    /// Record that contains `seq`.
    pub fn at(&self, seq: u64) -> Option<&Record> {
        self.ring.get(self.index(seq)).filter(|r| r.start <= seq)
    }

    /// One past the last byte outstanding.
    pub fn end(&self) -> Option<u64> {
        self.ring.back().map(|r| r.end)
    }

    /// Bytes delivered so far, cumulatively or by SACK.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Time of the last delivery.
    pub fn delivered_at(&self) -> Time {
        self.delivered_at
    }

    /// Outstanding bytes that are SACKed.
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Outstanding segments that are SACKed.
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Bytes marked lost and not retransmitted since.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Estimated bytes in flight: outstanding, neither SACKed nor marked lost.
    pub fn in_flight(&self) -> u64 {
        self.tail - self.head - self.sacked - self.lost
    }

    /// Index of the first record that ends above `seq`.
    pub fn index(&self, seq: u64) -> usize {
        self.ring.partition_point(|r| r.end <= seq)
    }

    /// Range of indices of the records that cover `[left, right)`; splits records at both ends if needed.
    fn span(&mut self, left: u64, right: u64) -> (usize, usize) {
        (self.cut(left), self.cut(right))
    }

    /// Splits records larger than `most` bytes, after the segment size was reduced.
    pub fn recut(&mut self, most: u64) {
        let mut i = 0;
        while let Some(record) = self.ring.get(i) {
            if record.bytes() > most {
                let at = record.start + most;
                self.cut(at);
            }
            i += 1;
        }
    }

    /// Index of the record that starts at `seq`; splits a record if needed. One past the last index if no record ends
    /// above `seq`.
    fn cut(&mut self, seq: u64) -> usize {
        let i = self.index(seq);
        match self.ring.get_mut(i) {
            Some(record) if record.start < seq => {
                let mut upper = *record;
                self.order.remove(&upper);
                record.end = seq;
                upper.start = seq;
                self.order.add(record);
                self.order.add(&upper);
                self.sacked_segments += u32::from(upper.sacked);
                self.ring.insert(i + 1, upper);
                i + 1
            }
            _ => i,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Four segments of ten bytes, sent a millisecond apart.
    fn four() -> SendRecords {
        let mut sent = SendRecords::default();
        for i in 0..4 {
            sent.transmitted(at(i), 10 * i, 10 * i + 10);
        }
        sent
    }

    #[test]
    fn a_report_and_a_retransmission_leave_their_marks() {
        let mut sent = four();
        sent.begin();
        sent.sack(at(20), Block { left: 20, right: 40 });
        assert_eq!(sent.fresh().len(), 2);
        assert_eq!(sent.newest().map(|r| r.start), Some(30));
        sent.mark_lost(0);
        assert_eq!((sent.sacked(), sent.lost(), sent.in_flight()), (20, 10, 10));
        sent.transmitted(at(21), 0, 10);
        assert_eq!((sent.lost(), sent.in_flight()), (0, 20));
        let first = sent.at(5).unwrap();
        assert_eq!((first.resent, first.sent, first.first_sent), (true, at(21), at(0)));
        assert_eq!(
            (first.then.delivered, first.then.delivered_at, first.then.flight_began),
            (20, at(20), at(3))
        );
        sent.begin();
        sent.acked(at(40), 40);
        let fresh: Vec<u64> = sent.fresh().iter().map(|r| r.start).collect();
        assert_eq!((fresh, sent.delivered(), sent.in_flight()), (vec![0, 10], 40, 0));
    }

    #[test]
    fn reports_that_are_not_believed_are_delivered_only_once() {
        let mut sent = four();
        sent.sack(at(20), Block { left: 30, right: 40 });
        sent.disbelieve();
        assert_eq!((sent.sacked(), sent.in_flight(), sent.delivered()), (0, 40, 10));
        sent.acked(at(30), 40);
        assert_eq!(sent.delivered(), 40);
    }

    /// PR-05: a smaller segment size splits outstanding records; their loss marks stay.
    #[test]
    fn records_become_smaller() {
        let mut sent = four();
        sent.mark_lost(1);
        sent.recut(4);
        let records: Vec<_> = sent.records().iter().map(|r| (r.start, r.end, r.lost)).collect();
        assert_eq!(records.len(), 12);
        assert_eq!(
            &records[2..7],
            [(8, 10, false), (10, 14, true), (14, 18, true), (18, 20, true), (20, 24, false)]
        );
        assert_eq!((sent.lost(), sent.in_flight()), (10, 30));
    }

    #[test]
    fn rates_are_the_applications_until_what_was_outstanding_is_delivered() {
        let mut sent = four();
        sent.limited_by_application();
        sent.transmitted(at(5), 40, 50);
        sent.acked(at(20), 40);
        sent.transmitted(at(21), 50, 60);
        sent.acked(at(22), 50);
        sent.transmitted(at(23), 60, 70);
        let limited: Vec<bool> = sent.records().iter().map(|r| r.then.app_limited).collect();
        assert_eq!(limited, [true, false]);
    }

    proptest! {
        /// Compared with a plain list of bytes: for any transmissions, SACKs and ACKs, the records are
        /// contiguous, cover exactly the outstanding data, and their counters are right.
        #[test]
        fn agrees_with_a_list_of_bytes(steps in proptest::collection::vec((0u8..6, 0u64..64, 1u64..16), 1..60)) {
            let mut sent = SendRecords::ordered();
            let (mut una, mut max) = (0u64, 0u64);
            let mut sacked = [false; 2048];
            let mut counted = [false; 2048];
            for (i, (what, place, len)) in steps.into_iter().enumerate() {
                let now = at(i as u64);
                sent.begin();
                let from = una + place.min(max - una);
                let to = (from + len).min(max);
                match what {
                    0 | 1 => {
                        sent.transmitted(now, max, max + len);
                        max += len;
                    }
                    2 if from < to => sent.transmitted(now, from, to),
                    3 if from < to => {
                        sent.sack(now, Block { left: from, right: to });
                        sacked[from as usize..to as usize].fill(true);
                        counted[from as usize..to as usize].fill(true);
                    }
                    4 if from < to && len == 1 => {
                        sent.disbelieve();
                        sacked.fill(false);
                    }
                    4 if from < to && len == 2 => sent.none_lost(),
                    5 if from < to => sent.mark_lost(sent.index(from)),
                    4 => {
                        sent.acked(now, from);
                        counted[una as usize..from as usize].fill(true);
                        una = from;
                    }
                    _ => {}
                }
                let mut edge = una;
                for record in sent.records() {
                    prop_assert_eq!(record.start, edge);
                    prop_assert!(record.start < record.end);
                    for byte in record.start..record.end {
                        prop_assert_eq!(record.sacked, sacked[byte as usize]);
                    }
                    edge = record.end;
                }
                prop_assert!(sent.records().is_empty() || edge == max);
                let count = |list: &[bool]| list.iter().filter(|b| **b).count() as u64;
                prop_assert_eq!(sent.sacked(), count(&sacked[una as usize..]));
                prop_assert_eq!(sent.delivered(), count(&counted));
                // The order is that of a walk over all records.
                let mut waiting: Vec<_> =
                    sent.records().iter().filter(|r| !r.sacked && !r.lost).map(|r| (r.sent, r.end)).collect();
                waiting.sort_unstable();
                let newest = (at(place), from);
                waiting.retain(|w| *w < newest);
                prop_assert_eq!(sent.before(newest).collect::<Vec<_>>(), waiting);
                prop_assert_eq!(sent.first_lost(), sent.records().iter().find(|r| r.lost));
            }
        }
    }
}
