//! LLC entity in asynchronous balanced mode (ABM) of a mobile or of the SGSN, with octets: establishment, I frames, window,
//! acknowledgements, retransmission (3GPP TS 44.064 sections 8.5, 8.6).
//!
//! The last frame that may be sent requests an acknowledgement (A bit) and has a timer of T200, as T201 by default. Frames that a
//! SACK reports missing are repeated at once. After N200 repeats of a frame the link is established again, and SNDCP sends all
//! packets again of which a segment is not acknowledged (44.065 section 5.1.2.1).

use crate::cell::config::LlcConfig;
use crate::wire::abm::{self, Control, Supervisory};
use crate::wire::llc;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Numbers of frames, modulo which they are sent.
const MODULUS: u32 = 512;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Not established.
    Idle,
    /// SABM was sent at this time.
    Asked(Time),
    /// Asynchronous balanced mode.
    Established,
}

/// Segment of a packet, and whether it is the last one.
type Field = (Vec<u8>, bool);

/// I frame that is not acknowledged.
struct Sent {
    field: Field,
    /// V(S) of its first transmission, from 0 after establishment.
    number: u32,
    /// Position of its last transmission among all.
    order: u64,
    repeats: u32,
    /// Expiry of its timer; [`Time::NEVER`] if it requested no acknowledgement.
    expires: Time,
    acknowledged: bool,
    missing: bool,
}

/// Counters of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LinkCounts {
    /// I frames sent again.
    pub(super) repeated: u64,
    /// Their octets.
    pub(super) repeated_octets: u64,
    /// I frames received twice.
    pub(super) twice: u64,
    /// Establishments begun.
    pub(super) established: u64,
}

/// LLC entity of one end.
pub(super) struct LinkEntity {
    /// The entity of the mobile.
    up: bool,
    t200: Span,
    n200: u32,
    k: u32,
    state: State,
    /// Segments of packets of which not all are acknowledged, by packet.
    kept: VecDeque<Vec<Field>>,
    /// Segments that were not sent since the establishment.
    waiting: VecDeque<Field>,
    sent: VecDeque<Sent>,
    /// V(S), without modulus.
    vs: u32,
    /// V(R), without modulus.
    vr: u32,
    /// Received information fields behind a gap.
    held: BTreeMap<u32, Vec<u8>>,
    /// A UA is to be sent.
    confirms: bool,
    /// The peer requested an acknowledgement.
    owes: bool,
    order: u64,
    pub(super) counts: LinkCounts,
}

impl LinkEntity {
    /// The entity of the mobile (`up`) or of the SGSN.
    pub(super) fn new(up: bool, config: &LlcConfig) -> LinkEntity {
        LinkEntity {
            up,
            t200: config.t200,
            n200: config.n200,
            k: config.k.clamp(1, MODULUS / 2 - 1),
            state: State::Idle,
            kept: VecDeque::new(),
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            vs: 0,
            vr: 0,
            held: BTreeMap::new(),
            confirms: false,
            owes: false,
            order: 0,
            counts: LinkCounts::default(),
        }
    }

    /// Queues the segments of a packet.
    pub(super) fn push(&mut self, segments: Vec<Vec<u8>>) {
        let last = segments.len().saturating_sub(1);
        let fields: Vec<Field> =
            segments.into_iter().enumerate().map(|(i, octets)| (octets, i == last)).collect();
        self.waiting.extend(fields.iter().cloned());
        self.kept.push_back(fields);
    }

    /// Number of segments that wait for the window, and their octets.
    pub(super) fn queued(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.waiting.iter().map(|(octets, _)| octets.len() as u64).sum())
    }

    /// Next frame to hand to the lower layer at `now`.
    pub(super) fn next_out(&mut self, now: Time) -> Option<Vec<u8>> {
        if std::mem::take(&mut self.confirms) {
            return Some(abm::ua(self.up));
        }
        match self.state {
            State::Idle if !self.waiting.is_empty() => Some(self.ask(now)),
            State::Idle => None,
            State::Asked(at) if now >= at + self.t200 => Some(self.ask(now)),
            State::Asked(_) => None,
            State::Established => self.repeat(now).or_else(|| self.send(now)).or_else(|| self.acknowledge()),
        }
    }

    /// SABM. Everything that is kept will be sent after it.
    fn ask(&mut self, now: Time) -> Vec<u8> {
        self.restart();
        self.state = State::Asked(now);
        self.counts.established += 1;
        abm::sabm(self.up)
    }

    /// Resets both directions; the segments of unacknowledged packets wait again.
    fn restart(&mut self) {
        self.sent.clear();
        self.held.clear();
        (self.vs, self.vr, self.owes) = (0, 0, false);
        self.waiting = self.kept.iter().flatten().cloned().collect();
    }

    /// Repeats a frame that is missing or whose timer has expired.
    fn repeat(&mut self, now: Time) -> Option<Vec<u8>> {
        let due = |sent: &Sent| !sent.acknowledged && (sent.missing || sent.expires <= now);
        let at = self.sent.iter().position(due)?;
        self.order += 1;
        let (order, expires) = (self.order, now + self.t200);
        let sent = &mut self.sent[at];
        if sent.repeats >= self.n200 {
            return Some(self.ask(now));
        }
        (sent.repeats, sent.order, sent.expires, sent.missing) = (sent.repeats + 1, order, expires, false);
        let frame = abm::information(self.up, true, sent.number, self.vr, &sent.field.0);
        self.counts.repeated += 1;
        self.counts.repeated_octets += frame.len() as u64;
        Some(frame)
    }

    /// Sends a new frame, if the window allows one.
    fn send(&mut self, now: Time) -> Option<Vec<u8>> {
        let outstanding = self.sent.front().map_or(0, |oldest| self.vs - oldest.number);
        if outstanding >= self.k {
            return None;
        }
        let field = self.waiting.pop_front()?;
        let ask = self.waiting.is_empty() || outstanding + 1 == self.k;
        let (number, expires) = (self.vs, if ask { now + self.t200 } else { Time::NEVER });
        (self.vs, self.order) = (self.vs + 1, self.order + 1);
        let frame = abm::information(self.up, ask, number, self.vr, &field.0);
        let order = self.order;
        self.sent.push_back(Sent {
            field,
            number,
            order,
            repeats: 0,
            expires,
            acknowledged: false,
            missing: false,
        });
        // Without a gap, N(R) of this frame is the acknowledgement.
        self.owes &= !self.held.is_empty();
        Some(frame)
    }

    fn acknowledge(&mut self) -> Option<Vec<u8>> {
        if !std::mem::take(&mut self.owes) {
            return None;
        }
        let end = self.held.last_key_value().map_or(self.vr, |(number, _)| *number);
        let bitmap: Vec<bool> = (self.vr + 1..=end).map(|number| self.held.contains_key(&number)).collect();
        Some(abm::supervisory(self.up, self.vr, &bitmap))
    }

    /// Takes a frame of the peer. Returns the information fields that are in order now.
    pub(super) fn receive(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let Some(read) = llc::read(frame).filter(|read| read.sapi == llc::SAPI) else { return Vec::new() };
        match (abm::control(frame), self.state) {
            (Control::Sabm, state) => {
                self.restart();
                self.confirms = true;
                // With a SABM of its own under way, the entity still waits for UA.
                if state == State::Idle {
                    self.state = State::Established;
                }
            }
            (Control::Ua, State::Asked(_)) => self.state = State::Established,
            (Control::I(ask, ns, nr, kind), State::Established) => {
                self.acknowledged(nr, kind, &[]);
                self.owes |= ask;
                return self.take(ns, read.information);
            }
            (Control::S(ask, nr, kind), State::Established) => {
                self.acknowledged(nr, kind, read.information);
                self.owes |= ask;
            }
            _ => {}
        }
        Vec::new()
    }

    fn take(&mut self, ns: u32, field: &[u8]) -> Vec<Vec<u8>> {
        let ahead = (ns + MODULUS - self.vr % MODULUS) % MODULUS;
        let number = self.vr + ahead;
        if ahead >= MODULUS / 2 || self.held.contains_key(&number) {
            self.counts.twice += 1;
            return Vec::new();
        }
        self.held.insert(number, field.to_vec());
        let mut all = Vec::new();
        while let Some(field) = self.held.remove(&self.vr) {
            all.push(field);
            self.vr += 1;
        }
        all
    }

    /// Handles N(R) and the bitmap of a SACK.
    fn acknowledged(&mut self, nr: u32, kind: Supervisory, bitmap: &[u8]) {
        let Some(oldest) = self.sent.front().map(|sent| sent.number) else { return };
        let nr = oldest + (nr + MODULUS - oldest % MODULUS) % MODULUS;
        if nr > self.vs {
            return;
        }
        let named: Vec<u32> = match kind {
            Supervisory::Sack => {
                (nr + 1..).zip(abm::bits(bitmap)).filter(|(_, bit)| *bit).map(|(n, _)| n).collect()
            }
            Supervisory::Ack => vec![nr + 1],
            Supervisory::Rr | Supervisory::Rnr => Vec::new(),
        };
        let mut newest = 0;
        for sent in &mut self.sent {
            if sent.number < nr || named.contains(&sent.number) {
                sent.acknowledged = true;
                newest = newest.max(sent.order);
            }
        }
        // A frame is missing if one that was sent after its last transmission has arrived.
        if let Some(end) = named.last() {
            let behind = self.sent.iter_mut().filter(|sent| sent.number < *end);
            behind.for_each(|sent| sent.missing |= !sent.acknowledged && sent.order < newest);
        }
        while self.sent.front().is_some_and(|sent| sent.acknowledged) {
            if self.sent.pop_front().is_some_and(|sent| sent.field.1) {
                self.kept.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::LlcMode;
    use proptest::prelude::*;

    fn pair(k: u32, n200: u32) -> [LinkEntity; 2] {
        let t200 = Span::from_secs(5);
        let config = LlcConfig { mode: LlcMode::Acknowledged, k, n200, t200, ..LlcConfig::default() };
        [false, true].map(|up| LinkEntity::new(up, &config))
    }

    fn s(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn all(entity: &mut LinkEntity, now: Time) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| entity.next_out(now)).collect()
    }

    /// Passes frames both ways until none is left; `lost` decides by the number of the frame. Returns what each end delivers.
    fn pass(ends: &mut [LinkEntity; 2], now: Time, lost: &mut dyn FnMut() -> bool) -> [Vec<Vec<u8>>; 2] {
        let mut delivered = [Vec::new(), Vec::new()];
        loop {
            let mut quiet = true;
            for from in [0, 1] {
                for frame in all(&mut ends[from], now) {
                    quiet = false;
                    if !lost() {
                        delivered[1 - from].extend(ends[1 - from].receive(&frame));
                    }
                }
            }
            if quiet {
                return delivered;
            }
        }
    }

    /// GP-22: SABM and UA, the window, an acknowledgement where it is requested, and one in an I frame.
    #[test]
    fn gp_22_a_link_is_established_and_acknowledges() {
        let mut ends = pair(2, 3);
        ends[0].push(vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()]);
        let [sgsn, mobile] = &mut ends;
        assert_eq!(all(sgsn, s(0)), [abm::sabm(false)]);
        assert!(mobile.receive(&abm::sabm(false)).is_empty());
        assert_eq!(all(mobile, s(1)), [abm::ua(true)]);
        sgsn.receive(&abm::ua(true));
        let frames = all(sgsn, s(1));
        let sent = [abm::information(false, false, 0, 0, b"a"), abm::information(false, true, 1, 0, b"b")];
        assert_eq!(frames, sent);
        assert_eq!(frames.iter().flat_map(|f| mobile.receive(f)).collect::<Vec<_>>(), [b"a", b"b"]);
        mobile.push(vec![b"x".to_vec()]);
        let reply = all(mobile, s(2));
        assert_eq!(
            reply,
            [abm::information(true, true, 0, 2, b"x")],
            "no frame for the acknowledgement alone"
        );
        assert_eq!(sgsn.receive(&reply[0]), [b"x"]);
        assert_eq!(all(sgsn, s(2)), [abm::information(false, true, 2, 1, b"c")]);
        mobile.receive(&abm::information(false, true, 2, 1, b"c"));
        assert_eq!(all(mobile, s(2)), [abm::supervisory(true, 3, &[])]);
        sgsn.receive(&abm::supervisory(true, 3, &[]));
        assert!(sgsn.kept.is_empty() && sgsn.sent.is_empty() && mobile.kept.is_empty());
        assert!(all(sgsn, s(100)).is_empty() && all(mobile, s(100)).is_empty());
    }

    /// GP-22: a frame that a SACK reports missing is repeated at once, a lost last frame after T200.
    #[test]
    fn gp_22_lost_frames_are_repeated() {
        let mut ends = pair(16, 3);
        ends[0].push((0..4).map(|i| vec![i]).collect());
        pass(&mut ends, s(0), &mut || true);
        let mut n = 0;
        // SABM, UA, then the second I frame is lost.
        let [_, got] = pass(&mut ends, s(5), &mut || {
            n += 1;
            n == 4
        });
        assert_eq!(got, [[0], [1], [2], [3]]);
        assert_eq!((ends[0].counts.repeated, ends[0].counts.established), (1, 2));
        ends[0].push(vec![vec![9]]);
        let [_, none] = pass(&mut ends, s(6), &mut || true);
        let [_, early] = pass(&mut ends, s(10), &mut || false);
        let [_, late] = pass(&mut ends, s(11), &mut || false);
        assert_eq!((none.len(), early.len(), late), (0, 0, vec![vec![9]]));
    }

    /// GP-22: after N200 repeats the link is established again, and the packet's segments are sent from the first on.
    #[test]
    fn gp_22_a_link_is_established_again() {
        let mut ends = pair(16, 1);
        ends[0].push(vec![vec![1], vec![2]]);
        let mut n = 0;
        let mut dies = || {
            n += 1;
            n > 3
        };
        let [_, got] = pass(&mut ends, s(0), &mut dies);
        assert_eq!(got, [[1]], "SABM, UA and the first segment");
        for t in [5, 10, 15] {
            pass(&mut ends, s(t), &mut || true);
        }
        let [_, got] = pass(&mut ends, s(20), &mut || false);
        assert_eq!(got, [[1], [2]]);
        assert_eq!((ends[0].counts.repeated, ends[0].counts.established), (1, 4));
    }

    proptest! {
        /// Whatever frames are lost in both directions, both ends deliver all packets whole and in order; repeated packets are
        /// equal to earlier ones.
        #[test]
        fn any_losses_are_repaired(losses in prop::collection::vec(0u8..3, 0..200), k in 1u32..6) {
            let mut ends = pair(k, 3);
            let packets: Vec<Vec<Vec<u8>>> = (0..20u8).map(|i| (0..=i % 3).map(|j| vec![i, j]).collect()).collect();
            for packet in &packets {
                ends.iter_mut().for_each(|end| end.push(packet.clone()));
            }
            let mut losses = losses.into_iter();
            let mut delivered = [Vec::new(), Vec::new()];
            for t in 0..400 {
                let got = pass(&mut ends, s(t), &mut || losses.next() == Some(0));
                delivered.iter_mut().zip(got).for_each(|(all, got)| all.extend(got));
            }
            for (all, end) in delivered.iter_mut().zip(&ends) {
                prop_assert!(end.kept.is_empty() && end.waiting.is_empty());
                // SNDCP discards packets that it has delivered; the rest is complete and in order.
                let mut next = packets.iter().flatten();
                let mut wanted = next.next();
                for field in all.iter() {
                    if Some(field) == wanted {
                        wanted = next.next();
                    }
                }
                prop_assert_eq!(wanted, None);
            }
        }

        #[test]
        fn any_frame_is_taken(frames in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..12), any::<bool>()), 0..60)) {
            let mut ends = pair(4, 1);
            ends[0].push(vec![vec![1]; 30]);
            for (t, (mut frame, sum)) in frames.into_iter().enumerate() {
                let _ = all(&mut ends[0], s(t as u64));
                if sum {
                    let fcs = llc::check(&frame);
                    frame.extend(&fcs.to_le_bytes()[..3]);
                }
                let _ = ends[0].receive(&frame);
            }
        }
    }
}
