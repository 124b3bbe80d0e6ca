//! The steps of docs/phone.md with a second network namespace as the phone: its ping crosses the link in both directions.
#![cfg(target_os = "linux")]

use std::process::Command;

/// Command lines of the page, without `sudo` and without the way to the Internet, which a test does not have.
fn steps() -> Vec<String> {
    let page = include_str!("../../../docs/phone.md");
    let lines = page.lines().filter_map(|line| line.strip_prefix("sudo "));
    let kept = ["ip ", "williwaw ", "sysctl -w net.ipv4.conf."];
    lines.filter(|line| kept.iter().any(|word| line.starts_with(word))).map(str::to_owned).collect()
}

#[test]
fn a_ping_of_the_phone_takes_twice_the_delay() {
    let steps = steps();
    let (last, ready): (Vec<_>, Vec<_>) = steps.into_iter().partition(|line| line.contains("link del"));
    let (wire, ready): (Vec<_>, Vec<_>) =
        ready.into_iter().partition(|line| line.starts_with("williwaw wire"));
    assert_eq!((last.len(), wire.len(), ready.len()), (1, 1, 6));
    let program = env!("CARGO_BIN_EXE_williwaw");
    let wire = wire[0].replacen("williwaw", program, 1);
    // The phone is a namespace inside that of the laptop; its name lives in a mount namespace of the test.
    let script = format!(
        "set -e\n\
         mount -t tmpfs none /run || exit 77\n\
         ip netns add phone || exit 77\n\
         ip link set lo up\n\
         ip link add usb0 type veth peer name eth0 netns phone || exit 77\n\
         {}\n\
         ip -n phone addr add 192.168.77.10/24 dev eth0\n\
         ip -n phone link set eth0 up\n\
         timeout 40 {wire} &\n\
         wire=$!\n\
         sleep 5\n\
         ip netns exec phone ping -c 5 -i 0.3 -W 5 192.168.77.1 || true\n\
         kill -INT $wire\n\
         wait $wire || true\n\
         {}\n",
        ready.join("\n"),
        last[0],
    );
    let mut unshare = Command::new("unshare");
    let unshare = unshare.args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c", &script]);
    let output = match unshare.output() {
        Ok(output) if output.status.code() != Some(77) && Command::new("ping").arg("-V").output().is_ok() => {
            output
        }
        _ => {
            eprintln!("skipped: no user namespaces with ip and ping here");
            return;
        }
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.contains("Operation not permitted") || err.contains("Permission denied") {
        eprintln!("skipped: {err}");
        return;
    }
    assert!(output.status.success(), "{err}\n{out}");
    let times: Vec<f64> =
        out.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect();
    assert_eq!(times.len(), 5, "{out}{err}");
    // With known addresses: twice the delay, plus the machine's share.
    let best = times[1..].iter().copied().fold(f64::INFINITY, f64::min);
    assert!((200.0..260.0).contains(&best), "{best} ms of 200 ms: {out}");
}
