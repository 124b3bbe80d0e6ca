//! osmo-pcu as a process: its base station's socket and its SGSN's.

use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One at a time in a process: the program's timers run on the real clock.
static ALONE: Mutex<()> = Mutex::new(());

/// Address of this process for the program's command line, whose port (4240) is fixed: test programs run at once. A
/// process number has at most 22 bits.
fn address() -> Ipv4Addr {
    Ipv4Addr::from(0x7f40_0000 | std::process::id() & 0x3f_ffff)
}

/// The running program.
pub(crate) struct Program {
    child: Child,
    bts: Socket,
    pub(crate) sgsn: UdpSocket,
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts it with the configuration that `text` makes for its socket; none where it is not installed.
    pub(crate) fn start(text: impl FnOnce(&str) -> String) -> Option<Program> {
        let program = "/usr/bin/osmo-pcu";
        if !Path::new(program).exists() {
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("pcu.sock");
        let listener = Socket::new(Domain::UNIX, Type::SEQPACKET, None).ok()?;
        listener.bind(&SockAddr::unix(&path).ok()?).ok()?;
        listener.listen(1).ok()?;
        listener.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let sgsn = UdpSocket::bind(("127.0.0.1", 0)).ok()?;
        sgsn.set_nonblocking(true).ok()?;
        let text = text(path.to_str()?).replace("line vty\n", &format!("line vty\n bind {}\n", address()));
        std::fs::write(folder.path().join("pcu.cfg"), text).ok()?;
        let child = Command::new(program)
            .args(["-c", "pcu.cfg"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).ok()?)
            .spawn()
            .ok()?;
        let accepted = listener.accept();
        let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        let Ok((bts, _)) = accepted else { panic!("osmo-pcu does not connect: {}", log()) };
        Some(Program { child, bts, sgsn, folder, _alone: alone })
    }

    /// Output so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// UDP ports for its end of Gb and for the SGSN's.
    pub(crate) fn ports(&self) -> [u16; 2] {
        let free = UdpSocket::bind(("127.0.0.1", 0)).and_then(|s| s.local_addr());
        let own = self.sgsn.local_addr();
        [free, own].map(|address| address.map_or(0, |a| a.port()))
    }

    pub(crate) fn send(&self, message: &[u8]) {
        (&self.bts).write_all(message).expect("the PCU takes a message");
    }

    pub(crate) fn patience(&self, patience: Duration) {
        let _ = self.bts.set_read_timeout(Some(patience));
    }

    pub(crate) fn receive(&self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 2048];
        let n = (&self.bts).read(&mut buffer).ok().filter(|n| *n > 0)?;
        buffer.truncate(n);
        Some(buffer)
    }
}
