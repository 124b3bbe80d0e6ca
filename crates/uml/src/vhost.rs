//! vhost-user protocol messages.
//!
//! The vhost-user protocol: a header of request, flags and size, then a payload, little-endian; descriptors of files
//! travel beside it. Here messages are read from bytes and written to them; what they mean is the business of the
//! device ([`crate::nic`]).

use std::fmt;

/// Bytes of a header.
pub const HEADER: usize = 12;
/// No payload of the requests that this device takes is longer.
pub const LONGEST: usize = 1024;
/// The version of the protocol, in the lowest bits of the flags.
const VERSION: u32 = 1;
/// Flags: an answer; an answer is wanted.
const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;

macro_rules! requests {
    ($($(#[$doc:meta])* $Name:ident = $number:literal),+ $(,)?) => {
        /// What a kernel asks of its device.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Request {
            $($(#[$doc])* $Name = $number),+
        }
        impl Request {
            /// By its number, if it is one of those that a device without extras knows.
            pub fn of(number: u32) -> Option<Request> {
                [$(Request::$Name),+].into_iter().find(|r| *r as u32 == number)
            }
        }
    };
}

requests! {
    /// Which features of the device are there?
    GetFeatures = 1,
    /// These are used.
    SetFeatures = 2,
    /// It is mine.
    SetOwner = 3,
    /// This is my memory; a file comes along for each part.
    SetMemTable = 5,
    /// So many entries has a queue.
    SetVringNum = 8,
    /// There are its parts.
    SetVringAddr = 9,
    /// There it begins.
    SetVringBase = 10,
    /// Where has it got to?
    GetVringBase = 11,
    /// Which features of this protocol are there?
    GetProtocolFeatures = 15,
    /// These are used.
    SetProtocolFeatures = 16,
    /// A queue is in use, or no longer.
    SetVringEnable = 18,
    /// A channel to tell the kernel something; a socket comes along.
    SetBackendChannel = 21,
    /// What is the device's configuration?
    GetConfig = 24,
    /// There is something in a queue.
    VringKick = 35,
}

/// The request on the channel back: something was given back in a queue.
pub const VRING_CALL: u32 = 4;

/// A message that is no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Another version of the protocol, or strange flags.
    Flags(u32),
    /// A payload longer than any.
    Long(u32),
    /// A payload too short for its request.
    Short(u32),
    /// This device knows no such request.
    Unknown(u32),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Flags(flags) => write!(f, "a message to its device has the flags {flags:#x}"),
            Fault::Long(n) => write!(f, "a message to its device claims {n} bytes"),
            Fault::Short(request) => write!(f, "request {request} to its device is too short"),
            Fault::Unknown(request) => write!(f, "request {request} to its device does not exist"),
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub request: u32,
    /// The other side waits for an answer.
    pub wants_reply: bool,
    /// It is an answer.
    pub is_reply: bool,
    /// Its contents.
    pub payload: Vec<u8>,
}

impl Message {
    /// Takes a message off the front of what was read; none if it is not whole yet.
    ///
    /// # Errors
    /// What stands there is none.
    pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Message>, Fault> {
        let Some(&[r0, r1, r2, r3, f0, f1, f2, f3, s0, s1, s2, s3]) = bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let request = u32::from_le_bytes([r0, r1, r2, r3]);
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        if flags & !(REPLY | NEED_REPLY) != VERSION {
            return Err(Fault::Flags(flags));
        }
        if size as usize > LONGEST {
            return Err(Fault::Long(size));
        }
        let whole = HEADER + size as usize;
        if bytes.len() < whole {
            return Ok(None);
        }
        let payload = bytes.drain(..whole).skip(HEADER).collect();
        let (wants_reply, is_reply) = (flags & NEED_REPLY != 0, flags & REPLY != 0);
        Ok(Some(Message { request, wants_reply, is_reply, payload }))
    }

    /// The bytes of an answer to this message.
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        write(self.request, VERSION | REPLY, payload)
    }

    /// A word of 32 bits of the payload.
    ///
    /// # Errors
    /// It ends before.
    pub fn u32_at(&self, at: usize) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.part(at)?))
    }
    /// A word of 64 bits.
    ///
    /// # Errors
    /// It ends before.
    pub fn u64_at(&self, at: usize) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.part(at)?))
    }
    fn part<const N: usize>(&self, at: usize) -> Result<[u8; N], Fault> {
        let part = self.payload.get(at..).and_then(|rest| rest.first_chunk::<N>());
        part.copied().ok_or(Fault::Short(self.request))
    }
}

/// The bytes that tell a kernel, and want an answer, that something was given back in a queue.
pub fn call(queue: u32) -> Vec<u8> {
    let mut payload = queue.to_le_bytes().to_vec();
    payload.extend([0; 4]);
    write(VRING_CALL, VERSION | NEED_REPLY, &payload)
}

fn write(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + payload.len());
    for word in [request, flags, payload.len() as u32] {
        out.extend(word.to_le_bytes());
    }
    out.extend(payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_comes_in_pieces() {
        let whole = call(1);
        let mut bytes = whole[..7].to_vec();
        assert_eq!(Message::take(&mut bytes), Ok(None));
        bytes.extend(&whole[7..15]);
        assert_eq!(Message::take(&mut bytes), Ok(None));
        bytes.extend(&whole[15..]);
        bytes.push(9);
        let m = Message::take(&mut bytes).unwrap().unwrap();
        assert_eq!((m.request, m.wants_reply, m.u32_at(0)), (VRING_CALL, true, Ok(1)));
        assert_eq!(m.u64_at(1), Err(Fault::Short(VRING_CALL)));
        assert_eq!(bytes, [9]);
        assert_eq!(m.reply(&[5; 8])[..12], [4, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0]);
    }

    #[test]
    fn a_claim_to_be_endless_is_refused() {
        let mut bytes = write(1, VERSION, &[]);
        bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Message::take(&mut bytes), Err(Fault::Long(u32::MAX)));
        assert_eq!(Message::take(&mut write(1, 2, &[])), Err(Fault::Flags(2)));
    }

    proptest! {
        #[test]
        fn any_bytes_will_do(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            while let Ok(Some(m)) = Message::take(&mut bytes) {
                prop_assert!(m.payload.len() <= LONGEST);
            }
        }
    }
}
