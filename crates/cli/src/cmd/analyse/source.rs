//! Capture reader of `analyse`, `plot` and `compare`: TCP connections, SCTP associations and UDP flows, selected by
//! endpoint and time, one analysis per capture interface.

use crate::console::exit::Failure;
use crate::console::progress;
use crate::console::streams::Console;
use analyse::association::{Association, Associations};
use analyse::datagram::{DatagramFlow, Datagrams};
use analyse::{Analyser, Endpoint, Flow, Limits, Observation, join};
use base::{Span, Time};
use std::fs::File;
use std::path::Path;

/// Content of a capture file.
pub(in crate::cmd) struct Read {
    /// Connections with their numbers, from 0.
    pub(in crate::cmd) flows: Vec<(usize, Flow)>,
    /// Time of the first packet, ns since 1970.
    pub(in crate::cmd) start: Time,
    /// Frames in the file.
    pub(in crate::cmd) frames: u64,
    /// TCP segments in the time window, of all connections.
    pub(in crate::cmd) tcp: u64,
    /// Number of SCTP packets.
    pub(in crate::cmd) sctp: u64,
    /// SCTP associations.
    pub(in crate::cmd) associations: Vec<Association>,
    /// Number of UDP datagrams.
    pub(in crate::cmd) udp: u64,
    /// UDP and QUIC flows.
    pub(in crate::cmd) datagrams: Vec<DatagramFlow>,
    /// Number of interfaces at which the selected TCP segments were captured.
    interfaces: usize,
    /// Notes on faults of the file and on connections captured at several interfaces.
    pub(in crate::cmd) notices: Vec<String>,
}

/// Selection of connections and of a time window.
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
    /// Parses the endpoint or connection number of `--flow`; `from` and `until` are seconds from the first packet.
    pub(in crate::cmd) fn of(
        flow: Option<&str>,
        from: Option<f64>,
        until: Option<f64>,
    ) -> Result<Which, Failure> {
        let end = match flow {
            None => None,
            Some(word) => Some(End::of(word).ok_or_else(|| {
                Failure::usage(
                    format!("`{word}` is not an endpoint of a connection"),
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

    /// Removes associations without the selected endpoint.
    pub(in crate::cmd) fn select_associations(&self, all: &mut Vec<Association>) {
        let is = |e: &Endpoint| match &self.end {
            None | Some(End::Number(_)) => true,
            Some(End::Port(port)) => e.port == *port,
            Some(End::Address(address)) => e.address == *address,
            Some(End::Both(end)) => e.address == end.ip() && e.port == end.port(),
        };
        all.retain(|association| association.ends.iter().any(is));
    }

    /// Removes UDP flows without the selected endpoint.
    pub(in crate::cmd) fn select_datagrams(&self, all: &mut Vec<DatagramFlow>) {
        let is = |e: &Endpoint| match &self.end {
            None | Some(End::Number(_)) => true,
            Some(End::Port(port)) => e.port == *port,
            Some(End::Address(address)) => e.address == *address,
            Some(End::Both(end)) => e.address == end.ip() && e.port == end.port(),
        };
        all.retain(|flow| flow.ends.iter().any(is));
    }

    /// Removes all connections except the one selected by its number.
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

/// Reads and analyses a capture. A connection captured at several interfaces along its path is judged at the interface
/// nearest to its sender, together with the interface nearest to its receiver.
pub(in crate::cmd) fn read(
    path: &Path,
    which: &Which,
    keep: Limits,
    console: &Console,
) -> Result<Read, Failure> {
    let beside = Limits { arrivals: true, ..keep };
    let mut analyser = Analyser::new(keep);
    let mut each: Vec<(u32, Analyser)> = Vec::new();
    let mut associations = Associations::new(keep.points);
    let mut datagrams = Datagrams::new(keep.points);
    let others = Some((&mut associations, &mut datagrams));
    let mut read = pass(path, which, console, others, |o| analyser.push(o))?;
    read.sctp = associations.packets();
    read.associations = associations.finish();
    read.udp = datagrams.packets();
    let (flows, left_out) = datagrams.finish();
    read.datagrams = flows;
    if left_out > 0 {
        read.notices.push(format!("{left_out} datagrams of further UDP flows were counted only"));
    }
    read.flows = analyser.finish().into_iter().enumerate().collect();
    let passed_several = |(_, f): &(usize, Flow)| f.copies_apart > COPIES || f.captured_twice == 0;
    if read.interfaces > 1 && path.is_file() && read.flows.iter().any(passed_several) {
        pass(path, which, console, None, |o| {
            let place = each.iter().position(|(i, _)| *i == o.interface).unwrap_or_else(|| {
                each.push((o.interface, Analyser::new(beside)));
                each.len() - 1
            });
            each[place].1.push(o);
        })?;
        let each: Vec<(u32, Vec<Flow>)> = each.into_iter().map(|(i, a)| (i, a.finish())).collect();
        for (number, flow) in &mut read.flows {
            read.notices.extend(along(*number, flow, &each));
        }
    }
    Ok(read)
}

/// Copies of a packet within this time count as captured at one place.
const COPIES: Span = Span::from_millis(5);

/// Judges a connection again from its captures at several interfaces; returns a note, or `None` if there is one place.
fn along(number: usize, flow: &mut Flow, each: &[(u32, Vec<Flow>)]) -> Option<String> {
    let same = |f: &&Flow| {
        let ends = (f.client, f.server);
        let alike = ends == (flow.client, flow.server) || ends == (flow.server, flow.client);
        // Ports are reused: the packets at this interface must lie within the lifetime of the connection.
        alike
            && f.first >= flow.first
            && f.last <= flow.last + COPIES
            && f.directions.iter().all(|w| w.packets > 0)
    };
    let mut seen: Vec<(u32, &Flow)> =
        each.iter().filter_map(|(i, flows)| Some((*i, flows.iter().find(same)?))).collect();
    // Copies almost at the same time, as at a bridge, add no information to one interface.
    let least = seen.iter().map(|(_, f)| f.packets).min()?;
    let most = seen.iter().map(|(_, f)| f.packets).max()?;
    let apart = flow.copies_apart > COPIES || flow.packets.saturating_sub(most) * 2 > least;
    if seen.len() < 2 || !apart {
        return None;
    }
    let to_sender = |f: &Flow| f.directions[f.main()].place.to_sender.unwrap_or(Span::FOREVER);
    let to_receiver = |f: &Flow| f.directions[f.main()].place.to_receiver.unwrap_or(Span::FOREVER);
    seen.sort_by_key(|(i, f)| (to_sender(f), *i));
    let (copies, copies_apart) = (flow.captured_twice, flow.copies_apart);
    let (at, nearest) = seen.remove(0);
    seen.sort_by_key(|(i, f)| (to_receiver(f), *i));
    let (there, farthest) = *seen.first()?;
    let mut one = [(number, nearest.clone())];
    let joined = join::join(&mut one, &[(number, farthest.clone())]);
    let [(_, judged)] = one;
    *flow = Flow { captured_twice: copies, copies_apart, ..judged };
    let beside = if joined > 0 {
        format!(", with interface {there}, nearest to its receiver, in addition")
    } else {
        String::new()
    };
    Some(format!(
        "connection {number} was captured at {} interfaces: it is judged at interface {at}, nearest to its sender{beside}",
        seen.len() + 1
    ))
}

/// Reads a file once: selected TCP segments go to `take`, packets of other protocols to `others`.
fn pass(
    path: &Path,
    which: &Which,
    console: &Console,
    mut others: Option<(&mut Associations, &mut Datagrams)>,
    mut take: impl FnMut(&Observation),
) -> Result<Read, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read `{}`: {error}", path.display()), "give a pcap or pcapng file")
    };
    // Standard input is opened by path, because the reader takes a file.
    let file = if path.as_os_str() == "-" { File::open("/dev/stdin") } else { File::open(path) };
    let file = file.map_err(|e| unreadable(&e))?;
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    let file = capture::Unpacked::new(file).map_err(|e| unreadable(&e))?;
    let mut reader = capture::Reader::open(file).map_err(|e| unreadable(&e))?;
    let (mut start, mut tcp) = (None, 0u64);
    let mut interfaces: Vec<u32> = Vec::new();
    let mut frames = 0u64;
    let broken = progress::of_bytes(console, |tell| {
        analyse::observe(&mut reader, &mut |frame, observation| {
            if frames.is_multiple_of(4096) {
                tell(frame.offset.min(length), length);
            }
            frames += 1;
            let start = *start.get_or_insert(frame.time_ns);
            let at = (frame.time_ns - start) as f64 / 1e9;
            if which.from.is_some_and(|from| at < from) || which.until.is_some_and(|until| at > until) {
                return;
            }
            if let Some(o) = observation {
                tcp += 1;
                if which.wants(o) {
                    take(o);
                    if interfaces.last() != Some(&o.interface) && !interfaces.contains(&o.interface) {
                        interfaces.push(o.interface);
                    }
                }
            } else if let Some((associations, datagrams)) = &mut others {
                associations.push(frame);
                datagrams.push(frame);
            }
        })
        .err()
    });
    let mut notices: Vec<String> = reader
        .notices()
        .kept()
        .iter()
        .map(|n| format!("`{}`, byte {}: {}: {}", path.display(), n.offset, n.kind, n.what))
        .collect();
    notices.extend(broken.map(|e| format!("`{}`: {e}; earlier packets were read", path.display())));
    Ok(Read {
        flows: Vec::new(),
        interfaces: interfaces.len(),
        start: Time::from_nanos(start.and_then(|s| u64::try_from(s).ok()).unwrap_or(0)),
        frames: reader.frames(),
        tcp,
        sctp: 0,
        associations: Vec::new(),
        udp: 0,
        datagrams: Vec::new(),
        notices,
    })
}
