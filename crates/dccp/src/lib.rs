//! TCP-Friendly Rate Control (RFC 5348) and the Datagram Congestion Control Protocol (RFC 4340, 4341, 4342).

pub mod tfrc;
