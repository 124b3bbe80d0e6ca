//! DCCP: any bytes as a packet, and any packets against both ends of a connection (RFC 4340).
#![no_main]

use base::body::Body;
use base::event::Source;
use base::trace::Tracer;
use base::{Packet, Span, Time};
use dccp::{Ccid, Config, Connection, wire};
use libfuzzer_sys::fuzz_target;
use transport::Io;
use transport::app::Socket;
use transport::endpoint::{Endpoint, Role};

fuzz_target!(|data: &[u8]| {
    let _ = base::wire::deadline::read(data, Time::from_secs_f64(5.0));
    let Some((&first, mut rest)) = data.split_first() else { return };
    let ccid = if first & 1 == 0 { Ccid::Tfrc } else { Ccid::Tcplike };
    let role = if first & 2 == 0 { Role::Active } else { Role::Passive };
    let mut end = Connection::new(Config { ccids: vec![ccid], ..Config::default() }, role);
    let mut tracer = Tracer::off();
    let mut now = Time::ZERO;
    let mut out = Vec::new();
    end.write(20_000);
    end.open(&mut Io { now, out: &mut out, tracer: &mut tracer, source: Source(0) });
    while rest.len() > 2 {
        let length = usize::from(rest[0]).min(rest.len() - 2);
        now = now + Span::from_millis(u64::from(rest[1]));
        let (packet, behind) = rest[2..].split_at(length);
        rest = behind;
        let mut io = Io { now, out: &mut out, tracer: &mut tracer, source: Source(0) };
        if end.next_timeout() <= now {
            end.handle_timeout(&mut io);
        }
        if let Ok(read) = wire::read(packet, (1, 1)) {
            let mut bytes = Vec::new();
            let _ = read.encode(&mut bytes);
            end.handle_packet(&mut io, &read, &Packet::NONE);
        }
        while end.poll_event().is_some() {}
        assert!(out.len() < 100_000);
        out.clear();
    }
});
