//! ACK digest and RTT sample of the TCP sender, computed before detector, recovery and congestion control process the
//! ACK.

use super::Tcb;
use crate::recovery::digest::AckDigest;
use crate::recovery::sent::Record;
use crate::tcp::config::Timing;
use base::tcp::{Block, Segment};
use base::{Span, Time};

impl Tcb {
    /// Whether an ACK changes only the peer's window: all data are sent and acknowledged, no SACK blocks arrive, and
    /// the connection never had a timeout or loss.
    #[inline]
    pub(super) fn rests_on(&self, segment: &Segment) -> bool {
        let seq = &self.seq;
        (segment.ack == seq.una && seq.una == seq.max && seq.nxt == seq.max && seq.nxt >= seq.fin_end())
            && segment.sack.is_empty()
            && !segment.ece
            && (self.status.rested || self.is_untroubled())
    }

    /// Whether the connection is established and never had a timeout or loss. Only an ACK of which [`Tcb::rests_on`] is
    /// not true, a timer and a change of the MSS can change this.
    fn is_untroubled(&self) -> bool {
        self.status.established
            && self.recovery.is_idle()
            && self.scoreboard.is_empty()
            && self.judging.is_pristine()
            && !(self.duplicates.special || self.feedback.rates || self.feedback.losses)
            && self.lost_volume.is_none()
    }

    #[inline(always)]
    pub(super) fn digest(&mut self, now: Time, segment: &Segment, window_changed: bool) -> AckDigest {
        let ack = segment.ack;
        let newly_acked = ack.saturating_sub(self.seq.una);
        let mut sack_news = false;
        let mut twice = None;
        let mut sacked_up_to = 0;
        let reported = self.scoreboard.bytes();
        if let Some(sent) = &mut self.sent {
            sent.begin();
        }
        if reported > 0 || !segment.sack.is_empty() {
            self.scoreboard.acked(ack.max(self.seq.una));
        }
        if !segment.sack.is_empty() {
            let blocks = segment.sack.as_slice();
            //= RFC 2883 section 4: below the cumulative ACK, or within the second block
            let dsack = blocks[0].right <= ack
                || blocks.get(1).is_some_and(|b| b.left <= blocks[0].left && blocks[0].right <= b.right);
            twice = dsack.then_some(blocks[0]);
            let from = ack.max(self.seq.una);
            for block in blocks {
                sack_news |= self.scoreboard.add_telling(*block, from, self.seq.max, |part| {
                    if let Some(sent) = &mut self.sent {
                        sent.sack(now, part);
                    }
                });
                sacked_up_to = block.right.max(sacked_up_to);
            }
        }
        if let Some(sent) = &mut self.sent {
            sent.acked(now, ack);
        }
        let echo = segment.timestamps.map(|t| t.echo).filter(|_| self.config.timestamps);
        let outstanding = self.seq.max > self.seq.una;
        // Bytes of whole segments that arrived a second time, where they count as delivered.
        let again = twice.filter(|_| self.config.dsack_delivers).map_or(0, |block: Block| {
            let mss = u64::from(self.config.mss);
            block.right.saturating_sub(block.left).div_ceil(mss) * mss
        });
        AckDigest {
            now,
            ack,
            newly_acked,
            delivered: (newly_acked + self.scoreboard.bytes()).saturating_sub(reported) + again,
            old: ack < self.seq.una,
            //= RFC 5681 section 2: same acknowledgement and window, data outstanding, none carried
            duplicate: ack == self.seq.una
                && outstanding
                && !window_changed
                && segment.len == 0
                && !segment.syn
                && !segment.fin,
            sack_news,
            dsack: twice.is_some(),
            twice,
            sacked_up_to,
            resent_echo: segment.resent_echo,
            echo,
            sample: match (self.config.rto.sample_reports, newly_acked > 0) {
                (true, moved) => self.sample_of_records(now, ack).or_else(|| {
                    let sample = moved.then(|| self.sample(now, ack, echo));
                    sample.flatten()
                }),
                (false, true) => self.sample(now, ack, echo),
                (false, false) => None,
            },
            ece: segment.ece && !segment.syn,
        }
    }

    /// RTT of the first newly acknowledged segment, if no newly acknowledged segment was retransmitted.
    /// Otherwise RTT of the first newly SACKed segment that was sent once (Linux 6.12,
    /// net/ipv4/tcp_input.c: `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).
    fn sample_of_records(&self, now: Time, ack: u64) -> Option<Span> {
        let fresh = self.sent.as_ref()?.fresh();
        let (mut again, mut acked, mut reported) = (false, None::<&Record>, None::<&Record>);
        for record in fresh {
            let first = if record.end <= ack {
                again |= record.resent;
                &mut acked
            } else if record.resent {
                continue;
            } else {
                &mut reported
            };
            if first.is_none_or(|first| record.start < first.start) {
                *first = Some(record);
            }
        }
        acked.filter(|_| !again).or(reported).map(|record| now.since(record.sent))
    }

    /// RTT sample of this ACK, from its timestamp or from a timed segment.
    fn sample(&mut self, now: Time, ack: u64, echo: Option<Time>) -> Option<Span> {
        if self.config.timestamps {
            return echo.map(|e| now.since(e));
        }
        if self.config.rto.timing == Timing::Segment {
            let mut last = None;
            while self.timed.each.front().is_some_and(|(end, _)| *end <= ack) {
                last = self.timed.each.pop_front();
            }
            return last.map(|(_, sent)| now.since(sent));
        }
        self.timed.one.filter(|(end, _)| *end <= ack).map(|(_, sent)| now.since(sent))
    }
}
