//! Conversion of errors of a measurement into messages with remedies and exit codes.

use crate::console::exit::Failure;
use measure::Error;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Open(_) => {
                Failure::usage(message, "give the same token at both ends, with --token or --token-file")
            }
            Error::Listen { .. } => Failure::machine(
                message,
                "another server may listen there; choose another port: --bind ADDRESS:PORT",
            ),
            Error::Name { .. } => Failure::usage(message, "check its spelling, or give the address itself"),
            Error::Connect { source, .. } => Failure::machine(
                message,
                match source.kind() {
                    std::io::ErrorKind::ConnectionRefused => {
                        "start `williwaw measure server` there, and check address and port"
                    }
                    std::io::ErrorKind::TimedOut => "check the address and firewalls; --connect waits longer",
                    _ => "check the address and this machine's network",
                },
            ),
            Error::Fault { fault, .. } => Failure::machine(
                message,
                match fault {
                    measure::client_protocol::ClientFault::Refused {
                        why: measure::message::Refusal::Token,
                        ..
                    } => "give the server's token with --token or --token-file",
                    measure::client_protocol::ClientFault::Version(_)
                    | measure::client_protocol::ClientFault::Refused {
                        why: measure::message::Refusal::Version,
                        ..
                    } => "use the same version of williwaw at both ends",
                    measure::client_protocol::ClientFault::Refused { .. } => "",
                    _ => "check the port: another program listens there",
                },
            ),
            Error::Silent { .. } => {
                Failure::machine(message, "check the port: another program may listen there")
            }
            Error::Capture(_) => Failure::machine(
                message,
                "run as root or with that right, or leave --capture out and use a capture of your own",
            ),
            Error::Modem { source, .. } => Failure::machine(message, modem_remedy(&source)),
            Error::Gone(_) => {
                Failure::machine(message, "the measurements so far are kept; --give-up waits longer")
            }
            Error::Write { .. } => {
                Failure::machine(message, "choose a writable place with --out, or none with --no-out")
            }
            Error::Read { .. } => Failure::usage(message, "give a file that `measure client` wrote"),
            Error::Damaged { line: 1, path, .. } => Failure::usage(
                format!("`{}` is not a results file", path.display()),
                "give a file that `measure client` wrote (measure-N.jsonl)",
            ),
            Error::Damaged { .. } => Failure::usage(message, "another program changed the file"),
            _ => Failure::machine(message, ""),
        }
    }
}

/// Remedy where the control port of a modem cannot be opened.
fn modem_remedy(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match source.kind() {
        ErrorKind::NotFound => "see which devices there are: ls /dev/tty*",
        ErrorKind::PermissionDenied => "join the group of the device (often `dialout`), or start it as root",
        ErrorKind::ResourceBusy => {
            "another program uses it; end that first, or name another port of the modem"
        }
        ErrorKind::InvalidInput => "choose another --modem-speed, such as 115200, or leave it out",
        ErrorKind::Unsupported => "leave --modem out on this system",
        _ => "name the serial device of the modem's control port",
    }
}
