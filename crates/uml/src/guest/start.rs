//! Boot of a guest kernel.
//!
//! In a folder of its own with its first process and its task, and with nothing that differs between runs; then it is
//! waited for until it asks for the time.

use super::{Guest, LOOK, Said, TEXT};
use crate::calendar::Calendar;
use crate::folder::{folder, listen};
use crate::memory::Mapped;
use crate::nic::Nic;
use crate::{Error, sys};
use base::Rate;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What it is told that a clock on the wall shows at its start: 2001-09-09 01:46:40 UTC, whenever it is.
const EPOCH: u64 = 1_000_000_000_000_000_000;
/// The hardware address of every guest: each is alone at its end of the wire.
const MAC: [u8; 6] = [0x02, 0x77, 0x69, 0x6c, 0x6c, 0x69];

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What it is called in messages: `download@server`.
    pub name: String,
    /// The kernel.
    pub kernel: PathBuf,
    /// Its first process, copied into its folder.
    pub init: PathBuf,
    /// What gives it chance ([`Setup::seed`]), loaded before its libraries; none: the machine does.
    pub chance: Option<PathBuf>,
    /// Where its folder is made.
    pub place: PathBuf,
    /// The files of its task, by name, for its first process.
    pub files: Vec<(String, String)>,
    /// Where its random numbers come from.
    pub seed: u64,
    /// Its memory. What it does not touch costs nothing, but the kernel sizes its buffers by it.
    pub memory_mib: u32,
    /// The largest packet that may come to its card, bytes.
    pub largest: u32,
    /// How fast its card sends; none: at once.
    pub modem: Option<Rate>,
    /// How long it may be silent while it runs, on a real clock.
    pub patience: Duration,
}

impl Guest {
    /// Starts a kernel and waits until it has found its calendar. It stands at time 0 then, with its first turn
    /// before it.
    ///
    /// # Errors
    /// It cannot be started, ends, or says nothing.
    pub fn start(setup: &Setup) -> Result<Guest, Error> {
        let (folder, lock) = folder(&setup.place)?;
        let started = Guest::within(setup, &folder, lock);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        started
    }

    fn within(setup: &Setup, folder: &Path, lock: File) -> Result<Guest, Error> {
        let refused = |what: &str| Error::of(format!("{}: {what}", setup.name));
        let init = folder.join("init");
        // A link costs nothing; another file system wants a copy.
        std::fs::hard_link(&setup.init, &init)
            .or_else(|_| std::fs::copy(&setup.init, &init).map(drop))
            .map_err(refused("laying out its first process"))?;
        for (name, text) in &setup.files {
            std::fs::write(folder.join(name), text).map_err(refused("laying out its task"))?;
        }
        // Until it has something to tell, it writes nothing: how files of ours are dated, to the tick of our clock, would
        // decide what it updates, and when.
        for place in ["proc", "host", "over", "whole"] {
            std::fs::create_dir(folder.join(place)).map_err(refused("laying out its folder"))?;
        }
        let calendar = listen(folder, "calendar").map_err(refused("opening its calendar"))?;
        let door = listen(folder, "nic").map_err(refused("opening its network card"))?;
        let mut command = Command::new(&setup.kernel);
        // The kernel mixes its command line into its random numbers: it is the same in every run.
        command.args([
            format!("mem={}M", setup.memory_mib).as_str(),
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd",
            "ro",
            "init=/init",
            "con=null",
            "con0=null,fd:1",
            "quiet",
            "uml_dir=./",
            "umid=state",
            "virtio_uml.device=nic:1",
            "time-travel=ext:1:calendar",
        ]);
        command.env_clear().current_dir(folder).process_group(0);
        command.env("WILLIWAW_SEED", format!("{:016x}", setup.seed));
        if let Some(chance) = &setup.chance {
            command.env("LD_PRELOAD", chance);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        sys::tame(&mut command);
        let mut child = command.spawn().map_err(|source| Error::Refused {
            what: format!("{}: starting the kernel `{}`", setup.name, setup.kernel.display()),
            source,
        })?;
        let console = child.stdout.take();
        let mut text = Vec::new();
        let met = meet(&calendar, &mut child, setup.patience);
        let time = match met {
            Ok(Some(time)) => time,
            Ok(None) => {
                let why = match child.try_wait() {
                    Ok(Some(status)) => format!("it ended ({status}) before it asked for the time"),
                    _ => format!("it did not ask for the time within {:?}", setup.patience),
                };
                sys::kill_group(child.id());
                let _ = child.wait();
                if let Some(mut console) = console {
                    let _ = console.by_ref().take(TEXT as u64).read_to_end(&mut text);
                }
                return Err(Error::guest(&setup.name, why, &text).mend(NO_TRAVEL));
            }
            Err(source) => {
                sys::kill_group(child.id());
                let _ = child.wait();
                return Err(Error::Refused { what: format!("{}: its calendar", setup.name), source });
            }
        };
        let _ = time.set_write_timeout(Some(setup.patience));
        Ok(Guest {
            name: setup.name.clone(),
            child,
            folder: folder.to_owned(),
            _lock: lock,
            patience: setup.patience,
            calendar: Calendar::new(EPOCH),
            time,
            door: Some(door),
            device: None,
            channel: None,
            memory: Mapped::default(),
            nic: Nic::new(MAC, setup.modem.is_some(), setup.largest),
            heard: Vec::new(),
            asked: Vec::new(),
            answered: Vec::new(),
            files: Vec::new(),
            console,
            text,
            said: Said::default(),
            coming: VecDeque::new(),
            words: Vec::new(),
            completion: false,
            modem: setup.modem,
            sending: VecDeque::new(),
        })
    }
}

const NO_TRAVEL: &str = "it needs a kernel for User-Mode Linux built with time travel: `williwaw linux build` makes one, `williwaw linux doctor` looks at it";

/// Waits for the kernel to connect; none if it does not.
fn meet(ear: &UnixListener, child: &mut Child, patience: Duration) -> io::Result<Option<UnixStream>> {
    let looks = (patience.as_millis() / LOOK.as_millis()).max(1);
    for _ in 0..looks {
        let [there] = sys::wait([Some(ear.as_raw_fd())], LOOK.as_millis() as i32)?;
        if there {
            return ear.accept().map(|(stream, _)| Some(stream));
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
    }
    Ok(None)
}
