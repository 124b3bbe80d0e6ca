//! Packet relay of a host that lends namespaces (`PacketRelay`): one thread between TUN devices and the UDP socket of
//! their encrypted tunnels.

use crate::control_connection::Keys;
use crate::message::TunnelStats;
use crate::tunnel::{self, BUFFER, EncryptedTunnel};
use emulate::accuracy::lateness::Histogram;
use emulate::remote::worker;
use netns::clock::monotonic;
use netns::device::Device;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Upper limit of packets read from one device before the next.
const DRAIN: usize = 32;
/// Poll interval for stop requests, ms.
const LOOK: i32 = 50;

/// Devices with their tunnels, and the UDP socket.
pub(crate) struct PacketRelay {
    socket: UdpSocket,
    peer: SocketAddr,
    stops: Vec<Stop>,
    refused: u64,
}

/// Device with its tunnel.
struct Stop {
    device: Device,
    tunnel: EncryptedTunnel,
    /// Address of the peer, known after its first probe.
    to: Option<SocketAddr>,
}

impl PacketRelay {
    /// Relay for these devices, with tunnels numbered from `first`, to the host with the control connection's address
    /// `peer`.
    pub(crate) fn new(
        socket: UdpSocket,
        peer: SocketAddr,
        keys: &Keys,
        first: u32,
        devices: Vec<Device>,
    ) -> io::Result<PacketRelay> {
        socket.set_nonblocking(true)?;
        worker::deepen(&socket);
        let stop = |(tunnel, device)| Stop {
            device,
            tunnel: EncryptedTunnel::new(keys.0.clone(), tunnel),
            to: None,
        };
        Ok(PacketRelay { socket, peer, stops: (first..).zip(devices).map(stop).collect(), refused: 0 })
    }

    /// Relays until `over`. `start`: t = 0 on this host's clock, and this clock less the peer's clock, ns.
    pub(crate) fn run(mut self, over: &AtomicBool, start: &OnceLock<(u64, i64)>) -> TunnelStats {
        let realtime = worker::settle_in();
        let mut fds = vec![self.socket.as_raw_fd()];
        fds.extend(self.stops.iter().map(|stop| stop.device.as_raw_fd()));
        let (mut datagram, mut packet) = (vec![0; BUFFER], vec![0; BUFFER]);
        let mut reckoning = false;
        while !over.load(Ordering::Relaxed) {
            let ready = worker::readable(&fds, LOOK);
            if let Some((origin, ahead)) = start.get().filter(|_| !reckoning) {
                reckoning = true;
                self.stops.iter_mut().for_each(|stop| stop.tunnel.reckon(-ahead, *origin));
            }
            if ready.first() == Some(&true) {
                self.take_in(&mut datagram);
            }
            for (i, _) in ready.iter().skip(1).enumerate().filter(|(_, ready)| **ready) {
                self.send_out(i, &mut packet, &mut datagram);
            }
        }
        self.stats(realtime)
    }

    fn take_in(&mut self, datagram: &mut [u8]) {
        for _ in 0..DRAIN {
            let Ok((n, from)) = self.socket.recv_from(datagram) else { return };
            let bytes = datagram.get(..n).unwrap_or_default();
            let stop = self
                .stops
                .iter_mut()
                .find(|stop| from.ip() == self.peer.ip() && tunnel::of(bytes) == Some(stop.tunnel.number()));
            let Some(stop) = stop else { continue };
            let Some(packet) = stop.tunnel.open(bytes, monotonic()) else { continue };
            if !packet.is_empty() {
                self.refused += u64::from(stop.device.write(packet).is_err());
                continue;
            }
            stop.to = Some(from);
            if let Some(n) = stop.tunnel.seal(&[], monotonic(), datagram) {
                let _ = self.socket.send_to(datagram.get(..n).unwrap_or_default(), from);
            }
        }
    }

    fn send_out(&mut self, i: usize, packet: &mut [u8], datagram: &mut [u8]) {
        let Some(stop) = self.stops.get_mut(i) else { return };
        let mut read = 0;
        // Polling does not report segments that are left of a large packet.
        while read < DRAIN || stop.device.has_segments() {
            let Ok(n) = stop.device.read(packet) else { return };
            read += 1;
            let bytes = packet.get(..n).unwrap_or_default();
            // Packets before the first probe are discarded.
            let Some(to) = stop.to else { continue };
            let sent = stop.tunnel.seal(bytes, monotonic(), datagram);
            let sent =
                sent.is_some_and(|n| self.socket.send_to(datagram.get(..n).unwrap_or_default(), to).is_ok());
            self.refused += u64::from(!sent);
        }
    }

    fn stats(&self, realtime: bool) -> TunnelStats {
        let mut all = TunnelStats { realtime, refused: self.refused, ..TunnelStats::default() };
        let mut took = Histogram::default();
        for stop in &self.stops {
            let one = stop.tunnel.carried();
            took.merge(&Histogram::unpack(&one.took));
            all.lost += one.lost;
            all.overtaken += one.overtaken;
        }
        all.took = took.pack();
        all
    }
}
