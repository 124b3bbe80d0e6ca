//! packetdrill scripts: the common subset.
//!
//! The common subset: handshake, TCP segments in and out with their usual options, the calls that open, write, read
//! and close, and simple assertions about `tcp_info`. Any other feature makes a script unsupported; the result names
//! the line.
//!
//! Three differences to the tool of that name. Our segments do not carry the options of a handshake: the options
//! agreed on by the script's SYNs (segment size, SACK, timestamps, window scale) are set before it begins. A segment
//! of the script longer than one of ours stands for several in a row. And a comment `// williwaw: KEY = VALUE` sets an
//! option of [the TCP](../../../docs/options.md), `profile` among them; the default is today's RFCs.

mod assert;
mod command;
mod lex;
mod parse;
mod play;

pub use parse::{Action, Line, Packet, Script, Syscall, TcpOption, When};
pub use play::play;
