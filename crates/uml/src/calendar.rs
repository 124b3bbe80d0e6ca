//! Time-travel protocol of User-Mode Linux: message format, and the calendar that grants time to one kernel.
//!
//! With `time-travel=ext`, a User-Mode Linux kernel does not advance its clock. It requests the time from a
//! calendar, requests its next wake-up, and waits. This module is the calendar's side of the protocol for one
//! kernel (`include/uapi/linux/um_timetravel.h`), without I/O.

use std::fmt;

/// Message size, bytes.
pub const SIZE: usize = 16;
/// Time of a wake-up that never comes: the largest signed number.
pub const NEVER: u64 = i64::MAX as u64;

/// Operation of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Op {
    /// Acknowledgement, with the sequence number of the request.
    Ack = 0,
    /// The kernel has started.
    Start = 1,
    /// The kernel requests a wake-up at this time; the latest request counts.
    Request = 2,
    /// The kernel waits until it may run.
    Wait = 3,
    /// The kernel requests the time.
    Get = 4,
    /// The kernel has advanced to this time.
    Update = 5,
    /// The kernel may run; the current time.
    Run = 6,
    /// The kernel may advance up to this time without asking.
    FreeUntil = 7,
    /// The kernel requests the time of day at the calendar's origin.
    GetTimeOfDay = 8,
    /// Message to all participants.
    Broadcast = 9,
}

impl Op {
    fn of(number: u32) -> Option<Op> {
        use Op::*;
        [Ack, Start, Request, Wait, Get, Update, Run, FreeUntil, GetTimeOfDay, Broadcast]
            .into_iter()
            .find(|op| *op as u32 == number)
    }
}

/// A message in either direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number of its [`Op`].
    pub op: u32,
    /// Sequence number, of the message itself or of the acknowledged one.
    pub seq: u32,
    /// Calendar time, ns.
    pub time: u64,
}

impl Message {
    /// Parses a message.
    pub fn read(bytes: [u8; SIZE]) -> Message {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        Message {
            op: u32::from_ne_bytes([a, b, c, d]),
            seq: u32::from_ne_bytes([e, f, g, h]),
            time: u64::from_ne_bytes(time),
        }
    }
    /// Serialises the message in native byte order: both ends are on this machine.
    pub fn bytes(self) -> [u8; SIZE] {
        let mut out = [0; SIZE];
        out[..4].copy_from_slice(&self.op.to_ne_bytes());
        out[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        out[8..].copy_from_slice(&self.time.to_ne_bytes());
        out
    }
}

/// Protocol violation of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CalendarFault {
    /// Unknown operation.
    Unknown(u32),
    /// Operation not allowed for a kernel, or not in this state.
    Misplaced(Op),
    /// Acknowledgement without a request.
    Unasked(u32),
    /// Time went backwards: from, to.
    Back(u64, u64),
    /// Time ran past the limit: to, limit.
    Past(u64, u64),
}

impl fmt::Display for CalendarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalendarFault::Unknown(op) => write!(f, "message {op} of the calendar does not exist"),
            CalendarFault::Misplaced(op) => write!(f, "message {op:?} of the calendar came out of turn"),
            CalendarFault::Unasked(seq) => {
                write!(f, "it answers message {seq} of the calendar, which was not sent")
            }
            CalendarFault::Back(from, to) => write!(f, "its time went back from {from} ns to {to} ns"),
            CalendarFault::Past(to, limit) => {
                write!(f, "it ran on to {to} ns, beyond the {limit} ns it was allowed")
            }
        }
    }
}

/// State of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Not started.
    Silent,
    /// Running.
    Running,
    /// Waiting until the calendar lets it run.
    Waiting,
}

/// Calendar of one kernel.
#[derive(Clone, Debug)]
pub struct Calendar {
    phase: Phase,
    /// Current time of the kernel, ns, as far as it is known.
    now: u64,
    /// Time up to which the kernel may advance without a request, ns; it may already have done so.
    limit: u64,
    /// Next wake-up that the kernel requested, ns.
    request: u64,
    /// Last sequence number sent.
    seq: u32,
    /// Sequence numbers of unacknowledged messages, oldest first: at most a FREE_UNTIL and a RUN.
    open: Vec<u32>,
    /// Time of day at time 0, ns since 1970.
    epoch: u64,
}

impl Calendar {
    /// Calendar of a kernel that starts at time 0, at `epoch` nanoseconds after 1970.
    pub fn new(epoch: u64) -> Calendar {
        Calendar { phase: Phase::Silent, now: 0, limit: 0, request: NEVER, seq: 0, open: Vec::new(), epoch }
    }

    /// Current time of the kernel, ns, as far as it is known.
    pub fn now(&self) -> u64 {
        self.now
    }
    /// Time to which the kernel may have advanced, ns.
    pub fn reach(&self) -> u64 {
        self.limit
    }
    /// Next wake-up that the kernel requested, ns.
    pub fn request(&self) -> u64 {
        self.request
    }
    /// Whether the kernel waits and all messages are acknowledged.
    pub fn waits(&self) -> bool {
        self.phase == Phase::Waiting && self.open.is_empty()
    }
    /// Whether all messages are acknowledged.
    pub fn settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Advances a waiting kernel to `t`, before an external event is delivered to it.
    pub fn advance(&mut self, t: u64) {
        self.now = self.now.max(t);
        self.limit = self.limit.max(self.now);
    }

    /// Lets the kernel run at `t`, and up to just before `free` without asking, if that is later. Returns the
    /// messages to send, in order.
    pub fn run(&mut self, t: u64, free: u64) -> Vec<Message> {
        self.phase = Phase::Running;
        self.advance(t);
        self.request = NEVER;
        let mut out = Vec::with_capacity(2);
        if free > self.now {
            out.push(self.free_until(free));
        }
        out.push(self.send(Op::Run, self.now));
        out
    }

    /// Whether a running kernel may advance beyond `t`.
    pub fn shortens(&self, t: u64) -> bool {
        t < self.limit
    }

    /// Sets the time up to which a running kernel may advance without asking.
    pub fn free_until(&mut self, t: u64) -> Message {
        self.limit = t.max(self.now);
        self.send(Op::FreeUntil, self.limit)
    }

    fn send(&mut self, op: Op, time: u64) -> Message {
        // Kernels count sequence numbers up from 1; the calendar sets the highest bit.
        self.seq = self.seq.wrapping_add(1) | 0x8000_0000;
        self.open.push(self.seq);
        Message { op: op as u32, seq: self.seq, time }
    }

    /// Processes a message of the kernel; returns the acknowledgement to send, `None` if the message is one itself.
    ///
    /// # Errors
    /// The message is not valid in this state.
    pub fn receive(&mut self, message: Message) -> Result<Option<Message>, CalendarFault> {
        let op = Op::of(message.op).ok_or(CalendarFault::Unknown(message.op))?;
        if (self.phase == Phase::Silent) != (op == Op::Start) {
            return Err(CalendarFault::Misplaced(op));
        }
        let mut time = 0;
        match op {
            Op::Ack => {
                let at = self.open.iter().position(|seq| *seq == message.seq);
                self.open.remove(at.ok_or(CalendarFault::Unasked(message.seq))?);
                return Ok(None);
            }
            Op::Start => self.phase = Phase::Running,
            Op::Request => self.request = message.time.min(NEVER),
            Op::Wait if self.phase == Phase::Running => self.phase = Phase::Waiting,
            Op::Get => time = self.now,
            Op::Update => {
                if message.time < self.now {
                    return Err(CalendarFault::Back(self.now, message.time));
                }
                if message.time > self.limit {
                    return Err(CalendarFault::Past(message.time, self.limit));
                }
                self.now = message.time;
            }
            Op::GetTimeOfDay => time = self.epoch,
            Op::Broadcast => {}
            Op::Wait | Op::Run | Op::FreeUntil => return Err(CalendarFault::Misplaced(op)),
        }
        Ok(Some(Message { op: Op::Ack as u32, seq: message.seq, time }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn say(op: Op, seq: u32, time: u64) -> Message {
        Message { op: op as u32, seq, time }
    }

    #[test]
    fn a_kernel_boots_asks_and_runs() {
        let mut c = Calendar::new(77);
        let ack = |seq, time| Ok(Some(say(Op::Ack, seq, time)));
        assert_eq!(c.receive(say(Op::Start, 1, 5)), ack(1, 0));
        assert_eq!(c.receive(say(Op::GetTimeOfDay, 2, 0)), ack(2, 77));
        assert_eq!(c.receive(say(Op::Request, 3, 400)), ack(3, 0));
        assert_eq!(c.receive(say(Op::Request, 4, 300)), ack(4, 0));
        assert!(!c.waits());
        assert_eq!(c.receive(say(Op::Wait, 5, 0)), ack(5, 0));
        assert!(c.waits());
        assert_eq!(c.request(), 300);
        let sent = c.run(300, 350);
        assert_eq!(
            sent.iter().map(|m| (m.op, m.time)).collect::<Vec<_>>(),
            [(Op::FreeUntil as u32, 350), (Op::Run as u32, 300)]
        );
        assert_eq!(c.receive(say(Op::Ack, sent[0].seq, 0)), Ok(None));
        assert_eq!(c.receive(say(Op::Ack, sent[1].seq, 0)), Ok(None));
        assert_eq!(c.receive(say(Op::Get, 6, 0)), ack(6, 300));
        assert_eq!(c.receive(say(Op::Update, 7, 340)), ack(7, 0));
        assert_eq!(c.now(), 340);
    }

    #[test]
    fn what_no_kernel_may_say_is_a_fault() {
        let mut c = Calendar::new(0);
        assert_eq!(c.receive(say(Op::Wait, 1, 0)), Err(CalendarFault::Misplaced(Op::Wait)));
        c.receive(say(Op::Start, 1, 0)).unwrap();
        assert_eq!(c.receive(say(Op::Start, 2, 0)), Err(CalendarFault::Misplaced(Op::Start)));
        assert_eq!(c.receive(say(Op::Run, 2, 0)), Err(CalendarFault::Misplaced(Op::Run)));
        assert_eq!(c.receive(say(Op::Ack, 2, 0)), Err(CalendarFault::Unasked(2)));
        assert_eq!(c.receive(say(Op::Update, 2, 1)), Err(CalendarFault::Past(1, 0)));
        c.receive(say(Op::Wait, 3, 0)).unwrap();
        assert_eq!(c.receive(say(Op::Wait, 4, 0)), Err(CalendarFault::Misplaced(Op::Wait)));
        c.run(50, 0);
        assert_eq!(c.receive(say(Op::Update, 5, 49)), Err(CalendarFault::Back(50, 49)));
        assert_eq!(c.receive(Message { op: 99, seq: 0, time: 0 }), Err(CalendarFault::Unknown(99)));
    }

    proptest! {
        #[test]
        fn bytes_are_read_as_they_were_written(op in any::<u32>(), seq in any::<u32>(), time in any::<u64>()) {
            let m = Message { op, seq, time };
            prop_assert_eq!(Message::read(m.bytes()), m);
        }

        /// For any messages of a kernel, time never goes backwards or past the limit.
        #[test]
        fn no_dialogue_moves_time_where_it_may_not(
            said in proptest::collection::vec((0u32..11, 0u32..6, 0u64..200, any::<bool>()), 0..60)
        ) {
            let mut c = Calendar::new(0);
            for (op, seq, time, ours) in said {
                let before = c.now();
                if ours && c.waits() {
                    let at = c.request().clamp(before, before + 50);
                    for m in c.run(at, at + 20) {
                        c.receive(say(Op::Ack, m.seq, 0)).unwrap();
                    }
                } else {
                    let limit = c.limit;
                    let _ = c.receive(Message { op, seq, time });
                    prop_assert!(c.now() <= limit);
                }
                prop_assert!(c.now() >= before);
            }
        }
    }
}
