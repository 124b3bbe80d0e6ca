//! Parsers of kernel tables in `/proc/net`: counters (`netstat`, `snmp`, `snmp6`), drops of a device (`dev`), sockets
//! by state.

use std::collections::BTreeMap;

/// Nonzero counters of `netstat` or `snmp` by name. Counters have their table as prefix (`TcpRetransSegs`), except
/// those of `TcpExt` (`TCPSpuriousRTOs`).
pub fn counters(text: &str) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    let mut lines = text.lines();
    while let (Some(names), Some(numbers)) = (lines.next(), lines.next()) {
        let (Some((table, names)), Some((_, numbers))) = (names.split_once(':'), numbers.split_once(':'))
        else {
            continue;
        };
        for (name, number) in names.split_whitespace().zip(numbers.split_whitespace()) {
            let Ok(number) = number.parse::<u64>() else { continue }; // -1: no limit
            if number > 0 {
                out.insert(
                    if table == "TcpExt" { name.to_owned() } else { format!("{table}{name}") },
                    number,
                );
            }
        }
    }
    out
}

/// Nonzero counters of `snmp6`: one name and number per line, with the table in the name (`Udp6InDatagrams`).
pub fn counters_6(text: &str) -> BTreeMap<String, u64> {
    let counter = |line: &str| {
        let (name, number) = line.split_once(char::is_whitespace)?;
        let number = number.trim().parse::<u64>().ok().filter(|number| *number > 0)?;
        Some((name.to_owned(), number))
    };
    text.lines().filter_map(counter).collect()
}

/// Transmit drops of a device, from `dev`.
pub fn dropped_out(text: &str, device: &str) -> u64 {
    let row = text.lines().filter_map(|l| l.split_once(':')).find(|(name, _)| name.trim() == device);
    let column = row.and_then(|(_, rest)| rest.split_whitespace().nth(11)?.parse().ok());
    column.unwrap_or(0)
}

/// Number of sockets in a state (the kernel's notation) in a table such as `/proc/net/tcp`.
pub fn in_state(text: &str, state: &str) -> usize {
    text.lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some(state)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_meet_their_numbers() {
        let text = "TcpExt: SyncookiesSent TCPTimeouts TCPSpuriousRTOs\nTcpExt: 0 3 1\n\
                    Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 15\n";
        let c = counters(text);
        assert_eq!(c.get("TCPTimeouts"), Some(&3));
        assert_eq!(c.get("TCPSpuriousRTOs"), Some(&1));
        assert_eq!(c.get("TcpRetransSegs"), Some(&15));
        assert_eq!(c.len(), 4);
        let c =
            counters_6("Ip6InReceives                   \t20\nIp6InHdrErrors                  \t0\nodd\n");
        assert_eq!(c.into_iter().collect::<Vec<_>>(), [("Ip6InReceives".to_owned(), 20)]);
    }

    #[test]
    fn drops_of_a_device_are_found() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                     lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
                     tun0:     1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16\n";
        assert_eq!(dropped_out(text, "tun0"), 12);
        assert_eq!(dropped_out(text, "tun1"), 0);
    }

    #[test]
    fn a_listening_socket_is_found() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                     0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000\n";
        assert_eq!([in_state(text, "0A"), in_state(text, "01"), in_state("", "0A")], [1, 0, 0]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~\\n:]{0,200}") {
            counters(&text);
            counters_6(&text);
            dropped_out(&text, "a");
        }
    }
}
