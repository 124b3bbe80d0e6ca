//! IP addresses and host names of the nodes at which commands run, and the start time of a command.

use base::Time;
use base::dist::Sampler;
use base::rng::Seed;
use scenario::Model;
use scenario::model::Command;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Maximum nesting depth of emulated links; each level has its own addresses.
pub const LEVELS: u8 = 16;

/// IPv4 and IPv6 address of a node: from the benchmarking range (RFC 2544) and a unique local prefix (RFC
/// 4193). Each level of nesting has its own subnet.
pub fn addresses(node: usize, level: u8) -> (Ipv4Addr, Ipv6Addr) {
    let level = u16::from(level % LEVELS);
    let number = (node as u16 + 1) & 0x0fff;
    let host = level << 12 | number;
    let [high, low] = host.to_be_bytes();
    let six = Ipv6Addr::new(0xfd77, 0x696c, 0x6c69, level, 0, 0, 0, number);
    (Ipv4Addr::new(198, 18, high, low), six)
}

/// Host names of all nodes of a model in the format of `/etc/hosts`. Each name resolves to IPv4 only. With
/// both versions, programs try IPv6 first, and a server without IPv6 costs an extra round trip.
pub fn hosts(model: &Model, level: u8) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    for &node in &model.stations {
        let ((four, six), name) = (addresses(node, level), &model.nodes[node].name);
        text.push_str(&format!("{four} {name}\n{six} {name}.ip6\n"));
    }
    text
}

/// Start time of a command in this repetition.
pub fn start_of(command: &Command, seed: Seed) -> Time {
    let ns = Sampler::new(command.start.clone(), seed.stream(&command.name, "start")).draw();
    Time::from_nanos(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_do_not_share_addresses() {
        let mut seen = std::collections::BTreeSet::new();
        for level in 0..LEVELS {
            for node in [0, 1, 254, 255, 1000] {
                let (four, six) = addresses(node, level);
                assert!(four.octets()[..2] == [198, 18] && seen.insert(four.to_string()));
                assert!(seen.insert(six.to_string()));
            }
        }
    }
}
