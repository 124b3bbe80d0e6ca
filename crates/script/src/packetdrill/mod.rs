//! packetdrill scripts: the common subset.
//!
//! The common subset: the handshake, TCP segments in and out with their usual options, the calls that open, write,
//! read and close, and simple assertions about what `tcp_info` shows. What is beyond it makes a script unsupported,
//! with the line named.
//!
//! Three differences to the tool of that name. Our segments do not carry the options of a handshake: what
//! the script's SYNs agree on (segment size, SACK, timestamps, window scale) is set before it begins. A
//! segment of the script longer than one of ours stands for several in a row. And a comment
//! `// williwaw: KEY = VALUE` sets an option of [the TCP](../../../docs/options.md), `profile` among them;
//! without one it is today's RFCs.

mod assert;
mod command;
mod lex;
mod parse;
mod play;

pub use parse::{Action, Line, Packet, Script, Syscall, TcpOption, When};
pub use play::play;
