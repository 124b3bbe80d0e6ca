//! Packet captures: reader of pcap and pcapng files of any length, header decoder for all supported link types,
//! writer, printer, anonymisation, loss reasons.
//!
//! [`Reader`] streams the frames through one buffer; [`decode`] parses the headers of a frame.
//!
//! Input is not trusted. Damaged, truncated or unknown parts become a [`Notice`], and reading continues as
//! far as possible. No file causes a panic, an endless loop or unbounded memory use.

pub mod anonymise;
mod buffer;
mod link;
pub mod losses;
mod notice;
mod packet;
mod pcap;
mod pcapng;
pub mod print;
mod reader;
mod tunnel;
mod unpack;
mod wrapped;
mod writer;

pub use base::wire::segment;
pub use link::{Link, Place};
pub use notice::{Notice, NoticeKind, Notices};
pub use packet::{Packet, Transport, Unread, decode};
pub use pcapng::Comments;
pub use reader::{Error, Format, Frame, Interface, Reader};
pub use unpack::Unpacked;
pub use writer::{OutgoingFrame, PcapWriter, PcapngWriter, Prepared, Tap};
