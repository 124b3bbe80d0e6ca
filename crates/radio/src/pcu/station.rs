//! Cell with a real PCU ([`Station`]): block periods, ready-to-send, radio blocks between PCU and mobiles, frames between
//! PCU and SGSN.

use super::config::{MOBILES, StationConfig};
use super::gb::{self, GbMessage};
use super::phone::{ChannelRequest, Phone};
use super::{Message, PcuInterface};
use crate::bssgp::{Bucket, CellBucket, PduFate};
use crate::cell::counts::UserCounts;
use crate::tdma::{self, Tick};
use crate::wire::block;
use crate::wire::pcuif::{self, Info, PcuMessage};
use base::packet::{DropReason, Packet};
use base::rng::Seed;
use base::{Span, Time};
use std::collections::VecDeque;

/// Block periods from the PCU's message for the AGCH to its transmission; CCCH blocks are about 46 ms apart.
pub const GRANT: u32 = 3;
/// Period of a mobile's PCH blocks in block periods: two multiframes of 51 frames, 0.47 s (BS_PA_MFRMS 2).
pub const PAGING: u32 = 24;

/// Counters of the cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Ready-to-send messages: one for each active timeslot and block period.
    pub asked: u64,
    /// Downlink data blocks.
    pub data: u64,
    /// Downlink control blocks, without dummy blocks.
    pub control: u64,
    /// Uplink blocks decoded.
    pub up: u64,
    /// Uplink blocks sent by mobiles and not decoded.
    pub lost: u64,
    /// Channel requests.
    pub accesses: u64,
    /// LLC frames that the PCU discarded.
    pub discarded: u64,
    /// LLC frames that arrived with altered octets.
    pub wrong: u64,
}

/// An uplink block on the air.
struct Uplink {
    octets: Vec<u8>,
    level: i16,
}

/// Cell with a real PCU.
pub struct Station {
    slots: u8,
    /// At least one mobile of the cell supports EGPRS.
    egprs: bool,
    ports: [u16; 2],
    pub(super) phones: Vec<Phone>,
    /// Queue of messages for the PCU.
    told: VecDeque<Message>,
    /// PDCHs that the PCU has activated, by timeslot.
    active: [bool; 8],
    begun: bool,
    /// The PCU has terminated.
    pub(super) closed: bool,
    /// Gb is operational: the PCU has sent FLOW-CONTROL-BVC.
    ready: bool,
    bucket: Option<(Bucket, CellBucket)>,
    /// Next block period.
    pub(super) next: Tick,
    /// By timeslot: mobile to which the next uplink block is granted.
    granted: [Option<usize>; 8],
    /// By timeslot: decoded uplink blocks of the current block period.
    air: [Option<Uplink>; 8],
    /// Queue for AGCH and PCH: time, true for the PCH, octets.
    common: Vec<(Tick, bool, Vec<u8>)>,
    pub(super) drops: Vec<(Packet, DropReason)>,
    /// Time at which the SGSN sends the next frame.
    pub(super) pass: Option<Time>,
    counts: Counts,
}

impl Station {
    /// A cell in its initial state.
    pub fn new(config: &StationConfig, seed: Seed) -> Station {
        let users = config.users.iter().take(MOBILES).enumerate();
        Station {
            slots: config.mask(),
            egprs: config.users.iter().any(|user| user.down.scheme.is_egprs()),
            ports: config.ports,
            phones: users.map(|(i, user)| Phone::new(i as u16, user, seed)).collect(),
            told: VecDeque::new(),
            active: [false; 8],
            begun: false,
            closed: false,
            ready: false,
            bucket: None,
            next: 0,
            granted: [None; 8],
            air: Default::default(),
            common: Vec::new(),
            drops: Vec::new(),
            pass: None,
            counts: Counts::default(),
        }
    }

    /// The next message for the PCU.
    pub fn next_message(&mut self) -> Option<Message> {
        self.told.pop_front()
    }

    /// Counters of the cell.
    pub fn counts(&self) -> Counts {
        let wrong = self.phones.iter().flat_map(|p| &p.stores).map(|s| s.wrong).sum();
        let accesses = self.phones.iter().map(|p| p.accesses).sum();
        let discarded = self.phones.iter().map(|p| p.discarded).sum();
        Counts { accesses, discarded, wrong, ..self.counts }
    }

    /// Counters of radio use of a mobile.
    pub fn user_counts(&self, user: usize) -> Option<UserCounts> {
        self.phones.get(user).map(|phone| phone.use_of)
    }

    /// Queues an LLC frame of signalling for transmission by a mobile.
    pub fn say(&mut self, user: usize, frame: Vec<u8>) {
        self.phones.get_mut(user).into_iter().for_each(|phone| phone.uplink.push(frame.clone()));
    }

    /// The next stored LLC frame that a mobile has received, signalling or a frame without a packet of the model; frames
    /// are stored only while no downlink packet is in flight.
    pub fn said(&mut self, user: usize) -> Option<Vec<u8>> {
        self.phones.get_mut(user)?.signalling.pop_front()
    }

    /// Changes the TLLI of a mobile, as a new P-TMSI does (23.003 section 2.6).
    pub fn rename(&mut self, user: usize, tlli: u32) {
        self.phones.get_mut(user).into_iter().for_each(|phone| phone.tlli = tlli);
    }

    /// Whether the PCU has set up Gb for the cell.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    fn tell(&mut self, octets: Vec<u8>) {
        self.told.push_back(Message { link: PcuInterface::Station, octets });
    }

    /// Executes one block period.
    pub(super) fn tick(&mut self) {
        let now = self.next;
        self.next += 1;
        if !self.begun {
            self.begun = true;
            let info = Info { slots: self.slots, ports: self.ports, initial: 0, egprs: self.egprs };
            self.tell(pcuif::info(&info));
        }
        self.bring_up(now);
        self.broadcast(now);
        if self.phones.iter().any(|phone| phone.links.is_some()) {
            // Timers of acknowledged LLC.
            self.advance(tdma::start_of(now));
        }
        for phone in &mut self.phones {
            if let Some(request) = phone.tick(now) {
                let octets = match request {
                    ChannelRequest::Octet(octet) => pcuif::request(now, octet),
                    ChannelRequest::Extended(bits) => pcuif::request_egprs(now, bits),
                };
                self.told.push_back(Message { link: PcuInterface::Station, octets });
            }
        }
        self.send_up(now);
        self.tell(pcuif::time(now));
        let active = self.active;
        for slot in (0..8u8).filter(|s| active[usize::from(*s)]) {
            self.counts.asked += 1;
            self.told.push_back(Message { link: PcuInterface::Station, octets: pcuif::ready(now, slot) });
        }
    }

    /// Sends the uplink blocks of the previous block period to the PCU.
    fn bring_up(&mut self, now: Tick) {
        let Some(before) = now.checked_sub(1) else { return };
        let active = self.active;
        for slot in (0..8u8).filter(|s| active[usize::from(*s)]) {
            let heard = self.air[usize::from(slot)].take();
            let (octets, level) = heard.map_or((Vec::new(), 0), |b| (b.octets, b.level));
            self.tell(pcuif::uplink(before, slot, &octets, level));
        }
    }

    /// Transmits the messages on AGCH and PCH that are due by `now`.
    fn broadcast(&mut self, now: Tick) {
        let due: Vec<_> = self.common.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, is_paging, octets) in due {
            self.phones.iter_mut().for_each(|phone| phone.receive_common(&octets, now));
            if is_paging {
                self.tell(pcuif::paged(&octets));
            }
        }
    }

    /// Draws which uplink blocks of the mobiles the base station decodes.
    fn send_up(&mut self, now: Tick) {
        let Station { phones, granted, air, active, counts, .. } = self;
        for slot in (0..8u8).filter(|s| active[usize::from(*s)]) {
            let at = usize::from(slot);
            let granted = granted[at].take();
            for (i, phone) in phones.iter_mut().enumerate() {
                let Some(octets) = phone.send(now, slot, granted == Some(i)) else { continue };
                if phone.on_channel_response(now, &octets) && air[at].is_none() {
                    counts.up += 1;
                    air[at] = Some(Uplink { octets, level: phone.level(now) });
                } else {
                    counts.lost += 1;
                }
            }
        }
    }

    /// Handles a message of the PCU.
    pub(super) fn receive(&mut self, message: &Message, now: Time) {
        match message.link {
            PcuInterface::Station => self.receive_pcuif(&message.octets, now),
            PcuInterface::Gb => self.receive_gb(&message.octets, now),
        }
    }

    fn receive_pcuif(&mut self, octets: &[u8], now: Time) {
        match pcuif::read(octets) {
            Some(PcuMessage::Activate { slot, on }) => self.active[usize::from(slot)] = on,
            Some(PcuMessage::Grant(octets)) => {
                self.common.push((self.next - 1 + GRANT, false, octets.to_vec()))
            }
            Some(PcuMessage::Paged(octets)) => {
                let at = (self.next + GRANT).next_multiple_of(PAGING);
                self.common.push((at, true, octets.to_vec()));
            }
            Some(PcuMessage::Block { slot, octets }) if !octets.is_empty() => self.down(slot, octets, now),
            _ => {}
        }
    }

    /// Handles a downlink block of the current block period.
    fn down(&mut self, slot: u8, octets: &[u8], now: Time) {
        let tick = self.next.saturating_sub(1);
        match block::kind_of(false, octets) {
            Some((_, false)) => self.counts.data += 1,
            // Message type 37 is a dummy block.
            _ if octets.get(1).is_some_and(|o| o >> 2 == 0x25) => {}
            _ => self.counts.control += 1,
        }
        for (i, phone) in self.phones.iter_mut().enumerate() {
            let (granted, frames) = phone.receive(tick, slot, octets);
            if granted {
                self.granted[usize::from(slot)] = Some(i);
            }
            for frame in frames {
                phone.keep(&frame);
                phone.on_command(&frame);
                for arrived in phone.arrived(0, &frame) {
                    phone.use_of.down.octets += arrived.packet.map_or(0, |p| u64::from(p.size));
                    self.drops.extend(arrived.lost.into_iter().map(|p| (p, DropReason::GivenUp)));
                    if let Some(packet) = arrived.packet {
                        let at = now + tdma::AIR + phone.delays.terminal;
                        phone.out[0].push_back((at, packet));
                    }
                }
            }
        }
    }

    fn receive_gb(&mut self, datagram: &[u8], now: Time) {
        let mut answer = None;
        let heard = gb::hear(datagram, pcuif::BVCI, &mut answer);
        if let Some(octets) = answer {
            self.told.push_back(Message { link: PcuInterface::Gb, octets });
        }
        match heard {
            GbMessage::Frame(tlli, frame) => {
                let Some(phone) = self.phones.iter_mut().find(|p| p.tlli == tlli) else { return };
                if phone.on_cell_update(now) {
                    let octets = crate::wire::gb::flush_in(pcuif::BVCI, tlli);
                    self.told.push_back(Message { link: PcuInterface::Gb, octets });
                }
                phone.on_signalling(frame, now);
                for arrived in phone.arrived(1, frame) {
                    phone.use_of.up.octets += arrived.packet.map_or(0, |p| u64::from(p.size));
                    self.drops.extend(arrived.lost.into_iter().map(|p| (p, DropReason::GivenUp)));
                    if let Some(packet) = arrived.packet {
                        phone.out[1].push_back((now + phone.delays.core, packet));
                    }
                }
            }
            heard => {
                if let GbMessage::Cell(bucket, _) = &heard {
                    self.ready = true;
                    gb::renew(&mut self.bucket, *bucket);
                }
                self.phones.iter_mut().for_each(|phone| phone.on_gb_message(&heard));
            }
        }
        self.advance(now);
    }

    /// A packet for a mobile reaches the SGSN: it is queued or dropped.
    pub(super) fn take_down(&mut self, user: usize, packet: Packet, now: Time) {
        let Some(phone) = self.phones.get_mut(user) else {
            return self.drops.push((packet, DropReason::NoRoute));
        };
        phone.use_of.down.offered += u64::from(packet.size);
        if phone.admit(packet, now) {
            self.advance(now);
        } else {
            phone.use_of.down.full += 1;
            self.drops.push((packet, DropReason::QueueFull));
        }
    }

    /// A packet from a mobile enters: its LLC frames join the uplink queue.
    pub(super) fn take_up(&mut self, user: usize, packet: Packet) {
        let Some(phone) = self.phones.get_mut(user) else {
            return self.drops.push((packet, DropReason::NoRoute));
        };
        phone.use_of.up.offered += u64::from(packet.size);
        phone.admit_up(packet);
    }

    /// Sends the frames that may leave the SGSN by `now` to the PCU.
    pub(super) fn advance(&mut self, now: Time) {
        self.pass = None;
        if !self.ready {
            return;
        }
        let Station { phones, told, bucket, pass, drops, .. } = self;
        let mut sooner = |at: Time| *pass = Some(pass.map_or(at, |p: Time| p.min(at)));
        for phone in phones {
            phone.pass_links(now);
            let (accept, next) = phone.accept(now);
            told.extend(accept.map(|octets| Message { link: PcuInterface::Gb, octets }));
            next.into_iter().for_each(&mut sooner);
            if phone.resumes > now {
                sooner(phone.resumes);
                continue;
            }
            while let Some(at) = phone.sgsn.next_pass() {
                if at > now {
                    sooner(at);
                    break;
                }
                if let (Some((_, cell)), Some(octets)) = (bucket.as_mut(), phone.sgsn.head()) {
                    // A frame passes the bucket of the cell once; a frame that has waited there passes at `now`.
                    match cell.pass(phone.me as u8, octets, now, now) {
                        Ok(_) => phone.sgsn.hold(now),
                        Err(again) => {
                            sooner(again.max(now + Span::from_millis(1)));
                            break;
                        }
                    }
                }
                match phone.sgsn.pass(now) {
                    Some(PduFate::At(_, id)) => {
                        let octets = phone.datagram(id);
                        told.extend(octets.map(|octets| Message { link: PcuInterface::Gb, octets }));
                    }
                    Some(PduFate::Expired(id)) => {
                        let ended = phone.expire(id);
                        phone.use_of.down.expired += u64::from(ended.is_some());
                        drops.extend(ended.map(|p| (p, DropReason::Expired)));
                    }
                    None => break,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::config::UserConfig;
    use crate::pcu::config::PORTS;
    use proptest::prelude::*;

    fn station() -> Station {
        let users = vec![UserConfig::new("one"), UserConfig::new("two")];
        Station::new(&StationConfig { slots: 2, ports: PORTS, users }, Seed { seed: 1, repetition: 0 })
    }

    /// Until a PCU activates timeslots, the base station sends only cell information and time.
    #[test]
    fn it_waits_for_the_pcu() {
        let mut station = station();
        (0..3).for_each(|_| station.tick());
        let kinds: Vec<u8> = std::iter::from_fn(|| station.next_message()).map(|m| m.octets[0]).collect();
        assert_eq!(kinds, [0x32, 0x52, 0x52, 0x52]);
        let on = |slot| [0x40, 0, 0, 0, 1, 0, slot, 0];
        station.receive_pcuif(&on(7), Time::ZERO);
        station.tick();
        let kinds: Vec<u8> = std::iter::from_fn(|| station.next_message()).map(|m| m.octets[0]).collect();
        assert_eq!(kinds, [0x02, 0x52, 0x10], "uplink block, time, ready to send");
    }

    proptest! {
        /// Arbitrary messages of a PCU on both interfaces cause no panic.
        #[test]
        fn a_pcu_may_say_anything(said in proptest::collection::vec(
            (any::<bool>(), 0u8..6, proptest::collection::vec(any::<u8>(), 0..60)), 0..60)
        ) {
            let mut station = station();
            station.receive_pcuif(&[0x40, 0, 0, 0, 1, 0, 7, 0], Time::ZERO);
            for (n, (gb, kind, octets)) in said.into_iter().enumerate() {
                let now = tdma::start_of(n as Tick);
                station.tick();
                let link = if gb { PcuInterface::Gb } else { PcuInterface::Station };
                // Blocks and messages of all channels, valid and invalid.
                let mut message = octets;
                if !gb && kind > 0 {
                    let mut whole = pcuif::uplink(n as Tick, 7, &message, 0);
                    (whole[0], whole[4]) = (0, kind);
                    message = whole;
                }
                station.take_up(n % 2, Packet { id: n as u64, size: 40, ..Packet::NONE });
                station.take_down(n % 2, Packet { id: n as u64, size: 576, ..Packet::NONE }, now);
                station.receive(&Message { link, octets: message }, now);
                while station.next_message().is_some() {}
            }
        }
    }
}
