//! RTCP of one participant: sender and receiver statistics, and report times (RFC 3550 section 6).

use crate::interval::{Interval, Members};
use crate::packet::{BELOW, Block, Compound, SenderInfo};
use crate::reception::Reception;
use base::rng::Stream;
use base::{Span, Time};

/// Seconds from the NTP epoch (1900) to the Unix epoch, at which runs begin.
const NTP_EPOCH: u64 = 2_208_988_800;

/// NTP timestamp of a time: seconds since 1900 and their fraction (RFC 3550 section 4).
pub fn ntp(at: Time) -> u64 {
    let (seconds, rest) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
    (NTP_EPOCH + seconds) << 32 | (u128::from(rest << 32) / 1_000_000_000) as u64
}

/// Middle 32 bits of an NTP timestamp: 1/65536 s.
fn middle(ntp: u64) -> u32 {
    (ntp >> 16) as u32
}

/// Time in 1/65536 s.
fn fractions(span: Span) -> u32 {
    u32::try_from((u128::from(span.as_nanos()) << 16) / 1_000_000_000).unwrap_or(u32::MAX)
}

/// Configuration of a participant.
#[derive(Clone, Debug, PartialEq)]
pub struct ReporterConfig {
    /// CNAME in the source description (SDES).
    pub cname: String,
    /// Ticks of the timestamp per second.
    pub clock: u32,
    /// Bandwidth of the session, octets/s; RTCP has 5 % of it.
    pub bandwidth: f64,
}

/// The other participant.
#[derive(Clone, Debug)]
struct Peer {
    ssrc: u32,
    reception: Option<Reception>,
    /// Its last sender report: middle bits of the timestamp, arrival.
    report: Option<(u32, Time)>,
    /// Last arrival of any packet from it, and of data.
    heard: Time,
    data: Option<Time>,
    /// True if the participant has sent BYE.
    gone: bool,
    /// True if the participant timed out and no packet has arrived from it since.
    silent: bool,
}

/// RTCP state of one participant.
#[derive(Clone, Debug)]
pub struct Reporter {
    config: ReporterConfig,
    ssrc: u32,
    /// Random part of the timestamps.
    offset: u32,
    interval: Interval,
    begun: bool,
    packets: u32,
    octets: u32,
    sent: Option<Time>,
    /// Times of the last two reports.
    reports: [Time; 2],
    peer: Option<Peer>,
    left: bool,
    /// Counters.
    pub statistics: Statistics,
}

/// RTCP statistics of one participant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Compound packets sent.
    pub sent: u64,
    /// Compound packets received.
    pub received: u64,
    /// Number of round trips measured.
    pub round_trips: u64,
    /// Sum of the round trips, seconds.
    pub round_trip_sum: f64,
    /// Last measured round trip.
    pub round_trip: Span,
    /// Last block about this source.
    pub about: Option<Block>,
    /// Highest fraction lost of a block about this source, in 1/256.
    pub worst: u8,
}

impl Reporter {
    /// A participant that has neither sent nor received. `chance` gives source, timestamps and intervals.
    pub fn new(config: ReporterConfig, mut chance: Stream) -> Self {
        //= RFC 3550 sections 5.1 and 8: source identifier and initial timestamp are chosen at random
        let (ssrc, offset) = ((chance.bits() >> 32) as u32, (chance.bits() >> 32) as u32);
        //= RFC 3550 section 6.2: the session bandwidth for RTCP is 5 %
        let probable = BELOW + Compound { cname: config.cname.clone(), ..Compound::default() }.len();
        let interval = Interval::new(chance, 0.05 * config.bandwidth, probable);
        Reporter {
            config,
            ssrc,
            offset,
            interval,
            begun: false,
            packets: 0,
            octets: 0,
            sent: None,
            reports: [Time::ZERO; 2],
            peer: None,
            left: false,
            statistics: Statistics::default(),
        }
    }

    /// Own synchronisation source identifier (SSRC).
    pub fn ssrc(&self) -> u32 {
        self.ssrc
    }
    /// Timestamp of an instant.
    pub fn timestamp(&self, at: Time) -> u32 {
        self.offset.wrapping_add(self.ticks(at))
    }
    fn ticks(&self, at: Time) -> u32 {
        (u128::from(at.as_nanos()) * u128::from(self.config.clock) / 1_000_000_000) as u32
    }
    /// Reception statistics of the other participant's data.
    pub fn reception(&self) -> Option<&Reception> {
        self.peer.as_ref()?.reception.as_ref()
    }

    fn members(&self) -> Members {
        let sends = self.sent.is_some_and(|at| at >= self.reports[0]);
        let peer = self.peer.as_ref().filter(|peer| !peer.gone && !peer.silent);
        let peer_sends = peer.and_then(|peer| peer.data).is_some_and(|at| at >= self.reports[0]);
        Members {
            all: 1 + u32::from(peer.is_some()),
            senders: u32::from(sends) + u32::from(peer_sends),
            sends,
        }
    }

    /// Joins the session, if it has not.
    pub fn start(&mut self, now: Time) {
        if !self.begun && !self.left {
            self.begun = true;
            self.reports = [now; 2];
            let members = self.members();
            self.interval.start(now, members);
        }
    }

    /// Records that a data packet with this payload is sent.
    pub fn on_sent(&mut self, now: Time, octets: u32) {
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(octets);
        self.sent = Some(now);
    }

    fn peer(&mut self, now: Time, ssrc: u32) -> &mut Peer {
        let fresh =
            Peer { ssrc, reception: None, report: None, heard: now, data: None, gone: false, silent: false };
        let peer = self.peer.get_or_insert_with(|| fresh.clone());
        if peer.ssrc != ssrc {
            *peer = fresh;
        }
        (peer.heard, peer.silent) = (now, false);
        peer
    }

    /// A data packet arrived. False: its number is far outside of the sequence.
    pub fn on_data(&mut self, now: Time, ssrc: u32, seq: u16, timestamp: u32) -> bool {
        let arrival = self.ticks(now);
        let peer = self.peer(now, ssrc);
        peer.data = Some(now);
        peer.reception.get_or_insert_with(|| Reception::new(seq)).on_packet(seq, timestamp, arrival)
    }

    /// A compound packet of `size` octets arrived; the block about this participant's data, if there is one.
    pub fn on_compound(&mut self, now: Time, compound: &Compound, size: u32) -> Option<Block> {
        self.statistics.received += 1;
        self.interval.on_packet(size);
        let peer = self.peer(now, compound.ssrc);
        if let Some(info) = &compound.sender {
            peer.report = Some((middle(info.ntp), now));
        }
        let own = self.ssrc;
        let block = compound.blocks.iter().find(|block| block.ssrc == own).copied();
        if let Some(block) = block {
            self.statistics.about = Some(block);
            self.statistics.worst = self.statistics.worst.max(block.fraction);
            if block.last_report != 0 {
                //= RFC 3550 section 6.4.1: the round trip is A - LSR - DLSR
                let took =
                    middle(ntp(now)).wrapping_sub(block.last_report).wrapping_sub(block.since_last_report);
                // A clock that was set back, or a peer that makes numbers up, gives a negative one.
                if (took as i32) >= 0 {
                    let took = Span::from_nanos((u64::from(took) * 1_000_000_000) >> 16);
                    self.statistics.round_trip = took;
                    self.statistics.round_trip_sum += took.as_secs_f64();
                    self.statistics.round_trips += 1;
                }
            }
        }
        if compound.bye {
            let before = self.members().all;
            if let Some(peer) = &mut self.peer {
                peer.gone = true;
            }
            self.interval.shrink(now, before, self.members().all);
        }
        block
    }

    fn compound(&mut self, now: Time, bye: bool) -> Compound {
        let sends = self.members().sends;
        let info = SenderInfo {
            ntp: ntp(now),
            timestamp: self.timestamp(now),
            packets: self.packets,
            octets: self.octets,
        };
        let mut blocks = Vec::new();
        let last = self.reports[1];
        if let Some(peer) = &mut self.peer
            && let Some(reception) = &mut peer.reception
            // Blocks cover sources received since the last report (RFC 3550 section 6.4).
            && (bye || peer.data.is_some_and(|at| at >= last))
        {
            let (last_report, since) =
                peer.report.map_or((0, 0), |(ntp, at)| (ntp, fractions(now.since(at))));
            blocks.push(Block {
                ssrc: peer.ssrc,
                fraction: reception.fraction(),
                lost: reception.lost(),
                highest: reception.extended(),
                jitter: reception.jitter(),
                last_report,
                since_last_report: since,
            });
        }
        let compound = Compound {
            ssrc: self.ssrc,
            sender: sends.then_some(info),
            blocks,
            cname: self.config.cname.clone(),
            bye,
        };
        self.reports = [self.reports[1], now];
        self.statistics.sent += 1;
        self.interval.on_packet(BELOW + compound.len());
        compound
    }

    /// The report that is due now, if one is.
    pub fn report(&mut self, now: Time) -> Option<Compound> {
        let members = self.members();
        let patience = self.interval.patience(members);
        if let Some(peer) = self.peer.as_mut().filter(|peer| !peer.silent && now >= peer.heard + patience) {
            //= RFC 3550 section 6.3.5: a participant silent for five intervals is timed out
            // Its statistics stay: it may come back (section 6.2.1).
            peer.silent = true;
            if self.sent.is_none() {
                // Of two participants none is left to report to, until a packet comes.
                self.interval.stop();
                self.begun = false;
                return None;
            }
        }
        let members = self.members();
        if !self.interval.expire(now, members) {
            return None;
        }
        Some(self.compound(now, false))
    }

    /// Leaves the session: the last report and BYE (RFC 3550 section 6.3.7: at once where fewer than 50 take part).
    pub fn leave(&mut self, now: Time) -> Option<Compound> {
        if self.left {
            return None;
        }
        self.left = true;
        let compound = self.compound(now, true);
        self.stop();
        Some(compound)
    }

    fn stop(&mut self) {
        self.interval.stop();
        self.begun = true;
    }
    /// Metrics by name: reports sent, losses and jitter as reported, round trip.
    pub fn named(&self) -> Vec<(&'static str, f64)> {
        let statistics = &self.statistics;
        let mut named = vec![("rtcp_reports", statistics.sent as f64)];
        if let Some(block) = statistics.about {
            named.push(("packets_reported_lost", f64::from(block.lost)));
            named.push(("rtcp_jitter_s", f64::from(block.jitter) / f64::from(self.config.clock)));
            named.push(("rtcp_fraction_lost_max", f64::from(statistics.worst) / 256.0));
        }
        if statistics.round_trips > 0 {
            named.push(("rtcp_round_trip_s", statistics.round_trip_sum / statistics.round_trips as f64));
        }
        named
    }
    /// True if the participant has left the session.
    pub fn has_left(&self) -> bool {
        self.left
    }
    /// Time at which the next report may be due.
    pub fn next_timeout(&self) -> Time {
        self.interval.next()
    }
}
