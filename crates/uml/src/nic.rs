//! Virtio network card of a guest kernel over vhost-user: feature negotiation, receive and transmit queues,
//! messages of the guest's init.
//!
//! The device replies to vhost-user requests, takes frames from the transmit queue and places frames into the receive
//! queue. It offers no checksum or segmentation offload, so packets are complete as on a wire.

use crate::ring::{self, Chain, Memory, Places, Ring};
use crate::vhost::{self, Message, Request};
use std::collections::VecDeque;
use std::fmt;

/// Queue of frames to the kernel.
pub const RECEIVE: u32 = 0;
/// Queue of frames from the kernel.
pub const SEND: u32 = 1;
/// Length of the virtio header before each frame (virtio 1.2, section 5.1.6).
const HEAD: usize = 12;
/// Length of an Ethernet header.
const ETHERNET: usize = 14;
/// Largest frame, bytes: the largest IP packet with its headers.
const LARGEST: u64 = (HEAD + ETHERNET + 65_535) as u64;
/// EtherType of messages between the guest's init and the simulator, from the experimental range of IEEE 802.
/// Programs and IP counters do not see these frames.
const WORDS: [u8; 2] = [0x88, 0xb5];
/// Offered device features: VIRTIO_F_VERSION_1, vhost-user protocol features, VIRTIO_NET_F_MAC.
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5;
/// VIRTIO_NET_F_MTU: the device reports its MTU (virtio 1.2, section 5.1.3).
const MTU: u64 = 1 << 3;
/// Offset of the MTU in the configuration (virtio 1.2, section 5.1.4).
const MTU_AT: usize = 10;
/// MTU for which drivers allocate receive buffers by default, bytes.
const USUAL: u32 = 1500;
/// Required protocol features: acknowledged requests, backend channel, configuration, in-band notifications.
/// Without all of them, interrupts of the kernel would have no defined time in the calendar.
const PROTOCOL: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// Protocol violation of the kernel's driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NicFault {
    /// Invalid message.
    Message(vhost::VhostFault),
    /// Invalid queue.
    Ring(ring::RingFault),
    /// The driver did not accept required features; value: the missing bits.
    Features(u64),
    /// Unknown queue index.
    Queue(u32),
    /// Numbers of memory regions and of files differ.
    Memory,
}

impl From<vhost::VhostFault> for NicFault {
    fn from(fault: vhost::VhostFault) -> Self {
        NicFault::Message(fault)
    }
}
impl From<ring::RingFault> for NicFault {
    fn from(fault: ring::RingFault) -> Self {
        NicFault::Ring(fault)
    }
}

impl fmt::Display for NicFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NicFault::Message(fault) => fault.fmt(f),
            NicFault::Ring(fault) => fault.fmt(f),
            NicFault::Features(bits) => write!(f, "its driver does without the features {bits:#x}"),
            NicFault::Queue(queue) => write!(f, "it names queue {queue}, which its device does not have"),
            NicFault::Memory => {
                f.write_str("it describes its memory without handing over the files that hold it")
            }
        }
    }
}

/// A region of guest memory in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Guest physical address.
    pub at: u64,
    /// Length, bytes.
    pub size: u64,
    /// Offset in the file.
    pub offset: u64,
}

/// Effect of a message on the owner of sockets and files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// No effect.
    None,
    /// New memory layout, one file per region.
    Memory(Vec<Region>),
    /// The attached socket is the backend channel.
    Channel,
    /// The driver has added buffers to this queue.
    Kick(u32),
}

/// A frame sent by the card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// An IP packet.
    Packet(Vec<u8>),
    /// Message of the guest's init to the simulator, invisible to the network.
    Word(Vec<u8>),
}

/// Virtio network card.
#[derive(Clone, Debug)]
pub struct Nic {
    mac: [u8; 6],
    /// Receive queue and transmit queue.
    rings: [Ring; 2],
    /// Whether the driver has enabled each queue.
    enabled: [bool; 2],
    /// Largest packet that the card can receive, bytes; none: default buffers suffice.
    largest: Option<u16>,
    /// Whether a sent packet's buffer is returned only when the packet leaves the card.
    keeps: bool,
    /// Buffers of packets in the card, oldest first.
    kept: VecDeque<Chain>,
}

impl Nic {
    /// Network card with this hardware address, for received packets of at most `largest` bytes. With
    /// `keeps`, the buffer of a sent packet is returned at [`Nic::release`], otherwise at once.
    pub fn new(mac: [u8; 6], keeps: bool, largest: u32) -> Nic {
        let ring = |index| Ring { index, ..Ring::default() };
        let rings = [ring(RECEIVE), ring(SEND)];
        let largest = (largest > USUAL).then(|| u16::try_from(largest).unwrap_or(u16::MAX));
        Nic { mac, rings, enabled: [false; 2], largest, keeps, kept: VecDeque::new() }
    }

    /// Whether both queues are enabled.
    pub fn is_up(&self) -> bool {
        self.enabled == [true; 2]
    }

    fn ring(&mut self, queue: u32) -> Result<&mut Ring, NicFault> {
        self.rings.get_mut(queue as usize).ok_or(NicFault::Queue(queue))
    }

    /// Processes a message with `files` attached files; returns the reply, if any, and the effect.
    ///
    /// # Errors
    /// The message is invalid.
    pub fn answer(&mut self, m: &Message, files: usize) -> Result<(Option<Vec<u8>>, Effect), NicFault> {
        let request = Request::of(m.request).ok_or(vhost::VhostFault::Unknown(m.request))?;
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
            // Without the MTU feature, the driver's receive buffers are too small for large packets.
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
                (ring.taken, ring.used, ring.seen) = (at, at, at);
            }
            Request::SetVringEnable => {
                let (queue, on) = (m.u32_at(0)?, m.u32_at(4)? != 0);
                *self.enabled.get_mut(queue as usize).ok_or(NicFault::Queue(queue))? = on;
            }
            Request::SetBackendChannel if files == 1 => effect = Effect::Channel,
            Request::SetBackendChannel => return Err(NicFault::Memory),
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

    fn config(&self, m: &Message) -> Result<Vec<u8>, NicFault> {
        let (offset, size) = (m.u32_at(0)? as usize, m.u32_at(4)? as usize);
        if size > vhost::LONGEST - 12 || m.payload.len() != 12 + size {
            return Err(vhost::VhostFault::Short(m.request).into());
        }
        let mut out = m.payload.clone();
        for (i, byte) in out.iter_mut().skip(12).enumerate() {
            *byte = self.mac.get(offset + i).copied().unwrap_or_else(|| self.beyond_mac(offset + i));
        }
        Ok(out)
    }

    /// Byte `at` of the configuration, after the hardware address.
    fn beyond_mac(&self, at: usize) -> u8 {
        let bytes = self.largest.unwrap_or(0).to_le_bytes();
        at.checked_sub(MTU_AT).and_then(|i| bytes.get(i)).copied().unwrap_or(0)
    }

    /// Takes the frames sent by the kernel. Their buffers are returned to the driver, except for packets that stay
    /// in the card. The kernel waits meanwhile, so the queue is looked at once.
    ///
    /// # Errors
    /// The queue is invalid.
    pub fn sent(&mut self, memory: &impl Memory) -> Result<Vec<Frame>, NicFault> {
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
            if !self.ring(SEND)?.has_more() {
                break;
            }
        }
        Ok(out)
    }

    /// Whether the driver wanted an interrupt for returned buffers of sent frames at the last [`Nic::sent`].
    pub fn wanted_call(&self) -> bool {
        self.rings[SEND as usize].wanted_call()
    }

    /// Returns the buffer of the oldest packet in the card, which has left the card.
    ///
    /// # Errors
    /// The queue is invalid.
    pub fn release(&mut self, memory: &impl Memory) -> Result<(), NicFault> {
        match self.kept.pop_front() {
            Some(chain) => Ok(self.ring(SEND)?.give_back(memory, &chain, 0)?),
            None => Ok(()),
        }
    }

    /// Places an IP packet into a receive buffer; false without a free buffer.
    ///
    /// # Errors
    /// The queue is invalid.
    pub fn receive(&mut self, memory: &impl Memory, packet: &[u8]) -> Result<bool, NicFault> {
        let six = packet.first().is_some_and(|b| b >> 4 == 6);
        self.lay(memory, if six { [0x86, 0xdd] } else { [0x08, 0x00] }, packet)
    }

    /// Places a message for the guest's init into a receive buffer; false without a free buffer.
    ///
    /// # Errors
    /// The queue is invalid.
    pub fn tell(&mut self, memory: &impl Memory, word: &[u8]) -> Result<bool, NicFault> {
        self.lay(memory, WORDS, word)
    }

    /// Places a frame with EtherType `kind` into a receive buffer; false without a free buffer.
    fn lay(&mut self, memory: &impl Memory, kind: [u8; 2], inner: &[u8]) -> Result<bool, NicFault> {
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

    /// Whether the driver wants an interrupt for buffers returned in this queue.
    ///
    /// # Errors
    /// The queue is invalid.
    pub fn wants_call(&self, memory: &impl Memory, queue: u32) -> Result<bool, NicFault> {
        let ring = self.rings.get(queue as usize).ok_or(NicFault::Queue(queue))?;
        Ok(ring.wants_call(memory)?)
    }
}

fn has(bits: u64, needed: u64) -> Result<(), NicFault> {
    match needed & !bits {
        0 => Ok(()),
        missing => Err(NicFault::Features(missing)),
    }
}

fn regions(m: &Message, files: usize) -> Result<Vec<Region>, NicFault> {
    let count = m.u32_at(0)? as usize;
    if count == 0 || count != files {
        return Err(NicFault::Memory);
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
    use crate::ring::tests::{OwnMemory, describe};
    use proptest::prelude::*;
    use std::cell::RefCell;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn ask(request: Request, words: &[u32]) -> Message {
        let payload = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Message { request: request as u32, wants_reply: true, is_reply: false, payload }
    }

    fn set_up() -> (Nic, OwnMemory) {
        let mut nic = Nic::new(MAC, false, 1500);
        for (queue, at) in [(0, 0x1000u32), (1, 0x1400)] {
            nic.answer(&ask(Request::SetVringNum, &[queue, 4]), 0).unwrap();
            let places = [queue, 0, at, 0, at + 0x200, 0, at + 0x100, 0, 0, 0];
            nic.answer(&ask(Request::SetVringAddr, &places), 0).unwrap();
            nic.answer(&ask(Request::SetVringEnable, &[queue, 1]), 0).unwrap();
        }
        (nic, OwnMemory(RefCell::new(vec![0; 0x2000])))
    }

    #[test]
    fn it_has_an_address_and_wants_what_it_needs() {
        let mut nic = Nic::new(MAC, false, 1500);
        let (reply, effect) = nic.answer(&ask(Request::GetConfig, &[0, 8, 0, 0, 0]), 0).unwrap();
        assert_eq!((&reply.unwrap()[24..], effect), (&[2, 0, 0, 0, 0, 1, 0, 0][..], Effect::None));
        let (reply, _) = nic.answer(&ask(Request::SetProtocolFeatures, &[PROTOCOL as u32, 0]), 0).unwrap();
        assert_eq!(reply.unwrap()[12..], [0; 8]);
        let without = nic.answer(&ask(Request::SetProtocolFeatures, &[1 << 3, 0]), 0);
        assert_eq!(without, Err(NicFault::Features(PROTOCOL & !(1 << 3))));
        assert_eq!(nic.answer(&ask(Request::VringKick, &[7, 0]), 0), Err(NicFault::Queue(7)));
        assert_eq!(nic.answer(&ask(Request::SetMemTable, &[1, 0]), 0), Err(NicFault::Memory));
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
        assert_eq!(without, Err(NicFault::Features(MTU)));
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
