//! Changes that make a capture incomplete or altered: packets omitted, duplicated, truncated, merged, reordered,
//! sequence numbers shifted.

use analyse::Observation;
use base::wire::flag;
use base::{Span, Time};

/// Packet with its index in the unchanged capture.
pub type Changed = (usize, Observation);
/// Change of a capture; the number seeds its random choices.
pub type Change = fn(&[Observation], u64) -> Vec<Changed>;

/// Cause named in the first sentence of a diagnosis.
pub fn headline(what: &str) -> &'static str {
    const WORDS: [(&str, &str); 14] = [
        ("the timer expired although nothing", "spurious"),
        ("after losses that no faster", "genuine"),
        ("of which the capture does not show", "timer"),
        ("a delay spike, not a loss", "silence"),
        ("the path was down", "outage"),
        ("tail loss probe restarted", "probe"),
        ("window was closed", "closed"),
        ("receiver's window was full", "receiver"),
        ("the application had nothing", "application"),
        ("were lost before it", "lost"),
        ("no known cause", "unknown"),
        ("is not visible there", "unknown"),
        ("data waited in a queue", "path"),
        ("No connection", "none"),
    ];
    WORDS.iter().find(|(part, _)| what.contains(part)).map_or("path", |(_, name)| name)
}

/// Random choices from a seed, without other state.
struct Choice(u64);

impl Choice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        base::rng::mix(self.0)
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

fn of(all: &[Observation]) -> Vec<Changed> {
    all.iter().copied().enumerate().collect()
}

fn kept(all: &[Observation], keeps: impl Fn(usize) -> bool) -> Vec<Changed> {
    of(all).into_iter().filter(|(i, _)| keeps(*i)).collect()
}

fn each(all: &[Observation], mut change: impl FnMut(&mut Observation)) -> Vec<Changed> {
    let mut out = of(all);
    out.iter_mut().for_each(|(_, o)| change(o));
    out
}

fn without_one_in(all: &[Observation], number: u64, n: u64) -> Vec<Changed> {
    let mut c = Choice(number);
    of(all).into_iter().filter(|_| !c.one_in(n)).collect()
}

/// Omits runs of packets, `long` packets on average, about one in ten packets in total.
fn without_runs(all: &[Observation], number: u64, long: u64) -> Vec<Changed> {
    let (mut c, mut out) = (Choice(number), false);
    let mut all = of(all);
    all.retain(|_| {
        out = if out { !c.one_in(long) } else { c.one_in(long * 9) };
        !out
    });
    all
}

fn half(all: &[Observation], data: bool) -> Vec<Changed> {
    let most = all.iter().max_by_key(|o| o.payload).map(|o| o.source);
    of(all).into_iter().filter(|(_, o)| (Some(o.source) == most) == data).collect()
}

fn without_one_in_of(all: &[Observation], number: u64, n: u64, data: bool) -> Vec<Changed> {
    let most = all.iter().max_by_key(|o| o.payload).map(|o| o.source);
    let mut c = Choice(number);
    of(all).into_iter().filter(|(_, o)| (Some(o.source) == most) != data || !c.one_in(n)).collect()
}

fn doubled(all: &[Observation], later: Span, lower: u8) -> Vec<Changed> {
    let mut out = of(all);
    out.extend(
        all.iter()
            .enumerate()
            .map(|(i, o)| (i, Observation { t: o.t + later, ttl: o.ttl.saturating_sub(lower), ..*o })),
    );
    out.sort_by_key(|(_, o)| o.t);
    out
}

fn some_doubled(all: &[Observation], number: u64, later: Span) -> Vec<Changed> {
    let mut c = Choice(number);
    let mut out = of(all);
    out.extend(
        all.iter()
            .enumerate()
            .filter(|_| c.one_in(10))
            .map(|(i, o)| (i, Observation { t: o.t + later, ..*o })),
    );
    out.sort_by_key(|(_, o)| o.t);
    out
}

/// Shifts sequence numbers and timestamps so that they wrap around in the middle of the capture.
fn wrapped(all: &[Observation]) -> Vec<Changed> {
    let ends = [all.first().map(|o| o.from()), all.first().map(|o| o.to())];
    let middle = |end: usize| {
        let all: Vec<_> = all.iter().filter(|o| Some(o.from()) == ends[end]).collect();
        all.get(all.len() / 2).map_or((0, 0), |o| (o.head.seq, o.head.timestamps.map_or(0, |ts| ts.0)))
    };
    let by = [middle(0), middle(1)];
    each(all, |o| {
        let here = usize::from(Some(o.from()) != ends[0]);
        let there = 1 - here;
        o.head.seq = o.head.seq.wrapping_sub(by[here].0);
        if o.head.has(flag::ACK) {
            o.head.ack = o.head.ack.wrapping_sub(by[there].0);
        }
        let n = usize::from(o.head.sacks);
        o.head.sack[..n]
            .iter_mut()
            .for_each(|b| *b = (b.0.wrapping_sub(by[there].0), b.1.wrapping_sub(by[there].0)));
        o.head.timestamps = o.head.timestamps.map(|ts| {
            (ts.0.wrapping_sub(by[here].1), if ts.1 == 0 { 0 } else { ts.1.wrapping_sub(by[there].1) })
        });
    })
}

/// Merges consecutive segments within a time, as network cards and kernels do.
fn joined(all: &[Observation], within: Span) -> Vec<Changed> {
    let mut out: Vec<Changed> = Vec::new();
    for (i, o) in of(all) {
        let same = out.iter_mut().rev().take(8).find(|(_, b)| b.from() == o.from() && b.to() == o.to());
        if let Some((_, b)) = same
            && o.payload > 0
            && b.payload > 0
            && b.head.seq.wrapping_add(b.payload) == o.head.seq
            && b.head.ack == o.head.ack
            && b.head.timestamps == o.head.timestamps
            && b.payload + o.payload < 65_000
            && o.t.since(b.t) <= within
            && !b.head.has(flag::FIN | flag::SYN)
        {
            b.payload += o.payload;
            b.size += o.payload;
            b.head.flags |= o.head.flags;
            continue;
        }
        out.push((i, o));
    }
    out
}

/// Exchanges the file positions of neighbouring packets; times stay with their packets.
fn swapped(all: &[Observation], number: u64, n: u64, far: usize) -> Vec<Changed> {
    let mut c = Choice(number);
    let mut out = of(all);
    for i in 0..out.len().saturating_sub(far) {
        if c.one_in(n) {
            out.swap(i, i + far);
        }
    }
    out
}

/// Shifts each time by a random amount up to the bound, and sorts the packets by time.
fn jittered(all: &[Observation], number: u64, most: Span) -> Vec<Changed> {
    let mut c = Choice(number);
    let mut out = each(all, |o| o.t += Span::from_nanos(c.next() % most.as_nanos().max(1)));
    out.sort_by_key(|(_, o)| o.t);
    out
}

fn rounded(all: &[Observation], to: u64) -> Vec<Changed> {
    each(all, |o| o.t = Time::from_nanos(o.t.as_nanos() / to * to))
}

/// Snap length that cuts each packet a given number of bytes into its TCP options.
fn cut_options(all: &[Observation], syn_only: bool) -> Vec<Changed> {
    each(all, |o| {
        if syn_only && !o.head.has(flag::SYN) {
            return;
        }
        let h = &mut o.head;
        if h.timestamps.is_some() || h.sacks > 0 || h.has(flag::SYN) {
            (h.timestamps, h.sacks, h.mss, h.scale, h.permits_sack, h.cut) =
                (None, 0, None, None, false, true);
        }
    })
}

/// Truncates only the SACK blocks, since timestamps come first on the wire.
fn cut_blocks(all: &[Observation], left: u8) -> Vec<Changed> {
    each(all, |o| {
        if o.head.sacks > left {
            (o.head.sacks, o.head.cut) = (left, true);
        }
    })
}

const MS: fn(u64) -> Span = Span::from_millis;

/// All changes.
pub const CHANGES: &[(&str, Change)] = &[
    ("whole", |all, _| of(all)),
    ("without the first 1", |all, _| kept(all, |i| i >= 1)),
    ("without the first 2", |all, _| kept(all, |i| i >= 2)),
    ("without the first 3", |all, _| kept(all, |i| i >= 3)),
    ("without the first 4 to 50", |all, n| kept(all, |i| i >= 4 + n as usize % 47)),
    ("without the first tenth", |all, _| kept(all, |i| i >= all.len() / 10)),
    ("without the first half", |all, _| kept(all, |i| i >= all.len() / 2)),
    ("without the last tenth", |all, _| kept(all, |i| i < all.len() - all.len() / 10)),
    ("without the last half", |all, _| kept(all, |i| i < all.len() / 2)),
    ("middle missing: 0.4 to 0.6", |all, _| {
        kept(all, |i| !(all.len() * 4 / 10..all.len() * 6 / 10).contains(&i))
    }),
    ("middle missing: 0.2 to 0.3", |all, _| {
        kept(all, |i| !(all.len() * 2 / 10..all.len() * 3 / 10).contains(&i))
    }),
    ("middle missing: 0.1 to 0.9", |all, _| {
        kept(all, |i| !(all.len() / 10..all.len() * 9 / 10).contains(&i))
    }),
    ("every 2nd missing", |all, n| kept(all, |i| i as u64 % 2 != n % 2)),
    ("every 3rd missing", |all, n| kept(all, |i| i as u64 % 3 != n % 3)),
    ("every 5th missing", |all, n| kept(all, |i| i as u64 % 5 != n % 5)),
    ("every 10th missing", |all, n| kept(all, |i| i as u64 % 10 != n % 10)),
    ("every 100th missing", |all, n| kept(all, |i| i as u64 % 100 != n % 100)),
    ("one in 5 missing", |all, n| without_one_in(all, n, 5)),
    ("one in 20 missing", |all, n| without_one_in(all, n, 20)),
    ("one in 100 missing", |all, n| without_one_in(all, n, 100)),
    ("runs of 5 missing", |all, n| without_runs(all, n, 5)),
    ("runs of 30 missing", |all, n| without_runs(all, n, 30)),
    ("one in 10 of the data missing", |all, n| without_one_in_of(all, n, 10, true)),
    ("one in 10 of the answers missing", |all, n| without_one_in_of(all, n, 10, false)),
    ("half of the answers missing", |all, n| without_one_in_of(all, n, 2, false)),
    ("data alone", |all, _| half(all, true)),
    ("answers alone", |all, _| half(all, false)),
    ("options cut off", |all, _| cut_options(all, false)),
    ("options of SYNs cut off", |all, _| cut_options(all, true)),
    ("SACK cut off", |all, _| cut_blocks(all, 0)),
    ("SACK cut off after 1", |all, _| cut_blocks(all, 1)),
    ("identification 0", |all, _| each(all, |o| o.id = Some(0))),
    ("identification absent", |all, _| each(all, |o| o.id = None)),
    ("identification constant", |all, _| each(all, |o| o.id = o.id.map(|_| 4711))),
    ("identification random", |all, n| {
        let mut c = Choice(n);
        each(all, |o| o.id = o.id.map(|_| c.next() as u16))
    }),
    ("numbers wrap", |all, _| wrapped(all)),
    ("timestamps absent", |all, _| each(all, |o| o.head.timestamps = None)),
    ("time to live equal", |all, _| each(all, |o| o.ttl = 64)),
    ("joined within 0.1 ms", |all, _| joined(all, Span::from_nanos(100_000))),
    ("joined within 5 ms", |all, _| joined(all, MS(5))),
    ("neighbours change places", |all, n| swapped(all, n, 10, 1)),
    ("places change over 5", |all, n| swapped(all, n, 50, 5)),
    ("times jitter by 0.1 ms", |all, n| jittered(all, n, Span::from_nanos(100_000))),
    ("times jitter by 3 ms", |all, n| jittered(all, n, MS(3))),
    ("times in steps of 1 ms", |all, _| rounded(all, 1_000_000)),
    ("times in steps of 10 ms", |all, _| rounded(all, 10_000_000)),
    ("doubled after 0.001 ms", |all, _| doubled(all, Span::from_nanos(1000), 0)),
    ("doubled after 2 ms", |all, _| doubled(all, MS(2), 0)),
    ("doubled after 6 ms", |all, _| doubled(all, MS(6), 0)),
    ("doubled after 30 ms, a hop on", |all, _| doubled(all, MS(30), 1)),
    ("doubled after 50 ms", |all, _| doubled(all, MS(50), 0)),
    ("doubled after 250 ms", |all, _| doubled(all, MS(250), 0)),
    ("doubled after 0.001 ms, no identification", |all, _| {
        let mut out = doubled(all, Span::from_nanos(1000), 0);
        out.iter_mut().for_each(|c| c.1.id = None);
        out
    }),
    ("doubled after 6 ms, a hop on, no identification", |all, _| {
        let mut out = doubled(all, MS(6), 1);
        out.iter_mut().for_each(|c| c.1.id = None);
        out
    }),
    ("one in 10 doubled after 1 ms", |all, n| some_doubled(all, n, MS(1))),
    ("one in 10 doubled after 20 ms", |all, n| some_doubled(all, n, MS(20))),
];
