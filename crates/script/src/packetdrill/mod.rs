//! packetdrill scripts of TCP, common subset: parser and player for handshake, segments, system calls and
//! assertions on `tcp_info`.
//!
//! Any other feature makes a script unsupported; the result names the line.
//!
//! There are three differences to packetdrill. Segments of the model do not carry handshake options: the
//! options that the script's SYNs agree on (segment size, SACK, timestamps, window scale) are set before the
//! script starts. A segment of the script longer than the model's MSS stands for several consecutive
//! segments. A comment `// williwaw: KEY = VALUE` sets an option of [the TCP](../../../docs/options.md),
//! `profile` among them; the default is that of the current RFCs.

mod assert;
mod command;
mod lex;
mod parse;
mod play;

pub use parse::{Action, Line, Packet, Script, Syscall, TcpOption, When};
pub use play::play;
