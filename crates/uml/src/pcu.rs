//! PCU programs in virtual time: a guest kernel for each cell with a real PCU, its task, and capture of its
//! messages.
//!
//! The guest's init acts as base station and SGSN on the sockets of the PCU program. Messages are exchanged
//! with the cell's [`radio::pcu::Station`] in the network (`guest/pcu.c`).

use crate::kernel_nodes::KernelNode;
use crate::task::{NetworkCard, Program, Task, Work};
use crate::{Error, Kernels, guest_nodes};
use base::Time;
use base::wire::UDP;
use base::wire::segment::{self, IpFields};
use lab::capture::ports::{Capture, PacketMeta};
use lab::run::Run;
use path::ElementId;
use radio::pcu::config::Program as Pcu;
use radio::pcu::{Message, Station, tap};
use scenario::Model;
use scenario::build::{World, radio as bearers};
use scenario::model::radio::BearerKind;
use std::net::Ipv4Addr;

/// Path of the base station's socket.
const SOCKET: &str = "/tmp/williwaw-pcu";
/// Path of the program's configuration file.
const CONFIGURATION: &str = "/tmp/williwaw-pcu.cfg";

/// A cell whose PCU is a program.
pub(crate) struct Cell {
    /// Name of the cell.
    pub(crate) name: String,
    /// Element of the cell.
    pub(crate) station: ElementId,
    program: Pcu,
    configuration: String,
}

/// Cells of a model with a real PCU.
pub(crate) fn cells(model: &Model, world: &World) -> Vec<Cell> {
    let mut all: Vec<Cell> = Vec::new();
    for (i, bearer) in model.bearers.iter().enumerate() {
        let BearerKind::Gprs(of) = &bearer.kind else { continue };
        let Some((station, _)) = world.bearers.get(i).copied() else { continue };
        let config = bearers::station(model, &bearers::mates(model, &of.cell));
        if let (Some(program), Some(config)) = (of.pcu, config)
            && all.iter().all(|cell| cell.station != station)
        {
            let configuration = config.text(SOCKET);
            all.push(Cell { name: of.cell.clone(), station, program, configuration });
        }
    }
    all
}

impl Cell {
    /// Task of the cell's guest.
    pub(crate) fn task(&self, limit: Time, kernels: &Kernels) -> Result<Task, Error> {
        let path = self.program.path();
        if !std::path::Path::new("/").join(path).is_file() {
            let (cell, program) = (&self.name, self.program);
            return Err(Error::Asked {
                what: format!("cell `{cell}`: there is no program /{path} for pcu = \"{program}\""),
                mend: format!("install the package {}, or leave `pcu` out", self.program.package()),
            });
        }
        let text = format!(
            "cat > {CONFIGURATION} <<'END'\n{}END\nexec /{path} -c {CONFIGURATION}\n",
            self.configuration
        );
        let programs =
            guest_nodes::alone("pcu", Program { run: text, start: Time::ZERO, serves: true }, kernels);
        let address = Ipv4Addr::new(198, 18, 0, 1);
        Ok(Task {
            card: NetworkCard { address, width: 30, six: None, others: Vec::new(), mtu: 1500 },
            sysctl: Vec::new(),
            until: limit,
            work: Work::Pcu(programs),
        })
    }
}

/// Adds a message between PCU and cell to the packet capture, if any: a radio block in GSMTAP, or a Gb
/// datagram.
pub(crate) fn keep(capture: &mut Option<Capture>, kernel_node: usize, at: Time, message: &Message) {
    let Some(capture) = capture else { return };
    let Some((port, payload)) = tap::datagram(message) else { return };
    let mut datagram = Vec::with_capacity(8 + payload.len());
    let length = (8 + payload.len()) as u16;
    // The checksum of UDP is optional over IPv4.
    [port, port, length, 0].iter().for_each(|field| datagram.extend(field.to_be_bytes()));
    datagram.extend(payload);
    let mut packet = Vec::new();
    let outside = IpFields { ttl: 64, ..IpFields::default() };
    segment::around(&mut packet, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, UDP, &datagram, outside);
    capture.add(kernel_node, PacketMeta { t: at, number: None, after: 0, late: None }, &packet);
}

/// Closes the cells of all PCUs: the cells discard all later messages.
pub(crate) fn close(run: &mut Run<'_>, kernel_nodes: &[KernelNode]) {
    for kernel_node in kernel_nodes {
        let now = run.world.network.now();
        run.world.network.enter(now, kernel_node.packet_port, |station: &mut Station, cx| station.close(cx));
    }
}
