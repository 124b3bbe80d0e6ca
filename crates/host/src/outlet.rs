//! Departure queue of packets that leave the network for real devices.
//!
//! In the order in which they became due, in buffers that are used again.

use base::Time;
use std::collections::VecDeque;

/// A packet that is to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// When it is due outside.
    pub due: Time,
    /// Its number in the network.
    pub id: u64,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// Packets that are to leave through one door.
#[derive(Default)]
pub(crate) struct Outlet {
    leaving: VecDeque<Leaving>,
    spare: Vec<Vec<u8>>,
}

/// Buffers kept for packets to come.
const SPARE: usize = 256;

impl Outlet {
    /// An empty buffer.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// A packet is to leave at `due`, after those that came before it.
    pub(crate) fn leave(&mut self, due: Time, id: u64, bytes: Vec<u8>) {
        self.leaving.push_back(Leaving { due, id, bytes });
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    /// Takes back the buffer of one that has left.
    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
