//! Acknowledged LLC (ABM), one direction: window, T200, retransmission of frames up to N200 times (3GPP TS 44.064
//! sections 8.5, 8.9).
//!
//! The acknowledgement of a frame arrives a fixed time after the frame. A retransmission puts another copy of the frame
//! into the RLC queue, even if RLC has not delivered the first copy: both layers recover the same loss.

use super::config::LlcConfig;
use super::frames::FrameId;
use base::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy)]
struct Sent {
    frame: FrameId,
    expires: Time,
    tries: u32,
    /// Arrival time of the frame's acknowledgement; [`Time::NEVER`] before the frame arrives.
    heard: Time,
}

/// Actions that acknowledged LLC requests from the mobile's bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    /// Send this frame for the first time.
    Send(FrameId),
    /// Retransmit this frame.
    Repeat(FrameId),
    /// Abandon this frame after N200 retransmissions.
    GiveUp(FrameId),
    /// Release this frame, which is acknowledged.
    Done(FrameId),
}

/// Sender of acknowledged LLC.
pub(crate) struct Abm {
    t200: Span,
    n200: u32,
    k: usize,
    feedback: Span,
    waiting: VecDeque<FrameId>,
    sent: VecDeque<Sent>,
}

impl Abm {
    pub(crate) fn new(config: &LlcConfig) -> Self {
        let (t200, n200, feedback) = (config.t200, config.n200, config.feedback);
        Abm { t200, n200, k: config.k as usize, feedback, waiting: VecDeque::new(), sent: VecDeque::new() }
    }

    /// Queues a new frame.
    pub(crate) fn push(&mut self, frame: FrameId) {
        self.waiting.push_back(frame);
    }

    /// Records the arrival of a frame at the peer; its acknowledgement follows after the feedback time.
    pub(crate) fn arrived(&mut self, frame: FrameId, now: Time) {
        if let Some(sent) = self.sent.iter_mut().find(|s| s.frame == frame) {
            sent.heard = sent.heard.min(now + self.feedback);
        }
    }

    /// The next action due by `now`; `None` if no action is due.
    pub(crate) fn act(&mut self, now: Time) -> Option<Act> {
        if let Some(i) = self.sent.iter().position(|s| s.heard <= now) {
            return self.sent.remove(i).map(|s| Act::Done(s.frame));
        }
        if let Some(i) = self.sent.iter().position(|s| s.expires <= now) {
            let sent = &mut self.sent[i];
            if sent.tries >= self.n200 {
                return self.sent.remove(i).map(|s| Act::GiveUp(s.frame));
            }
            (sent.tries, sent.expires) = (sent.tries + 1, now + self.t200);
            return Some(Act::Repeat(sent.frame));
        }
        if self.sent.len() < self.k
            && let Some(frame) = self.waiting.pop_front()
        {
            let expires = now + self.t200;
            self.sent.push_back(Sent { frame, expires, tries: 0, heard: Time::NEVER });
            return Some(Act::Send(frame));
        }
        None
    }

    /// Time of the next acknowledgement or T200 expiry; [`Time::NEVER`] without unacknowledged frames.
    pub(crate) fn next(&self) -> Time {
        self.sent.iter().map(|s| s.heard.min(s.expires)).min().unwrap_or(Time::NEVER)
    }
    /// Whether no frame is queued or unacknowledged.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-22: frames wait for the window, are retransmitted after T200 and abandoned after N200 retransmissions.
    #[test]
    fn gp_22_window_repeats_and_giving_up() {
        let config = LlcConfig { k: 2, n200: 1, t200: Span::from_secs(5), ..LlcConfig::default() };
        let mut abm = Abm::new(&config);
        (0..3).for_each(|f| abm.push(f));
        let s = |s| Time::ZERO + Span::from_secs(s);
        let all = |abm: &mut Abm, t| std::iter::from_fn(|| abm.act(t)).collect::<Vec<_>>();
        assert_eq!(all(&mut abm, s(0)), [Act::Send(0), Act::Send(1)]);
        abm.arrived(0, s(1));
        assert_eq!(all(&mut abm, s(2)), [Act::Done(0), Act::Send(2)]);
        assert_eq!(all(&mut abm, s(5)), [Act::Repeat(1)]);
        assert_eq!(all(&mut abm, s(7)), [Act::Repeat(2)]);
        assert_eq!(all(&mut abm, s(10)), [Act::GiveUp(1)]);
        abm.arrived(2, s(10));
        assert_eq!((all(&mut abm, s(11)), abm.is_empty()), (vec![Act::Done(2)], true));
    }
}
