//! Memory of a guest kernel, one file per memory region: reads and writes for the virtqueues.

use crate::nic::Region;
use crate::ring::{self, Memory};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Guest memory by region and file. It is accessed by system calls: if a guest truncates its file, the call
/// returns an error, where access to mapped memory would cause SIGBUS.
#[derive(Default)]
pub(crate) struct Mapped(pub(crate) Vec<(Region, File)>);

impl Mapped {
    fn place(&self, at: u64, n: usize) -> Result<(&File, u64), ring::RingFault> {
        let n = n as u64;
        let within = |r: &&(Region, File)| {
            at.checked_sub(r.0.at).is_some_and(|off| n <= r.0.size && off <= r.0.size - n)
        };
        let (region, file) = self.0.iter().find(within).ok_or(ring::RingFault::Outside(at, n))?;
        let offset = (at - region.at).checked_add(region.offset).ok_or(ring::RingFault::Outside(at, n))?;
        Ok((file, offset))
    }
}

impl Memory for Mapped {
    fn read(&self, at: u64, to: &mut [u8]) -> Result<(), ring::RingFault> {
        let (file, offset) = self.place(at, to.len())?;
        file.read_exact_at(to, offset).map_err(|_| ring::RingFault::Outside(at, to.len() as u64))
    }
    fn write(&self, at: u64, from: &[u8]) -> Result<(), ring::RingFault> {
        let (file, offset) = self.place(at, from.len())?;
        file.write_all_at(from, offset).map_err(|_| ring::RingFault::Outside(at, from.len() as u64))
    }
}
