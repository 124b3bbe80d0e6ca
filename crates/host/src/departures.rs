//! Departure queue of a packet port: packets that leave the network for a real device, with due times; reused
//! buffers.
//!
//! The queue is first in, first out.

use base::Time;
use std::collections::VecDeque;

/// A packet that leaves the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Due time.
    pub due: Time,
    /// Packet number in the network.
    pub id: u64,
    /// Bytes of the packet.
    pub bytes: Vec<u8>,
}

/// Departure queue of one packet port.
#[derive(Default)]
pub(crate) struct DepartureQueue {
    queue: VecDeque<Departure>,
    spare: Vec<Vec<u8>>,
}

/// Maximum number of spare buffers.
const SPARE: usize = 256;

impl DepartureQueue {
    /// Takes an empty buffer, a reused one if possible.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Appends a packet that leaves at `due`.
    pub(crate) fn leave(&mut self, due: Time, id: u64, bytes: Vec<u8>) {
        self.queue.push_back(Departure { due, id, bytes });
    }

    /// Takes the next packet.
    pub(crate) fn next(&mut self) -> Option<Departure> {
        self.queue.pop_front()
    }

    /// Returns the buffer of a packet that has left.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
