//! Processing of acknowledgement reports by the RLC sender (3GPP TS 44.060 section 9.1.8).

use super::super::Bsn;
use super::super::bits::{Bits, words_in};
use super::super::packed::PackedReport;
use super::super::receive::Report;
use super::{ReportEffect, Sender};
use crate::tdma::Tick;

impl<T: Copy> Sender<T> {
    /// Processes a report. Blocks outside of V(A) to V(S) are ignored, so that an old or forged report changes no other
    /// block.
    pub fn on_report(&mut self, report: &Report, now: Tick) -> ReportEffect {
        let received = &report.received;
        self.on_bitmap(report.complete, report.end, (received.length(), |i| received.word(i)), now)
    }

    /// As [`Sender::on_report`].
    pub fn on_packed_report(&mut self, report: &PackedReport, now: Tick) -> ReportEffect {
        self.on_bitmap(report.complete(), report.end(), (report.length(), |i| report.word(i)), now)
    }

    /// Processes V(Q), the first block that is not covered, and the length and words of the ring of bits.
    #[inline(always)]
    fn on_bitmap(
        &mut self,
        complete: Bsn,
        end: Bsn,
        (length, received): (u32, impl Fn(usize) -> u64),
        now: Tick,
    ) -> ReportEffect {
        self.note_pending();
        let mut heard = ReportEffect::default();
        let end = end.min(self.vs);
        let complete = complete.min(end);
        let (pending, missing) = (&mut self.pending, &mut self.missing);
        let mut known = self.missing_count;
        let mut acknowledge = |pending: &mut Bits, i: usize, bits: u64| {
            heard.acknowledged += (pending.word(i) & bits).count_ones();
            known -= (missing.word(i) & bits).count_ones();
            *pending.word_mut(i) &= !bits;
            *missing.word_mut(i) &= !bits;
        };
        let from = self.va;
        words_in(self.mask, from, complete, |i, mask| acknowledge(pending, i, mask));
        let from = from.max(complete);
        if length == pending.length() {
            words_in(self.mask, from, end, |i, mask| acknowledge(pending, i, mask & received(i)));
        }
        self.missing_count = known;
        let mut at = from;
        while let Some(b) = self.pending.first(at, end) {
            at = b + 1;
            if self.missing.get(b) {
                continue;
            }
            if now.saturating_sub(self.states[self.place(b)].sent) < self.rules.hold_off {
                heard.held_off += 1;
                continue;
            }
            self.missing.set(b);
            self.missing_count += 1;
            heard.missing += 1;
        }
        self.set_va(self.pending.first(self.va, self.vs).unwrap_or(self.vs));
        self.feed.release(self.va);
        heard.all = self.is_done();
        heard
    }
}
