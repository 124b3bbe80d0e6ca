//! Time-travel protocol of User-Mode Linux: time requests and grants.
//!
//! A kernel under User-Mode Linux with `time-travel=ext` owns no clock: it asks a calendar for the time, says when it
//! next wants to run, and stops until it is told to. This is the calendar's side of that dialogue for one kernel
//! (`include/uapi/linux/um_timetravel.h`), as data in and data out; whoever owns the socket moves the bytes.

use std::fmt;

/// Bytes of a message.
pub const SIZE: usize = 16;
/// The time of a request that is never due: the largest signed number.
pub const NEVER: u64 = i64::MAX as u64;

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Op {
    /// An answer, with the number of what it answers.
    Ack = 0,
    /// A kernel is there.
    Start = 1,
    /// It wants to run at this time; the latest request counts.
    Request = 2,
    /// It has stopped until it is told to run.
    Wait = 3,
    /// It asks for the time.
    Get = 4,
    /// It has moved on to this time by itself.
    Update = 5,
    /// It may run: it is this time now.
    Run = 6,
    /// It need not ask before this time.
    FreeUntil = 7,
    /// It asks for the time of day at the calendar's origin.
    GetTimeOfDay = 8,
    /// A note to everybody.
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

/// A message, either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The number of its [`Op`].
    pub op: u32,
    /// Its own number, or that of what it answers.
    pub seq: u32,
    /// Nanoseconds of the calendar.
    pub time: u64,
}

impl Message {
    /// Reads it.
    pub fn read(bytes: [u8; SIZE]) -> Message {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        Message {
            op: u32::from_ne_bytes([a, b, c, d]),
            seq: u32::from_ne_bytes([e, f, g, h]),
            time: u64::from_ne_bytes(time),
        }
    }
    /// Its bytes, in the order of this machine: both ends are on it.
    pub fn bytes(self) -> [u8; SIZE] {
        let mut out = [0; SIZE];
        out[..4].copy_from_slice(&self.op.to_ne_bytes());
        out[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        out[8..].copy_from_slice(&self.time.to_ne_bytes());
        out
    }
}

/// What a kernel said that no kernel may say there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// No such message.
    Unknown(u32),
    /// Not its to say, or not now.
    Misplaced(Op),
    /// An answer to something that was not asked.
    Unasked(u32),
    /// Time went back: from, to.
    Back(u64, u64),
    /// It ran past what it was allowed: to, limit.
    Past(u64, u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unknown(op) => write!(f, "message {op} of the calendar does not exist"),
            Fault::Misplaced(op) => write!(f, "message {op:?} of the calendar came out of turn"),
            Fault::Unasked(seq) => write!(f, "it answers message {seq} of the calendar, which was not sent"),
            Fault::Back(from, to) => write!(f, "its time went back from {from} ns to {to} ns"),
            Fault::Past(to, limit) => write!(f, "it ran on to {to} ns, beyond the {limit} ns it was allowed"),
        }
    }
}

/// What a kernel is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// It has not said that it is there.
    Silent,
    /// It runs.
    Running,
    /// It waits for its turn.
    Waiting,
}

/// The calendar of one kernel.
#[derive(Clone, Debug)]
pub struct Calendar {
    phase: Phase,
    now: u64,
    /// It may be told a time up to here; where it has run free, it may also have moved on to it.
    limit: u64,
    request: u64,
    seq: u32,
    /// What was sent and not answered yet, oldest first: at most a FREE_UNTIL and a RUN.
    open: Vec<u32>,
    epoch: u64,
}

impl Calendar {
    /// For a kernel that starts at time 0, when a clock on the wall shows `epoch`, in nanoseconds since 1970.
    pub fn new(epoch: u64) -> Calendar {
        Calendar { phase: Phase::Silent, now: 0, limit: 0, request: NEVER, seq: 0, open: Vec::new(), epoch }
    }

    /// The time it has.
    pub fn now(&self) -> u64 {
        self.now
    }
    /// The time up to which it may have moved on by itself.
    pub fn reach(&self) -> u64 {
        self.limit
    }
    /// When it wants to run next.
    pub fn request(&self) -> u64 {
        self.request
    }
    /// It has stopped, and everything that was sent is answered.
    pub fn waits(&self) -> bool {
        self.phase == Phase::Waiting && self.open.is_empty()
    }
    /// Everything that was sent is answered.
    pub fn settled(&self) -> bool {
        self.open.is_empty()
    }

    /// It is `t` now for a kernel that waits: something is about to reach it from outside.
    pub fn advance(&mut self, t: u64) {
        self.now = self.now.max(t);
        self.limit = self.limit.max(self.now);
    }

    /// Lets it run at `t`, and on to just before `free` without asking, if that is later. What is to be sent, in
    /// order.
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

    /// Whether a running kernel goes on beyond `t` unless it is told not to.
    pub fn shortens(&self, t: u64) -> bool {
        t < self.limit
    }

    /// Sets how far a running kernel may go without asking.
    pub fn free_until(&mut self, t: u64) -> Message {
        self.limit = t.max(self.now);
        self.send(Op::FreeUntil, self.limit)
    }

    fn send(&mut self, op: Op, time: u64) -> Message {
        // Numbers of ours differ from those of kernels, which count up from 1.
        self.seq = self.seq.wrapping_add(1) | 0x8000_0000;
        self.open.push(self.seq);
        Message { op: op as u32, seq: self.seq, time }
    }

    /// Takes a message of the kernel; the answer, if one is due.
    ///
    /// # Errors
    /// It is none that a kernel may send now.
    pub fn receive(&mut self, message: Message) -> Result<Option<Message>, Fault> {
        let op = Op::of(message.op).ok_or(Fault::Unknown(message.op))?;
        if (self.phase == Phase::Silent) != (op == Op::Start) {
            return Err(Fault::Misplaced(op));
        }
        let mut time = 0;
        match op {
            Op::Ack => {
                let at = self.open.iter().position(|seq| *seq == message.seq);
                self.open.remove(at.ok_or(Fault::Unasked(message.seq))?);
                return Ok(None);
            }
            Op::Start => self.phase = Phase::Running,
            Op::Request => self.request = message.time.min(NEVER),
            Op::Wait if self.phase == Phase::Running => self.phase = Phase::Waiting,
            Op::Get => time = self.now,
            Op::Update => {
                if message.time < self.now {
                    return Err(Fault::Back(self.now, message.time));
                }
                if message.time > self.limit {
                    return Err(Fault::Past(message.time, self.limit));
                }
                self.now = message.time;
            }
            Op::GetTimeOfDay => time = self.epoch,
            Op::Broadcast => {}
            Op::Wait | Op::Run | Op::FreeUntil => return Err(Fault::Misplaced(op)),
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
        assert_eq!(c.receive(say(Op::Wait, 1, 0)), Err(Fault::Misplaced(Op::Wait)));
        c.receive(say(Op::Start, 1, 0)).unwrap();
        assert_eq!(c.receive(say(Op::Start, 2, 0)), Err(Fault::Misplaced(Op::Start)));
        assert_eq!(c.receive(say(Op::Run, 2, 0)), Err(Fault::Misplaced(Op::Run)));
        assert_eq!(c.receive(say(Op::Ack, 2, 0)), Err(Fault::Unasked(2)));
        assert_eq!(c.receive(say(Op::Update, 2, 1)), Err(Fault::Past(1, 0)));
        c.receive(say(Op::Wait, 3, 0)).unwrap();
        assert_eq!(c.receive(say(Op::Wait, 4, 0)), Err(Fault::Misplaced(Op::Wait)));
        c.run(50, 0);
        assert_eq!(c.receive(say(Op::Update, 5, 49)), Err(Fault::Back(50, 49)));
        assert_eq!(c.receive(Message { op: 99, seq: 0, time: 0 }), Err(Fault::Unknown(99)));
    }

    proptest! {
        #[test]
        fn bytes_are_read_as_they_were_written(op in any::<u32>(), seq in any::<u32>(), time in any::<u64>()) {
            let m = Message { op, seq, time };
            prop_assert_eq!(Message::read(m.bytes()), m);
        }

        /// Whatever a kernel says: time never goes back, and never beyond what was allowed.
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
