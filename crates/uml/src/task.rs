//! Task of a guest kernel and its result, as text: network card, settings, workload or programs; completion,
//! `TCP_INFO` samples, exit statuses.
//!
//! Task and result are text with one `key value` pair per line; `TCP_INFO` is in hexadecimal. `guest/init.c`
//! reads tasks and writes results.

use crate::BOOT;
use base::{Span, Time};
use netns::facts::TcpInfo;
use scenario::model::Protocol;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Task of a guest. Times count from t = 0 of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Configuration of its network card.
    pub card: NetworkCard,
    /// Sysctl settings by full name.
    pub sysctl: Vec<(String, String)>,
    /// Time at which the guest ends its work, done or not.
    pub until: Time,
    /// Workload or programs.
    pub work: Work,
}

/// Network card of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkCard {
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// Prefix length of the IPv4 network.
    pub width: u8,
    /// IPv6 address, prefix length 64; none: IPv4 only.
    pub six: Option<Ipv6Addr>,
    /// IPv4 addresses on other network paths, with the same prefix length.
    pub others: Vec<Ipv4Addr>,
    /// MTU, bytes.
    pub mtu: u32,
}

/// Work of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// One end of a bulk transfer.
    Bulk(Bulk),
    /// One end of the connections of a workload in the simulator ([`crate::workload_protocol`]).
    Lines(ConnectionTask),
    /// One end of a datagram flow whose workload is in the simulator.
    Datagrams(Datagrams),
    /// Programs of the user.
    Programs(Programs),
    /// PCU between base station and SGSN: one program, started before t = 0.
    Pcu(Programs),
}

/// One end of a datagram flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Whether this end sends the datagrams.
    pub sends: bool,
    /// Address of the other end.
    pub peer: IpAddr,
    /// Socket type: UDP or DCCP.
    pub protocol: Protocol,
}

/// One end of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionTask {
    /// Whether this is the active end.
    pub opens: bool,
    /// Address of the other end.
    pub peer: IpAddr,
    /// Socket type.
    pub protocol: Protocol,
    /// Congestion control; none: the kernel's default.
    pub cc: Option<String>,
}

/// One end of a bulk transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// True: connects and writes. False: accepts and reads.
    pub sends: bool,
    /// Address of the other end.
    pub peer: IpAddr,
    /// Socket type.
    pub protocol: Protocol,
    /// Congestion control; none: the kernel's default.
    pub cc: Option<String>,
    /// Start time of the connection.
    pub start: Time,
    /// Bytes to send; none: unlimited.
    pub bytes: Option<u64>,
    /// Interval of `TCP_INFO` samples; none: only at the end.
    pub look: Option<Span>,
    /// Whether this end reads only on request ([`crate::workload_protocol`]).
    pub slowly: bool,
}

/// Programs at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// Host name.
    pub host: String,
    /// Folder of the host that programs see as `/`.
    pub root: String,
    /// Working folder below the root, if it exists.
    pub folder: String,
    /// Environment variables.
    pub variables: Vec<(String, String)>,
    /// Content of `/etc/hosts`.
    pub hosts: String,
    /// Commands.
    pub commands: Vec<Program>,
    /// Names of triggers, by index.
    pub triggers: Vec<String>,
}

/// A program of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Command line for `/bin/sh`.
    pub run: String,
    /// Start time.
    pub start: Time,
    /// Server: started before t = 0 if `start` is 0; the run does not wait for its end.
    pub serves: bool,
}

impl Task {
    /// Files of the task, by name: `task` and the files that it refers to.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("task".to_owned(), self.text())];
        if let Work::Programs(programs) | Work::Pcu(programs) = &self.work {
            files.push(("hosts".to_owned(), programs.hosts.clone()));
            files.push(("resolver".to_owned(), "# there is no resolver in virtual time\n".to_owned()));
            for (i, command) in programs.commands.iter().enumerate() {
                files.push((format!("command.{i}"), command.run.clone()));
            }
            // Without triggers, no listening socket is created.
            if !programs.triggers.is_empty() {
                files.push(("triggers".to_owned(), programs.triggers.join("\n")));
            }
        }
        files
    }

    /// Text of the task.
    fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |word: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(out, "{word} {value}");
        };
        let at = |t: Time| t.as_nanos().saturating_add(BOOT.as_nanos()).min(i64::MAX as u64 / 2);
        for (name, value) in &self.sysctl {
            line("sysctl", &format_args!("{name} {value}"));
        }
        line("address", &self.card.address);
        line("width", &self.card.width);
        if let Some(six) = &self.card.six {
            line("address6", six);
        }
        for other in &self.card.others {
            line("other", other);
        }
        line("mtu", &self.card.mtu);
        line("until", &at(self.until));
        match &self.work {
            Work::Bulk(bulk) => {
                line("work", &"bulk");
                line("sends", &u8::from(bulk.sends));
                line("peer", &bulk.peer);
                line("protocol", &number(bulk.protocol));
                if let Protocol::Dccp { ccid, payload } = bulk.protocol {
                    line("ccid", &ccid);
                    line("payload", &payload);
                }
                if let Some(cc) = &bulk.cc {
                    line("cc", cc);
                }
                line("start", &at(bulk.start));
                if let Some(bytes) = bulk.bytes {
                    line("bytes", &bytes);
                }
                if let Some(look) = bulk.look {
                    line("look", &look.as_nanos());
                }
                if bulk.slowly {
                    line("slowly", &1);
                }
            }
            Work::Lines(lines) => {
                line("work", &"lines");
                line("sends", &u8::from(lines.opens));
                line("peer", &lines.peer);
                line("protocol", &number(lines.protocol));
                if let Some(cc) = &lines.cc {
                    line("cc", cc);
                }
            }
            Work::Datagrams(datagrams) => {
                line("work", &"datagrams");
                line("sends", &u8::from(datagrams.sends));
                line("peer", &datagrams.peer);
                if let Protocol::Dccp { ccid, payload } = datagrams.protocol {
                    line("protocol", &number(datagrams.protocol));
                    line("ccid", &ccid);
                    line("payload", &payload);
                }
            }
            Work::Programs(programs) | Work::Pcu(programs) => {
                let is_pcu = matches!(self.work, Work::Pcu(_));
                line("work", &if is_pcu { "pcu" } else { "commands" });
                line("host", &programs.host);
                line("root", &programs.root);
                line("folder", &programs.folder);
                for (name, value) in &programs.variables {
                    line("variable", &format_args!("{name}={value}"));
                }
                if !programs.triggers.is_empty() {
                    line("calls", &1);
                }
                for command in &programs.commands {
                    line("command", &format_args!("{} {}", at(command.start), u8::from(command.serves)));
                }
            }
        }
        out
    }
}

/// IP protocol number for `socket()`.
fn number(protocol: Protocol) -> u16 {
    match protocol {
        Protocol::Tcp => 6,
        Protocol::Udp { .. } => 17,
        Protocol::Sctp => 132,
        Protocol::Dccp { .. } => 33,
        Protocol::Mptcp => 262,
    }
}

/// Maximum number of programs of a node.
pub const PROGRAMS: usize = 1024;

/// Result of a guest.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct TaskResult {
    /// Time of completion.
    pub finished: Option<Time>,
    /// Bytes written or read.
    pub bytes: u64,
    /// `TCP_INFO` samples with their time, s; the last one is from the end.
    pub history: Vec<(f64, TcpInfo)>,
    /// First error.
    pub fault: Option<String>,
    /// Results of programs, by index.
    pub programs: BTreeMap<usize, ProgramResult>,
}

/// Result of a program.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct ProgramResult {
    /// Start time.
    pub begun: Option<Time>,
    /// Exit time, exit status as in shells, and the signal, if one ended the program.
    pub ended: Option<(Time, i32, Option<i32>)>,
    /// Missing files and other problems.
    pub lacks: Option<String>,
}

impl TaskResult {
    /// Parses a result; invalid lines are skipped.
    pub fn read(text: &str) -> TaskResult {
        let mut result = TaskResult::default();
        let time = |word: &str| {
            let ns: u64 = word.parse().ok()?;
            Some(Time::from_nanos(ns.saturating_sub(BOOT.as_nanos())))
        };
        let plain = |value: &str| value.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("finished", value)) => result.finished = time(value),
                Some(("bytes", value)) => result.bytes = value.parse().unwrap_or(0),
                Some(("fault", value)) => result.fault = Some(plain(value)),
                Some((word @ ("begun" | "ended" | "lacks"), value)) => {
                    let Some((number, value)) = value.split_once(' ') else { continue };
                    let Some(number) = number.parse().ok().filter(|n| *n < PROGRAMS) else { continue };
                    let ran = result.programs.entry(number).or_default();
                    match word {
                        "begun" => ran.begun = time(value),
                        "lacks" => ran.lacks = Some(plain(value)),
                        _ => {
                            let mut words = value.split(' ');
                            let end = words.next().and_then(time);
                            let mut number = || words.next()?.parse::<i32>().ok();
                            if let (Some(end), Some(code), Some(signal)) = (end, number(), number()) {
                                ran.ended = Some((end, code, (signal != 0).then_some(signal)));
                            }
                        }
                    }
                }
                Some(("info", value)) => {
                    let Some((t, digits)) = value.split_once(' ') else { continue };
                    if let (Some(t), Some(bytes)) = (time(t), bytes(digits)) {
                        result.history.push((t.as_secs_f64(), TcpInfo::read(&bytes)));
                    }
                }
                _ => {}
            }
        }
        result
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(work: Work) -> Task {
        let card = NetworkCard {
            address: Ipv4Addr::new(198, 18, 0, 1),
            width: 30,
            six: None,
            others: Vec::new(),
            mtu: 576,
        };
        let sysctl = vec![("net.ipv4.tcp_rmem".into(), "4096 16384 16384".into())];
        Task { card, sysctl, until: Time::NEVER, work }
    }

    const CARD: &str = "sysctl net.ipv4.tcp_rmem 4096 16384 16384\naddress 198.18.0.1\nwidth 30\nmtu 576\n\
                        until 4611686018427387903\n";

    #[test]
    fn a_task_is_told_in_words() {
        let bulk = Bulk {
            sends: true,
            peer: Ipv4Addr::new(198, 18, 0, 2).into(),
            protocol: Protocol::Mptcp,
            cc: Some("bbr".into()),
            start: Time::from_nanos(500_000_000),
            bytes: Some(7),
            look: None,
            slowly: false,
        };
        let own = "work bulk\nsends 1\npeer 198.18.0.2\nprotocol 262\ncc bbr\nstart 2500000000\nbytes 7\n";
        assert_eq!(task(Work::Bulk(bulk)).files(), [("task".to_owned(), format!("{CARD}{own}"))]);
    }

    #[test]
    fn datagrams_are_told_in_words() {
        let work = Work::Datagrams(Datagrams {
            sends: false,
            peer: "2001:2::1".parse().expect("an address"),
            protocol: Protocol::Udp { payload: 500 },
        });
        let own = "work datagrams\nsends 0\npeer 2001:2::1\n";
        assert_eq!(task(work).files(), [("task".to_owned(), format!("{CARD}{own}"))]);
        let work = Work::Datagrams(Datagrams {
            sends: true,
            peer: Ipv4Addr::new(198, 18, 0, 2).into(),
            protocol: Protocol::Dccp { ccid: 3, payload: 1000 },
        });
        let own = "work datagrams\nsends 1\npeer 198.18.0.2\nprotocol 33\nccid 3\npayload 1000\n";
        assert_eq!(task(work).files(), [("task".to_owned(), format!("{CARD}{own}"))]);
    }

    #[test]
    fn programs_are_told_in_files() {
        let programs = Programs {
            host: "phone".into(),
            root: "/".into(),
            folder: "/home".into(),
            variables: vec![("LANG".into(), "C".into())],
            hosts: "198.18.0.1 phone\n".into(),
            commands: vec![Program {
                run: "echo one\necho two".into(),
                start: Time::from_nanos(1),
                serves: true,
            }],
            triggers: vec!["cell.near".into(), "cell.far".into()],
        };
        let files = task(Work::Programs(programs)).files();
        let own = "work commands\nhost phone\nroot /\nfolder /home\nvariable LANG=C\ncalls 1\ncommand 2000000001 1\n";
        assert_eq!(files[0], ("task".to_owned(), format!("{CARD}{own}")));
        assert_eq!(files[1], ("hosts".to_owned(), "198.18.0.1 phone\n".to_owned()));
        assert_eq!(files[3], ("command.0".to_owned(), "echo one\necho two".to_owned()));
        assert_eq!(files[4], ("triggers".to_owned(), "cell.near\ncell.far".to_owned()));
    }

    #[test]
    fn what_became_of_programs_is_read() {
        let result = TaskResult::read(
            "begun 0 2000000000\nended 0 3000000000 143 15\nbegun 2 x\nlacks 2 air\nended 9999 1 1 1\n",
        );
        let first = ProgramResult {
            begun: Some(Time::ZERO),
            ended: Some((Time::from_nanos(1_000_000_000), 143, Some(15))),
            lacks: None,
        };
        let third = ProgramResult { lacks: Some("air".into()), ..ProgramResult::default() };
        assert_eq!(result.programs, BTreeMap::from([(0, first), (2, third)]));
    }

    #[test]
    fn what_it_tells_is_read() {
        let result =
            TaskResult::read("finished 3500000000\nbytes 12\nfault writing: no\ninfo 2000000000 0104\nodd\n");
        assert_eq!(result.finished, Some(Time::from_nanos(1_500_000_000)));
        assert_eq!((result.bytes, result.fault.as_deref()), (12, Some("writing: no")));
        assert_eq!(result.history.len(), 1);
        assert_eq!(
            (result.history[0].0, result.history[0].1.state, result.history[0].1.ca_state),
            (0.0, 1, 4)
        );
    }

    proptest! {
        #[test]
        fn any_text_will_do(
            text in "[ -~\\n]{0,300}",
            info in "info [0-9]{0,22} [0-9a-zé]{0,40}",
            program in "(begun|ended|lacks) [0-9]{0,5} [-0-9a-zé ]{0,40}",
        ) {
            TaskResult::read(&text);
            TaskResult::read(&info);
            TaskResult::read(&program);
        }
    }
}
