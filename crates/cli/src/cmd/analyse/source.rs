//! Which packets of which file? Reads a capture and hands every TCP segment that is asked for to an analyser.

use crate::exit::Failure;
use crate::progress;
use crate::talk::Talk;
use analyse::{Analyser, Endpoint, Flow, Observation};
use base::Time;
use std::fs::File;
use std::path::Path;

/// What was read of a file.
pub(in crate::cmd) struct Read {
    /// Connections with their numbers, from 0.
    pub(in crate::cmd) flows: Vec<(usize, Flow)>,
    /// Time of the first packet, ns since 1970.
    pub(in crate::cmd) start: Time,
    /// Frames in the file, and how many of them were TCP.
    pub(in crate::cmd) frames: u64,
    pub(in crate::cmd) tcp: u64,
    /// What was wrong with the file.
    pub(in crate::cmd) notices: Vec<String>,
}

/// What is asked for.
pub(in crate::cmd) struct Which {
    end: Option<End>,
    from: Option<f64>,
    until: Option<f64>,
}

enum End {
    Number(usize),
    Port(u16),
    Address(std::net::IpAddr),
    Both(std::net::SocketAddr),
}

impl Which {
    /// Reads the user's words.
    pub(in crate::cmd) fn of(
        flow: Option<&str>,
        from: Option<f64>,
        until: Option<f64>,
    ) -> Result<Which, Failure> {
        let end = match flow {
            None => None,
            Some(word) => Some(End::of(word).ok_or_else(|| {
                Failure::usage(
                    format!("`{word}` is no end of a connection"),
                    "write an address, ADDRESS:PORT, a port as `:443`, or a connection's number",
                )
            })?),
        };
        Ok(Which { end, from, until })
    }

    fn wants(&self, o: &Observation) -> bool {
        let (a, b) = (o.from(), o.to());
        let is = |e: Endpoint| match &self.end {
            None | Some(End::Number(_)) => true,
            Some(End::Port(port)) => e.port == *port,
            Some(End::Address(address)) => e.address == *address,
            Some(End::Both(end)) => e.address == end.ip() && e.port == end.port(),
        };
        is(a) || is(b)
    }

    /// Leaves the connection that was asked for by its number.
    pub(in crate::cmd) fn select(&self, flows: &mut Vec<(usize, Flow)>) -> Result<(), Failure> {
        if let Some(End::Number(n)) = self.end {
            let all = flows.len();
            flows.retain(|f| f.0 == n);
            if flows.is_empty() {
                return Err(Failure::usage(
                    format!("there is no connection {n}"),
                    match all {
                        0 => "the capture holds no TCP connection".to_owned(),
                        n => format!("they are numbered from 0 to {}", n - 1),
                    },
                ));
            }
        }
        Ok(())
    }
}

impl End {
    fn of(word: &str) -> Option<End> {
        if let Some(port) = word.strip_prefix(':') {
            return port.parse().ok().map(End::Port);
        }
        if let Ok(number) = word.parse() {
            return Some(End::Number(number));
        }
        word.parse().map(End::Both).ok().or_else(|| word.parse().map(End::Address).ok())
    }
}

/// Reads a file.
pub(in crate::cmd) fn read(
    path: &Path,
    which: &Which,
    mut analyser: Analyser,
    talk: &Talk,
) -> Result<Read, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read `{}`: {error}", path.display()), "give a pcap or pcapng file")
    };
    let file = File::open(path).map_err(|e| unreadable(&e))?;
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    let mut reader = capture::Reader::open(file).map_err(|e| unreadable(&e))?;
    let (mut start, mut tcp) = (None, 0u64);
    let mut broken = None;
    progress::of_bytes(talk, |tell| {
        loop {
            if reader.frames().is_multiple_of(4096) {
                tell(reader.position().min(length), length);
            }
            let frame = match reader.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    broken = Some(error.to_string());
                    break;
                }
            };
            let start = *start.get_or_insert(frame.time_ns);
            let at = (frame.time_ns - start) as f64 / 1e9;
            if which.from.is_some_and(|from| at < from) || which.until.is_some_and(|until| at > until) {
                continue;
            }
            if let Some(o) = Observation::of(&frame) {
                tcp += 1;
                if which.wants(&o) {
                    analyser.push(&o);
                }
            }
        }
    });
    let mut notices: Vec<String> = reader
        .notices()
        .kept()
        .iter()
        .map(|n| format!("`{}`, byte {}: {}: {}", path.display(), n.offset, n.kind, n.what))
        .collect();
    notices.extend(broken.map(|e| format!("`{}`: {e}; what came before it was read", path.display())));
    Ok(Read {
        flows: analyser.finish().into_iter().enumerate().collect(),
        start: Time::from_nanos(start.and_then(|s| u64::try_from(s).ok()).unwrap_or(0)),
        frames: reader.frames(),
        tcp,
        notices,
    })
}
