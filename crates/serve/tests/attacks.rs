//! Attacks on the control tool, one test each; docs/serve.md holds the table of results.

mod house;

use house::House;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::time::Duration;

const TEXT: &str = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n\
    [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\napp = { bulk = { bytes = \"10 kB\" } }\n";

fn open(more: &[&str]) -> (tempfile::TempDir, House) {
    let home = tempfile::tempdir().unwrap();
    let house = House::start(home.path(), more);
    (home, house)
}

#[test]
fn without_the_token_there_is_no_data() {
    let (_home, house) = open(&[]);
    let host = format!("127.0.0.1:{}", house.port);
    let status = |headers: &[(&str, &str)]| house.send("GET", "/api/state", headers, b"").status;
    assert_eq!(status(&[("host", &host)]), 401);
    for wrong in [
        "Bearer ",
        "Bearer 0",
        "Basic eDp4",
        &format!("Bearer {}0", house.token),
        &format!("bearer{}", house.token),
    ] {
        assert_eq!(status(&[("host", &host), ("authorization", wrong)]), 401, "{wrong}");
    }
    // Not in the address either, since addresses appear in logs.
    let path = format!("/api/state?token={}", house.token);
    assert_eq!(house.send("GET", &path, &[("host", &host)], b"").status, 401);
    assert_eq!(house.ask("GET", "/api/state", &Value::Null).status, 200);
    // The page itself contains no secret, and may load nothing from elsewhere.
    let page = house.send("GET", "/", &[("host", &host)], b"");
    assert_eq!(page.status, 200);
    assert!(
        page.head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{}",
        page.head
    );
    assert!(
        page.head.contains("x-frame-options: deny")
            && !String::from_utf8_lossy(&page.body).contains(&house.token)
    );
}

#[test]
fn pages_of_other_origins_and_names_are_refused() {
    let (_home, house) = open(&[]);
    let host = format!("127.0.0.1:{}", house.port);
    let token = format!("Bearer {}", house.token);
    let status = |host: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("host", host), ("authorization", &*token)];
        headers.extend(more);
        house.send("GET", "/api/state", &headers, b"").status
    };
    assert_eq!(status(&host, &[]), 200);
    assert_eq!(status(&format!("localhost:{}", house.port), &[]), 200);
    assert_eq!(status(&host, &[("origin", &format!("http://{host}"))]), 200);
    for origin in
        ["http://evil.example", "null", "https://127.0.0.1", &format!("https://{host}"), "http://127.0.0.1:1"]
    {
        assert_eq!(status(&host, &[("origin", origin)]), 403, "{origin}");
    }
    assert_eq!(status(&host, &[("sec-fetch-site", "cross-site")]), 403);
    // DNS rebinding: the server's address with another host name.
    for name in [
        "evil.example",
        &format!("evil.example:{}", house.port),
        "127.0.0.1",
        &format!("127.0.0.1.evil.example:{}", house.port),
    ] {
        assert_eq!(status(name, &[]), 421, "{name}");
    }
    let none = house.raw(
        format!("GET /api/state HTTP/1.1\r\nauthorization: {token}\r\nconnection: close\r\n\r\n").as_bytes(),
    );
    assert_eq!(none.status, 421);
    // A CORS preflight gets no permission.
    let asked = house.send(
        "OPTIONS",
        "/api/sets",
        &[("host", &host), ("origin", "http://evil.example"), ("access-control-request-method", "POST")],
        b"",
    );
    assert!(asked.status == 403 && !asked.head.contains("access-control-allow"));
}

#[test]
fn names_lead_out_of_no_folder() {
    let (home, house) = open(&[]);
    std::fs::write(home.path().join("scenarios/../secret.toml"), "x").unwrap();
    for name in [
        "..%2Fsecret",
        "%2e%2e%2fsecret",
        "..%5csecret",
        "%2Fetc%2Fpasswd",
        ".hidden",
        "a%00b",
        "..",
        "%F0%9F%92%A3",
    ] {
        for (method, body) in [("GET", Value::Null), ("PUT", json!({ "text": "y" })), ("DELETE", Value::Null)]
        {
            for folder in ["scenarios", "captures"] {
                let answer = house.ask(method, &format!("/api/{folder}/{name}"), &body);
                assert!(
                    matches!(answer.status, 400 | 404 | 405),
                    "{method} {folder}/{name}: {}",
                    answer.status
                );
            }
        }
    }
    assert_eq!(std::fs::read_to_string(home.path().join("secret.toml")).unwrap(), "x");
    // A scenario cannot name a file outside either, not even through a link.
    let text = TEXT.replace("\"1 Mbit/s\"", "{ trace = \"FILE\" }");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", home.path().join("scenarios/link")).unwrap();
    for file in ["/etc/passwd", "../token", "link/passwd"] {
        let answer = house.ask("POST", "/api/check", &json!({ "text": text.replace("FILE", file) })).json();
        assert_eq!(answer["good"], false);
        let said = answer["diagnostics"].to_string();
        assert!(!said.contains("root:") && said.contains("outside the folder"), "{said}");
    }
}

#[test]
fn large_and_malformed_requests_are_bounded() {
    let (_home, house) = open(&[]);
    let large = json!({ "text": "#".repeat(5 << 20) });
    assert_eq!(house.ask("POST", "/api/check", &large).status, 413);
    let long = json!({ "text": "#".repeat(2 << 20) });
    assert_eq!(house.ask("POST", "/api/check", &long).status, 400);
    let deep = json!({ "text": format!("a = {}1{}", "[".repeat(9000), "]".repeat(9000)) });
    assert_eq!(house.ask("POST", "/api/check", &deep).json()["good"], false);
    let nested = format!(
        "{{\"text\":\"\",\"path\":[\"a\"],\"change\":{{\"set\":{}1{}}}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let host = format!("127.0.0.1:{}", house.port);
    let token = format!("Bearer {}", house.token);
    let headers = [("host", &*host), ("authorization", &*token), ("content-type", "application/json")];
    assert_eq!(house.send("POST", "/api/edit", &headers, nested.as_bytes()).status, 400);
    let path = format!("/{}", "a".repeat(100_000));
    assert!(matches!(house.ask("GET", &path, &Value::Null).status, 0 | 414 | 431));
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET / HTTP/9\r\n\r\n",
        b"GET /api/state HTTP/1.1\r\nhost: \xff\r\nconnection: close\r\n\r\n",
    ] {
        assert!(matches!(house.raw(bytes).status, 0 | 400 | 421 | 505));
    }
    // Lengths that contradict each other (request smuggling).
    let twice = format!(
        "POST /api/check HTTP/1.1\r\nhost: {host}\r\ncontent-length: 5\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello"
    );
    assert_eq!(house.raw(twice.as_bytes()).status, 400);
    assert_eq!(house.ask("GET", "/api/state", &Value::Null).status, 200);
}

/// A thousand silent connections, and one that sends a byte per second: other clients are answered as soon as a place
/// is free, and every silent connection is closed.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test of real time")]
fn a_thousand_connections_do_not_keep_the_server() {
    let (_home, house) = open(&[]);
    let begun = std::time::Instant::now();
    let mut silent: Vec<_> =
        (0..1000).filter_map(|_| std::net::TcpStream::connect(("127.0.0.1", house.port)).ok()).collect();
    assert!(silent.len() > 500);
    let mut slow = silent.pop().unwrap();
    let mut answered = None;
    while begun.elapsed() < Duration::from_secs(60) {
        // A connection beyond the limit is closed at once; the client connects again.
        let _ = slow.write_all(b"G");
        let mut stream = house.connect();
        let asked = format!(
            "GET /api/state HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            house.port, house.token
        );
        let mut text = String::new();
        let _ =
            stream.write_all(asked.as_bytes()).and_then(|()| stream.read_to_string(&mut text).map(|_| ()));
        if text.contains("200 OK") {
            answered = Some(begun.elapsed());
            break;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    let answered = answered.expect("the server answers nobody any more");
    println!("1 000 silent connections: the next request was answered after {:.1} s", answered.as_secs_f64());
    assert!(answered < Duration::from_secs(30));
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut rest = Vec::new();
        assert!(
            !matches!(stream.read_to_end(&mut rest), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock),
            "still open"
        );
    }
}

#[test]
fn a_body_that_never_comes_is_given_up() {
    let (_home, house) = open(&[]);
    let mut stream = house.connect();
    // The head is complete and the body is not: the handler waits for it, and other clients are served.
    let head = format!(
        "POST /api/check HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        house.port, house.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(house.ask("GET", "/api/state", &Value::Null).status, 200);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408") || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
}

#[test]
fn a_reader_changes_nothing() {
    let (home, house) = open(&["--read-only"]);
    let name = json!({ "text": TEXT });
    assert_eq!(house.ask("PUT", "/api/scenarios/x", &name).status, 403);
    assert_eq!(house.ask("DELETE", "/api/scenarios/x", &Value::Null).status, 403);
    assert_eq!(house.ask("PUT", "/api/captures/x", &name).status, 403);
    assert_eq!(house.ask("DELETE", "/api/captures/x", &Value::Null).status, 403);
    assert_eq!(house.ask("POST", "/api/sets", &json!({ "text": TEXT, "clock": "virtual" })).status, 403);
    assert_eq!(house.ask("POST", "/api/sets/1/ask/stop", &json!({})).status, 403);
    assert_eq!(house.ask("POST", "/api/trigger?process=1&name=x", &json!({})).status, 403);
    assert_eq!(house.ask("POST", "/api/check", &name).json()["good"], true);
    assert!(std::fs::read_dir(home.path().join("scenarios")).unwrap().next().is_none());
}

/// A command runs only after its text was confirmed, and each text is confirmed separately.
#[test]
fn no_command_runs_that_was_not_confirmed() {
    let (home, house) = open(&[]);
    let marker = home.path().join("ran");
    let text = format!("{TEXT}[[command]]\nname = \"c\"\nat = \"b\"\nrun = \"touch {}\"\n", marker.display());
    let check = house.ask("POST", "/api/check", &json!({ "text": text })).json();
    assert_eq!(check["good"], true, "{check}");
    assert_eq!(check["commands"][0]["run"], format!("touch {}", marker.display()));
    assert_eq!(check["confirmed"], false);
    for clock in ["virtual", "real"] {
        assert_eq!(house.ask("POST", "/api/sets", &json!({ "text": text, "clock": clock })).status, 409);
    }
    assert_eq!(house.ask("POST", "/api/look", &json!({ "text": text })).status, 400);
    assert!(!marker.exists());
    // Confirmed: it is queued. Another text needs its own confirmation.
    let confirmed =
        house.ask("POST", "/api/sets", &json!({ "text": text, "clock": "virtual", "confirm": true }));
    assert_eq!(confirmed.status, 200);
    let other = text.replace("touch ", "touch -c ");
    assert_eq!(house.ask("POST", "/api/sets", &json!({ "text": other, "clock": "virtual" })).status, 409);
}

/// Names from outside are returned as text in JSON and escaped in markup.
#[test]
fn hostile_names_stay_text() {
    let (_home, house) = open(&[]);
    let hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";
    let text = format!("title = {hostile:?}\n{TEXT}");
    let text = format!("williwaw = 1\n{}", text.replace("williwaw = 1\n", ""));
    let look = house.ask("POST", "/api/look", &json!({ "text": text })).json();
    let html = look["html"].as_str().unwrap_or_else(|| panic!("{look}"));
    assert!(!html.contains("<img") && !html.contains("<script>alert") && html.contains("&lt;img"), "{html}");
}

/// A head and a body sent one byte at a time are rejected after the time limit, also while bytes still arrive.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test of real time")]
fn requests_that_trickle_are_given_up() {
    let (_home, house) = open(&[]);
    let head = format!(
        "POST /api/check HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n",
        house.port, house.token
    );
    let begun = std::time::Instant::now();
    let mut streams = [house.connect(), house.connect()];
    streams[1].write_all(head.as_bytes()).unwrap();
    let mut ended = [None; 2];
    let mut bytes = head.bytes().cycle();
    while begun.elapsed() < Duration::from_secs(60) && ended.contains(&None) {
        let byte = [bytes.next().unwrap()];
        for (stream, ended) in streams.iter_mut().zip(&mut ended) {
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            let mut answer = [0; 64];
            // An answer or the end of the connection; a read without data waits again.
            let closed = stream.write_all(&byte).is_err() || stream.read(&mut answer).is_ok();
            if closed && ended.is_none() {
                *ended = Some(begun.elapsed());
            }
        }
        assert_eq!(house.ask("GET", "/api/state", &Value::Null).status, 200);
        std::thread::sleep(Duration::from_millis(400));
    }
    let [head, body] = ended.map(|ended| ended.expect("still open after a minute"));
    println!("given up: a head after {:.1} s, a body after {:.1} s", head.as_secs_f64(), body.as_secs_f64());
    assert!(head < Duration::from_secs(30) && body < Duration::from_secs(30));
}

/// Every string of an answer that the page uses as markup.
fn markup(answer: &Value, found: &mut Vec<String>) {
    match answer {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value {
            Value::String(text) if key == "html" => found.push(text.clone()),
            value => markup(value, found),
        }),
        Value::Array(list) => list.iter().for_each(|value| markup(value, found)),
        _ => {}
    }
}

/// Text with markup in every text field: names are rejected with their place, free text stays text in all markup of
/// the server, the exported page included.
#[test]
fn hostile_text_in_every_field_stays_text() {
    let (_home, house) = open(&[]);
    let hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\u{202e}";
    let harmless = |html: &str, field: &str| {
        let raw = html.contains("<img") || html.contains("<script>alert");
        assert!(!raw, "{field}: {html}");
    };
    let quoted = format!("{hostile:?}").replace("\\u{202e}", "\\u202e");
    let gate = format!("{TEXT}[[gate]]\nname = \"g\"\nlink = \"radio\"\nevery = \"20 s\"\nlasts = \"1 s\"\n");
    let command = format!("{TEXT}[[command]]\nname = \"c\"\nat = \"b\"\nrun = \"true\"\n");
    let grid = format!("{TEXT}[grid]\n\"hop.radio.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n");
    let fields = [
        ("hop.name", TEXT.replace("\"radio\"", &quoted)),
        ("hop.between", TEXT.replace("\"a\"", &quoted)),
        ("hop.rate", TEXT.replace("\"1 Mbit/s\"", &quoted)),
        ("flow.name", TEXT.replace("\"f\"", &quoted)),
        ("flow.transport", TEXT.replace("\"tcp\"", &quoted)),
        ("an unknown key", format!("{TEXT}{quoted} = 1\n")),
        ("gate.name", gate.replace("\"g\"", &quoted)),
        ("command.name", command.replace("\"c\"", &quoted)),
        ("command.run", command.replace("\"true\"", &quoted)),
        ("grid key", grid.replace("\"hop.radio.rate\"", &quoted)),
        ("grid value", grid.replace("\"2 Mbit/s\"", &quoted)),
        ("title", TEXT.replace("williwaw = 1\n", &format!("williwaw = 1\ntitle = {quoted}\n"))),
    ];
    let mut drawn = 0;
    for (field, text) in fields {
        assert!(text.contains("onerror"), "{field}");
        for route in ["check", "look"] {
            let answer = house.ask("POST", &format!("/api/{route}"), &json!({ "text": text }));
            // Declared as JSON, with content sniffing disabled.
            assert!(answer.head.contains("application/json") && answer.head.contains("nosniff"), "{field}");
            let mut html = Vec::new();
            markup(&answer.json(), &mut html);
            drawn += html.len();
            html.iter().for_each(|html| harmless(html, field));
        }
        let set = json!({ "name": hostile, "text": text, "clock": "virtual", "repetitions": 1 });
        let answer = house.ask("POST", "/api/sets", &set).json();
        if let (Some(id), Some(_)) = (answer["id"].as_i64(), house::williwaw()) {
            let done = house.wait(id, "done");
            // One word for the shell, without a terminating quote inside it.
            let line = done["commands"][1].as_str().unwrap();
            assert!(line.contains("'<img") && line.matches('\'').count() == 2, "{line}");
            let page = house.ask("GET", &format!("/api/sets/{id}/export"), &Value::Null);
            assert_eq!(page.status, 200, "{field}");
            assert!(page.head.contains("attachment"), "{}", page.head);
            harmless(&String::from_utf8_lossy(&page.body), field);
            drawn += 1;
        }
    }
    assert!(drawn > 0, "nothing was drawn, so nothing was tried");
}

/// Names inside a capture, of its interfaces, stay text.
#[test]
fn hostile_names_in_a_capture_stay_text() {
    let Some(williwaw) = house::williwaw() else { return };
    let (home, house) = open(&[]);
    let (file, out) = (home.path().join("s.toml"), home.path().join("out"));
    std::fs::write(&file, TEXT.replace("\"a\"", "\"server\"")).unwrap();
    let made = std::process::Command::new(williwaw)
        .args([std::ffi::OsStr::new("run"), file.as_os_str(), "--out".as_ref(), out.as_os_str()])
        .args(["--reps", "1", "--pcap", "-q"])
        .status()
        .unwrap();
    assert!(made.success());
    let mut bytes = std::fs::read(out.join("rep0.pcapng")).unwrap();
    let mut patched = 0;
    for at in 0..bytes.len().saturating_sub(6) {
        if &bytes[at..at + 6] == b"server" {
            bytes[at..at + 6].copy_from_slice(b"<img/>");
            patched += 1;
        }
    }
    assert!(patched > 0);
    let host = format!("127.0.0.1:{}", house.port);
    let token = format!("Bearer {}", house.token);
    let headers =
        [("host", &*host), ("authorization", &*token), ("content-type", "application/octet-stream")];
    assert_eq!(house.send("PUT", "/api/captures/hostile.pcapng", &headers, &bytes).status, 200);
    let answer = house.ask("GET", "/api/captures/hostile.pcapng", &Value::Null).json();
    let mut html = Vec::new();
    markup(&answer, &mut html);
    assert!(!html.is_empty(), "{answer}");
    html.iter().for_each(|html| assert!(!html.contains("<img"), "{html}"));
}
