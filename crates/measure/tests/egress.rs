//! Causes of disconnections in namespaces with two links: another interface, a lost carrier, another address, silence. Each test
//! makes its own namespaces; without the rights to do so, or without iproute2, it reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

#[allow(dead_code, reason = "each test uses some of it")]
mod common;

use common::{Memory, asking, beside, serving};
use measure::cause::Cause;
use measure::client::measure;
use measure::entry::{Disconnection, Entry};
use measure::plan::Test;
use measure::server::Server;
use netns::namespace::Namespace;
use netns::sys::veth;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Address of the server on its loopback, reached over either link.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);

/// Two hosts with two links: client and server.
struct Links {
    client: Namespace,
    server: Namespace,
}

impl Links {
    /// The hosts; the client's default route is over `first`. `None` where they cannot be made.
    fn new() -> Option<Links> {
        let made = [Namespace::new(), Namespace::new()];
        let [Ok(client), Ok(server)] = made else {
            eprintln!("skipped: no namespaces can be made");
            return None;
        };
        if Command::new("ip").arg("-V").output().is_err() {
            eprintln!("skipped: there is no iproute2");
            return None;
        }
        let links = Links { client, server };
        let (other, pairs) = (links.server.fd(), [("first", "first-s"), ("second", "second-s")]);
        let paired = links.client.inside(|| {
            pairs.into_iter().try_for_each(|(here, there)| {
                veth::pair(here, there, other).map_err(netns::Error::right("making a link"))
            })
        });
        if let Err(error) = paired {
            eprintln!("skipped: {error}");
            return None;
        }
        links.at_client("addr add 10.7.0.2/24 dev first; link set first up");
        links.at_client("addr add 10.7.1.2/24 dev second; link set second up");
        links.at_server("addr add 10.7.0.1/24 dev first-s; link set first-s up");
        links.at_server("addr add 10.7.1.1/24 dev second-s; link set second-s up");
        links.at_server("addr add 10.9.0.1/32 dev lo");
        links.at_client("route add default via 10.7.0.1 dev first");
        Some(links)
    }

    fn at_client(&self, orders: &str) {
        ip(&self.client, orders);
    }

    fn at_server(&self, orders: &str) {
        ip(&self.server, orders);
    }

    /// The one disconnection of a sequence of echoes, while `disturb` runs after 1 s.
    fn disturbed(&self, disturb: impl FnOnce() + Send) -> Disconnection {
        let memory = Memory::default();
        let echo = Test::Echo { size: 32, count: 80, interval: 0.05, tcp: true };
        let mut config = asking(&SERVER.to_string(), "word", vec![(echo, 1)]);
        (config.plan.stall, config.plan.connect) = (2.0, 1.0);
        let bind = || {
            Ok::<_, netns::Error>(
                Server::bind(serving((SERVER, measure::PORT).into(), Some("word"))).unwrap(),
            )
        };
        let server = self.server.inside(bind).unwrap();
        beside(&server, || {
            std::thread::scope(|scope| {
                let measured = scope.spawn(|| {
                    self.client.enter().unwrap();
                    measure(&config, &AtomicBool::new(false), &memory)
                });
                std::thread::sleep(Duration::from_secs(1));
                disturb();
                assert!(measured.join().unwrap().unwrap());
            });
        });
        let entries = memory.0.into_inner().unwrap();
        let lost = entries.into_iter().filter_map(|entry| match entry {
            Entry::Disconnection(lost) => Some(lost),
            _ => None,
        });
        let mut lost: Vec<Disconnection> = lost.collect();
        assert_eq!(lost.len(), 1, "{lost:?}");
        lost.remove(0)
    }
}

/// Runs orders of `ip`, separated by semicolons.
fn ip(at: &Namespace, orders: &str) {
    for order in orders.split(';') {
        let mut command = Command::new("ip");
        command.args(order.split_whitespace());
        at.bind(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "ip {order}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// WL-14: the default route moves to the other link and the first address goes, as in a vertical handover.
#[test]
fn wl_14_a_route_over_another_interface() {
    let Some(links) = Links::new() else { return };
    let lost = links.disturbed(|| {
        links.at_client("addr del 10.7.0.2/24 dev first; route replace default via 10.7.1.1 dev second");
    });
    assert_eq!(lost.cause, Cause::InterfaceChange, "{}", lost.evidence);
    assert!(lost.evidence.contains("from first (10.7.0.2) to second (10.7.1.2) at "), "{}", lost.evidence);
    assert!(lost.until.is_some());
}

/// WL-14: the carrier is lost for 4 s; route and address stay.
#[test]
fn wl_14_a_lost_carrier() {
    let Some(links) = Links::new() else { return };
    let lost = links.disturbed(|| {
        links.at_server("link set first-s down");
        std::thread::sleep(Duration::from_secs(4));
        links.at_server("link set first-s up");
    });
    assert_eq!(lost.cause, Cause::LocalLink, "{}", lost.evidence);
    assert!(lost.evidence.contains("first was down at "), "{}", lost.evidence);
}

/// WL-14: the interface keeps its carrier and gets another address.
#[test]
fn wl_14_another_address_of_the_interface() {
    let Some(links) = Links::new() else { return };
    let lost = links.disturbed(|| {
        links.at_client("addr del 10.7.0.2/24 dev first; addr add 10.7.0.3/24 dev first");
        links.at_client("route replace default via 10.7.0.1 dev first");
    });
    assert_eq!(lost.cause, Cause::AddressChange, "{}", lost.evidence);
    assert!(lost.evidence.contains("first: 10.7.0.2 became 10.7.0.3 at "), "{}", lost.evidence);
}

/// WL-14: packets vanish beyond this machine's link. An interface that the route does not use comes and goes meanwhile.
#[test]
fn wl_14_silence_beyond_the_link() {
    let Some(links) = Links::new() else { return };
    let lost = links.disturbed(|| {
        links.at_server("route add blackhole 10.7.0.2/32");
        links.at_client("link set second down; link set second up");
        std::thread::sleep(Duration::from_secs(4));
        links.at_server("route del blackhole 10.7.0.2/32");
    });
    assert_eq!(lost.cause, Cause::Path, "{}", lost.evidence);
}
