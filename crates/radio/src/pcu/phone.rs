//! State of a mobile with a real PCU: packet access, its two TBFs, answers to polls, timers (3GPP TS 44.060
//! sections 7 to 9).

use super::area::Accepting;
use super::changes::Away;
use super::downlink::DownTbf;
use super::gb;
use super::link::LinkEntity;
use super::store::{FrameResult, Store};
use super::uplink::{UpTbf, Uplink, UplinkReport};
use crate::bssgp::Sgsn;
use crate::cell::config::{Delays, UserConfig};
use crate::cell::counts::UserCounts;
use crate::coding::{Modulation, Scheme};
use crate::llc::LlcMode;
use crate::mobility::Mobility;
use crate::parameters::Id;
use crate::quality::Quality;
use crate::tdma::{self, Tick};
use crate::wire;
use crate::wire::assignment::{self, Addressee, Assignment, Request};
use crate::wire::block;
use crate::wire::message::{self, Message};
use base::Time;
use base::packet::Packet;
use base::rng::{Seed, Stream};
use std::collections::VecDeque;

/// One-phase access of GPRS (44.018 table 9.1.8.2): upper bits of the channel request.
const ONE_PHASE: u8 = 0x78;
/// Number of values of the lower bits of a GPRS channel request.
const REFERENCES: u32 = 7;
/// One-phase access of EGPRS (44.060 table 11.2.5a.2): multislot class minus 1 in 5 bits, radio priority minus 1 in 2
/// bits, random bits. This is radio priority 4, as in the channel requests of reports.
const PRIORITY: u16 = 3;
/// Number of values of the random bits of an EGPRS Packet Channel Request.
const EXTENDED: u32 = 8;
/// Block periods until a channel request is repeated, 0.4 to 0.8 s: S and T of 44.060 section 7.1.2.1.1 for a
/// RACH on a common timeslot.
const REPEAT: std::ops::Range<u32> = 20..40;

/// Content of an uplink block that a poll reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Packet Downlink Ack/Nack.
    Report,
    /// Packet Control Acknowledgement.
    Acknowledge,
}

/// A channel request on the RACH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChannelRequest {
    /// GPRS channel request of 8 bits.
    Octet(u8),
    /// EGPRS Packet Channel Request of 11 bits.
    Extended(u16),
}

impl ChannelRequest {
    /// Request reference of the channel request in an assignment.
    fn reference(self) -> Request {
        match self {
            ChannelRequest::Octet(octet) => Request::Octet(octet),
            ChannelRequest::Extended(bits) => Request::Extended(bits as u8 & 31),
        }
    }
}

/// An unanswered channel request.
#[derive(Clone, Copy)]
pub(super) struct Access {
    request: ChannelRequest,
    /// Time at which the mobile repeats the request.
    again: Tick,
}

/// State of a mobile.
pub(super) struct Phone {
    pub(super) me: u16,
    pub(super) tlli: u32,
    pub(super) class: u8,
    /// The mobile supports EGPRS, with the multislot class of GPRS, and uses EGPRS TBFs only.
    pub(super) egprs: bool,
    pub(super) delays: Delays,
    /// Block error processes, downlink and uplink.
    quality: [Quality; 2],
    pub(super) down: Option<DownTbf>,
    pub(super) up: Option<UpTbf>,
    pub(super) uplink: Uplink,
    pub(super) access: Option<Access>,
    /// Time of the unanswered channel request in a report; `None` without one.
    pub(super) asked: Option<Tick>,
    pub(super) reserved: Vec<(Tick, u8, Answer)>,
    pub(super) mobility: Mobility,
    pub(super) away: Option<Away>,
    /// Time of the last unanswered routing area update request; `None` without one.
    pub(super) update: Option<Tick>,
    /// Routing area update in progress at the SGSN.
    pub(super) accepting: Option<Accepting>,
    /// Number of GMM messages sent in both directions.
    pub(super) signals: u32,
    /// Received LLC frames, stored for [`super::Station::said`].
    pub(super) signalling: VecDeque<Vec<u8>>,
    /// The SGSN queues downlink frames until this time.
    pub(super) resumes: Time,
    pub(super) use_of: UserCounts,
    /// Last block period in which the uplink window was closed and data were queued.
    pub(super) stalled: Option<Tick>,
    /// The last uplink block was sent with a stalled window.
    pub(super) was_stalled: bool,
    chance: Stream,
    /// Packets in flight, downlink and uplink.
    pub(super) stores: [Store; 2],
    /// Queue of downlink frames in the SGSN, with flow control.
    pub(super) sgsn: Sgsn<u32>,
    /// LLC entities of acknowledged mode, of the SGSN and of the mobile; `None` in unacknowledged mode.
    pub(super) links: Option<[LinkEntity; 2]>,
    /// Frames of the SGSN queue: frame number, packet number in unacknowledged mode, octets.
    pub(super) queued: VecDeque<(u32, Option<u32>, Vec<u8>)>,
    pub(super) frames: u32,
    pub(super) lifetime: Option<base::Span>,
    /// Packets between the core network and the SGSN.
    pub(super) core: VecDeque<(Time, Packet)>,
    /// Packets that leave the bearer, with their times: downlink, uplink.
    pub(super) out: [VecDeque<(Time, Packet)>; 2],
    pub(super) accesses: u64,
    pub(super) discarded: u64,
}

fn since(now: Tick, then: Tick) -> base::Span {
    tdma::BLOCK.times(u64::from(now.saturating_sub(then)))
}

impl Phone {
    pub(super) fn new(me: u16, config: &UserConfig, seed: Seed) -> Phone {
        let name = config.name.as_str();
        let quality = |d: &crate::cell::config::DirectionConfig, purpose| {
            Quality::new(d.quality.clone(), seed.stream(name, purpose))
        };
        let egprs = config.down.scheme.is_egprs();
        Phone {
            me,
            // Local TLLI: the two upper bits are set (23.003 section 2.6).
            tlli: 0xc000_0000 | u32::from(me + 1),
            class: config.class.number,
            egprs,
            delays: config.delays,
            quality: [quality(&config.down, "down"), quality(&config.up, "up")],
            down: None,
            up: None,
            uplink: Uplink::new(egprs),
            access: None,
            asked: None,
            reserved: Vec::new(),
            mobility: Mobility::new(&config.mobility, name, seed),
            away: None,
            update: None,
            accepting: None,
            signals: 0,
            signalling: VecDeque::new(),
            resumes: Time::ZERO,
            use_of: UserCounts::default(),
            stalled: None,
            was_stalled: false,
            chance: seed.stream(name, "access"),
            stores: [false, true].map(|up| Store::new(up, config.llc.n201, config.llc.mode)),
            links: (config.llc.mode == LlcMode::Acknowledged)
                .then(|| [false, true].map(|up| LinkEntity::new(up, &config.llc))),
            sgsn: Sgsn::new(config.sgsn),
            queued: VecDeque::new(),
            frames: 0,
            lifetime: config.sgsn.lifetime,
            core: VecDeque::new(),
            out: [VecDeque::new(), VecDeque::new()],
            accesses: 0,
            discarded: 0,
        }
    }

    /// Number of packets inside the bearer.
    pub(super) fn inside(&self) -> usize {
        self.stores.iter().map(Store::len).sum::<usize>()
            + self.out.iter().chain([&self.core]).map(VecDeque::len).sum::<usize>()
    }

    /// Draws whether the network decodes an uplink block of this mobile, and counts the block.
    pub(super) fn on_channel_response(&mut self, now: Tick, octets: &[u8]) -> bool {
        let (scheme, control) = block::kind_of(true, octets).unwrap_or((Scheme::Cs1, false));
        let decodes = self.quality[1].decodes(now, scheme, control);
        if !decodes {
            self.use_of.up.errors += 1;
        } else if control {
            self.down.iter_mut().for_each(DownTbf::heard);
        } else if self.up.as_mut().is_some_and(UpTbf::heard) {
            self.use_of.up.duplicates += 1;
        }
        decodes
    }

    /// C/I of the mobile's uplink in tenths of a dB, as the base station measures it.
    pub(super) fn level(&self, now: Tick) -> i16 {
        // Error rates configured without C/I: 30 dB, enough for every scheme.
        self.quality[1].c_over_i(now).map_or(300, |db| (db * 10.0) as i16)
    }

    /// Whether the mobile receives a timeslot.
    fn listens(&self, slot: u8) -> bool {
        let up = self.up.as_ref().map_or(0, UpTbf::slots);
        up >> slot & 1 == 1 || self.down.as_ref().is_some_and(|d| d.listens_on(slot))
    }

    /// Whether the mobile has no TBF, or only a downlink TBF whose final report was sent.
    fn is_idle(&self) -> bool {
        self.up.is_none() && self.down.as_ref().is_none_or(|d| d.finished.is_some())
    }

    /// Processes the timers of this block period; returns a channel request if the mobile sends one.
    pub(super) fn tick(&mut self, now: Tick) -> Option<ChannelRequest> {
        self.move_about(now);
        if self.is_away() {
            return None;
        }
        self.count_period();
        if let Some(down) = &self.down {
            let over = match down.finished {
                Some(then) => since(now, then) >= Id::T3192.span(),
                None => since(now, down.last) >= Id::T3190.span(),
            };
            if over {
                self.use_of.down.lost_tbfs += u64::from(down.finished.is_none());
                self.down = None;
            }
        }
        if let Some(up) = &self.up {
            let begun = since(now, up.begun) >= Id::T3166.span();
            let lost = since(now, up.granted) >= Id::T3180.span()
                || since(now, up.reported) >= Id::T3182.span() && self.uplink.sender.is_pending()
                || up.is_contended() && begun;
            if lost {
                self.use_of.up.lost_tbfs += 1;
                self.up = None;
            }
        }
        if self.asked.is_some_and(|then| since(now, then) >= Id::T3168.span()) {
            self.asked = None;
        }
        self.reserved.retain(|(t, ..)| *t >= now);
        if self.up.is_some() || !self.is_idle() || self.uplink.wants().is_none() {
            self.access = None;
            return None;
        }
        if self.access.is_some_and(|a| a.again > now) {
            return None;
        }
        let draw = |chance: &mut Stream, n: u32| (chance.uniform() * f64::from(n)) as u32;
        let request = if self.egprs {
            let class = u16::from(self.class.saturating_sub(1) & 31);
            ChannelRequest::Extended(class << 5 | PRIORITY << 3 | draw(&mut self.chance, EXTENDED) as u16)
        } else {
            ChannelRequest::Octet(ONE_PHASE | draw(&mut self.chance, REFERENCES) as u8)
        };
        let again = now + REPEAT.start + draw(&mut self.chance, REPEAT.end - REPEAT.start);
        self.access = Some(Access { request, again });
        self.accesses += 1;
        Some(request)
    }

    /// Handles a message on AGCH or PCH.
    pub(super) fn receive_common(&mut self, octets: &[u8], now: Tick) {
        if self.is_away() || !self.is_idle() || !self.quality[0].decodes(now, Scheme::Cs1, true) {
            return;
        }
        match assignment::read_immediate(octets) {
            Some(Assignment::Access { request, tfi, slot, usf, coding })
                if self.access.is_some_and(|a| a.request.reference() == request) =>
            {
                self.access = None;
                let mut all = [None; 8];
                all[usize::from(slot)] = Some(usf);
                self.begin_up(UpTbf::new(tfi, all, coding, true, now));
            }
            Some(Assignment::Paged { tlli, tfi, slot, numbering }) if tlli == self.tlli => {
                self.begin_down(DownTbf::new(tfi, 1 << slot, numbering, now));
            }
            Some(Assignment::Rejected(request, wait)) => {
                if let Some(access) = self.access.as_mut().filter(|a| a.request.reference() == request) {
                    access.again = now + u32::from(wait) * tdma::BLOCKS_PER_SECOND as u32;
                }
            }
            _ => {}
        }
    }

    fn begin_down(&mut self, tbf: DownTbf) {
        self.use_of.down.tbfs += 1;
        self.down = Some(tbf);
    }

    fn begin_up(&mut self, tbf: UpTbf) {
        self.use_of.up.tbfs += 1;
        self.asked = None;
        self.uplink.begin(&tbf);
        self.up = Some(tbf);
    }

    /// Handles a downlink block on a timeslot. Returns whether the block's USF grants this mobile the uplink block, and the
    /// LLC frames that the block completes.
    pub(super) fn receive(&mut self, now: Tick, slot: u8, octets: &[u8]) -> (bool, Vec<Vec<u8>>) {
        let Some((scheme, control)) = block::kind_of(false, octets) else { return (false, Vec::new()) };
        // A GPRS mobile demodulates GMSK only.
        let foreign = !self.egprs && scheme.properties().modulation != Modulation::Gmsk;
        if foreign || !self.listens(slot) {
            return (false, Vec::new());
        }
        let decodes = self.quality[0].decodes(now, scheme, control);
        if !control {
            self.count_down(slot, octets, decodes);
        }
        if !decodes {
            return (false, Vec::new());
        }
        self.use_of.decoded += 1;
        let mut fresh = false;
        let usf = octets.first().map(|o| o & 7);
        let mine = self.up.as_ref().is_some_and(|u| u.usf[usize::from(slot)].is_some_and(|u| Some(u) == usf));
        let frames = if control {
            self.control(now, slot, octets);
            Vec::new()
        } else {
            self.down.iter_mut().for_each(|down| down.fresh = false);
            let frames = if scheme.is_egprs() {
                self.egprs_data(now, slot, octets)
            } else {
                self.data(now, slot, octets)
            };
            fresh = self.down.as_ref().is_some_and(|down| down.fresh);
            frames
        };
        self.use_of.decoded_for_nothing += u64::from(!fresh);
        (mine, frames)
    }

    fn reserve(&mut self, now: Tick, slot: u8, rrbp: Option<u8>, answer: Answer) {
        if let Some(rrbp) = rrbp {
            self.reserved.push((now + 3 + u32::from(rrbp), slot, answer));
        }
    }

    fn data(&mut self, now: Tick, slot: u8, octets: &[u8]) -> Vec<Vec<u8>> {
        let Some(read) = block::read_gprs(false, octets) else { return Vec::new() };
        let Some(down) = self.down_of(read.header.tfi, slot).filter(|d| !d.is_egprs()) else {
            return Vec::new();
        };
        let frames = down.take(&read, octets, now);
        let again = !down.fresh;
        self.use_of.down.duplicates += u64::from(again);
        self.reserve(now, slot, read.header.poll, Answer::Report);
        frames
    }

    fn egprs_data(&mut self, now: Tick, slot: u8, octets: &[u8]) -> Vec<Vec<u8>> {
        let Some((header, units)) = block::read_egprs(false, octets) else { return Vec::new() };
        let Some(down) = self.down_of(header.tfi, slot).filter(|d| d.is_egprs()) else { return Vec::new() };
        let frames = units.iter().flat_map(|unit| down.take_egprs(unit, now)).collect();
        let again = !down.fresh;
        self.use_of.down.duplicates += u64::from(again);
        self.reserve(now, slot, header.poll, Answer::Report);
        frames
    }

    /// The downlink TBF with this TFI, if the mobile has it on this timeslot.
    fn down_of(&mut self, tfi: u8, slot: u8) -> Option<&mut DownTbf> {
        self.down.as_mut().filter(|d| d.tfi == tfi && d.listens_on(slot))
    }

    fn control(&mut self, now: Tick, slot: u8, octets: &[u8]) {
        let Some((poll, _, message)) = message::read_down(octets) else { return };
        let report = match message {
            Message::UplinkAck(ack, named, scheme) => Some(UplinkReport::Gprs(ack, named, scheme)),
            Message::EgprsUplinkAck(ack) => Some(UplinkReport::Egprs(ack)),
            _ => None,
        };
        if let Some(report) = report {
            return self.on_report(now, slot, poll, &report);
        }
        let Some(assigned) = assignment::read_packet(octets) else { return };
        let is_mine = |to: Addressee| match to {
            Addressee::Tlli(tlli) => tlli == self.tlli,
            Addressee::Uplink(tfi) => self.up.as_ref().is_some_and(|u| u.tfi == tfi),
            Addressee::Downlink(tfi) => self.down.as_ref().is_some_and(|d| d.tfi == tfi),
        };
        let mine = match assigned {
            Assignment::Downlink { to, .. } | Assignment::Uplink { to, .. } => is_mine(to),
            _ => false,
        };
        self.use_of.down.control += u64::from(mine);
        match assigned {
            Assignment::Downlink { tfi, slots, anew, numbering, .. } if mine => {
                let same = self.down.as_ref().filter(|d| tfi.is_none_or(|tfi| tfi == d.tfi) && !anew);
                match (same.is_some_and(|d| d.finished.is_none()), tfi, &mut self.down) {
                    (true, _, Some(down)) => down.slots = slots,
                    (_, Some(tfi), _) => self.begin_down(DownTbf::new(tfi, slots, numbering, now)),
                    _ => {}
                }
                self.reserve(now, slot, poll, Answer::Acknowledge);
            }
            // An EGPRS mobile accepts EGPRS TBFs only.
            Assignment::Uplink { tfi, usf, coding, .. } if mine && coding.scheme.is_egprs() == self.egprs => {
                match (tfi, &mut self.up) {
                    (Some(tfi), None) => self.begin_up(UpTbf::new(tfi, usf, coding, false, now)),
                    (_, Some(up)) => up.usf = usf,
                    _ => {}
                }
                self.reserve(now, slot, poll, Answer::Acknowledge);
            }
            _ => {}
        }
    }

    /// Handles a Packet Uplink Ack/Nack for the uplink TBF.
    fn on_report(&mut self, now: Tick, slot: u8, poll: Option<u8>, report: &UplinkReport) {
        let tlli = self.tlli;
        let on_it = |u: &&mut UpTbf| u.tfi == report.tfi() && u.usf[usize::from(slot)].is_some();
        let Some(up) = self.up.as_mut().filter(on_it) else { return };
        self.use_of.up.reports += 1;
        self.use_of.down.control += 1;
        let mine = self.uplink.receive(up, report, tlli, now);
        if mine {
            self.reserve(now, slot, poll, Answer::Acknowledge);
        }
        if !mine || report.last() {
            self.up = None;
        }
    }

    /// Uplink block of the mobile: reserved by a poll, or granted by a USF.
    pub(super) fn send(&mut self, now: Tick, slot: u8, granted: bool) -> Option<Vec<u8>> {
        if let Some(i) = self.reserved.iter().position(|(t, s, _)| (*t, *s) == (now, slot)) {
            self.use_of.up.control += 1;
            match self.reserved.remove(i).2 {
                Answer::Acknowledge => return Some(message::control_ack(self.tlli)),
                Answer::Report => {
                    let free = self.up.is_none() && self.asked.is_none();
                    let wants = self.uplink.wants().filter(|_| free);
                    if let Some(down) = &mut self.down {
                        if wants.is_some() {
                            self.asked = Some(now);
                        }
                        self.use_of.down.reports += 1;
                        return Some(down.report(wants, now));
                    }
                }
            }
        }
        let up = self.up.as_mut().filter(|_| granted)?;
        let octets = self.uplink.block(up, self.tlli, now);
        self.count_up(self.uplink.reason, self.uplink.stalled, now);
        Some(octets)
    }

    /// BSSGP datagram of a frame that leaves the SGSN queue.
    pub(super) fn datagram(&mut self, id: u32) -> Option<Vec<u8>> {
        let at = self.queued.iter().position(|(n, ..)| *n == id)?;
        let (_, _, frame) = self.queued.remove(at)?;
        Some(wire::gb::down_known(wire::pcuif::BVCI, &self.identity(), self.lifetime, &frame))
    }

    /// Queues a downlink packet in the SGSN; false if the queue has no room.
    pub(super) fn admit(&mut self, packet: Packet, now: Time) -> bool {
        let (pdus, octets) = self.stores[0].size(packet.size);
        let before = self.links.as_ref().map_or((0, 0), |links| links[0].queued());
        if !self.sgsn.has_room(pdus + before.0, octets + before.1) {
            return false;
        }
        let (number, frames) = self.stores[0].take(packet);
        if let Some(links) = &mut self.links {
            links[0].push(frames);
        } else {
            frames.into_iter().for_each(|frame| self.queue(Some(number), frame, now));
        }
        true
    }

    /// Adds a frame to the queue of the SGSN; `number`: its packet, which ends with it.
    fn queue(&mut self, number: Option<u32>, frame: Vec<u8>, now: Time) {
        self.sgsn.push(now, frame.len() as u32, self.frames);
        self.queued.push_back((self.frames, number, frame));
        self.frames = self.frames.wrapping_add(1);
    }

    /// Queues an uplink packet.
    pub(super) fn admit_up(&mut self, packet: Packet) {
        let (_, frames) = self.stores[1].take(packet);
        match &mut self.links {
            Some(links) => links[1].push(frames),
            None => frames.into_iter().for_each(|frame| self.uplink.push(frame)),
        }
    }

    /// Acknowledged mode: the frames that both entities may send by `now` join their queues.
    pub(super) fn pass_links(&mut self, now: Time) {
        let Some(mut links) = self.links.take() else { return };
        while let Some(frame) = links[0].next_out(now) {
            self.queue(None, frame, now);
        }
        while let Some(frame) = links[1].next_out(now) {
            self.uplink.push(frame);
        }
        for (link, counts) in links.iter().zip([&mut self.use_of.down, &mut self.use_of.up]) {
            (counts.repeated, counts.repeated_octets) = (link.counts.repeated, link.counts.repeated_octets);
        }
        (self.use_of.down.twice, self.use_of.up.twice) = (links[1].counts.twice, links[0].counts.twice);
        self.links = Some(links);
    }

    /// Handles an LLC frame that has arrived in a direction (0: at the mobile).
    pub(super) fn arrived(&mut self, direction: usize, frame: &[u8]) -> Vec<FrameResult> {
        let store = &mut self.stores[direction];
        match &mut self.links {
            None => vec![store.arrived(frame)],
            Some(links) => {
                links[1 - direction].receive(frame).iter().map(|field| store.joined(field)).collect()
            }
        }
    }

    /// Removes a frame whose lifetime has expired in the SGSN; returns its packet unless the packet had already ended.
    pub(super) fn expire(&mut self, id: u32) -> Option<Packet> {
        let at = self.queued.iter().position(|(n, ..)| *n == id)?;
        let (_, number, _) = self.queued.remove(at)?;
        self.stores[0].end(number?)
    }

    /// Stores a received frame for the caller while no downlink packet is in flight; keeps the latest 16 frames.
    pub(super) fn keep(&mut self, frame: &[u8]) {
        const KEPT: usize = 16;
        if self.stores[0].len() == 0 {
            self.signalling.push_back(frame.to_vec());
            if self.signalling.len() > KEPT {
                self.signalling.pop_front();
            }
        }
    }

    /// Handles a BSSGP message that concerns this mobile.
    pub(super) fn on_gb_message(&mut self, heard: &gb::GbMessage<'_>) {
        match heard {
            gb::GbMessage::Mobile(tlli, bucket) if *tlli == self.tlli => self.sgsn.announce(*bucket),
            gb::GbMessage::Cell(_, Some(bucket)) => self.sgsn.announce(*bucket),
            gb::GbMessage::Discarded(tlli, frames) if *tlli == self.tlli => {
                self.discarded += u64::from(*frames)
            }
            _ => {}
        }
    }
}
