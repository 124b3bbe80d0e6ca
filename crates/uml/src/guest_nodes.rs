//! Guest kernels that run the commands of a scenario's nodes in virtual time: tasks, addresses, settings,
//! results.
//!
//! Each node with commands is a guest kernel. Its address is in `/etc/hosts` of all nodes, its root is a folder of
//! the host, and its commands start on schedule.

use crate::kernel_nodes::KernelNode;
use crate::task::{NetworkCard, Program, ProgramResult, Programs, Task, TaskResult, Work};
use crate::{Command, Error, Kernels};
use base::Time;
use base::packet::NodeId;
use base::rng::Seed;
use host::NodePort;
use lab::node_addresses::{addresses, hosts, start_of};
use netns::job::CommandExit;
use netns::job::CommandFacts;
use netns::keeper::Status;
use path::{ElementId, Network};
use scenario::Model;
use scenario::model::Linux;

/// Sysctl settings applied before the scenario's settings, as in emulations in real time.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];
/// Prefix length of the addresses of all nodes (RFC 2544).
const WIDTH: u8 = 15;
/// Environment of programs, equal at all nodes and in all repetitions.
const VARIABLES: &[(&str, &str)] = &[
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("USER", "root"),
    ("LOGNAME", "root"),
    ("SHELL", "/bin/sh"),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("TERM", "dumb"),
];
/// Default root of a node.
const ROOT: &str = "/";

/// Commands of a node with their indices in the model, in order.
fn of(model: &Model, node: usize) -> impl Iterator<Item = (usize, &scenario::model::Command)> {
    model.commands.iter().enumerate().filter(move |(_, command)| command.node == node)
}

/// Task of the guest at a node.
pub(crate) fn task(
    model: &Model,
    node: usize,
    seed: Seed,
    limit: Time,
    kernels: &Kernels,
    network: &Network,
) -> Result<Task, Error> {
    let (name, linux) = (&model.nodes[node].name, &model.nodes[node].linux);
    let text = |path: &std::path::Path, what: &str| match path.to_str() {
        Some(text) if !text.contains('\n') => Ok(text.to_owned()),
        _ => Err(Error::Asked {
            what: format!("{what} `{}` is no plain text", path.display()),
            mend: String::new(),
        }),
    };
    let root = kernels.folder.join(linux.root.as_deref().unwrap_or(ROOT));
    if !root.is_dir() {
        return Err(Error::Asked {
            what: format!("node `{name}`: there is no folder `{}`", root.display()),
            mend: "root names a folder with the files of a system, such as \"/\"".into(),
        });
    }
    let commands = of(model, node)
        .map(|(_, command)| Program {
            run: command.run.clone(),
            start: start_of(command, seed),
            serves: command.serves,
        })
        .collect();
    let mut variables: Vec<(String, String)> =
        VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    variables.push(("WILLIWAW_NODE".to_owned(), name.clone()));
    let (four, six) = addresses(node, 0);
    let cc = linux.cc.iter().map(|cc| ("net.ipv4.tcp_congestion_control".to_owned(), cc.clone()));
    Ok(Task {
        card: NetworkCard { address: four, width: WIDTH, six: Some(six), others: Vec::new(), mtu: linux.mtu },
        sysctl: cc.chain(settings(linux)).collect(),
        until: limit,
        work: Work::Programs(Programs {
            host: name.clone(),
            root: text(&root, "the root")?,
            folder: text(&kernels.folder, "the folder")?,
            variables,
            hosts: hosts(model, 0),
            commands,
            triggers: network.triggers().names().map(str::to_owned).collect(),
        }),
    })
}

/// Task of a guest that runs one program in the root of the host, whatever roots the scenario's nodes use.
pub(crate) fn alone(host: &str, program: Program, kernels: &Kernels) -> Programs {
    let folder = kernels.folder.to_str().filter(|text| !text.contains('\n'));
    let variables = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Programs {
        host: host.to_owned(),
        root: ROOT.to_owned(),
        folder: folder.unwrap_or(ROOT).to_owned(),
        variables: variables.collect(),
        hosts: "127.0.0.1 localhost\n".to_owned(),
        commands: vec![program],
        triggers: Vec::new(),
    }
}

/// Adds the addresses of all nodes to the packet port of one node.
pub(crate) fn introduce(model: &Model, network: &mut Network, packet_port: ElementId) {
    let now = network.now();
    network.enter(now, packet_port, |gate: &mut NodePort, _| {
        for &other in &model.stations {
            let (four, six) = addresses(other, 0);
            gate.set_addresses(NodeId(other as u16), [Some(four.into()), Some(six.into())]);
        }
    });
}

/// Results of all commands, in the order of the model.
pub(crate) fn commands(model: &Model, results: &[(&KernelNode, TaskResult)]) -> Result<Vec<Command>, Error> {
    let mut all = Vec::new();
    for command in &model.commands {
        let station = model.stations.iter().position(|node| *node == command.node);
        let Some((kernel_node, result)) = station.and_then(|at| results.get(at)) else { continue };
        let position = of(model, command.node).position(|(_, other)| other.name == command.name).unwrap_or(0);
        let ran = result.programs.get(&position).cloned().unwrap_or_default();
        let write = |end: &str| match ran.begun {
            Some(_) => file(kernel_node, &format!("{position}.{end}")),
            None => Ok(Vec::new()),
        };
        let wrote = [write("stdout")?, write("stderr")?];
        let (name, serves) = (command.name.clone(), command.serves);
        all.push(Command { facts: CommandFacts { name, serves, ended: ended(ran) }, wrote });
    }
    Ok(all)
}

fn ended(ran: ProgramResult) -> CommandExit {
    let status = ran.ended.map(|(_, code, signal)| Status { code, signal, fault: None });
    let ended = ran.ended.map(|(at, ..)| at);
    CommandExit { started: ran.begun, ended, status, lacks: ran.lacks.into_iter().collect() }
}

/// Sysctl settings of a guest kernel.
pub(crate) fn settings(linux: &Linux) -> impl Iterator<Item = (String, String)> {
    let always = ALWAYS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    always.chain(linux.sysctl.iter().cloned())
}

/// A result file of the guest; empty until the guest is done.
pub(crate) fn file(kernel_node: &KernelNode, name: &str) -> Result<Vec<u8>, Error> {
    if !kernel_node.guest.state().done {
        return Ok(Vec::new());
    }
    let path = kernel_node.guest.folder().join(name);
    std::fs::read(&path).map_err(Error::of(format!("{}: reading its results", kernel_node.guest.name())))
}
