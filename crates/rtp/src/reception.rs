//! Reception statistics of one source: loss, extended highest sequence number, interarrival jitter (RFC 3550 sections
//! 6.4.1 and 6.4.4, appendices A.1, A.3 and A.8).

/// Largest step of sequence numbers that is taken for loss.
const MAX_DROPOUT: u16 = 3000;
/// Largest step back that is taken for reordering.
const MAX_MISORDER: u16 = 100;

/// Reception statistics of one source (RFC 3550 section 6.4.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Reception {
    first: u16,
    highest: u16,
    /// Wraps of the sequence number, in units of 65 536.
    cycles: u32,
    /// Number that would show a restart of the source: one after a jump.
    restart: Option<u16>,
    received: u64,
    /// Counts at the last report.
    reported: (u64, u64),
    /// Transit time of the last packet, ticks.
    transit: Option<u32>,
    /// Jitter, sixteenths of a tick.
    jitter: u32,
}

impl Reception {
    /// Statistics that begin with this sequence number.
    pub fn new(seq: u16) -> Self {
        Reception {
            first: seq,
            highest: seq,
            cycles: 0,
            restart: None,
            received: 0,
            reported: (0, 0),
            transit: None,
            jitter: 0,
        }
    }

    /// A data packet: sequence number, timestamp, and arrival in ticks of the same clock. False: it is far outside of the
    /// sequence and was not counted.
    pub fn on_packet(&mut self, seq: u16, timestamp: u32, arrival: u32) -> bool {
        let ahead = seq.wrapping_sub(self.highest);
        if ahead < MAX_DROPOUT {
            self.cycles += u32::from(seq < self.highest) << 16;
            self.highest = seq;
        } else if ahead <= u16::MAX - MAX_MISORDER {
            //= RFC 3550 appendix A.1: two in sequence after a jump: the other side has restarted
            if self.restart != Some(seq) {
                self.restart = Some(seq.wrapping_add(1));
                return false;
            }
            *self = Reception::new(seq);
        }
        self.restart = None;
        self.received += 1;
        let transit = arrival.wrapping_sub(timestamp);
        if let Some(last) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(last) as i32).unsigned_abs();
            //= RFC 3550 appendix A.8: jitter += d - ((jitter + 8) >> 4), scaled by 16
            self.jitter =
                self.jitter.saturating_add(difference).saturating_sub((self.jitter.saturating_add(8)) >> 4);
        }
        true
    }

    /// Extended highest sequence number.
    pub fn extended(&self) -> u32 {
        self.cycles.wrapping_add(u32::from(self.highest))
    }
    fn expected(&self) -> u64 {
        u64::from(self.extended().wrapping_sub(u32::from(self.first))) + 1
    }
    /// Packets lost so far, as the wire has it: 24 bits with sign.
    pub fn lost(&self) -> i32 {
        //= RFC 3550 appendix A.3: expected less received, clamped to 0x7fffff and 0x800000
        let lost = self.expected() as i64 - self.received as i64;
        lost.clamp(-0x80_0000, 0x7f_ffff) as i32
    }
    /// Packets received.
    pub fn received(&self) -> u64 {
        self.received
    }
    /// Interarrival jitter, ticks.
    pub fn jitter(&self) -> u32 {
        self.jitter >> 4
    }
    /// Fraction lost since the last call, in 1/256.
    pub fn fraction(&mut self) -> u8 {
        let now = (self.expected(), self.received);
        let expected = now.0.saturating_sub(self.reported.0);
        let received = now.1.saturating_sub(self.reported.1);
        self.reported = now;
        //= RFC 3550 appendix A.3: (lost << 8) / expected; 0 where duplicates make the loss negative
        match expected.saturating_sub(received) {
            lost if expected > 0 => ((lost << 8) / expected).min(255) as u8,
            _ => 0,
        }
    }
}
