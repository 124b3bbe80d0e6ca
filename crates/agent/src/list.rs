//! List of agents (TOML file): address, token file and nodes of each host, host that carries the path, clock limit;
//! parser with all errors at once.
//!
//! The file is separate from the scenario, which does not name hosts.
//!
//! ```toml
//! token-file = "agents.token"     # looked for beside this file
//! clock-limit = "1 ms"            # what the comparison of clocks may be wrong by
//!
//! [agent.b]
//! address = "192.0.2.2"           # port 7171 unless one is given
//! machines = ["server"]           # nodes of the scenario
//!
//! [agent.c]
//! address = "192.0.2.3"
//! path = true                     # it carries the path; without such an entry, the host that reads this does
//! ```

use crate::PORT;
use base::units::UnitError;
use base::{Span, units};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Content of a list of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Largest tolerated uncertainty of a clock offset.
    pub clock_limit: Span,
    /// Hosts that lend namespaces.
    pub hosts: Vec<Host>,
    /// Host that carries the path and creates its nodes; None: the controller.
    pub path: Option<Host>,
}

/// Host with an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name from the user.
    pub name: String,
    /// Address of its agent.
    pub address: SocketAddr,
    /// Token file.
    pub token_file: String,
    /// Nodes on this host.
    pub machines: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Text {
    token_file: Option<String>,
    clock_limit: Option<String>,
    #[serde(default)]
    agent: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Entry {
    address: String,
    token_file: Option<String>,
    #[serde(default)]
    path: bool,
    machines: Option<Vec<String>>,
}

/// Invalid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address such as 192.0.2.1, 192.0.2.1:{PORT} or [2001:db8::1]:{PORT}")]
pub struct AddressError(String);

/// Error in a list of agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// Invalid TOML: the parser's message with line and column.
    #[error("{0}")]
    Toml(String),
    /// The clock limit is not a duration.
    #[error("clock-limit: {0}")]
    ClockLimit(#[source] UnitError),
    /// The agent's address is invalid.
    #[error("agent.{0}.address: {1}")]
    Address(String, #[source] AddressError),
    /// The agent has no token file.
    #[error("agent.{0}: no token-file, neither in its table nor above")]
    NoToken(String),
    /// The agent neither provides nodes nor carries the path.
    #[error(
        "agent.{0}: neither `machines` that it provides nor `path = true`, with which it carries the path"
    )]
    NoMachines(String),
    /// A node of an agent is not in the scenario.
    #[error("agent.{agent}.machines: the scenario has no node `{node}`; it has {}", nodes.join(", "))]
    NoNode {
        /// Name of the agent.
        agent: String,
        /// Node in the list.
        node: String,
        /// Nodes of the scenario.
        nodes: Vec<String>,
    },
    /// Two agents have the same node.
    #[error("agent.{agent}.machines: `{node}` is at agent `{other}` already")]
    SecondOwner {
        /// Name of the later agent.
        agent: String,
        /// Node.
        node: String,
        /// Name of the agent that already has it.
        other: String,
    },
    /// Two agents carry the path.
    #[error("agent.{second}.path: `{first}` carries the path already, and there is one path")]
    SecondPath {
        /// Name of the agent that already carries it.
        first: String,
        /// Name of the agent that already carries the path.
        second: String,
    },
    /// The list contains no agent.
    #[error("it names no agent: [agent.NAME] with address and machines")]
    Empty,
}

/// Parses an address with optional port.
///
/// # Errors
/// The address is invalid.
pub fn address(text: &str) -> Result<SocketAddr, AddressError> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    text.parse().map_err(|_| AddressError(text.to_owned()))
}

/// Parses a list of agents; `nodes` are the names of the scenario's nodes.
///
/// # Errors
/// All errors in the file; for invalid TOML the first one, with line and column.
pub fn read(text: &str, nodes: &[&str]) -> Result<List, Vec<ListError>> {
    let text: Text = toml::from_str(text)
        .map_err(|error| vec![ListError::Toml(error.to_string().trim_end().to_owned())])?;
    let mut wrong = Vec::new();
    let clock_limit = text.clock_limit.as_deref().unwrap_or("1 ms");
    let clock_limit = units::parse_span(clock_limit).unwrap_or_else(|why| {
        wrong.push(ListError::ClockLimit(why));
        Span::ZERO
    });
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let (mut hosts, mut paths) = (Vec::new(), Vec::new());
    for (name, entry) in text.agent {
        let at =
            address(&entry.address).map_err(|why| wrong.push(ListError::Address(name.clone(), why))).ok();
        let token_file = entry.token_file.or_else(|| text.token_file.clone());
        if token_file.is_none() {
            wrong.push(ListError::NoToken(name.clone()));
        }
        if entry.machines.is_none() && !entry.path {
            wrong.push(ListError::NoMachines(name.clone()));
        }
        let machines = entry.machines.unwrap_or_default();
        for node in &machines {
            if !nodes.contains(&node.as_str()) {
                let nodes = nodes.iter().map(|&node| node.to_owned()).collect();
                wrong.push(ListError::NoNode { agent: name.clone(), node: node.clone(), nodes });
            }
            if let Some(other) = owners.insert(node.clone(), name.clone()) {
                wrong.push(ListError::SecondOwner { agent: name.clone(), node: node.clone(), other });
            }
        }
        if let (Some(address), Some(token_file)) = (at, token_file) {
            let whose = if entry.path { &mut paths } else { &mut hosts };
            whose.push(Host { name, address, token_file, machines });
        }
    }
    if let [first, second, ..] = &paths[..] {
        wrong.push(ListError::SecondPath { first: first.name.clone(), second: second.name.clone() });
    }
    if hosts.is_empty() && paths.is_empty() && wrong.is_empty() {
        wrong.push(ListError::Empty);
    }
    if wrong.is_empty() { Ok(List { clock_limit, hosts, path: paths.pop() }) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_mistakes_are_told_at_once() {
        let good = "token-file = \"t\"\n[agent.b]\naddress = \"192.0.2.2\"\nmachines = [\"server\"]\n\
                    [agent.d]\naddress = \"[2001:db8::1]:9\"\ntoken-file = \"u\"\nmachines = []\n";
        let list = read(good, &["server", "phone"]).unwrap();
        assert_eq!(list.clock_limit, Span::from_millis(1));
        let [b, d] = &list.hosts[..] else { panic!("two hosts") };
        assert_eq!(
            (b.address.port(), b.token_file.as_str(), &b.machines[..]),
            (PORT, "t", &["server".to_owned()][..])
        );
        assert_eq!((d.address.port(), d.token_file.as_str()), (9, "u"));
        let wrong = "clock-limit = \"soon\"\n[agent.b]\naddress = \"there\"\nmachines = [\"server\", \"sever\"]\n\
                     [agent.d]\naddress = \"192.0.2.3\"\nmachines = [\"server\"]\n";
        let mistakes = |text: &str| -> Vec<String> {
            read(text, &["server", "phone"]).unwrap_err().iter().map(ToString::to_string).collect()
        };
        let wrong = mistakes(wrong);
        let said = ["clock-limit", "no address", "no node `sever`", "at agent `b` already", "no token-file"];
        for words in said {
            assert!(wrong.iter().any(|why| why.contains(words)), "{words}: {wrong:?}");
        }
        let no_node = "agent.b.machines: the scenario has no node `sever`; it has server, phone";
        assert!(wrong.iter().any(|why| why == no_node), "{wrong:?}");
        assert_eq!(
            address("there").unwrap_err().to_string(),
            "`there` is no address such as 192.0.2.1, 192.0.2.1:7171 or [2001:db8::1]:7171"
        );
        let path = "token-file = \"t\"\n[agent.a]\naddress = \"192.0.2.1\"\npath = true\n";
        let list = read(path, &["server"]).unwrap();
        assert_eq!((list.hosts.len(), list.path.map(|host| host.name)), (0, Some("a".to_owned())));
        let two = format!(
            "{path}[agent.b]\naddress = \"192.0.2.2\"\npath = true\n[agent.c]\naddress = \"192.0.2.3\"\n"
        );
        let wrong = mistakes(&two);
        assert!(
            wrong.iter().any(|why| why.contains("agent.b.path: `a` carries the path already")),
            "{wrong:?}"
        );
        assert!(wrong.iter().any(|why| why.contains("agent.c: neither `machines`")), "{wrong:?}");
        assert!(mistakes("[agent.b]\nadress = 1\n")[0].contains("line 2"));
        assert_eq!(mistakes(""), ["it names no agent: [agent.NAME] with address and machines"]);
    }
}
