//! Virtio network card of a guest over vhost-user.
//!
//! A virtio network device behind a vhost-user socket: it answers what the driver asks, takes frames out of one queue
//! and lays frames into the other. It offers no help with checksums or segments, so that what passes are the packets
//! that a wire would see.

use crate::ring::{self, Chain, Memory, Places, Ring};
use crate::vhost::{self, Message, Request};
use std::collections::VecDeque;
use std::fmt;

/// The queue of frames for the kernel, and of those from it.
pub const RECEIVE: u32 = 0;
/// The queue of frames from it.
pub const SEND: u32 = 1;
/// Bytes before each frame in a buffer (virtio 1.2, section 5.1.6).
const HEAD: usize = 12;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The largest frame: no larger IP packet exists.
const LARGEST: u64 = (HEAD + ETHERNET + 65_535) as u64;
/// The kind of frame of words between the kernel's first process and whoever drives the kernel: that which IEEE 802 keeps for
/// experiments. Programs and the counters of IP do not see them.
const WORDS: [u8; 2] = [0x88, 0xb5];
/// What the device has: version 1, the protocol's own features, a hardware address.
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5;
/// It says how large packets are (virtio 1.2, section 5.1.3).
const MTU: u64 = 1 << 3;
/// Where in its configuration it says so (virtio 1.2, section 5.1.4).
const MTU_AT: usize = 10;
/// Buffers that a driver lays out unasked have room for such packets, bytes.
const USUAL: u32 = 1500;
/// What is used of the protocol: acknowledged requests, the channel back, configuration, and notices of both sides in
/// the dialogue itself. Without all of them the kernel's interrupts would have no place in the calendar.
const PROTOCOL: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// What the kernel did to its device that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A message.
    Message(vhost::Fault),
    /// A queue.
    Ring(ring::Fault),
    /// It does without something that virtual time needs; these bits are missing.
    Features(u64),
    /// There is no such queue.
    Queue(u32),
    /// Memory without the files that hold it, or the other way round.
    Memory,
}

impl From<vhost::Fault> for Fault {
    fn from(fault: vhost::Fault) -> Self {
        Fault::Message(fault)
    }
}
impl From<ring::Fault> for Fault {
    fn from(fault: ring::Fault) -> Self {
        Fault::Ring(fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Message(fault) => fault.fmt(f),
            Fault::Ring(fault) => fault.fmt(f),
            Fault::Features(bits) => write!(f, "its driver does without the features {bits:#x}"),
            Fault::Queue(queue) => write!(f, "it speaks of queue {queue}, which its device does not have"),
            Fault::Memory => {
                f.write_str("it describes its memory without handing over the files that hold it")
            }
        }
    }
}

/// A part of the guest's memory: where the guest has it, how long it is, and where it lies in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Address in the guest.
    pub at: u64,
    /// Bytes.
    pub size: u64,
    /// Offset in the file.
    pub offset: u64,
}

/// What a message means to whoever owns sockets and files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing.
    None,
    /// This is the memory, a file for each part.
    Memory(Vec<Region>),
    /// The socket that came along is the channel back.
    Channel,
    /// There is something in this queue.
    Kick(u32),
}

/// What leaves by the card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// An IP packet.
    Packet(Vec<u8>),
    /// A word of the kernel's first process for whoever drives the kernel. The network does not see it.
    Word(Vec<u8>),
}

/// The card.
#[derive(Clone, Debug)]
pub struct Nic {
    mac: [u8; 6],
    rings: [Ring; 2],
    enabled: [bool; 2],
    /// The largest packet that may come, bytes; none: buffers as drivers lay them out unasked will do.
    largest: Option<u16>,
    /// It keeps the buffers of packets until it is told that these are out.
    keeps: bool,
    kept: VecDeque<Chain>,
}

impl Nic {
    /// A card with this hardware address, to which packets of at most `largest` bytes come. One that `keeps` gives the buffer
    /// of a packet back at [`Nic::release`], others at once.
    pub fn new(mac: [u8; 6], keeps: bool, largest: u32) -> Nic {
        let ring = |index| Ring { index, ..Ring::default() };
        let rings = [ring(RECEIVE), ring(SEND)];
        let largest = (largest > USUAL).then(|| u16::try_from(largest).unwrap_or(u16::MAX));
        Nic { mac, rings, enabled: [false; 2], largest, keeps, kept: VecDeque::new() }
    }

    /// The driver is ready for frames.
    pub fn is_up(&self) -> bool {
        self.enabled == [true; 2]
    }

    fn ring(&mut self, queue: u32) -> Result<&mut Ring, Fault> {
        self.rings.get_mut(queue as usize).ok_or(Fault::Queue(queue))
    }

    /// Takes a message with as many files: what is to be answered, if anything, and what it means.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn answer(&mut self, m: &Message, files: usize) -> Result<(Option<Vec<u8>>, Effect), Fault> {
        let request = Request::of(m.request).ok_or(vhost::Fault::Unknown(m.request))?;
        let mut effect = Effect::None;
        let number = |n: u64| Some(m.reply(&n.to_le_bytes()));
        match request {
            Request::GetFeatures => return Ok((number(self.features()), effect)),
            Request::GetProtocolFeatures => return Ok((number(PROTOCOL), effect)),
            Request::GetConfig => return Ok((Some(m.reply(&self.config(m)?)), effect)),
            Request::GetVringBase => {
                let queue = m.u32_at(0)?;
                let taken = u32::from(self.ring(queue)?.taken);
                return Ok((Some(m.reply(&[queue.to_le_bytes(), taken.to_le_bytes()].concat())), effect));
            }
            // Without what says how large packets are, its buffers are too small for them.
            Request::SetFeatures => has(m.u64_at(0)?, self.features() & !(1 << 5))?,
            Request::SetProtocolFeatures => has(m.u64_at(0)?, PROTOCOL)?,
            Request::SetOwner => {}
            Request::SetMemTable => effect = Effect::Memory(regions(m, files)?),
            Request::SetVringNum => {
                let size = u16::try_from(m.u32_at(4)?).unwrap_or(0);
                self.ring(m.u32_at(0)?)?.size = size;
            }
            Request::SetVringAddr => {
                let places = Places { table: m.u64_at(8)?, used: m.u64_at(16)?, offered: m.u64_at(24)? };
                self.ring(m.u32_at(0)?)?.places = Some(places);
            }
            Request::SetVringBase => {
                let at = m.u32_at(4)? as u16;
                let ring = self.ring(m.u32_at(0)?)?;
                (ring.taken, ring.used) = (at, at);
            }
            Request::SetVringEnable => {
                let (queue, on) = (m.u32_at(0)?, m.u32_at(4)? != 0);
                *self.enabled.get_mut(queue as usize).ok_or(Fault::Queue(queue))? = on;
            }
            Request::SetBackendChannel if files == 1 => effect = Effect::Channel,
            Request::SetBackendChannel => return Err(Fault::Memory),
            Request::VringKick => {
                let queue = m.u32_at(0)?;
                self.ring(queue)?;
                effect = Effect::Kick(queue);
            }
        }
        Ok((if m.wants_reply { number(0) } else { None }, effect))
    }

    fn features(&self) -> u64 {
        FEATURES | if self.largest.is_some() { MTU } else { 0 }
    }

    fn config(&self, m: &Message) -> Result<Vec<u8>, Fault> {
        let (offset, size) = (m.u32_at(0)? as usize, m.u32_at(4)? as usize);
        if size > vhost::LONGEST - 12 || m.payload.len() != 12 + size {
            return Err(vhost::Fault::Short(m.request).into());
        }
        let mut out = m.payload.clone();
        for (i, byte) in out.iter_mut().skip(12).enumerate() {
            *byte = self.mac.get(offset + i).copied().unwrap_or_else(|| self.beyond_mac(offset + i));
        }
        Ok(out)
    }

    /// What stands in its configuration behind its address.
    fn beyond_mac(&self, at: usize) -> u8 {
        let bytes = self.largest.unwrap_or(0).to_le_bytes();
        at.checked_sub(MTU_AT).and_then(|i| bytes.get(i)).copied().unwrap_or(0)
    }

    /// Takes the frames that the kernel has sent, and gives their buffers back: what is in them.
    ///
    /// # Errors
    /// Its queue makes no sense.
    pub fn sent(&mut self, memory: &impl Memory) -> Result<Vec<Frame>, Fault> {
        let mut out = Vec::new();
        while let Some(chain) = self.ring(SEND)?.take(memory)? {
            let mut frame = chain.read(memory, LARGEST)?;
            let inner = frame.split_off(frame.len().min(HEAD + ETHERNET));
            let word = frame.ends_with(&WORDS);
            if self.keeps && !word && !inner.is_empty() {
                self.kept.push_back(chain);
            } else {
                self.ring(SEND)?.give_back(memory, &chain, 0)?;
            }
            if !inner.is_empty() {
                out.push(if word { Frame::Word(inner) } else { Frame::Packet(inner) });
            }
        }
        Ok(out)
    }

    /// The oldest packet that is kept is out: its buffer goes back.
    ///
    /// # Errors
    /// Its queue makes no sense.
    pub fn release(&mut self, memory: &impl Memory) -> Result<(), Fault> {
        match self.kept.pop_front() {
            Some(chain) => Ok(self.ring(SEND)?.give_back(memory, &chain, 0)?),
            None => Ok(()),
        }
    }

    /// Lays an IP packet into a buffer of the kernel; false if it has none left.
    ///
    /// # Errors
    /// Its queue makes no sense.
    pub fn receive(&mut self, memory: &impl Memory, packet: &[u8]) -> Result<bool, Fault> {
        let six = packet.first().is_some_and(|b| b >> 4 == 6);
        self.lay(memory, if six { [0x86, 0xdd] } else { [0x08, 0x00] }, packet)
    }

    /// Lays a word for the kernel's first process into a buffer; false if it has none left.
    ///
    /// # Errors
    /// Its queue makes no sense.
    pub fn tell(&mut self, memory: &impl Memory, word: &[u8]) -> Result<bool, Fault> {
        self.lay(memory, WORDS, word)
    }

    fn lay(&mut self, memory: &impl Memory, kind: [u8; 2], inner: &[u8]) -> Result<bool, Fault> {
        let mac = self.mac;
        let ring = self.ring(RECEIVE)?;
        let Some(chain) = ring.take(memory)? else { return Ok(false) };
        let mut frame = vec![0; HEAD];
        frame[10] = 1; // one buffer
        frame.extend(mac);
        frame.extend([mac[0], mac[1], mac[2], mac[3], mac[4], !mac[5]]);
        frame.extend(kind);
        frame.extend(inner);
        let written = chain.write(memory, &frame)?;
        ring.give_back(memory, &chain, written)?;
        Ok(true)
    }

    /// Whether the kernel wants to hear of buffers that were given back in this queue.
    ///
    /// # Errors
    /// Its queue makes no sense.
    pub fn wants_call(&self, memory: &impl Memory, queue: u32) -> Result<bool, Fault> {
        let ring = self.rings.get(queue as usize).ok_or(Fault::Queue(queue))?;
        Ok(ring.wants_call(memory)?)
    }
}

fn has(bits: u64, needed: u64) -> Result<(), Fault> {
    match needed & !bits {
        0 => Ok(()),
        missing => Err(Fault::Features(missing)),
    }
}

fn regions(m: &Message, files: usize) -> Result<Vec<Region>, Fault> {
    let count = m.u32_at(0)? as usize;
    if count == 0 || count != files {
        return Err(Fault::Memory);
    }
    let region = |i: usize| {
        let at = 8 + 32 * i;
        Ok(Region { at: m.u64_at(at)?, size: m.u64_at(at + 8)?, offset: m.u64_at(at + 24)? })
    };
    (0..count).map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::tests::{Plain, describe};
    use proptest::prelude::*;
    use std::cell::RefCell;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn ask(request: Request, words: &[u32]) -> Message {
        let payload = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Message { request: request as u32, wants_reply: true, is_reply: false, payload }
    }

    fn set_up() -> (Nic, Plain) {
        let mut nic = Nic::new(MAC, false, 1500);
        for (queue, at) in [(0, 0x1000u32), (1, 0x1400)] {
            nic.answer(&ask(Request::SetVringNum, &[queue, 4]), 0).unwrap();
            let places = [queue, 0, at, 0, at + 0x200, 0, at + 0x100, 0, 0, 0];
            nic.answer(&ask(Request::SetVringAddr, &places), 0).unwrap();
            nic.answer(&ask(Request::SetVringEnable, &[queue, 1]), 0).unwrap();
        }
        (nic, Plain(RefCell::new(vec![0; 0x2000])))
    }

    #[test]
    fn it_has_an_address_and_wants_what_it_needs() {
        let mut nic = Nic::new(MAC, false, 1500);
        let (reply, effect) = nic.answer(&ask(Request::GetConfig, &[0, 8, 0, 0, 0]), 0).unwrap();
        assert_eq!((&reply.unwrap()[24..], effect), (&[2, 0, 0, 0, 0, 1, 0, 0][..], Effect::None));
        let (reply, _) = nic.answer(&ask(Request::SetProtocolFeatures, &[PROTOCOL as u32, 0]), 0).unwrap();
        assert_eq!(reply.unwrap()[12..], [0; 8]);
        let without = nic.answer(&ask(Request::SetProtocolFeatures, &[1 << 3, 0]), 0);
        assert_eq!(without, Err(Fault::Features(PROTOCOL & !(1 << 3))));
        assert_eq!(nic.answer(&ask(Request::VringKick, &[7, 0]), 0), Err(Fault::Queue(7)));
        assert_eq!(nic.answer(&ask(Request::SetMemTable, &[1, 0]), 0), Err(Fault::Memory));
        assert!(!nic.is_up());
    }

    #[test]
    fn it_says_how_large_packets_are() {
        for (largest, offered, said) in
            [(576, FEATURES, 0), (1500, FEATURES, 0), (9000, FEATURES | MTU, 9000)]
        {
            let mut nic = Nic::new(MAC, false, largest);
            let (reply, _) = nic.answer(&ask(Request::GetFeatures, &[]), 0).unwrap();
            assert_eq!(reply.unwrap()[12..20], offered.to_le_bytes());
            let (reply, _) = nic.answer(&ask(Request::GetConfig, &[8, 4, 0, 0]), 0).unwrap();
            assert_eq!(reply.unwrap()[26..], u16::to_le_bytes(said));
        }
        let without = Nic::new(MAC, false, 9000).answer(&ask(Request::SetFeatures, &[1 << 30, 1]), 0);
        assert_eq!(without, Err(Fault::Features(MTU)));
    }

    #[test]
    fn packets_pass_both_ways_without_their_frames() {
        let (mut nic, m) = set_up();
        assert!(nic.is_up());
        assert_eq!(nic.receive(&m, &[0x45, 1, 2]), Ok(false));
        describe(&m, 0x1000, 0, 0x1800, 1600, 2, 0);
        m.write(0x1100, &[0, 0, 1, 0, 0, 0]).unwrap();
        assert_eq!(nic.receive(&m, &[0x45, 1, 2]), Ok(true));
        assert_eq!(m.0.borrow()[0x800 + 12..0x800 + 18], MAC);
        assert_eq!(m.0.borrow()[0x800 + 24..0x800 + 29], [8, 0, 0x45, 1, 2]);
        assert_eq!(nic.sent(&m), Ok(vec![]));
        describe(&m, 0x1400, 1, 0x1800, 29, 0, 0);
        m.write(0x1500, &[0, 0, 1, 0, 1, 0]).unwrap();
        assert_eq!(nic.sent(&m), Ok(vec![Frame::Packet(vec![0x45, 1, 2])]));
        assert_eq!(nic.wants_call(&m, SEND), Ok(true));
    }

    proptest! {
        #[test]
        fn no_message_breaks_it(
            messages in proptest::collection::vec(
                (0u32..40, proptest::collection::vec(any::<u8>(), 0..80), 0usize..3), 0..40)
        ) {
            let (mut nic, m) = set_up();
            for (request, payload, files) in messages {
                let _ = nic.answer(&Message { request, wants_reply: true, is_reply: false, payload }, files);
                let _ = nic.sent(&m);
                let _ = nic.receive(&m, &[0x45; 60]);
            }
        }
    }
}
