//! What is a guest told to do, and what does it tell? A task is a text of one word and its value a line; so is what
//! it tells, with `TCP_INFO` as hexadecimal digits. `guest/init.c` reads the one and writes the other.

use crate::BOOT;
use base::{Span, Time};
use emulate::facts::TcpInfo;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// One end of a flow, as its guest is told. Times are those of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// It opens the connection and writes; else it waits and reads.
    pub sends: bool,
    /// Its address, and the other end's.
    pub addresses: [Ipv4Addr; 2],
    /// Its congestion control; none: the kernel's default.
    pub cc: Option<String>,
    /// The largest IP packet, bytes.
    pub mtu: u32,
    /// Settings by their full names.
    pub sysctl: Vec<(String, String)>,
    /// When it opens.
    pub start: Time,
    /// When it stops, done or not.
    pub until: Time,
    /// So many bytes; none: without end.
    pub bytes: Option<u64>,
    /// Between two looks at the kernel's `TCP_INFO`; none: at the end only.
    pub look: Option<Span>,
}

impl Task {
    /// Its text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |word: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(out, "{word} {value}");
        };
        let at = |t: Time| t.as_nanos().saturating_add(BOOT.as_nanos()).min(i64::MAX as u64 / 2);
        for (name, value) in &self.sysctl {
            line("sysctl", &format_args!("{name} {value}"));
        }
        line("sends", &u8::from(self.sends));
        line("address", &self.addresses[0]);
        line("peer", &self.addresses[1]);
        if let Some(cc) = &self.cc {
            line("cc", cc);
        }
        line("mtu", &self.mtu);
        line("start", &at(self.start));
        line("until", &at(self.until));
        if let Some(bytes) = self.bytes {
            line("bytes", &bytes);
        }
        if let Some(look) = self.look {
            line("look", &look.as_nanos());
        }
        out
    }
}

/// What a guest tells.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Told {
    /// When its work was done.
    pub finished: Option<Time>,
    /// Bytes that it has written or read.
    pub bytes: u64,
    /// What it saw of its kernel, at which second; the last one is of the end.
    pub history: Vec<(f64, TcpInfo)>,
    /// What went wrong.
    pub fault: Option<String>,
}

impl Told {
    /// Reads it; lines that make no sense are passed over.
    pub fn read(text: &str) -> Told {
        let mut told = Told::default();
        let time = |word: &str| {
            let ns: u64 = word.parse().ok()?;
            Some(Time::from_nanos(ns.saturating_sub(BOOT.as_nanos())))
        };
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("finished", value)) => told.finished = time(value),
                Some(("bytes", value)) => told.bytes = value.parse().unwrap_or(0),
                Some(("fault", value)) => {
                    let plain = value.chars().filter(|c| !c.is_control()).take(200).collect();
                    told.fault = Some(plain);
                }
                Some(("info", value)) => {
                    let Some((t, digits)) = value.split_once(' ') else { continue };
                    if let (Some(t), Some(bytes)) = (time(t), bytes(digits)) {
                        told.history.push((t.as_secs_f64(), TcpInfo::read(&bytes)));
                    }
                }
                _ => {}
            }
        }
        told
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_task_is_told_in_words() {
        let task = Task {
            sends: true,
            addresses: [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)],
            cc: Some("bbr".into()),
            mtu: 576,
            sysctl: vec![("net.ipv4.tcp_rmem".into(), "4096 16384 16384".into())],
            start: Time::from_nanos(500_000_000),
            until: Time::NEVER,
            bytes: Some(7),
            look: None,
        };
        assert_eq!(
            task.text(),
            "sysctl net.ipv4.tcp_rmem 4096 16384 16384\nsends 1\naddress 198.18.0.1\npeer 198.18.0.2\ncc bbr\n\
             mtu 576\nstart 2500000000\nuntil 4611686018427387903\nbytes 7\n"
        );
    }

    #[test]
    fn what_it_tells_is_read() {
        let told =
            Told::read("finished 3500000000\nbytes 12\nfault writing: no\ninfo 2000000000 0104\nodd\n");
        assert_eq!(told.finished, Some(Time::from_nanos(1_500_000_000)));
        assert_eq!((told.bytes, told.fault.as_deref()), (12, Some("writing: no")));
        assert_eq!(told.history.len(), 1);
        assert_eq!((told.history[0].0, told.history[0].1.state, told.history[0].1.ca_state), (0.0, 1, 4));
    }

    proptest! {
        #[test]
        fn any_text_will_do(text in "[ -~\\n]{0,300}", info in "info [0-9]{0,22} [0-9a-zé]{0,40}") {
            Told::read(&text);
            Told::read(&info);
        }
    }
}
