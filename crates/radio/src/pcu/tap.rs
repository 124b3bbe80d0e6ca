//! Messages of a real PCU in capture format: radio blocks in GSMTAP, NS and BSSGP over UDP.

use super::{Message, PcuInterface};
use crate::wire::gsmtap::{self, Payload};
use crate::wire::pcuif::{self, LARGEST, PcuMessage};
use crate::wire::{block, gb};

/// UDP port and payload of a captured message; `None` if the message has neither a radio block nor a Gb datagram.
pub fn datagram(message: &Message) -> Option<(u16, Vec<u8>)> {
    if message.link == PcuInterface::Gb {
        return Some((gb::PORT, message.octets.clone()));
    }
    let frame = || Some(u32::from_le_bytes(*message.octets.get(6 + LARGEST..)?.first_chunk()?));
    let radio = |up: bool, slot: u8, octets: &[u8]| {
        let control = block::kind_of(up, octets).is_some_and(|(_, control)| control);
        Some(gsmtap::wrap(Payload::Block { up, slot, frame: frame()?, control }, octets))
    };
    let common =
        |paging, octets: &[u8]| Some(gsmtap::wrap(Payload::Common { paging, frame: frame()? }, octets));
    let octets = match pcuif::read(&message.octets)? {
        PcuMessage::Block { slot, octets } if !octets.is_empty() => radio(false, slot, octets)?,
        PcuMessage::Heard { slot, octets } if !octets.is_empty() => radio(true, slot, octets)?,
        PcuMessage::Grant(octets) => common(false, octets)?,
        PcuMessage::Paged(octets) => common(true, octets)?,
        _ => return None,
    };
    Some((gsmtap::PORT, octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_datagrams_are_captured_and_nothing_else() {
        let station = |octets| Message { link: PcuInterface::Station, octets };
        let (port, octets) = datagram(&station(pcuif::uplink(13, 6, &[0x40; 23], 0))).expect("a block");
        let payload = Payload::Block { up: true, slot: 6, frame: 56, control: true };
        assert_eq!((port, gsmtap::read(&octets)), (4729, Some((payload, &[0x40; 23][..]))));
        assert_eq!(datagram(&station(pcuif::uplink(13, 6, &[], 0))), None);
        assert_eq!(datagram(&station(pcuif::time(13))), None);
        let gb = Message { link: PcuInterface::Gb, octets: vec![10] };
        assert_eq!(datagram(&gb), Some((2157, vec![10])));
    }
}
