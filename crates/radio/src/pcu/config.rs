//! Configuration of a cell with a real PCU, and the text of osmo-pcu's configuration file.

use crate::cell::config::UserConfig;

base::named! {
    /// Program that is the PCU.
    pub enum Program {
        /// osmo-pcu of Osmocom.
        Osmo = "osmo",
    }
}

impl Program {
    /// Path of the installed program.
    pub const fn path(self) -> &'static str {
        match self {
            Program::Osmo => "usr/bin/osmo-pcu",
        }
    }
    /// Debian package of the program.
    pub const fn package(self) -> &'static str {
        match self {
            Program::Osmo => "osmo-pcu",
        }
    }
}

/// Configuration of the cell.
#[derive(Clone, PartialEq, Debug)]
pub struct StationConfig {
    /// Number of timeslots with a PDCH, from timeslot 7 downward.
    pub slots: u8,
    /// UDP ports of Gb on loopback: port of the PCU, port of the SGSN.
    pub ports: [u16; 2],
    /// Mobiles of the cell, at most 7.
    pub users: Vec<UserConfig>,
}

/// Default UDP ports of Gb on loopback: port of the PCU, port of the SGSN.
pub const PORTS: [u16; 2] = [22_000, 23_000];
/// Maximum number of mobiles in a cell: each has a USF of its own, and USF 7 is unassigned.
pub const MOBILES: usize = 7;

impl StationConfig {
    /// Bit mask of the timeslots with a PDCH, timeslot 0 in the lowest bit.
    pub fn mask(&self) -> u8 {
        let slots = self.slots.clamp(1, 8);
        (0..slots).fold(0, |mask, i| mask | 0x80 >> i)
    }

    /// Text of osmo-pcu's configuration file; `socket` is the path of the PCUIF socket. The coding schemes of the first
    /// GPRS mobile and of the first EGPRS mobile are upper limits of link adaptation. All other parameters keep the
    /// program's defaults.
    pub fn text(&self, socket: &str) -> String {
        let allocation = if self.slots > 1 { "b" } else { "a" };
        let mut lines = vec![format!("pcu-socket {socket}"), "flow-control-interval 10".to_owned()];
        for (egprs, word) in [(false, "cs"), (true, "mcs")] {
            let first = self.users.iter().find(|u| u.down.scheme.is_egprs() == egprs);
            if let Some(user) = first {
                let (down, up) = (user.down.scheme.number(), user.up.scheme.number());
                lines.extend([format!("{word} {down} {up}"), format!("{word} max {down} {up}")]);
            }
        }
        lines.extend([format!("alloc-algorithm {allocation}"), "gamma 0".to_owned()]);
        let mut text = String::from("log stderr\n logging level set-all error\nline vty\n no login\npcu\n");
        lines.iter().for_each(|line| text.push_str(&format!(" {line}\n")));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Scheme;

    /// The first GPRS mobile and the first EGPRS mobile set the schemes of their systems.
    #[test]
    fn schemes_of_both_systems_are_configured() {
        let mobile = |down, up| {
            let mut user = UserConfig::new("mobile");
            (user.down.scheme, user.up.scheme) = (down, up);
            user
        };
        let users = vec![mobile(Scheme::Mcs9, Scheme::Mcs4), mobile(Scheme::Cs2, Scheme::Cs1)];
        let text = StationConfig { slots: 1, ports: PORTS, users }.text("/tmp/pcu");
        let lines: Vec<&str> = text.lines().filter(|l| l.contains("cs ")).map(str::trim).collect();
        assert_eq!(lines, ["cs 2 1", "cs max 2 1", "mcs 9 4", "mcs max 9 4"]);
    }
}
