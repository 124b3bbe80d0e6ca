//! `williwaw doctor`: capabilities of this machine for emulation, each missing one with its remedy.

use crate::console::environment;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Check the requirements of emulation on this machine, and print how to install missing parts
///
/// Virtual time (`run`, `compare`, `reproduce`) needs none of this. Exit code 3 if a requirement of `emulate`
/// or `shell` is missing. Requirements of single features are listed and do not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  williwaw doctor\n  williwaw doctor --json")]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A requirement and the result of its check.
struct Check {
    what: &'static str,
    /// True if emulation requires it.
    needed: bool,
    there: bool,
    /// Text of the result.
    found: String,
    /// Remedy if it is missing.
    remedy: &'static str,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let link = rights();
    let checks = [
        system(),
        kernel(),
        tun(link.there),
        namespaces(),
        link,
        priority(),
        clock(),
        program("ip", &["ip"], "install iproute2; only tests and agents with bridges use it"),
        program("uplink", &["pasta", "slirp4netns"], "install passt or slirp4netns for `shell --uplink`"),
        program(
            "browser",
            &["chromium", "chromium-browser", "google-chrome"],
            "install Chromium to measure page loads",
        ),
    ];
    let good = checks.iter().all(|check| check.there || !check.needed);
    if args.json {
        let one = |c: &Check| json!({ "what": c.what, "needed": c.needed, "there": c.there, "found": c.found, "mend": c.remedy });
        let all: Vec<_> = checks.iter().map(one).collect();
        console.document(&json!({ "schema": "williwaw-doctor/1", "good": good, "checks": all }))?;
    } else {
        let line = |c: &Check| {
            let state = match (c.there, c.needed) {
                (true, _) => "ok",
                (false, true) => "MISSING",
                (false, false) => "absent",
            };
            let remedy =
                if c.there || c.remedy.is_empty() { String::new() } else { format!("\n  {}", c.remedy) };
            format!("{:<12}{state:<9}{}{remedy}\n", c.what, c.found)
        };
        console.data(&checks.iter().map(line).collect::<String>())?;
    }
    if good {
        return Ok(ExitStatus::Good);
    }
    let missing: Vec<&str> = checks.iter().filter(|c| c.needed && !c.there).map(|c| c.what).collect();
    Err(Failure::machine(
        format!("emulation is not possible on this machine: {}", missing.join(", ")),
        "see the remedies above; `run` and `compare` in virtual time need none of this",
    ))
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn system() -> Check {
    let there = cfg!(target_os = "linux");
    Check {
        what: "system",
        needed: true,
        there,
        found: std::env::consts::OS.to_owned(),
        remedy: "emulation needs Linux; use a virtual machine",
    }
}

fn kernel() -> Check {
    let release = text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let number = |part: Option<&str>| part.and_then(|p| p.parse::<u32>().ok()).unwrap_or(0);
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let version = (number(parts.next()), number(parts.next()));
    Check {
        what: "kernel",
        needed: true,
        there: version >= (4, 9),
        found: if release.is_empty() { "unknown".to_owned() } else { release },
        remedy: "a kernel of version 4.9 or later has the needed fields in TCP_INFO",
    }
}

/// TUN devices. Where they cannot be opened a pair of Ethernet devices stands in, so that only a link that cannot be
/// made (`linked`) makes them necessary.
fn tun(linked: bool) -> Check {
    let opened = std::fs::File::options().read(true).write(true).open("/dev/net/tun");
    let (there, found) = match opened {
        Ok(_) => (true, "/dev/net/tun can be opened".to_owned()),
        Err(error) if linked => {
            (false, format!("/dev/net/tun: {error}; pairs of Ethernet devices replace it"))
        }
        Err(error) => (false, format!("/dev/net/tun: {error}")),
    };
    Check {
        what: "tun",
        needed: !linked,
        there,
        found,
        remedy: "modprobe tun; in a container: --device /dev/net/tun --cap-add NET_ADMIN",
    }
}

fn namespaces() -> Check {
    let zero = |path: &str| text(path).as_deref() == Some("0");
    let limited = zero("/proc/sys/user/max_user_namespaces") || zero("/proc/sys/user/max_net_namespaces");
    let forbidden = zero("/proc/sys/kernel/unprivileged_userns_clone")
        || text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1");
    let root = is_root();
    let there = !limited && (root || !forbidden) && Path::new("/proc/self/ns/net").exists();
    let found = if there {
        "network and user namespaces".to_owned()
    } else if limited {
        "user.max_*_namespaces is 0".to_owned()
    } else {
        "users may not create namespaces".to_owned()
    };
    Check {
        what: "namespaces",
        needed: true,
        there,
        found,
        remedy: "run as root, or sysctl kernel.unprivileged_userns_clone=1 (AppArmor: kernel.apparmor_restrict_unprivileged_userns=0)",
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Whether `williwaw shell` can run a command behind a link, tested in a child process.
fn rights() -> Check {
    let mut command = std::process::Command::new("/proc/self/exe");
    command.args(["shell", "--link", "delay=1 ms", "--quiet", "--", "true"]);
    let tried = command.stdin(std::process::Stdio::null()).output();
    let (there, found) = match tried {
        Ok(done) if done.status.success() => {
            (true, "a link was created and a command ran over it".to_owned())
        }
        Ok(done) => {
            let stderr = String::from_utf8_lossy(&done.stderr);
            (false, stderr.lines().next().unwrap_or("it ended without a message").to_owned())
        }
        Err(error) => (false, error.to_string()),
    };
    Check {
        what: "link",
        needed: true,
        there,
        found,
        remedy: "run as root, or give the program the rights: setcap cap_net_admin,cap_sys_admin+ep",
    }
}

/// Real-time priority, without which packets leave late on a busy machine.
fn priority() -> Check {
    let limits = text("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max realtime priority")).unwrap_or_default();
    let most = line.split_whitespace().nth(3).unwrap_or("0").to_owned();
    let there = is_root() || most != "0";
    Check {
        what: "priority",
        needed: false,
        there,
        found: format!("real-time priority up to {}", if is_root() { "99" } else { &most }),
        remedy: "run as root, or raise rtprio in /etc/security/limits.conf; --no-realtime goes without",
    }
}

fn clock() -> Check {
    let source = text("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    let there = !matches!(source.as_str(), "" | "jiffies" | "refined-jiffies" | "acpi_pm");
    Check {
        what: "clock",
        needed: false,
        there,
        found: if source.is_empty() { "clock source unknown".to_owned() } else { source },
        remedy: "a slow clock source makes every look at the time cost microseconds: boot with clocksource=tsc",
    }
}

fn program(what: &'static str, names: &[&str], remedy: &'static str) -> Check {
    let path = environment::variable("PATH").unwrap_or_default();
    let find = |name: &&str| -> Option<PathBuf> {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    };
    let found = names.iter().find_map(find);
    Check {
        what,
        needed: false,
        there: found.is_some(),
        found: found.map_or_else(|| format!("no {}", names.join(", no ")), |file| file.display().to_string()),
        remedy,
    }
}
