//! Tail loss probe (RFC 8985 section 7).
//!
//! A probe is sent before the retransmission timeout: new data, or the last segment again. Its ACK lets RACK
//! start recovery (RFC 8985 section 7). An option of `rack`, on by default.

use super::Phase;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::wheel;
use crate::tcp::config::ProbeUntil;
use crate::tcp::sender::{Tcb, Timer};
use base::truth::Cause;
use base::{Span, Time};

/// Probe state of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct TailProbe {
    /// `TLP.end_seq` and `TLP.is_retrans` of an unresolved probe.
    out: Option<(u64, bool)>,
    /// An RTT sample was taken since the last probe.
    pub(super) measured: bool,
}

impl TailProbe {
    /// A probe is unresolved.
    pub(super) fn is_out(&self) -> bool {
        self.out.is_some()
    }

    pub(super) fn reset(&mut self) {
        self.out = None;
    }
}

/// Starts the probe timer after new data (`sends`) or an ACK; stops it where RFC 8985 section 7.2 permits no probe.
pub(in crate::tcp) fn schedule(tcb: &mut Tcb, now: Time, sends: bool) {
    if !tcb.config().rack.tail_loss_probe {
        return;
    }
    let (phase, probe) = (tcb.recovery.phase, tcb.recovery.tail_probe);
    let Some(sent) = &tcb.sent else { return };
    let one = sent.records().len() == 1;
    //= RFC 8985 section 7.2: not in recovery, nothing SACKed, no probe outstanding, an RTT sample since
    let wanted = phase == Phase::Open
        && sent.sacked() == 0
        && tcb.una() > 0
        && tcb.flight() > 0
        && probe.out.is_none()
        && probe.measured;
    if !wanted {
        tcb.timers.stop(Timer::Probe);
        return;
    }
    let srtt = tcb.rto.srtt();
    //= RFC 8985 section 7.2: PTO = 2 * SRTT, or 1 s before the first sample
    let mut wait = if srtt.is_zero() { Span::from_secs(1) } else { srtt.times(2) };
    if one {
        //= RFC 8985 section 7.2: the ACK of a single segment may be delayed
        wait += tcb.config().rack.probe_ack_delay;
    } else if tcb.config().rto.wheel {
        wait += wheel::LEAST;
    }
    if sends
        && tcb.config().rack.probe_until == ProbeUntil::Oldest
        && let Some(oldest) = sent.records().front()
        && oldest.sent + tcb.rto.timeout() > now
    {
        wait = wait.min((oldest.sent + tcb.rto.timeout()).since(now));
    }
    //= RFC 8985 section 7.2: no later than the retransmission timer, whose place it takes
    let latest = Time::from_nanos(tcb.rto.deadline().as_nanos().saturating_sub(1));
    let at = tcb.rto.at(now, wait).min(latest).max(now);
    tcb.timers.set(Timer::Probe, at);
}

/// Sends a probe when its timer expires.
pub(super) fn send(tcb: &mut Tcb, io: &mut Io<'_>) {
    if tcb.flight() == 0 {
        return;
    }
    //= RFC 8985 section 7.3: new data if the receiver's window takes them, else the last segment again
    let again = !tcb.send_one_within_peer_window(io);
    if again {
        let last = tcb.sent.as_ref().and_then(|sent| sent.records().back().copied());
        let Some(last) = last else { return };
        tcb.retransmit_range(io, last.start, last.end, Cause::Recovery);
    }
    let max = tcb.max_sent();
    let probe = &mut tcb.recovery.tail_probe;
    (probe.out, probe.measured) = (Some((max, again)), false);
    tcb.timers.stop(Timer::Probe);
    //= RFC 8985 section 7.3: after the probe the retransmission timer is restarted
    tcb.rto.restart(io.now);
}

/// Resolves the probe; called before the send variables are updated for the ACK.
pub(super) fn on_ack(tcb: &mut Tcb, ack: &AckDigest) {
    let Some((end, again)) = tcb.recovery.tail_probe.out else { return };
    if ack.ack < end {
        return;
    }
    let repeats = ack.newly_acked == 0 && !ack.sack_news && !ack.dsack;
    //= RFC 8985 section 7.4.2: new data, a D-SACK of the probe, or a plain duplicate ACK: nothing was lost
    let nothing_lost = !again || ack.dsack || repeats;
    //= RFC 8985 section 7.4.2: an ACK beyond the probe without these signs: the probe repaired a loss
    let repaired = !nothing_lost && ack.ack > end;
    if repaired && tcb.recovery.phase == Phase::Open {
        tcb.halve_both();
    }
    if nothing_lost || repaired {
        tcb.recovery.tail_probe.reset();
    }
}
