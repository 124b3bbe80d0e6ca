//! Messages of the vhost-user protocol (virtio device to kernel driver): requests, parser, replies,
//! interrupts.
//!
//! A little-endian header of request, flags and size precedes the payload; file descriptors are attached.
//! [`crate::nic`] interprets the messages.

use std::fmt;

/// Header length, bytes.
pub const HEADER: usize = 12;
/// Longest payload of the supported requests, bytes.
pub const LONGEST: usize = 1024;
/// Protocol version, in the lowest bits of the flags.
const VERSION: u32 = 1;
/// Flag: the message is a reply.
const REPLY: u32 = 4;
/// Flag: the sender requires a reply.
const NEED_REPLY: u32 = 8;

macro_rules! requests {
    ($($(#[$doc:meta])* $Name:ident = $number:literal),+ $(,)?) => {
        /// Requests of the kernel's driver.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Request {
            $($(#[$doc])* $Name = $number),+
        }
        impl Request {
            /// Request with this number, if supported.
            pub fn of(number: u32) -> Option<Request> {
                [$(Request::$Name),+].into_iter().find(|r| *r as u32 == number)
            }
        }
    };
}

requests! {
    /// Requests the features of the device.
    GetFeatures = 1,
    /// Sets the features in use.
    SetFeatures = 2,
    /// Claims the device.
    SetOwner = 3,
    /// Sets the memory regions, one attached file each.
    SetMemTable = 5,
    /// Sets the size of a queue.
    SetVringNum = 8,
    /// Sets the addresses of a queue.
    SetVringAddr = 9,
    /// Sets the start index of a queue.
    SetVringBase = 10,
    /// Requests the current index of a queue.
    GetVringBase = 11,
    /// Requests the protocol features.
    GetProtocolFeatures = 15,
    /// Sets the protocol features in use.
    SetProtocolFeatures = 16,
    /// Enables or disables a queue.
    SetVringEnable = 18,
    /// Sets the backend channel, an attached socket.
    SetBackendChannel = 21,
    /// Requests the device configuration.
    GetConfig = 24,
    /// Notifies the device of new buffers in a queue.
    VringKick = 35,
}

/// Request on the backend channel: buffers of a queue were returned.
pub const VRING_CALL: u32 = 4;

/// An invalid message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VhostFault {
    /// Another protocol version, or unknown flags.
    Flags(u32),
    /// Payload longer than [`LONGEST`].
    Long(u32),
    /// Payload too short for its request.
    Short(u32),
    /// Unsupported request.
    Unknown(u32),
}

impl fmt::Display for VhostFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VhostFault::Flags(flags) => write!(f, "a message to its device has the flags {flags:#x}"),
            VhostFault::Long(n) => write!(f, "a message to its device claims {n} bytes"),
            VhostFault::Short(request) => write!(f, "request {request} to its device is too short"),
            VhostFault::Unknown(request) => write!(f, "request {request} to its device does not exist"),
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Request number.
    pub request: u32,
    /// Whether the sender requires a reply.
    pub wants_reply: bool,
    /// Whether the message is a reply.
    pub is_reply: bool,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Message {
    /// Takes a message off the front of the input; `None` if the message is incomplete.
    ///
    /// # Errors
    /// The input is no valid message.
    pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Message>, VhostFault> {
        let Some(&[r0, r1, r2, r3, f0, f1, f2, f3, s0, s1, s2, s3]) = bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let request = u32::from_le_bytes([r0, r1, r2, r3]);
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        if flags & !(REPLY | NEED_REPLY) != VERSION {
            return Err(VhostFault::Flags(flags));
        }
        if size as usize > LONGEST {
            return Err(VhostFault::Long(size));
        }
        let message_size = HEADER + size as usize;
        if bytes.len() < message_size {
            return Ok(None);
        }
        let payload = bytes.drain(..message_size).skip(HEADER).collect();
        let (wants_reply, is_reply) = (flags & NEED_REPLY != 0, flags & REPLY != 0);
        Ok(Some(Message { request, wants_reply, is_reply, payload }))
    }

    /// Serialises a reply to this message.
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        write(self.request, VERSION | REPLY, payload)
    }

    /// 32-bit value of the payload at an offset.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn u32_at(&self, at: usize) -> Result<u32, VhostFault> {
        Ok(u32::from_le_bytes(self.part(at)?))
    }
    /// 64-bit value of the payload at an offset.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn u64_at(&self, at: usize) -> Result<u64, VhostFault> {
        Ok(u64::from_le_bytes(self.part(at)?))
    }
    fn part<const N: usize>(&self, at: usize) -> Result<[u8; N], VhostFault> {
        let part = self.payload.get(at..).and_then(|rest| rest.first_chunk::<N>());
        part.copied().ok_or(VhostFault::Short(self.request))
    }
}

/// Serialises the interrupt of a queue, with a reply required.
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
        let message_size = call(1);
        let mut bytes = message_size[..7].to_vec();
        assert_eq!(Message::take(&mut bytes), Ok(None));
        bytes.extend(&message_size[7..15]);
        assert_eq!(Message::take(&mut bytes), Ok(None));
        bytes.extend(&message_size[15..]);
        bytes.push(9);
        let m = Message::take(&mut bytes).unwrap().unwrap();
        assert_eq!((m.request, m.wants_reply, m.u32_at(0)), (VRING_CALL, true, Ok(1)));
        assert_eq!(m.u64_at(1), Err(VhostFault::Short(VRING_CALL)));
        assert_eq!(bytes, [9]);
        assert_eq!(m.reply(&[5; 8])[..12], [4, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0]);
    }

    #[test]
    fn a_claim_to_be_endless_is_refused() {
        let mut bytes = write(1, VERSION, &[]);
        bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Message::take(&mut bytes), Err(VhostFault::Long(u32::MAX)));
        assert_eq!(Message::take(&mut write(1, 2, &[])), Err(VhostFault::Flags(2)));
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
