//! Ack Vectors (RFC 4340 section 11.4): which packets arrived, run-length coded, newest first.

base::named! {
    /// State of a packet at the receiver (RFC 4340 section 11.4).
    pub enum State {
        /// It arrived.
        Received = "received",
        /// It arrived with an ECN mark.
        Marked = "ecn-marked",
        /// Reserved by the specification.
        Reserved = "reserved",
        /// It has not arrived yet.
        Missing = "not-yet-received",
    }
}

/// Runs of equal states, from the acknowledged packet backwards: state and length from 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AckVector {
    runs: Vec<(State, u32)>,
}

/// Longest run in packets that one byte encodes.
const RUN: u32 = 64;

impl AckVector {
    /// Adds `length` packets of `state` at the old end.
    pub fn push(&mut self, state: State, length: u32) {
        if length == 0 {
            return;
        }
        match self.runs.last_mut() {
            Some((last, n)) if *last == state => *n += length,
            _ => self.runs.push((state, length)),
        }
    }

    /// Runs, newest first.
    pub fn runs(&self) -> impl Iterator<Item = (State, u32)> + '_ {
        self.runs.iter().copied()
    }

    /// Number of packets covered by the vector.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|(_, n)| u64::from(*n)).sum()
    }
    /// True if the vector covers no packet.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Calls `each` with the number and state of every packet covered, newest first, from acknowledgement number `ack`.
    pub fn each(&self, ack: u64, mut each: impl FnMut(u64, State)) {
        let mut seq = ack;
        for &(state, n) in &self.runs {
            for _ in 0..n {
                each(seq, state);
                match seq.checked_sub(1) {
                    Some(before) => seq = before,
                    None => return,
                }
            }
        }
    }

    /// Bytes on the wire, one for each run of up to 64.
    pub fn bytes(&self) -> usize {
        self.runs.iter().map(|(_, n)| n.div_ceil(RUN) as usize).sum()
    }

    /// Appends the bytes: two bits of state, six of length less one.
    pub fn write(&self, out: &mut Vec<u8>) {
        for &(state, n) in &self.runs {
            let mut left = n;
            while left > 0 {
                let part = left.min(RUN);
                out.push((state as u8) << 6 | (part - 1) as u8);
                left -= part;
            }
        }
    }

    /// Reads bytes; every sequence of bytes is a vector.
    pub fn read(bytes: &[u8]) -> Self {
        let mut vector = AckVector::default();
        for byte in bytes {
            let state = State::ALL[usize::from(byte >> 6)];
            vector.push(state, u32::from(byte & 63) + 1);
        }
        vector
    }
}

/// Receiver state for Ack Vectors, kept until the sender has confirmed an ACK that reports it.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Lowest number still reported.
    from: u64,
    /// States from `from` on.
    states: std::collections::VecDeque<State>,
    /// Acknowledgements sent: their own number, and the number that they acknowledged.
    sent: std::collections::VecDeque<(u64, u64)>,
    /// Highest sequence number received; none before the first packet.
    newest: Option<u64>,
}

/// Most packets in a report; states of older packets are discarded (RFC 4340 section 11.4.1 allows any size).
const MOST: usize = 2048;

impl Received {
    /// Packet `seq` arrived.
    pub fn on_packet(&mut self, seq: u64, marked: bool) {
        let state = if marked { State::Marked } else { State::Received };
        match self.newest {
            None => {
                self.from = seq;
                self.states.push_back(state);
                self.newest = Some(seq);
            }
            Some(newest) if seq > newest => {
                // A jump beyond the kept range restarts the vector.
                if seq - newest > MOST as u64 {
                    self.states.clear();
                    self.from = seq;
                } else {
                    for _ in newest + 1..seq {
                        self.states.push_back(State::Missing);
                    }
                }
                self.states.push_back(state);
                self.newest = Some(seq);
                while self.states.len() > MOST {
                    self.states.pop_front();
                    self.from += 1;
                }
            }
            Some(_) => {
                if let Some(old) = seq.checked_sub(self.from).and_then(|i| self.states.get_mut(i as usize))
                    && *old == State::Missing
                {
                    *old = state;
                }
            }
        }
    }

    /// Whether packet `seq` is known to have arrived.
    pub fn has(&self, seq: u64) -> bool {
        let known = seq.checked_sub(self.from).and_then(|i| self.states.get(i as usize));
        // States no longer kept count as arrived.
        self.newest.is_some() && (seq < self.from || known.is_some_and(|s| *s != State::Missing))
    }

    /// The highest number that arrived.
    pub fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Ack Vector of all kept states, from the highest number received.
    pub fn vector(&self) -> AckVector {
        let mut vector = AckVector::default();
        for state in self.states.iter().rev() {
            vector.push(*state, 1);
        }
        vector
    }

    /// Records that an acknowledgement with sequence number `seq` is sent now.
    pub fn on_ack_sent(&mut self, seq: u64) {
        if let Some(newest) = self.newest {
            self.sent.push_back((seq, newest));
            while self.sent.len() > MOST {
                self.sent.pop_front();
            }
        }
    }

    //= RFC 4340 section 11.4.2: an acknowledged Ack Vector's packets need not be reported again
    /// The peer acknowledged the ACK with number `ack`: discards the states that this ACK reported.
    pub fn on_ack_acked(&mut self, ack: u64) {
        let mut known = None;
        while let Some(&(seq, reported)) = self.sent.front().filter(|(seq, _)| *seq <= ack) {
            if seq == ack {
                known = Some(reported);
            }
            self.sent.pop_front();
        }
        let Some(known) = known else { return };
        // The newest packet stays: a vector is never empty.
        while self.states.len() > 1 && self.from < known {
            self.states.pop_front();
            self.from += 1;
        }
    }
}
