//! Event timeline of a transfer from its trace: data, ACKs, drops, timeouts, fast retransmits and detector
//! verdicts by segment number, printed in phases.
//!
//! A phase is one line. It lasts as long as the kinds of data and of acknowledgements do not change.

use base::Time;
use base::event::{Event, Record, Source};
use base::truth::Cause;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Event at the sender, or drop of one of its packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Step {
    /// First transmission of this segment.
    New(u64),
    /// Retransmission of this segment.
    Again(u64),
    /// New cumulative acknowledgement up to this segment.
    Acked(u64),
    /// Duplicate acknowledgement of this number.
    Duplicate(u64),
    /// Drop of this segment on the path.
    Dropped(u64),
    /// Expiry of the retransmission timer: oldest outstanding segment, and the RTO in seconds.
    Timeout(u64, f64),
    /// Fast retransmit of this segment.
    Fast(u64),
    /// Verdict of the sender's detector: true if spurious.
    Verdict(bool),
    /// New value of the RTO, seconds.
    Timer(f64),
}

/// Events of one transfer in time order, with times in seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) steps: Vec<(f64, Step)>,
}

impl Timeline {
    /// Timeline of the first flow with data; a segment has `unit` units of its sequence numbers. Segments
    /// count from 1.
    pub(crate) fn of(records: &[Record], unit: u64) -> Timeline {
        let mut steps = Vec::new();
        let mut sender: Option<Source> = None;
        let mut segment: BTreeMap<u64, u64> = BTreeMap::new();
        let mut highest = 0;
        for record in in_order(records) {
            let ours = sender == Some(record.source);
            let t = record.t.as_secs_f64();
            let step = match record.event {
                Event::DataSent { packet, seq, cause, .. } if ours || sender.is_none() => {
                    sender = Some(record.source);
                    let number = seq / unit + 1;
                    segment.insert(packet, number);
                    if cause == Cause::New { Step::New(number) } else { Step::Again(number) }
                }
                Event::AckReceived { ack, duplicate, .. } if ours => {
                    let number = ack / unit;
                    let repeats = duplicate || number <= highest;
                    highest = highest.max(number);
                    if repeats { Step::Duplicate(number) } else { Step::Acked(number) }
                }
                Event::Dropped { packet, .. } => match segment.get(&packet) {
                    Some(number) => Step::Dropped(*number),
                    None => continue,
                },
                Event::RtoFired { seq, rto, .. } if ours => Step::Timeout(seq / unit + 1, rto.as_secs_f64()),
                Event::FastRetransmit { seq, .. } if ours => Step::Fast(seq / unit + 1),
                Event::Verdict { spurious, .. } if ours => Step::Verdict(spurious),
                Event::Timer { rto, .. } if ours => Step::Timer(rto.as_secs_f64()),
                _ => continue,
            };
            steps.push((t, step));
        }
        Timeline { steps }
    }

    /// Values that `pick` returns, with the times of their steps.
    pub(crate) fn pick<T>(&self, pick: impl Fn(&Step) -> Option<T>) -> Vec<(f64, T)> {
        self.steps.iter().filter_map(|(t, step)| pick(step).map(|picked| (*t, picked))).collect()
    }

    /// Longest time without data sent: start and length, seconds.
    pub(crate) fn silence(&self) -> (f64, f64) {
        let sent = self.pick(|step| matches!(step, Step::New(_) | Step::Again(_)).then_some(()));
        let pauses = sent.windows(2).map(|pair| (pair[0].0, pair[1].0 - pair[0].0));
        pauses.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }

    /// One line for each phase, timeout, fast retransmit and verdict.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut phase = Phase::default();
        for &(t, step) in &self.steps {
            let alone = match step {
                Step::Timeout(number, after) => format!("timeout of {number} after {after:.2} s"),
                Step::Fast(number) => format!("fast retransmit of {number}"),
                Step::Verdict(true) => "verdict of the detector: spurious".to_owned(),
                Step::Verdict(false) => "verdict of the detector: genuine".to_owned(),
                Step::Timer(_) => continue,
                _ => {
                    if !phase.takes(t, step) {
                        lines.extend(std::mem::take(&mut phase).line());
                        phase.takes(t, step);
                    }
                    continue;
                }
            };
            lines.extend(std::mem::take(&mut phase).line());
            lines.push(format!("{t:7.2}           {alone}"));
        }
        lines.extend(phase.line());
        lines
    }
}

/// Records in time order; records of equal time keep their order.
fn in_order(records: &[Record]) -> Vec<&Record> {
    let mut all: Vec<&Record> = records.iter().collect();
    all.sort_by_key(|record: &&Record| -> Time { record.t });
    all
}

/// Steps of one kind of data and one kind of acknowledgements.
#[derive(Default)]
struct Phase {
    from: Option<f64>,
    to: f64,
    new: Vec<u64>,
    again: Vec<u64>,
    acked: Vec<u64>,
    duplicates: Vec<u64>,
    dropped: Vec<u64>,
}

impl Phase {
    /// Adds a step; false if it does not belong to the phase.
    fn takes(&mut self, t: f64, step: Step) -> bool {
        // A silence longer than the round-trip time of the study's path (2.8 s and transmission) ends a
        // phase, seconds.
        const PAUSE: f64 = 4.0;
        if self.from.is_some() && t - self.to > PAUSE {
            return false;
        }
        let (list, number, against) = match step {
            Step::New(n) => (&mut self.new, n, !self.again.is_empty()),
            Step::Again(n) => (&mut self.again, n, !self.new.is_empty()),
            Step::Acked(n) => (&mut self.acked, n, !self.duplicates.is_empty()),
            Step::Duplicate(n) => (&mut self.duplicates, n, !self.acked.is_empty()),
            Step::Dropped(n) => (&mut self.dropped, n, false),
            Step::Timeout(..) | Step::Fast(_) | Step::Verdict(_) | Step::Timer(_) => return false,
        };
        if against {
            return false;
        }
        list.push(number);
        self.from.get_or_insert(t);
        self.to = t;
        true
    }

    fn line(self) -> Option<String> {
        let mut words = Vec::new();
        let list = |what: &str, list: &[u64]| (!list.is_empty()).then(|| format!("{what} {}", ranges(list)));
        words.extend(list("> new", &self.new));
        words.extend(list("> retransmitted", &self.again));
        if let (Some(first), Some(last)) = (self.acked.first(), self.acked.last()) {
            let span = if first == last { format!("{first}") } else { format!("{first} to {last}") };
            words.push(format!("< acknowledged {span}"));
        }
        if !self.duplicates.is_empty() {
            let which: BTreeSet<u64> = self.duplicates.iter().copied().collect();
            let which: Vec<u64> = which.into_iter().collect();
            words.push(format!("< {} duplicates of {}", self.duplicates.len(), ranges(&which)));
        }
        words.extend(list("x dropped", &self.dropped));
        let from = self.from?;
        Some(format!("{from:7.2} - {:6.2}  {}", self.to, words.join("  ")))
    }
}

/// Numbers as ranges, in the order of the list.
pub(crate) fn ranges(list: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &n in list {
        match runs.last_mut() {
            Some((_, to)) if n == *to + 1 => *to = n,
            Some((_, to)) if n == *to => {}
            _ => runs.push((n, n)),
        }
    }
    let mut out = String::new();
    for (i, (from, to)) in runs.iter().enumerate() {
        if i == 12 {
            let _ = write!(out, " and {} more", runs.len() - i);
            break;
        }
        let mark = if i > 0 { ", " } else { "" };
        let _ = if from == to { write!(out, "{mark}{from}") } else { write!(out, "{mark}{from}-{to}") };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_with_a_change_of_kind_or_a_pause() {
        let steps = vec![
            (0.0, Step::New(1)),
            (0.1, Step::New(2)),
            (0.2, Step::Acked(1)),
            (0.2, Step::New(3)),
            (3.0, Step::Timeout(2, 2.8)),
            (3.0, Step::Again(2)),
            (3.1, Step::Duplicate(1)),
            (3.1, Step::Dropped(3)),
        ];
        let lines = Timeline { steps }.lines();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].ends_with("> new 1-3  < acknowledged 1"), "{}", lines[0]);
        assert!(lines[1].ends_with("timeout of 2 after 2.80 s"), "{}", lines[1]);
        assert!(lines[2].ends_with("> retransmitted 2  < 1 duplicates of 1  x dropped 3"), "{}", lines[2]);
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10");
    }

    #[test]
    fn the_longest_silence_is_between_data_packets() {
        let steps =
            vec![(1.0, Step::New(1)), (2.0, Step::Acked(1)), (9.0, Step::New(2)), (10.0, Step::Again(2))];
        assert_eq!(Timeline { steps }.silence(), (1.0, 8.0));
    }
}
