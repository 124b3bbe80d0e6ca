//! Segmentation offload between two kernels: large packets are cut when they are read from a TUN device; segments and
//! datagrams are joined and written to the other. Where the process may not create namespaces, the test reports this
//! and is skipped.
#![cfg(target_os = "linux")]

use base::wire::join::{Join, Transport};
use netns::device::Device;
use netns::namespace::Namespace;
use netns::sys::readable;
use netns::sys::tun::MOST_SEGMENTS;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

const BYTES: usize = 6_000_000;
const MTU: u32 = 1500;

/// Byte of the stream at an offset.
fn byte(at: usize) -> u8 {
    ((at * 2_654_435_761) >> 13) as u8
}

/// Sizes that the relay has seen.
#[derive(Default, Debug)]
struct Seen {
    packets: usize,
    largest: usize,
    /// Large packets written.
    joined: usize,
}

/// Moves packets from one device to the other; consecutive segments are joined where possible.
fn relay(from: &mut Device, to: &mut Device, seen: &mut Seen) {
    let mut buffer = vec![0; 1 << 17];
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    let mut join: Option<Join> = None;
    let mut write = |waiting: &mut Vec<Vec<u8>>, join: Option<Join>| {
        match (join.filter(|_| to.offloads()), &waiting[..]) {
            (Some(join), [_, _, ..]) => {
                seen.joined += 1;
                to.write_joined(&join, waiting.iter().map(|segment| &segment[..])).unwrap();
            }
            _ => waiting.iter().for_each(|packet| to.write(packet).unwrap()),
        }
        waiting.clear();
    };
    while let Ok(length) = from.read(&mut buffer) {
        let packet = buffer[..length].to_vec();
        (seen.packets, seen.largest) = (seen.packets + 1, seen.largest.max(length));
        let continues =
            join.as_mut().is_some_and(|join| join.number() < MOST_SEGMENTS && join.add(&waiting[0], &packet));
        if !continues {
            write(&mut waiting, join.take());
            join = Join::new(&packet);
        }
        waiting.push(packet);
    }
    write(&mut waiting, join);
}

/// Ends the relay, also when an assertion fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends the stream from one kernel to another; `offload` at each device. Returns what passed in the direction of the
/// data, and the segments that the receiving kernel has counted.
fn transfer(addresses: [IpAddr; 2], offload: [bool; 2]) -> Option<(Seen, u64)> {
    if let Err(error) = netns::rights() {
        eprintln!("skipped: {error}");
        return None;
    }
    let space = |six| if six { Namespace::six() } else { Namespace::new() };
    let spaces = addresses.map(|at| space(at.is_ipv6()).unwrap());
    let mut devices = [0, 1].map(|i| spaces[i].device(addresses[i], MTU, offload[i]).unwrap());
    if (0..2).any(|i| offload[i] && !devices[i].offloads()) {
        eprintln!("skipped: no offload at the devices here");
        return None;
    }
    let over = AtomicBool::new(false);
    let mut seen = [Seen::default(), Seen::default()];
    std::thread::scope(|scope| {
        let ending = Ending(&over);
        let relaying = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                readable(&[devices[0].as_raw_fd(), devices[1].as_raw_fd()], Some(10));
                let [a, b] = &mut devices;
                relay(a, b, &mut seen[0]);
                relay(b, a, &mut seen[1]);
            }
        });
        let listener =
            spaces[1].inside(|| Ok::<_, netns::Error>(TcpListener::bind((addresses[1], 80)).unwrap()));
        let listener = listener.unwrap();
        let sending = scope.spawn(|| {
            spaces[0].inside(|| {
                let mut stream = TcpStream::connect((addresses[1], 80)).unwrap();
                let all: Vec<u8> = (0..BYTES).map(byte).collect();
                stream.write_all(&all).unwrap();
                Ok::<_, netns::Error>(())
            })
        });
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        sending.join().unwrap().unwrap();
        drop(ending);
        relaying.join().unwrap();
        assert_eq!(received.len(), BYTES);
        assert!(received.iter().enumerate().all(|(at, got)| *got == byte(at)));
    });
    let counted = spaces[1].counters().unwrap();
    let [forth, _] = seen;
    Some((forth, counted.get("TcpInSegs").copied().unwrap_or(0)))
}

fn v4() -> [IpAddr; 2] {
    ["198.18.0.1", "198.18.0.2"].map(|at| at.parse().unwrap())
}

/// Equal bytes arrive over either version of IP. Every packet read fits the MTU, and the receiving kernel takes large
/// packets.
#[test]
fn a_stream_survives_cutting_and_joining() {
    for addresses in [v4(), ["fd00::1", "fd00::2"].map(|at| at.parse().unwrap())] {
        let Some((seen, counted)) = transfer(addresses, [true, true]) else { return };
        let headers = if addresses[0].is_ipv6() { 72 } else { 52 };
        assert_eq!(seen.largest, MTU as usize);
        assert!(seen.packets >= BYTES / (MTU as usize - headers), "{seen:?}");
        assert!(seen.joined > 0 && counted < seen.packets as u64, "{seen:?}, {counted} counted");
    }
}

/// A kernel with offload at one end only.
#[test]
fn a_device_without_offload_takes_the_segments() {
    let Some((seen, _)) = transfer(v4(), [true, false]) else { return };
    assert_eq!((seen.largest, seen.joined), (MTU as usize, 0));
}

/// Datagrams that wait together arrive one by one, in order and whole, behind one large packet.
#[test]
fn joined_datagrams_arrive_one_by_one() {
    const NUMBER: usize = 40;
    if let Err(error) = netns::rights() {
        eprintln!("skipped: {error}");
        return;
    }
    for addresses in [v4(), ["fd00::1", "fd00::2"].map(|at| at.parse().unwrap())] {
        let space = |six| if six { Namespace::six() } else { Namespace::new() };
        let spaces = addresses.map(|at| space(at.is_ipv6()).unwrap());
        let [mut from, mut to] = [0, 1].map(|i| spaces[i].device(addresses[i], MTU, true).unwrap());
        if !from.joins(Transport::Udp) || !to.joins(Transport::Udp) {
            eprintln!("skipped: no offload of UDP at the devices here");
            return;
        }
        let socket = |i: usize| {
            spaces[i]
                .inside(|| Ok::<_, netns::Error>(UdpSocket::bind((addresses[i], 7000)).unwrap()))
                .unwrap()
        };
        let (sender, receiver) = (socket(0), socket(1));
        receiver.set_nonblocking(true).unwrap();
        sender.connect((addresses[1], 7000)).unwrap();
        let payload = |i: usize| vec![i as u8; if i + 1 == NUMBER { 7 } else { 22 }];
        (0..NUMBER).for_each(|i| assert_eq!(sender.send(&payload(i)).unwrap(), payload(i).len()));
        // The kernels may send packets of their own.
        let (mut seen, mut received, mut buffer) = (Seen::default(), 0, [0; 64]);
        while received < NUMBER {
            let ready = readable(&[from.as_raw_fd(), receiver.as_raw_fd()], Some(5_000));
            assert_ne!(ready, [false, false], "{received} datagrams, {seen:?}, {addresses:?}");
            relay(&mut from, &mut to, &mut seen);
            while let Ok(length) = receiver.recv(&mut buffer) {
                assert_eq!(buffer[..length], payload(received), "{addresses:?}");
                received += 1;
            }
        }
        assert!(seen.joined > 0, "{seen:?}");
        let name = if addresses[0].is_ipv6() { "Udp6InDatagrams" } else { "UdpInDatagrams" };
        assert_eq!(spaces[1].counters().unwrap().get(name).copied(), Some(NUMBER as u64));
    }
}
