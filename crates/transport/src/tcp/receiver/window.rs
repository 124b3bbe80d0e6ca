//! Offered window of a TCP receiver: window scale (RFC 7323), silly-window avoidance (RFC 9293 section 3.8.6.2.2), reads of
//! the application.

use super::Receiver;
use crate::tcp::config::{Config, Handshake};

impl Receiver {
    /// One past the last byte that is accepted.
    #[inline]
    pub(super) fn accepts_up_to(&mut self) -> u64 {
        match self.linux.as_ref().and_then(|l| l.buffer.as_ref()) {
            Some(buffer) => buffer.edge().max(self.next),
            None => self.next.saturating_add(u64::from(self.offered())),
        }
    }

    /// Receive window to offer now, bytes; not scaled in a SYN.
    #[inline]
    pub fn window(&mut self, syn: bool) -> u32 {
        let offered = if syn { self.window } else { self.offered() };
        //= RFC 7323 section 2.2: the window field of a SYN is never scaled
        if syn && self.shift > 0 { offered.min(MOST_UNSCALED) } else { offered }
    }

    /// Largest window that can ever be offered, bytes.
    pub fn largest_window(&self) -> u32 {
        match self.linux.as_ref().and_then(|l| l.buffer.as_ref()) {
            Some(buffer) => MOST_UNSCALED << buffer.shift(),
            None => self.window,
        }
    }

    #[inline]
    pub(super) fn offered(&mut self) -> u32 {
        let alone = self.offered_alone();
        if self.shared.is_some() { self.offered_of_share(alone) } else { alone }
    }

    #[inline]
    fn offered_alone(&mut self) -> u32 {
        if let Some(linux) = &self.linux
            && linux.buffer.is_some()
        {
            let empty = self.held.is_empty() && self.unread.unwrap_or(0) == 0;
            let again = linux.offered_again(self.next).filter(|_| empty);
            return again.unwrap_or_else(|| self.offered_as_linux());
        }
        match self.unread {
            None => self.window,
            Some(unread) => self.offered_beside(unread),
        }
    }

    #[inline(never)]
    fn offered_as_linux(&mut self) -> u32 {
        let next = self.next;
        let chosen = self.linux.as_mut().and_then(|l| l.chosen(next));
        chosen.unwrap_or_else(|| {
            let kept = self.kept();
            self.linux.as_mut().map_or(0, |l| l.choose(next, kept))
        })
    }

    fn growing(&self) -> bool {
        self.linux.as_ref().is_some_and(|l| l.buffer.is_some())
    }

    /// Window left beside `unread` bytes, with silly-window avoidance.
    fn offered_beside(&mut self, unread: u64) -> u32 {
        let room = u64::from(self.window).saturating_sub(unread);
        let edge = self.next + (room >> self.shift << self.shift);
        //= RFC 9293 section 3.8.6.2.2: the right edge advances by a useful amount, and never retreats
        if edge >= self.edge + self.least_update {
            self.edge = edge;
        }
        u32::try_from(self.edge.saturating_sub(self.next)).unwrap_or(u32::MAX)
    }

    /// Switches between an application that reads slowly (data wait until read) and one that reads at once.
    pub(in crate::tcp) fn read_slowly(&mut self, slowly: bool) {
        match (slowly, self.unread) {
            (true, None) => {
                self.edge = self.next + u64::from(self.window);
                self.unread = Some(0);
            }
            (false, Some(_)) if self.growing() => {
                self.unread = None;
                self.update |= self.reading_asks();
            }
            (false, Some(_)) => {
                self.update |= self.edge < self.next + u64::from(self.window);
                self.unread = None;
            }
            _ => {}
        }
    }

    /// Reads at most `bytes` for the application; returns the number read.
    pub(in crate::tcp) fn read(&mut self, bytes: u64) -> u64 {
        let Some(unread) = self.unread else { return 0 };
        let took = unread.min(bytes);
        self.unread = Some(unread - took);
        if self.growing() {
            self.update |= self.reading_asks();
            return took;
        }
        let before = self.edge;
        self.offered();
        // Only a window that had become small may have blocked the sender.
        self.update |= self.edge > before && before < self.next + 2 * self.least_update;
        took
    }

    /// Whether a read from a Linux receive buffer requires a window update.
    fn reading_asks(&mut self) -> bool {
        let (kept, next, acked) = (self.kept(), self.next, self.last_ack_sent);
        self.linux.as_mut().is_some_and(|l| l.on_read(l.latest, next, acked, kept))
    }

    /// Whether a window update is to be sent; clears the flag.
    pub(in crate::tcp) fn take_update(&mut self) -> bool {
        std::mem::take(&mut self.update)
    }
}

/// Largest value of the window field without scaling, bytes.
const MOST_UNSCALED: u32 = 65_535;

/// Window rounded down to a value that the TCP header can carry, in bytes, and the window scale (shift count). Without
/// scaling at most 65535 bytes. The one-way model has no wire format and no limit.
pub(super) fn on_the_wire(window: u32, config: &Config) -> (u32, u32) {
    if config.opening.handshake == Handshake::OneWay || window <= MOST_UNSCALED {
        return (window, 0);
    }
    if !config.window_scale {
        return (MOST_UNSCALED, 0);
    }
    //= RFC 7323 section 2.3: smallest shift (14 at most) that can carry the whole window
    let shift = (0..14).find(|s| window >> s <= MOST_UNSCALED).unwrap_or(14);
    ((window >> shift).min(MOST_UNSCALED) << shift, shift)
}
