//! Explicit congestion notification (RFC 3168).
//!
//! Explicit congestion notification, RFC 3168: agreed on with the SYNs, data packets say that they may be marked, the
//! receiver echoes a mark until the sender says that it has reduced its window, which it does once a round trip.
//!
//! In the one-way model of the simulators both ends take the scenario's word for it.

/// Not capable of being marked (RFC 3168 section 5).
pub const NOT_ECT: u8 = 0;
/// May be marked.
pub const ECT0: u8 = 2;
/// Congestion experienced.
pub const CE: u8 = 3;

/// What one end of a connection remembers of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecn {
    /// Whether this end wants it.
    pub(super) wanted: bool,
    /// Both ends do.
    pub(super) agreed: bool,
    /// The peer's SYN asked for it.
    pub(super) asked: bool,
    /// Receiver: a mark came, and the sender has not yet said that it reduced its window.
    pub(super) echoing: bool,
    /// Sender: up to here the window was reduced for what was outstanding then; nothing more is reduced
    /// before something beyond is acknowledged.
    reduced_to: u64,
    /// Sender: a mark asked for that, and this was outstanding then.
    marked_to: u64,
    /// Sender: the next new data say that the window was reduced.
    announce: bool,
    /// Sender: a mark was echoed at a window of one segment; nothing leaves before the timer expires.
    pub(super) holds: bool,
}

impl Ecn {
    /// A connection before its SYN. Without one (`one_way`) the scenario has agreed already.
    pub(super) fn new(wanted: bool, one_way: bool) -> Self {
        Ecn { wanted, agreed: wanted && one_way, ..Ecn::default() }
    }

    /// The peer's SYN, or its answer to ours, carries these flags.
    pub(super) fn on_syn(&mut self, answer: bool, ece: bool, cwr: bool) {
        //= RFC 3168 section 6.1.1: ECE and CWR in the SYN ask, ECE alone in the SYN-ACK agrees
        if answer {
            self.agreed |= self.wanted && ece && !cwr;
        } else {
            self.asked = ece && cwr;
            self.agreed |= self.wanted && self.asked;
        }
    }

    //= RFC 3168 section 6.1.1: after a SYN without the offer no data may say that they can be marked
    /// The peer's SYN came, or came again, without the offer.
    pub(super) fn refuse(&mut self) {
        self.agreed = false;
    }

    /// Flags of our own SYN, or of our answer to the peer's: ECE and CWR.
    pub(super) fn syn_flags(&self, answer: bool) -> (bool, bool) {
        if answer { (self.agreed, false) } else { (self.wanted, self.wanted) }
    }

    /// A data segment came with this codepoint, and CWR or not.
    pub(super) fn on_data(&mut self, ecn: u8, cwr: bool) {
        if !self.agreed {
            return;
        }
        //= RFC 3168 section 6.1.3: echoed in every ACK until CWR comes; a mark on that segment starts anew
        if cwr {
            self.echoing = false;
        }
        if ecn == CE {
            self.echoing = true;
        }
    }

    /// The window was reduced, for whatever reason, with data up to `sent` outstanding.
    pub(super) fn reduced(&mut self, sent: u64) {
        self.reduced_to = sent;
        //= RFC 3168 section 6.1.2: CWR on the first new data after any reduction
        self.announce = self.agreed;
    }

    /// The same for a mark.
    pub(super) fn reduced_for_mark(&mut self, sent: u64) {
        self.marked_to = sent;
        self.reduced(sent);
    }

    /// Whether a mark has reduced the window already for what is outstanding from `una` on.
    pub(super) fn covers(&self, una: u64) -> bool {
        una < self.marked_to
    }

    /// An echo arrives with an acknowledgement up to `ack`: whether it asks for a reduction.
    pub(super) fn wants_reduction(&self, ack: u64) -> bool {
        //= RFC 3168 section 6.1.2: once a window of data
        ack > self.reduced_to
    }

    /// New data leave: whether they carry CWR.
    pub(super) fn take_announcement(&mut self) -> bool {
        std::mem::take(&mut self.announce)
    }
}
