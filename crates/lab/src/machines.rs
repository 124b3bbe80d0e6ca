//! IP addresses and host names of the machines at which commands run, and when a command starts.

use base::Time;
use base::dist::Sampler;
use base::rng::Seed;
use scenario::Model;
use scenario::model::Command;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Links may be nested so deep: each level has addresses of its own.
pub const LEVELS: u8 = 16;

/// The addresses of a node: from the range for tests of networks (RFC 2544) and of a private prefix (RFC 4193), in
/// which each level of nesting has a network of its own.
pub fn addresses(node: usize, level: u8) -> (Ipv4Addr, Ipv6Addr) {
    let level = u16::from(level % LEVELS);
    let number = (node as u16 + 1) & 0x0fff;
    let host = level << 12 | number;
    let [high, low] = host.to_be_bytes();
    let six = Ipv6Addr::new(0xfd77, 0x696c, 0x6c69, level, 0, 0, 0, number);
    (Ipv4Addr::new(198, 18, high, low), six)
}

/// The names of all machines of a model, as `/etc/hosts` has them. A name leads to the address of version 4 alone: with
/// both, programs try version 6 first, and servers that do not speak it cost a round trip that nobody asked for.
pub fn hosts(model: &Model, level: u8) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    for &node in &model.stations {
        let ((four, six), name) = (addresses(node, level), &model.nodes[node].name);
        text.push_str(&format!("{four} {name}\n{six} {name}.ip6\n"));
    }
    text
}

/// When a command starts in this repetition.
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
