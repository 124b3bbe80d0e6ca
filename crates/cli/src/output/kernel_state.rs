//! Kernel TCP state in a time-sequence picture, from samples of `TCP_INFO`: windows, timers, timeouts, and
//! verdicts by restored windows.

use netns::facts::{FlowFacts, TcpInfo};
use report::{Picture, SegmentKind, Timeout, TimerSample, Truth, WindowSample};

/// Value of `tcpi_ca_state` after a timeout (TCP_CA_Loss).
const LOSS: u8 = 4;

/// Adds windows, timers and timeouts of the kernel to the picture of its flow.
pub(crate) fn annotate(picture: &mut Picture, facts: &FlowFacts) {
    let mss = |segments: u32| u64::from(segments) * u64::from(facts.info.snd_mss);
    let s = |us: u32| f64::from(us) / 1e6;
    for &(t, i) in &facts.history {
        let ssthresh = (i.snd_ssthresh < 1 << 30).then(|| mss(i.snd_ssthresh));
        picture.window.push(WindowSample { t, cwnd: mss(i.snd_cwnd), ssthresh, flight: mss(i.unacked) });
        picture.timer.push(TimerSample { t, rto: s(i.rto), srtt: s(i.rtt), rttvar: s(i.rttvar) });
    }
    for pair in facts.history.windows(2) {
        let ((since, before), (until, after)) = (pair[0], pair[1]);
        if expired(&before, &after) {
            timeout(picture, facts, since, until, &before);
        }
    }
}

fn expired(before: &TcpInfo, after: &TcpInfo) -> bool {
    after.backoff > before.backoff || (after.ca_state == LOSS && before.ca_state != LOSS)
}

/// Adds a timeout that expired between the samples at `since` and `until`, at the last retransmission between them.
fn timeout(picture: &mut Picture, facts: &FlowFacts, since: f64, until: f64, before: &TcpInfo) {
    let resent =
        picture.sent.iter().rev().find(|x| x.kind != SegmentKind::New && x.t > since && x.t <= until);
    let Some(resent) = resent else { return };
    let truth = if resent.kind == SegmentKind::Unneeded { Truth::Spurious } else { Truth::Genuine };
    let later = facts.history.iter().filter(|(t, _)| *t > resent.t);
    let over = later.clone().find(|(_, i)| i.ca_state != LOSS);
    // A restored window shows that the kernel judged the timeout spurious and undid the reduction.
    let back = over.filter(|(_, i)| i.snd_cwnd >= before.snd_cwnd && i.snd_ssthresh >= before.snd_ssthresh);
    picture.timeouts.push(Timeout {
        t: resent.t,
        seq: resent.seq,
        truth,
        cause: None,
        detected: Some(if back.is_some() { "linux" } else { "genuine" }.to_owned()),
        detected_at: over.map(|(t, _)| *t),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Sent;

    /// A timeout at 5 s that resends a segment, and the kernel state before and after.
    fn story(kind: SegmentKind, after: TcpInfo) -> Vec<Timeout> {
        let quiet = TcpInfo { snd_mss: 100, snd_cwnd: 10, snd_ssthresh: 8, ..TcpInfo::default() };
        let lost = TcpInfo { snd_cwnd: 1, snd_ssthresh: 7, ca_state: LOSS, backoff: 1, ..quiet };
        let history = vec![(1.0, quiet), (5.01, lost), (8.0, after)];
        let facts = FlowFacts { info: quiet, history, ..FlowFacts::default() };
        let sent = |t, seq, kind| Sent { t, seq, end: seq + 100, kind };
        let mut picture = Picture {
            sent: vec![
                sent(0.5, 0, SegmentKind::New),
                sent(0.9, 100, SegmentKind::Unneeded),
                sent(5.0, 200, kind),
            ],
            ..Picture::default()
        };
        annotate(&mut picture, &facts);
        assert_eq!(
            picture.window.iter().map(|w| w.cwnd).collect::<Vec<_>>(),
            [1000, 100, after.snd_cwnd as u64 * 100]
        );
        picture.timeouts
    }

    #[test]
    fn a_restored_window_is_judged_spurious() {
        let back = TcpInfo { snd_mss: 100, snd_cwnd: 11, snd_ssthresh: 8, ..TcpInfo::default() };
        let timeouts = story(SegmentKind::Unneeded, back);
        assert_eq!(timeouts.len(), 1);
        assert_eq!((timeouts[0].t, timeouts[0].seq, timeouts[0].truth), (5.0, 200, Truth::Spurious));
        assert_eq!((timeouts[0].detected.as_deref(), timeouts[0].detected_at), (Some("linux"), Some(8.0)));
    }

    #[test]
    fn a_window_that_stays_small_is_judged_genuine() {
        let small = TcpInfo { snd_mss: 100, snd_cwnd: 7, snd_ssthresh: 7, ..TcpInfo::default() };
        let timeouts = story(SegmentKind::Retransmission, small);
        assert_eq!(timeouts[0].truth, Truth::Genuine);
        assert_eq!(timeouts[0].detected.as_deref(), Some("genuine"));
    }
}
