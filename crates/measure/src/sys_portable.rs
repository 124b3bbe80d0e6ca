//! Socket functions of a measurement on systems other than Linux: connections work; `TCP_INFO` and Linux socket
//! options are unsupported.

use crate::Socket;
use netns::facts::TcpInfo;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this needs Linux")
}

pub(crate) fn tcp_info<T>(_of: &T) -> io::Result<TcpInfo> {
    Err(unknown())
}

pub(crate) fn offer<T>(_of: &T, _window: u32) -> io::Result<()> {
    Err(unknown())
}

pub(crate) fn keep_short<T>(_of: &T, _bytes: u32) -> io::Result<()> {
    Err(unknown())
}

pub(crate) fn connect(to: SocketAddr, socket: &Socket, patience: Duration) -> io::Result<TcpStream> {
    if *socket != Socket::default() {
        return Err(unknown());
    }
    TcpStream::connect_timeout(&to, patience)
}
