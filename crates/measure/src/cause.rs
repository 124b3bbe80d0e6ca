//! Causes of disconnections (`Cause`), inferred from socket errors, silence, this machine's routes and links, and the radio
//! equipment's report; evidence of a lost connection.
//!
//! The measurements of 2001 distinguish handover failure, air interface and remote equipment (feature WL-14). Routes and
//! links show a change of interface, as in a vertical handover. Within one interface a failed handover and a bad air
//! interface are both silence. The modem tells them apart: its result codes are read ([`crate::modem`]), or a command of
//! the user queries it (cause of the last release, `AT+CEER` of 3GPP TS 27.007).

use base::{Span, Time};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Cause of a disconnection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Unknown.
    #[default]
    Unknown,
    /// No packets came back: air interface, handover, or a network behind.
    Path,
    /// This machine has no route to the server, or its link was down.
    LocalLink,
    /// The route to the server moved to another interface.
    InterfaceChange,
    /// The address of this machine changed.
    AddressChange,
    /// The peer, or equipment on its behalf, closed or refused the connection.
    RemoteEquipment,
    /// Reported by the equipment: at a change of cell.
    Handover,
    /// Reported by the equipment: the radio link failed.
    AirInterface,
    /// Reported by the equipment: an element of the network restarted, or the network ended or refused the session.
    NetworkSoftware,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 9] = [
        Cause::Unknown,
        Cause::Path,
        Cause::LocalLink,
        Cause::InterfaceChange,
        Cause::AddressChange,
        Cause::RemoteEquipment,
        Cause::Handover,
        Cause::AirInterface,
        Cause::NetworkSoftware,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Unknown => "unknown",
            Cause::Path => "path",
            Cause::LocalLink => "local-link",
            Cause::InterfaceChange => "interface-change",
            Cause::AddressChange => "address-change",
            Cause::RemoteEquipment => "remote-equipment",
            Cause::Handover => "handover",
            Cause::AirInterface => "air-interface",
            Cause::NetworkSoftware => "network-software",
        }
    }

    /// Description in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::Unknown => "cause unknown",
            Cause::Path => "no response: air interface, change of cell or network",
            Cause::LocalLink => "this machine's link is down",
            Cause::InterfaceChange => "the route moved to another interface",
            Cause::AddressChange => "this machine's address changed",
            Cause::RemoteEquipment => "by the other end",
            Cause::Handover => "at a change of cell",
            Cause::AirInterface => "the radio link failed",
            Cause::NetworkSoftware => "an element of the network restarted or ended the session",
        }
    }

    /// Cause indicated by a socket error.
    pub(crate) fn of(error: &io::Error) -> Cause {
        use io::ErrorKind as K;
        match error.kind() {
            K::ConnectionReset | K::ConnectionRefused | K::BrokenPipe | K::UnexpectedEof => {
                Cause::RemoteEquipment
            }
            K::NetworkDown | K::NetworkUnreachable | K::AddrNotAvailable => Cause::LocalLink,
            // Host unreachable is reported by a router, or by neighbours that do not answer.
            K::TimedOut | K::HostUnreachable => Cause::Path,
            _ => Cause::Unknown,
        }
    }

    /// Cause named in the first word of a command's output, if it is a known name.
    fn named(said: &str) -> Option<Cause> {
        let word = said.split_whitespace().next()?.to_lowercase();
        Cause::ALL.into_iter().find(|cause| cause.name() == word)
    }
}

/// Lost connection with cause and evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loss {
    /// Kind: `lost`, `refused` or `stalled`.
    pub(crate) kind: &'static str,
    pub(crate) cause: Cause,
    /// Error text of the operating system.
    pub(crate) evidence: String,
    /// Output of the command that queried the equipment.
    pub(crate) account: Option<String>,
    /// Time of the last byte, or of the attempt to connect; `None`: unknown.
    pub(crate) last: Option<Time>,
}

impl Loss {
    pub(crate) fn of(kind: &'static str, error: &io::Error) -> Loss {
        Loss { kind, cause: Cause::of(error), evidence: error.to_string(), account: None, last: None }
    }

    /// Adds the time of the last byte, or of the attempt to connect.
    pub(crate) fn after(self, last: Time) -> Loss {
        Loss { last: Some(last), ..self }
    }

    /// Loss because the server closed the connection before the job was done.
    pub(crate) fn closed() -> Loss {
        let evidence = "the server closed the connection".to_owned();
        Loss { kind: "lost", cause: Cause::RemoteEquipment, evidence, account: None, last: None }
    }

    /// The server does not support the request.
    pub(crate) fn refused(evidence: &str) -> Loss {
        let cause = Cause::RemoteEquipment;
        Loss { kind: "refused", cause, evidence: evidence.to_owned(), account: None, last: None }
    }

    /// Loss because no byte was transferred for `span`.
    pub(crate) fn stalled(span: Span) -> Loss {
        let evidence = format!("no byte for {} s", span.as_secs_f64());
        Loss { kind: "stalled", cause: Cause::Path, evidence, account: None, last: None }
    }

    /// Completes the cause: checks that this machine has a route to the server, and takes the equipment's report
    /// `said`.
    pub(crate) fn looked_into(mut self, server: SocketAddr, said: Option<String>) -> Loss {
        if matches!(self.cause, Cause::Path | Cause::Unknown)
            && let Err(error) = way_to(server)
        {
            self.cause = Cause::LocalLink;
            self.evidence = format!("{}; no way to the server: {error}", self.evidence);
        }
        if let Some(cause) = said.as_deref().and_then(Cause::named) {
            self.cause = cause;
        }
        self.account = said;
        self
    }
}

/// Cause and evidence with what the egress of this machine shows. What the equipment or the peer said stays.
pub(crate) fn beside_egress(
    (cause, evidence): (Cause, String),
    account: Option<&str>,
    shown: Option<(Cause, String)>,
) -> (Cause, String) {
    let decided = account.and_then(Cause::named).is_some();
    match shown {
        Some((found, more))
            if !decided && matches!(cause, Cause::Path | Cause::Unknown | Cause::LocalLink) =>
        {
            (found, format!("{evidence}; {more}"))
        }
        _ => (cause, evidence),
    }
}

/// Cause and evidence with what the modem shows. What the command of the user or the peer said stays, and so does another
/// interface.
pub(crate) fn beside_modem(
    (cause, evidence): (Cause, String),
    account: Option<&str>,
    shown: Option<(Cause, String)>,
) -> (Cause, String) {
    let Some((found, more)) = shown else { return (cause, evidence) };
    let open = matches!(cause, Cause::Path | Cause::Unknown | Cause::LocalLink | Cause::AddressChange);
    let decided = account.and_then(Cause::named).is_some() || !open;
    (if decided { cause } else { found }, format!("{evidence}; {more}"))
}

/// Checks that a route to an address exists; no datagram is sent.
fn way_to(server: SocketAddr) -> io::Result<()> {
    let any =
        if server.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    UdpSocket::bind(SocketAddr::new(any, 0))?.connect(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WL-14: silence, an error from the peer, and a missing route are three causes; the equipment's report has
    /// priority.
    #[test]
    fn wl_14_what_a_socket_says_of_the_cause() {
        let of = |number| Cause::of(&io::Error::from_raw_os_error(number));
        // ECONNRESET, ECONNREFUSED, EPIPE; ENETDOWN, ENETUNREACH, EADDRNOTAVAIL; ETIMEDOUT, EHOSTUNREACH; EINVAL.
        assert_eq!([104, 111, 32].map(of), [Cause::RemoteEquipment; 3]);
        assert_eq!([100, 101, 99].map(of), [Cause::LocalLink; 3]);
        assert_eq!([110, 113].map(of), [Cause::Path; 2]);
        assert_eq!(of(22), Cause::Unknown);
        let here: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let silent = Loss::stalled(Span::from_secs(2));
        assert_eq!(silent.clone().looked_into(here, None), silent, "there is a way over loopback");
        let told = silent.clone().looked_into(here, Some("handover\n".into()));
        assert_eq!((told.cause, told.account.as_deref()), (Cause::Handover, Some("handover\n")));
        let other = silent.looked_into(here, Some("+CEER: 31, normal".into()));
        assert_eq!(other.cause, Cause::Path, "what is no name of a cause is kept beside");
        Cause::ALL.into_iter().for_each(|c| assert_eq!(Cause::named(c.name()), Some(c)));
    }

    /// WL-14: a change of the interface explains silence, not a reset by the peer, and the equipment's report has priority.
    #[test]
    fn wl_14_a_change_of_the_egress_explains_silence_alone() {
        let with = |cause, account| {
            let shown = Some((Cause::InterfaceChange, "from a to b".to_owned()));
            beside_egress((cause, "silence".to_owned()), account, shown)
        };
        let moved = (Cause::InterfaceChange, "silence; from a to b".to_owned());
        for cause in [Cause::Path, Cause::Unknown, Cause::LocalLink] {
            assert_eq!(with(cause, None), moved);
            assert_eq!(with(cause, Some("+CEER: 31, normal")), moved);
        }
        assert_eq!(with(Cause::RemoteEquipment, None).0, Cause::RemoteEquipment);
        assert_eq!(with(Cause::Path, Some("path")).0, Cause::Path);
        let none = beside_egress((Cause::Path, "silence".to_owned()), None, None);
        assert_eq!(none, (Cause::Path, "silence".to_owned()));
    }

    /// WL-14: the modem explains silence, a lost link and another address, and stands beside any other cause.
    #[test]
    fn wl_14_the_modem_explains_silence_and_a_lost_link() {
        let with = |cause, account| {
            let shown = Some((Cause::Handover, "cells".to_owned()));
            beside_modem((cause, "silence".to_owned()), account, shown)
        };
        let explained = (Cause::Handover, "silence; cells".to_owned());
        for cause in [Cause::Path, Cause::Unknown, Cause::LocalLink, Cause::AddressChange] {
            assert_eq!(with(cause, None), explained);
        }
        for cause in [Cause::RemoteEquipment, Cause::InterfaceChange] {
            assert_eq!(with(cause, None), (cause, "silence; cells".to_owned()));
        }
        assert_eq!(with(Cause::AirInterface, Some("air-interface")).0, Cause::AirInterface);
        let none = beside_modem((Cause::Path, "silence".to_owned()), None, None);
        assert_eq!(none, (Cause::Path, "silence".to_owned()));
    }
}
