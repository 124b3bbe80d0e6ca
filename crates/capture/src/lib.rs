//! Captures in and out. [`Reader`] streams the frames of a pcap or pcapng file of any length through one buffer;
//! [`decode`] says what the headers of a frame say, whatever the link below was.
//!
//! Nothing here trusts what it reads. What is damaged, cut off or unknown becomes a [`Notice`], and reading goes on as
//! far as it is sound; no file makes it panic, hang, or take memory without bound.

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
pub use writer::{PcapWriter, PcapngWriter, Shot, Tap};
