//! Time-sequence picture of one flow, as data: segments, ACKs, drops, windows and timers of a traced
//! repetition, with ground-truth verdicts on retransmissions.

mod radio;
pub(crate) mod states;
pub mod systems;

use crate::once::{Options, RunOutcome, run_once};
use base::event::{Event, Record};
use base::rng::Seed;
use base::truth::{Cause, Retransmission};
use base::{Span, Time};
use host::FlowPort;
use path::ElementId;
use report::{
    Ack, Drop, FastRetransmit, Interval, Picture, Received, SegmentKind, Sent, Timeout, TimerSample, Truth,
    WindowSample,
};
use scenario::Model;
use scenario::build::Ends;
use scenario::build::closures;
use scenario::metric::Metric;
use scenario::model::{App, Transport};
use std::collections::BTreeMap;
use transport::tcp::Role;

/// Runs a repetition with its trace and draws one of its flows.
pub fn picture(model: &Model, repetition: u64, flow: usize) -> Picture {
    let model = systems::watching(model, flow);
    let mut outcome = run_once(&model, repetition, Options { trace: true, shuffle_ties: None });
    let records = outcome.world.network.tracer().take();
    let mut picture = draw(&model, repetition, flow, &outcome, &records);
    systems::add(&model, flow, &outcome, &mut picture);
    picture
}

/// Draws one flow of a repetition that was run with its trace, under any clock.
pub fn draw(
    model: &Model,
    repetition: u64,
    flow: usize,
    outcome: &RunOutcome,
    records: &[Record],
) -> Picture {
    // For request and reply the direction of the replies is drawn.
    let replies = matches!(model.flows[flow].app, App::Requests(_));
    let Ends { mut from, mut to, .. } = outcome.world.flows[flow];
    if replies {
        std::mem::swap(&mut from, &mut to);
    }
    let name = model.flows[flow].name.clone();
    let writes = if replies { Role::Passive } else { Role::Active };
    let (segment_bytes, sender) = match model.flows[flow].transport.at(writes) {
        Transport::Tcp { config, profile } => (
            config.mss,
            format!(
                "{} ({profile} profile), spurious timeouts judged by: {}, response: {}",
                config.recovery.name(),
                config.spurious.name(),
                if config.spurious.name() == "none" { "none" } else { config.response.name() },
            ),
        ),
        Transport::Udp(udp) => (udp.payload, "datagrams".to_owned()),
        // Sequence numbers of the trace count the protocol's own units.
        Transport::Model(spec) => (1, format!("{}: {}", spec.name(), spec.words())),
        // `Transport::Ends` is never nested.
        Transport::Ends(_) => (0, String::new()),
        Transport::Linux(linux) => {
            let packet_port = outcome.world.network.element::<FlowPort>(from);
            let cc = linux.cc.as_deref().map_or(String::new(), |cc| format!(", {cc}"));
            (packet_port.map_or(0, FlowPort::largest_segment), format!("the kernel's TCP{cc}"))
        }
    };
    let verdicts = outcome.world.network.ledgers()[2 * flow + usize::from(replies)].verdicts();
    let p = Picture {
        title: model.title.clone(),
        subtitle: subtitle(model, repetition, flow, outcome, &sender),
        flow: name,
        segment_bytes,
        datagrams: match model.flows[flow].transport.at(writes) {
            Transport::Udp(_) => true,
            other => other.model().is_some_and(|spec| spec.datagrams()),
        },
        ..Picture::default()
    };
    let mut drawing = Drawing {
        p,
        from,
        to,
        names: &outcome.world.names,
        // Retransmissions appear in the trace in the order of the ledger.
        verdicts: verdicts.iter(),
        seqs: BTreeMap::new(),
        pending: None,
    };
    records.iter().for_each(|record| drawing.add(record));
    let mut p = drawing.p;
    let last = p.sent.iter().map(|s| s.t).chain(p.acks.iter().map(|a| a.t)).fold(0.0, f64::max);
    p.until = last;
    let seed = Seed { seed: model.run.seed, repetition };
    let end = Time::from_secs_f64(last);
    p.spikes = closures(model, seed, end)
        .into_iter()
        .map(|(gate, from, until)| Interval {
            from: from.as_secs_f64(),
            until: until.as_secs_f64(),
            name: model.gates[gate].name.clone(),
        })
        .chain(states::intervals(model, records, last))
        .collect();
    let (layers, panels) = radio::layers(model, flow, &outcome.world, records);
    p.layers = layers;
    p.panels.extend(panels);
    p
}

/// A picture under construction; events are added in time order.
struct Drawing<'a> {
    p: Picture,
    /// Element of the data's sender.
    from: ElementId,
    /// Element of the data's receiver.
    to: ElementId,
    /// Names of all elements.
    names: &'a [String],
    /// Verdicts on retransmissions in the order of sending.
    verdicts: std::slice::Iter<'a, Retransmission>,
    /// Byte range of each data packet, by packet number.
    seqs: BTreeMap<u64, (u64, u64)>,
    /// Time and offset of an expired timer whose retransmission is not yet in the trace.
    pending: Option<(f64, u64)>,
}

impl Drawing<'_> {
    fn add(&mut self, record: &Record) {
        let t = record.t.as_secs_f64();
        let from_sender = record.source.0 == self.from.0;
        match record.event {
            Event::DataSent { packet, seq, len, cause } if from_sender => {
                let (seq, end) = (stream(seq), stream(seq + u64::from(len)));
                self.seqs.insert(packet, (seq, end));
                let verdict = if matches!(cause, Cause::New | Cause::WindowProbe) {
                    None
                } else {
                    self.verdicts.next()
                };
                let kind = match verdict {
                    None => SegmentKind::New,
                    Some(v) if v.unneeded => SegmentKind::Unneeded,
                    Some(_) => SegmentKind::Retransmission,
                };
                self.p.sent.push(Sent { t, seq, end, kind });
                if let Some(v) = verdict {
                    note_cause(&mut self.p, t, seq, v, &mut self.pending);
                }
            }
            Event::DataReceived { seq, len, duplicate, .. } if record.source.0 == self.to.0 => {
                self.p.received.push(Received {
                    t,
                    seq: stream(seq),
                    end: stream(seq + u64::from(len)),
                    duplicate,
                });
            }
            Event::AckReceived { ack, window, duplicate } if from_sender => {
                let ack = stream(ack);
                let window_end = ack + u64::from(window);
                self.p.acks.push(Ack { t, ack, window_end, sacks: Vec::new(), duplicate });
            }
            Event::SackBlock { left, right } if from_sender => {
                if let Some(ack) = self.p.acks.last_mut() {
                    ack.sacks.push([stream(left), stream(right)]);
                }
            }
            Event::Dropped { packet, .. } => {
                if let Some(&(seq, end)) = self.seqs.get(&packet) {
                    let place = self.names.get(record.source.0 as usize).cloned().unwrap_or_default();
                    self.p.drops.push(Drop { t, seq, end, place });
                }
            }
            Event::Window { cwnd, ssthresh, flight } if from_sender => self.p.window.push(WindowSample {
                t,
                cwnd: u64::from(cwnd),
                ssthresh: (ssthresh != u32::MAX).then_some(u64::from(ssthresh)),
                flight: u64::from(flight),
            }),
            Event::Timer { rto, srtt, rttvar } if from_sender => {
                let s = |x: Span| x.as_secs_f64();
                self.p.timer.push(TimerSample { t, rto: s(rto), srtt: s(srtt), rttvar: s(rttvar) });
            }
            Event::RtoFired { seq, .. } if from_sender => self.pending = Some((t, stream(seq))),
            Event::Verdict { spurious, detector } if from_sender => {
                // A verdict applies to every timeout since the previous verdict.
                for timeout in self.p.timeouts.iter_mut().rev().take_while(|x| x.detected.is_none()) {
                    timeout.detected =
                        Some(if spurious { detector.to_owned() } else { "genuine".to_owned() });
                    timeout.detected_at = Some(t);
                }
            }
            _ => {}
        }
    }
}

/// Stream offset of a sequence number; the SYN is not counted.
fn stream(seq: u64) -> u64 {
    seq.saturating_sub(1)
}

/// Adds a timeout or fast retransmit to the picture, from the verdict on its retransmission.
fn note_cause(p: &mut Picture, t: f64, seq: u64, v: &Retransmission, pending: &mut Option<(f64, u64)>) {
    let truth = if v.unneeded { Truth::Spurious } else { Truth::Genuine };
    match v.cause {
        Cause::Timeout => {
            pending.take();
            p.timeouts.push(Timeout {
                t,
                seq,
                truth,
                cause: v.spurious.map(|c| c.name().to_owned()),
                detected: None,
                detected_at: None,
            });
        }
        Cause::Fast => p.fast_retransmits.push(FastRetransmit { t, seq, truth }),
        _ => {}
    }
}

fn subtitle(model: &Model, repetition: u64, flow: usize, outcome: &RunOutcome, sender: &str) -> String {
    let f = &model.flows[flow];
    let time = match outcome.flows[flow].get(Metric::DownloadTime) {
        Some(t) => format!("done in {t:.1} s"),
        None => "not finished".to_owned(),
    };
    format!(
        "{} → {}, {sender}; repetition {repetition}, seed {}; {time}",
        model.nodes[f.from].name, model.nodes[f.to].name, model.run.seed,
    )
}
