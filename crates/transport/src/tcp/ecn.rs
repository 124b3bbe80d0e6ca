//! Explicit congestion notification (RFC 3168).
//!
//! Both ends negotiate it with their SYNs (RFC 3168) and send data packets as ECN-capable. The receiver
//! echoes a mark until the sender signals a window reduction with CWR, once per RTT.
//!
//! In the one-way model of the simulators, the scenario enables it at both ends without negotiation.

/// Not-ECT: not ECN-capable (RFC 3168 section 5).
pub const NOT_ECT: u8 = 0;
/// ECT(0): ECN-capable.
pub const ECT0: u8 = 2;
/// CE: congestion experienced.
pub const CE: u8 = 3;

/// ECN state of one end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecn {
    /// Whether this end wants ECN.
    pub(super) wanted: bool,
    /// Both ends want ECN.
    pub(super) agreed: bool,
    /// The peer's SYN offered ECN.
    pub(super) asked: bool,
    /// Receiver: a CE mark arrived, and the sender's CWR has not.
    pub(super) echoing: bool,
    /// Sender: highest byte sent at the last reduction. No further reduction before data beyond it are
    /// acknowledged.
    reduced_to: u64,
    /// Sender: highest byte sent at the last reduction for a mark.
    marked_to: u64,
    /// Sender: the next new data segment carries CWR.
    announce: bool,
    /// Sender: an echo arrived at a window of one segment; nothing is sent before the timer expires.
    pub(super) holds: bool,
}

impl Ecn {
    /// State before the SYN. Without a handshake (`one_way`) ECN is agreed from the start.
    pub(super) fn new(wanted: bool, one_way: bool) -> Self {
        Ecn { wanted, agreed: wanted && one_way, ..Ecn::default() }
    }

    /// Processes the flags of the peer's SYN, or of its SYN-ACK (`answer`).
    pub(super) fn on_syn(&mut self, answer: bool, ece: bool, cwr: bool) {
        //= RFC 3168 section 6.1.1: ECE and CWR in the SYN ask, ECE alone in the SYN-ACK agrees
        if answer {
            self.agreed |= self.wanted && ece && !cwr;
        } else {
            self.asked = ece && cwr;
            self.agreed |= self.wanted && self.asked;
        }
    }

    //= RFC 3168 section 6.1.1: after a SYN without the offer no data packet may be ECN-capable
    /// The peer's SYN, first or retransmitted, carries no offer.
    pub(super) fn refuse(&mut self) {
        self.agreed = false;
    }

    /// ECE and CWR of the local SYN, or of the SYN-ACK (`answer`).
    pub(super) fn syn_flags(&self, answer: bool) -> (bool, bool) {
        if answer { (self.agreed, false) } else { (self.wanted, self.wanted) }
    }

    /// Processes the IP codepoint and the CWR flag of a data segment.
    pub(super) fn on_data(&mut self, ecn: u8, cwr: bool) {
        if !self.agreed {
            return;
        }
        //= RFC 3168 section 6.1.3: echoed in every ACK until CWR arrives; a mark on that segment restarts the
        // echo
        if cwr {
            self.echoing = false;
        }
        if ecn == CE {
            self.echoing = true;
        }
    }

    /// Records a window reduction of any cause, with data up to `sent` outstanding.
    pub(super) fn reduced(&mut self, sent: u64) {
        self.reduced_to = sent;
        //= RFC 3168 section 6.1.2: CWR on the first new data after any reduction
        self.announce = self.agreed;
    }

    /// Records a window reduction for a mark.
    pub(super) fn reduced_for_mark(&mut self, sent: u64) {
        self.marked_to = sent;
        self.reduced(sent);
    }

    /// Whether a mark has already reduced the window for the data outstanding from `una` on.
    pub(super) fn covers(&self, una: u64) -> bool {
        una < self.marked_to
    }

    /// Whether an ECN-Echo on an ACK up to `ack` requires a reduction.
    pub(super) fn wants_reduction(&self, ack: u64) -> bool {
        //= RFC 3168 section 6.1.2: once a window of data
        ack > self.reduced_to
    }

    /// Whether the next new data segment carries CWR; clears the flag.
    pub(super) fn take_announcement(&mut self) -> bool {
        std::mem::take(&mut self.announce)
    }
}
