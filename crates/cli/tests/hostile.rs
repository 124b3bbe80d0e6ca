//! Hostile file names, and an agent that gets no more threads.

#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod common;

use common::Desk;

/// A name that would clear the screen.
const NAME: &str = "\x1b[2Jscenario.toml";

/// Names of files reach the terminal as text, in errors, in tables and in sentences.
#[test]
#[cfg(unix)]
fn file_names_move_no_cursor() {
    let desk = Desk::new();
    desk.write(NAME, common::SMALL);
    let change = ["--set-b", "run.limit=60 s"];
    for (words, code) in [
        (&["check", NAME][..], 0),
        (&["run", NAME, "--no-out"], 0),
        (&[&["compare", NAME, "--reps", "2"][..], &change].concat(), 0),
        (&["compare", NAME, "small.toml", "--reps", "2", "--set-b", change[1]], 0),
        (&["analyse", NAME], 2),
        (&["script", NAME], 2),
        (&["check", "\x1b[2Jmissing.toml"], 2),
        (&["run", "\x1b[2Jmissing.toml"], 2),
        (&["analyse", "\x1b[2Jmissing.pcap"], 2),
    ] {
        let ended = desk.run(words);
        assert_eq!(ended.code, code, "{words:?}: {}", ended.err);
        for text in [&ended.out, &ended.err] {
            assert!(!text.contains('\x1b'), "{words:?}: {text:?}");
        }
    }
}

/// An agent that gets no more threads refuses single connections and serves on.
#[test]
#[cfg(target_os = "linux")]
fn a_lack_of_threads_is_an_error_of_one_connection() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::net::TcpStream;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    struct Serving(Child);
    impl Drop for Serving {
        fn drop(&mut self) {
            let _ = (self.0.kill(), self.0.wait());
        }
    }

    // A user without other processes, whose limit counts threads of the agent alone.
    let user = "54322";
    let desk = Desk::new();
    std::fs::set_permissions(desk.folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let program = env!("CARGO_BIN_EXE_williwaw");
    let of_user = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.current_dir(desk.folder.path()).args(["--reuid", user, "--regid", user, "--clear-groups"]);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let made = of_user(&[program, "agent", "--make-token", "agents.token"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return eprintln!("skipped: no other user can be taken");
    }
    let listens = ["agent", "--token-file", "agents.token", "--listen", "127.0.0.1:0"];
    let mut agent = of_user(&[&["prlimit", "--nproc=6", program][..], &listens].concat()).spawn().unwrap();
    let mut said = BufReader::new(agent.stderr.take().unwrap()).lines().map_while(Result::ok);
    let _serving = Serving(agent);
    let Some(address) = said.find_map(|line| Some(line.strip_prefix("listening at ")?.to_owned())) else {
        return eprintln!("skipped: no agent of another user");
    };
    let address = address.split(',').next().unwrap().to_owned();
    let strangers: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert!(said.any(|line| line.contains("this host cannot serve it")), "it ended");
    drop(strangers);
    // The strangers are gone, and the next connection hears the greeting.
    let greeted = |address: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut greeting = [0; 14];
        stream.read_exact(&mut greeting).is_ok() && &greeting == b"williwaw-agent"
    };
    let since = std::time::Instant::now();
    while !greeted(&address) {
        assert!(since.elapsed().as_secs() < 30, "it serves no more");
        std::thread::sleep(Duration::from_millis(100));
    }
}
