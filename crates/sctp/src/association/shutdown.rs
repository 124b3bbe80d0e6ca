//! Shutdown of an association (RFC 9260 section 9.2), T2 timer, and replies to packets of no association
//! (section 8.4).

use super::{Association, Fate, IDLE, State};
use crate::chunk::{Chunk, Failure, Packet, Sack};
use transport::Io;

impl Association {
    /// Enters SHUTDOWN-PENDING after the application has closed; with no data left, sends SHUTDOWN or SHUTDOWN ACK.
    pub(super) fn continue_shutdown(&mut self, io: &mut Io<'_, Packet>) {
        if self.closing && self.state == State::Established {
            self.state = State::ShutdownPending;
        }
        if !self.outbound.is_empty() || !self.sent.is_empty() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.state = State::ShutdownSent;
                self.control = IDLE;
                self.send_shutdown(io);
            }
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent;
                self.control = IDLE;
                self.send_shutdown(io);
            }
            _ => {}
        }
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK, depending on the state, and starts T2.
    fn send_shutdown(&mut self, io: &mut Io<'_, Packet>) {
        let chunk = match self.state {
            State::ShutdownSent => Chunk::Shutdown(self.receipt.next),
            _ => Chunk::ShutdownAck,
        };
        self.send_alone(io, self.data_path, chunk);
        self.arm(io.now);
    }

    /// Expiry of T2-shutdown: retransmits on another path, or ends the association after too many tries.
    pub(super) fn on_t2(&mut self, io: &mut Io<'_, Packet>) {
        if self.control.tries > self.config.association_max_retransmissions {
            self.end(true);
            return;
        }
        self.data_path = self.alternative(self.data_path);
        self.send_shutdown(io);
    }

    /// Processes a SHUTDOWN: an acknowledgement, after which the peer sends no more data.
    pub(super) fn on_shutdown(&mut self, io: &mut Io<'_, Packet>, cumulative: u64) {
        match self.state {
            State::Established | State::ShutdownPending => self.state = State::ShutdownReceived,
            State::ShutdownSent => {
                //= RFC 9260 section 9.2: both send SHUTDOWN at the same time: each answers with SHUTDOWN ACK
                self.state = State::ShutdownAckSent;
                self.control = IDLE;
                self.send_shutdown(io);
                return;
            }
            State::ShutdownReceived => {}
            _ => return,
        }
        let window = u32::try_from(self.peer.window + self.flight()).unwrap_or(u32::MAX);
        // A SHUTDOWN has no gap blocks: earlier gap reports stay valid.
        let reported = self.sent.iter().filter(|s| s.fate == Fate::Acked && s.data.tsn >= cumulative);
        let gaps = reported.map(|s| (s.data.tsn, s.data.tsn + 1)).collect();
        self.on_sack(io, &Sack { cumulative, window, gaps, ..Sack::default() });
    }

    /// Processes a SHUTDOWN ACK: replies with SHUTDOWN COMPLETE and deletes the association.
    pub(super) fn on_shutdown_ack(&mut self, io: &mut Io<'_, Packet>) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.send_alone(io, self.data_path, Chunk::ShutdownComplete { reflected: false });
            self.end(false);
        }
    }

    /// Processes a SHUTDOWN COMPLETE.
    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.end(false);
        }
    }

    /// Retransmits SHUTDOWN after data in state SHUTDOWN-SENT: the peer has not received it (section 9.2).
    pub(super) fn repeat_shutdown(&mut self, io: &mut Io<'_, Packet>) {
        self.control.tries = 0;
        self.send_shutdown(io);
    }

    /// Replies to a packet for which there is no association (section 8.4).
    pub(super) fn out_of_the_blue(&mut self, io: &mut Io<'_, Packet>, packet: &Packet, path: u8) {
        let answer = |chunk| Packet {
            ports: self.ports,
            tag: packet.tag,
            initial: [self.initial, self.peer.initial],
            chunks: vec![chunk],
            divisible: false,
        };
        let silent = packet.chunks.iter().any(|chunk| {
            matches!(
                chunk,
                Chunk::Abort { .. }
                    | Chunk::ShutdownComplete { .. }
                    | Chunk::Error(Failure::StaleCookie(_))
                    | Chunk::CookieAck
            )
        });
        if silent {
            return;
        }
        let shut = packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::ShutdownAck));
        let answer = if shut {
            answer(Chunk::ShutdownComplete { reflected: true })
        } else {
            answer(Chunk::Abort { reflected: true, cause: None })
        };
        self.emit(io, path, answer);
    }
}
