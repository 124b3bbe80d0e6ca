//! Server in a separate process for tests, with handwritten HTTP requests that no client library would send.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]
#![allow(clippy::disallowed_methods, reason = "tests wait for a real process")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct House {
    pub(crate) port: u16,
    pub(crate) token: String,
    child: Child,
}

/// Program that plays sets. `None` where this package is tested alone and the program was never built.
pub(crate) fn williwaw() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_BIN_EXE_williwaw-serve")).with_file_name("williwaw");
    if !path.is_file() {
        println!("skipped: `{}` is not built; `cargo build -p williwaw` builds it", path.display());
        return None;
    }
    Some(path)
}

impl House {
    pub(crate) fn start(home: &Path, more: &[&str]) -> House {
        let mut child = Command::new(env!("CARGO_BIN_EXE_williwaw-serve"))
            .arg("--dir")
            .arg(home)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://127.0.0.1:").expect(&line);
        let (port, token) = rest.split_once("/#token=").unwrap();
        House { port: port.parse().unwrap(), token: token.to_owned(), child }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends these bytes and reads the answer until the connection is closed.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has answered already may have closed the connection.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Answer::of(&answer)
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.raw(&[head.as_bytes(), body].concat())
    }

    /// Sends a request as the page does.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let host = format!("127.0.0.1:{}", self.port);
        let token = format!("Bearer {}", self.token);
        let headers = [("host", &*host), ("authorization", &*token), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &headers, body.as_bytes())
    }

    /// Waits until the set is in this state, and returns the server's answer.
    pub(crate) fn wait(&self, id: i64, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let document = self.ask("GET", &format!("/api/sets/{id}"), &Value::Null).json();
            if document["set"]["state"] == state {
                return document;
            }
            assert!(begun.elapsed() < Duration::from_secs(90), "not {state}: {}", document["set"]);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server, as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    /// 0 where the connection was closed without an answer.
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn of(bytes: &[u8]) -> Answer {
        let at = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..at]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let body = bytes.get(at + 4..).unwrap_or_default().to_vec();
        Answer { status, head, body }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{} {}", self.status, String::from_utf8_lossy(&self.body)))
    }
}
