//! Receive buffer accounting and advertised window of Linux.
//!
//! Memory that it counts in packets, not in bytes: a share of the buffer, as large as the share of data in what a
//! packet occupies. The offer begins with half of a small buffer, grows by two segments with each one that comes, and
//! the buffer grows with what the application reads in a round trip (dynamic right-sizing, Fisk and Feng 2001).
//!
//! The rules are those of 6.12 (net/ipv4/tcp_input.c: `tcp_init_buffer_space`, `tcp_measure_rcv_mss`, `tcp_grow_window`,
//! `tcp_rcv_space_adjust`; net/ipv4/tcp_output.c: `tcp_select_initial_window`, `__tcp_select_window`, `tcp_select_window`).

use crate::tcp::config::Config;
use base::{Span, Time};

/// The share of data, in 256ths, that is taken for granted before a full segment has come.
const HALF: u64 = 128;
/// So many segments are in the first estimate of what is read in a round trip (`TCP_INIT_CWND`).
const FIRST_ROUND: u64 = 10;
/// Segments that are added to twice of what was read, for small variations.
const CUSHION: u64 = 16;
/// Windows of one kernel are scaled at least for this (`net.core.rmem_max`).
const SCALED_FOR: u64 = 212_992;

/// What a packet occupies beside its data's area, saved where it is merged with the one before it (`struct sk_buff`).
const HEAD: u64 = 256;

/// What lies in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Bytes that wait to be read.
    pub(super) unread: u64,
    /// Bytes that wait for what is missing before them.
    pub(super) held: u64,
    /// In so many ranges.
    pub(super) ranges: u64,
}

impl Kept {
    /// Nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.unread + self.held == 0
    }
}

/// The receive buffer of one end.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    mss: u64,
    /// What one packet occupies, bytes (`truesize`).
    packet: u64,
    /// The buffer, bytes, and what it may grow to.
    size: u64,
    most: u64,
    /// 256ths of it that are data.
    ratio: u64,
    /// The largest offer that this allows, that the scenario allows, and that is allowed by now.
    clamp: u64,
    limit: u64,
    allowed: u64,
    shift: u32,
    /// What was offered last, and from where.
    offered: u64,
    from: u64,
    /// Bytes read in a round trip, where the next one began, and when; none: the connection is not open.
    round: u64,
    read: u64,
    began: Option<Time>,
}

impl Buffer {
    pub(super) fn new(config: &Config) -> Self {
        let mss = u64::from(config.mss);
        let own = &config.receiver;
        let (size, most) = (own.buffer_start, own.buffer_most.max(own.buffer_start));
        let limit = own.window.bytes(config.mss, u64::from(u32::MAX));
        let half = size * HALF / 256;
        let whole = if half > mss { half / mss * mss } else { half };
        // Windows of less than that are offered whole from the beginning.
        let offered = whole.min(limit);
        let clamp = half.saturating_sub(mss).max(2 * mss).min(half);
        let scaled = config.window_scale.then(|| most.max(SCALED_FOR).min(limit.max(1)).ilog2());
        let shift = scaled.map_or(0, |bits| bits.saturating_sub(15).min(14));
        let offered = if shift == 0 { offered.min(65_535) } else { offered };
        Buffer {
            mss,
            packet: own.buffer_packet,
            size,
            most,
            ratio: HALF,
            clamp,
            limit,
            allowed: if limit <= whole { limit } else { offered.min(clamp) },
            shift,
            offered,
            from: 0,
            round: offered.min(clamp).min(FIRST_ROUND * mss),
            read: 1,
            began: None,
        }
    }

    /// The window of a SYN, bytes.
    pub(super) fn first(&self) -> u64 {
        self.offered
    }
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }
    /// What was offered last.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }
    /// One past the last byte offered.
    pub(super) fn edge(&self) -> u64 {
        self.from + self.offered
    }

    fn data(&self, memory: u64) -> u64 {
        memory * self.ratio / 256
    }

    /// What is free beside what is kept. The packets of a range are merged, those that wait to be read too.
    fn free(&self, kept: Kept) -> u64 {
        let packets = kept.unread.div_ceil(self.mss) + kept.held.div_ceil(self.mss);
        let heads = kept.ranges + u64::from(kept.unread > 0);
        let merged = packets.saturating_sub(heads);
        self.data(self.size.saturating_sub(packets * self.packet - merged * HEAD.min(self.packet)))
    }

    /// The connection is open: the first round begins.
    pub(super) fn open(&mut self, now: Time, next: u64) {
        if self.began.is_none() {
            (self.began, self.read) = (Some(now), next);
        }
    }

    /// The largest segment so far: what a packet occupies beside its data is known now.
    pub(super) fn on_size(&mut self, len: u32) {
        let ratio = (u64::from(len) * 256 / self.packet).clamp(1, 255);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.data(self.size);
            self.round = self.round.min(self.clamp);
        }
    }

    /// A segment of `len` bytes has come, and the buffer keeps `kept`: whether more is allowed from now on.
    pub(super) fn grow(&mut self, len: u32, full: u32, kept: Kept) -> bool {
        let room = self.clamp.min(self.free(kept)).min(self.limit).saturating_sub(self.allowed);
        let more = self.step(u64::from(len), u64::from(full));
        if room == 0 || more == 0 {
            return false;
        }
        self.allowed += room.min(more.max(2 * u64::from(len)));
        true
    }

    /// By how much: two segments if a packet is data as far as it should be, or if there would be room for worse ones.
    fn step(&self, len: u64, full: u64) -> u64 {
        if self.data(self.packet) <= len {
            return 2 * self.mss;
        }
        let (mut packet, mut window) = (self.data(self.packet) / 2, self.data(self.most) / 2);
        while self.allowed <= window {
            if packet <= len {
                return 2 * full;
            }
            (packet, window) = (packet / 2, window / 2);
        }
        0
    }

    /// What could be offered beside `kept`, and whether more than half of it is taken.
    pub(super) fn select(&self, kept: Kept, full: u32) -> (u64, bool) {
        let all = self.data(self.size);
        let whole = self.clamp.min(all);
        let full = u64::from(full).min(whole);
        let mut free = self.free(kept);
        let crowded = free < whole / 2;
        if crowded {
            free = free >> self.shift << self.shift;
            if free < all / 16 || free < full {
                return (0, true);
            }
        }
        let free = free.min(self.allowed);
        let window = if self.shift > 0 {
            self.scaled(free)
        } else if self.offered + full <= free || self.offered > free {
            free / full.max(1) * full
        } else {
            self.offered
        };
        (window, crowded)
    }

    fn scaled(&self, window: u64) -> u64 {
        window.div_ceil(1 << self.shift) << self.shift
    }

    /// Offers what there is; the edge never moves back.
    pub(super) fn offer(&mut self, next: u64, kept: Kept, full: u32) -> bool {
        let left = self.edge().saturating_sub(next);
        let (window, crowded) = self.select(kept, full);
        self.offered = if window < left { self.scaled(left) } else { window };
        self.offered = self.offered.min(65_535 << self.shift);
        self.from = next;
        crowded
    }

    /// The application has read everything before `read`: once a round trip the buffer follows how much that was.
    pub(super) fn on_read(&mut self, now: Time, read: u64, next: u64, trip: Span) {
        let Some(began) = self.began else { return };
        if trip.is_zero() || now.since(began) < trip {
            return;
        }
        let copied = (read - self.read).saturating_sub(next - read);
        if copied > self.round {
            // Twice of it, for losses, and once more in proportion to how it grows, for slow start.
            let window = 2 * copied + CUSHION * self.mss;
            let window = window + 2 * (window * (copied - self.round) / self.round);
            let size = (window * 256 / self.ratio).min(self.most);
            if size > self.size {
                self.size = size;
                self.clamp = self.data(size);
            }
            self.round = copied;
        }
        (self.began, self.read) = (Some(now), read);
    }

    /// Whether reading has opened a window that had become small.
    pub(super) fn opens(&self, next: u64, kept: Kept, full: u32) -> bool {
        let left = self.edge().saturating_sub(next);
        let window = self.select(kept, full).0;
        2 * left <= self.clamp && window > 0 && window >= 2 * left
    }
}
