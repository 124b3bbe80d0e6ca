//! Packet relay of a worker host: one thread between TUN devices and the UDP socket.
//!
//! One thread between the devices and a socket: what comes from the host with the path goes into the device of its
//! way, what a device gives goes out at once.

use crate::line::Keys;
use crate::message::Carried;
use crate::way::{self, BUFFER, Way};
use emulate::accuracy::lateness::Histogram;
use emulate::remote::worker;
use netns::clock::monotonic;
use netns::device::Device;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Packets read from one device before the others have their turn.
const DRAIN: usize = 32;
/// Somebody may want it to end: how long until that is looked at, milliseconds.
const LOOK: i32 = 50;

/// Devices, their ways, and where the other end is.
pub(crate) struct Carrier {
    socket: UdpSocket,
    peer: SocketAddr,
    stops: Vec<Stop>,
    refused: u64,
}

struct Stop {
    device: Device,
    way: Way,
    /// Where its packets go: known when the other end has called.
    to: Option<SocketAddr>,
}

impl Carrier {
    /// For these devices, with ways numbered from `first`, to a host whose line comes from `peer`.
    pub(crate) fn new(
        socket: UdpSocket,
        peer: SocketAddr,
        keys: &Keys,
        first: u32,
        devices: Vec<Device>,
    ) -> io::Result<Carrier> {
        socket.set_nonblocking(true)?;
        worker::deepen(&socket);
        let stop = |(way, device)| Stop { device, way: Way::new(keys.0.clone(), way), to: None };
        Ok(Carrier { socket, peer, stops: (first..).zip(devices).map(stop).collect(), refused: 0 })
    }

    /// Carries until `over`. `start` is t = 0 by our clock, and by how much that is ahead of the other end's.
    pub(crate) fn run(mut self, over: &AtomicBool, start: &OnceLock<(u64, i64)>) -> Carried {
        let realtime = worker::settle_in();
        let mut fds = vec![self.socket.as_raw_fd()];
        fds.extend(self.stops.iter().map(|stop| stop.device.as_raw_fd()));
        let (mut datagram, mut packet) = (vec![0; BUFFER], vec![0; BUFFER]);
        let mut reckoning = false;
        while !over.load(Ordering::Relaxed) {
            let ready = worker::readable(&fds, LOOK);
            if let Some((origin, ahead)) = start.get().filter(|_| !reckoning) {
                reckoning = true;
                self.stops.iter_mut().for_each(|stop| stop.way.reckon(-ahead, *origin));
            }
            if ready.first() == Some(&true) {
                self.take_in(&mut datagram);
            }
            for (i, _) in ready.iter().skip(1).enumerate().filter(|(_, ready)| **ready) {
                self.send_out(i, &mut packet, &mut datagram);
            }
        }
        self.told(realtime)
    }

    fn take_in(&mut self, datagram: &mut [u8]) {
        for _ in 0..DRAIN {
            let Ok((n, from)) = self.socket.recv_from(datagram) else { return };
            let bytes = datagram.get(..n).unwrap_or_default();
            let stop = self
                .stops
                .iter_mut()
                .find(|stop| from.ip() == self.peer.ip() && way::of(bytes) == Some(stop.way.number()));
            let Some(stop) = stop else { continue };
            let Some(packet) = stop.way.open(bytes, monotonic()) else { continue };
            if !packet.is_empty() {
                self.refused += u64::from(stop.device.write(packet).is_err());
                continue;
            }
            stop.to = Some(from);
            if let Some(n) = stop.way.seal(&[], monotonic(), datagram) {
                let _ = self.socket.send_to(datagram.get(..n).unwrap_or_default(), from);
            }
        }
    }

    fn send_out(&mut self, i: usize, packet: &mut [u8], datagram: &mut [u8]) {
        let Some(stop) = self.stops.get_mut(i) else { return };
        for _ in 0..DRAIN {
            let Ok(n) = stop.device.read(packet) else { return };
            let bytes = packet.get(..n).unwrap_or_default();
            // What a stack says before anybody has called goes nowhere.
            let Some(to) = stop.to else { continue };
            let sent = stop.way.seal(bytes, monotonic(), datagram);
            let sent =
                sent.is_some_and(|n| self.socket.send_to(datagram.get(..n).unwrap_or_default(), to).is_ok());
            self.refused += u64::from(!sent);
        }
    }

    fn told(&self, realtime: bool) -> Carried {
        let mut all = Carried { realtime, refused: self.refused, ..Carried::default() };
        let mut took = Histogram::default();
        for stop in &self.stops {
            let one = stop.way.carried();
            took.merge(&Histogram::unpack(&one.took));
            all.lost += one.lost;
            all.overtaken += one.overtaken;
        }
        all.took = took.pack();
        all
    }
}
