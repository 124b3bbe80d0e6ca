//! Reads a capture and counts: how fast are reading and decoding alone? `count FILE...`
//!
//! Prints frames, TCP segments, their payload in bytes, and the largest memory this process has had.

#![expect(clippy::print_stdout, reason = "an example speaks")]

use capture::{Reader, Transport};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let mut reader = Reader::path(Path::new(&path))?;
        let (mut segments, mut payload, mut acks) = (0u64, 0u64, 0u64);
        while let Some(frame) = reader.next()? {
            let Ok(packet) = frame.decode() else { continue };
            if let Transport::Tcp(tcp) = packet.transport {
                segments += 1;
                payload += u64::from(packet.payload_len);
                acks = acks.rotate_left(1)
                    ^ u64::from(tcp.ack)
                    ^ tcp.timestamps.map_or(0, |(value, _)| u64::from(value));
            }
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
        println!(
            "{path}: {} frames, {segments} segments, {payload} bytes, check {acks:x}, memory {memory}",
            reader.frames(),
        );
        for notice in reader.notices().kept() {
            println!("  {} at byte {}: {}", notice.kind, notice.offset, notice.what);
        }
    }
    Ok(())
}
