//! Tests of a misbehaving kernel process: one that exits, spins, is silent or sends invalid messages causes
//! one clear error in bounded time, and leaves no process and no folder.
//!
//! This program is both sides. Started like a kernel (`mem=...` on its command line), it misbehaves as its
//! task says; otherwise it starts itself as a kernel, once per test.

#![allow(clippy::print_stdout, reason = "a test without a harness tells its results itself")]

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("skipped: kernels in virtual time need Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let first = std::env::args().nth(1).unwrap_or_default();
    if first.starts_with("mem=") {
        bad::behave();
    } else if first == "owner" {
        good::own();
    } else {
        good::judge();
    }
}

#[cfg(target_os = "linux")]
mod bad {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;
    use uml::calendar::{Message, Op};

    struct Kernel {
        time: UnixStream,
        seq: u32,
    }

    impl Kernel {
        /// Sends a request and waits for the answer.
        fn ask(&mut self, op: Op, time: u64) {
            self.seq += 1;
            self.time.write_all(&Message { op: op as u32, seq: self.seq, time }.bytes()).expect("calendar");
            let mut bytes = [0; 16];
            self.time.read_exact(&mut bytes).expect("calendar");
        }
        /// Waits for its turn and acknowledges it.
        fn turn(&mut self) {
            loop {
                let mut bytes = [0; 16];
                self.time.read_exact(&mut bytes).expect("calendar");
                let told = Message::read(bytes);
                let ack = Message { op: Op::Ack as u32, time: 0, ..told };
                self.time.write_all(&ack.bytes()).expect("calendar");
                if told.op == Op::Run as u32 {
                    return;
                }
            }
        }
    }

    fn sleep() -> ! {
        loop {
            #[allow(clippy::disallowed_methods, reason = "a kernel that does nothing")]
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn nic(bytes: &[u8]) -> UnixStream {
        let mut nic = UnixStream::connect("nic").expect("nic");
        nic.write_all(bytes).expect("nic");
        nic
    }

    pub(crate) fn behave() {
        let task = std::fs::read_to_string("task").expect("a task");
        let task = task.trim();
        match task {
            "exits" => {
                println!("Kernel panic - not syncing: no working init found");
                std::process::exit(3);
            }
            "silent" => sleep(),
            _ => {}
        }
        let mut kernel = Kernel { time: UnixStream::connect("calendar").expect("calendar"), seq: 0 };
        if task == "rude" {
            kernel.ask(Op::Wait, 0);
        }
        kernel.ask(Op::Start, 1);
        match task {
            "spins" => loop {
                std::hint::spin_loop();
            },
            "dies" => std::process::exit(0),
            "crashes" => std::process::abort(),
            "talks" => loop {
                kernel.ask(Op::Get, 0);
            },
            "jumps" => kernel.ask(Op::Update, 1 << 40),
            "babbles" => kernel.time.write_all(&[0xff; 64]).expect("calendar"),
            "noise" => drop(nic(&[0x5a; 4096])),
            // A table of memory regions without the attached files.
            "bluffs" => {
                let mut bytes = [5u32, 9, 40].map(u32::to_le_bytes).concat();
                bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
                bytes.extend([0xff; 32]);
                drop(nic(&bytes));
            }
            "stays" => loop {
                kernel.ask(Op::Request, 5);
                kernel.ask(Op::Wait, 0);
                kernel.turn();
            },
            _ => {
                kernel.ask(Op::Request, uml::calendar::NEVER);
                kernel.ask(Op::Wait, 0);
            }
        }
        sleep();
    }
}

#[cfg(target_os = "linux")]
mod good {
    use std::io::{BufRead as _, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Duration;
    use uml::guest::{Guest, Setup};

    fn setup(place: &Path, task: &str) -> Setup {
        let me = std::env::current_exe().expect("a program");
        Setup {
            name: "download@server".into(),
            kernel: me.clone(),
            init: me,
            chance: None,
            place: place.to_owned(),
            files: vec![("task".into(), task.into())],
            seed: 1,
            largest: 1500,
            modem: None,
            memory_mib: 64,
            patience: Duration::from_millis(700),
        }
    }

    /// Error text for a kernel with this task.
    fn said_of(place: &Path, task: &str) -> String {
        let end = Guest::start(&setup(place, task)).and_then(|mut guest| {
            guest.boot()?;
            for _ in 0..100 {
                let at = guest.next_wake();
                guest.run(at, at, &mut |_, _| 0)?;
            }
            Err(guest.fault("it went on for ever"))
        });
        match end {
            Ok(()) => "nothing".into(),
            Err(error) => format!("{error}\n{}", error.help()),
        }
    }

    /// Processes whose working folder was this one.
    fn alive(place: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
        let at = |pid: &Path| std::fs::read_link(pid.join("cwd")).is_ok_and(|cwd| cwd.starts_with(place));
        entries.map(|entry| entry.path()).filter(|pid| at(pid)).collect()
    }

    fn empty(place: &Path) -> bool {
        std::fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none())
    }

    const CASES: &[(&str, &str)] = &[
        ("exits", "it ended (exit status: 3) before it requested the time\n  | Kernel panic"),
        ("silent", "it did not request the time within 700ms"),
        ("rude", "message Wait of the calendar arrived out of turn"),
        ("spins", "it has neither waited nor sent anything for 700ms"),
        ("dies", "it ended in the middle (exit status: 0)"),
        ("crashes", "it ended in the middle (signal: 6"),
        ("talks", "it talks without end and never waits"),
        ("jumps", "it ran on to 1099511627776 ns, beyond the 0 ns it was allowed"),
        ("babbles", "message 4294967295 of the calendar does not exist"),
        ("noise", "a message to its device has the flags 0x5a5a5a5a"),
        ("bluffs", "it describes its memory without handing over the files"),
        ("stays", "it went on for ever"),
    ];

    pub(crate) fn judge() {
        let place = tempfile::tempdir().expect("a folder");
        for (task, what) in CASES {
            let said = said_of(place.path(), task);
            assert!(said.contains(what), "{task}: {said}");
            assert!(said.starts_with("the kernel of download@server: "), "{task}: {said}");
            assert_eq!(alive(place.path()), Vec::<PathBuf>::new(), "{task}");
            assert!(empty(place.path()), "{task}");
            println!("{task} ... ok");
        }
        a_killed_owner_takes_his_kernels_along(place.path());
        println!("a killed owner takes his kernels along ... ok");
    }

    /// Starts a kernel that waits for ever, and waits as well.
    pub(crate) fn own() {
        let place = PathBuf::from(std::env::args().nth(2).expect("a folder"));
        let mut guest = Guest::start(&setup(&place, "waits")).expect("a kernel");
        guest.boot().expect("a kernel");
        println!("there");
        loop {
            #[allow(clippy::disallowed_methods, reason = "it waits to be killed")]
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn a_killed_owner_takes_his_kernels_along(place: &Path) {
        let me = std::env::current_exe().expect("a program");
        let mut owner =
            Command::new(me).arg("owner").arg(place).stdout(Stdio::piped()).spawn().expect("an owner");
        let mut line = String::new();
        BufReader::new(owner.stdout.take().expect("his words")).read_line(&mut line).expect("his words");
        assert_eq!(line, "there\n");
        assert_eq!(alive(place).len(), 1);
        uml::tidy(place);
        assert!(!empty(place), "a living owner's folder was taken for a dead one's");
        owner.kill().expect("killing him");
        owner.wait().expect("burying him");
        // The system kills the owner's kernel; that takes a moment.
        for _ in 0..200 {
            if alive(place).is_empty() {
                break;
            }
            #[allow(clippy::disallowed_methods, reason = "it waits for the system")]
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(alive(place), Vec::<PathBuf>::new());
        uml::tidy(place);
        assert!(empty(place), "his folder stays");
    }
}
