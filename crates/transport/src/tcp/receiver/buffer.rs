//! Receive buffer accounting and advertised window of Linux.
//!
//! The receive buffer counts memory per packet, not bytes of data. The offered window is the buffer size times
//! the ratio of data to memory in a packet. The window starts at half of a small buffer and grows
//! by two segments per segment received. The buffer grows with the bytes that the application reads per RTT
//! (dynamic right-sizing, Fisk and Feng 2001).
//!
//! The rules are those of Linux 6.12 (net/ipv4/tcp_input.c: `tcp_init_buffer_space`, `tcp_measure_rcv_mss`, `tcp_grow_window`,
//! `tcp_rcv_space_adjust`; net/ipv4/tcp_output.c: `tcp_select_initial_window`, `__tcp_select_window`, `tcp_select_window`).

use crate::tcp::config::Config;
use base::{Span, Time};

/// Assumed ratio of data to memory in a packet before a full segment has arrived, 256ths.
const HALF: u64 = 128;
/// Segments in the first estimate of the bytes read per RTT (`TCP_INIT_CWND`).
const FIRST_ROUND: u64 = 10;
/// Segments added to twice the bytes read per RTT, as a margin for small variations.
const CUSHION: u64 = 16;
/// The window scale covers at least this window, bytes (`net.core.rmem_max`).
const SCALED_FOR: u64 = 212_992;

/// Size of a packet's `struct sk_buff`, bytes; freed when the packet is merged into the preceding one.
const HEAD: u64 = 256;

/// Occupancy of the receive buffer.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct BufferOccupancy {
    /// Bytes in order that the application has not read.
    pub(super) unread: u64,
    /// Bytes received out of order.
    pub(super) held: u64,
    /// Number of out-of-order ranges.
    pub(super) ranges: u64,
}

impl BufferOccupancy {
    /// Occupancy without out-of-order data.
    pub(super) fn in_order(unread: u64) -> Self {
        BufferOccupancy { unread, held: 0, ranges: 0 }
    }
    /// Whether the buffer is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.unread + self.held == 0
    }
}

/// Receive buffer of one end.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    mss: u64,
    /// Memory per packet, bytes (`truesize`).
    packet: u64,
    /// Buffer size, bytes (`sk_rcvbuf`).
    size: u64,
    /// Maximum buffer size, bytes (`tcp_rmem[2]`).
    most: u64,
    /// Ratio of data to memory in a packet, 256ths (`scaling_ratio`).
    ratio: u64,
    /// Upper bound of the offered window from the buffer size, bytes.
    clamp: u64,
    /// Upper bound of the offered window from the scenario, bytes.
    limit: u64,
    /// Slow-start bound of the offered window, bytes (`rcv_ssthresh`).
    allowed: u64,
    shift: u32,
    /// Last window offered, bytes.
    offered: u64,
    /// Sequence number at which the last window offered starts.
    from: u64,
    /// Largest number of bytes read in one RTT so far.
    round: u64,
    /// Sequence number up to which data were read when the current RTT round began.
    read: u64,
    /// Start of the current RTT round; none: the connection is not open.
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
        // Smaller configured windows are offered whole from the beginning.
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

    /// Window of the SYN, bytes.
    pub(super) fn first(&self) -> u64 {
        self.offered
    }
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }
    /// Last window offered, bytes.
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

    /// Free part of the buffer at occupancy `kept`, bytes of data. Packets of one out-of-order range are merged, and so
    /// are unread packets.
    fn free(&self, kept: BufferOccupancy) -> u64 {
        if kept.is_empty() {
            return self.data(self.size);
        }
        let packets = kept.unread.div_ceil(self.mss) + kept.held.div_ceil(self.mss);
        let heads = kept.ranges + u64::from(kept.unread > 0);
        let merged = packets.saturating_sub(heads);
        self.data(self.size.saturating_sub(packets * self.packet - merged * HEAD.min(self.packet)))
    }

    /// Starts the first round when the connection opens.
    pub(super) fn open(&mut self, now: Time, next: u64) {
        if self.began.is_none() {
            (self.began, self.read) = (Some(now), next);
        }
    }

    /// Updates the ratio of data to memory from a segment of `len` bytes, a new full size.
    pub(super) fn on_size(&mut self, len: u32) {
        let ratio = (u64::from(len) * 256 / self.packet).clamp(1, 255);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.data(self.size);
            self.round = self.round.min(self.clamp);
        }
    }

    /// Raises the slow-start bound after a segment of `len` bytes, with occupancy `kept`; returns whether it grew
    /// (`tcp_grow_window`).
    #[inline]
    pub(super) fn grow(&mut self, len: u32, full: u32, kept: BufferOccupancy) -> bool {
        // At its bound for most of a long transfer.
        self.clamp.min(self.limit) > self.allowed && self.grow_below_bound(len, full, kept)
    }

    #[inline(never)]
    fn grow_below_bound(&mut self, len: u32, full: u32, kept: BufferOccupancy) -> bool {
        let room = self.clamp.min(self.free(kept)).min(self.limit).saturating_sub(self.allowed);
        let more = self.step(u64::from(len), u64::from(full));
        if room == 0 || more == 0 {
            return false;
        }
        self.allowed += room.min(more.max(2 * u64::from(len)));
        true
    }

    /// Growth in bytes: two segments if the packet has the expected ratio of data to memory, or if the buffer has
    /// room for packets with a smaller ratio.
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

    /// Window that could be offered at occupancy `kept`, and whether more than half of the buffer is used.
    pub(super) fn select(&self, kept: BufferOccupancy, full: u32) -> (u64, bool) {
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

    /// Sets the offered window to a [selected](Buffer::select) one; its right edge never retreats.
    pub(super) fn offer(&mut self, next: u64, window: u64) {
        let left = self.edge().saturating_sub(next);
        self.offered = if window < left { self.scaled(left) } else { window };
        self.offered = self.offered.min(65_535 << self.shift);
        self.from = next;
    }

    /// Adapts the buffer size to the bytes read, once per RTT (`trip`). The application has read all data before
    /// `read`.
    pub(super) fn on_read(&mut self, now: Time, read: u64, next: u64, trip: Span) {
        let Some(began) = self.began else { return };
        if trip.is_zero() || now.since(began) < trip {
            return;
        }
        let copied = read.saturating_sub(self.read).saturating_sub(next.saturating_sub(read));
        if copied > self.round {
            // Twice the bytes read, for losses, plus their relative growth, for slow start.
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

    /// Whether a read has opened a window that had become small.
    pub(super) fn opens(&self, next: u64, kept: BufferOccupancy, full: u32) -> bool {
        let left = self.edge().saturating_sub(next);
        if 2 * left > self.clamp {
            return false;
        }
        let window = self.select(kept, full).0;
        window > 0 && window >= 2 * left
    }
}
