//! DCCP packets as values: types, reset codes, options and features (RFC 4340 sections 5, 6, 11).

use crate::ackvec::AckVector;
use base::body::{Body, Channel, Range};
use base::packet::Flags;
use base::truth::Cause;

base::named! {
    /// Packet type (RFC 4340 section 5.1). The discriminants of the wire are their positions.
    pub enum Kind {
        /// Opens a connection.
        Request = "dccp-request",
        /// Answers a request.
        Response = "dccp-response",
        /// Application data.
        Data = "dccp-data",
        /// Acknowledgement.
        Ack = "dccp-ack",
        /// Application data and acknowledgement.
        DataAck = "dccp-dataack",
        /// A server requests the client to close.
        CloseReq = "dccp-closereq",
        /// Closes the connection.
        Close = "dccp-close",
        /// Ends the connection.
        Reset = "dccp-reset",
        /// Resynchronises sequence numbers.
        Sync = "dccp-sync",
        /// Answers a Sync.
        SyncAck = "dccp-syncack",
    }
}

base::named! {
    /// Reset code (RFC 4340 section 5.6). The discriminants of the wire are their positions.
    pub enum ResetCode {
        /// No reason given.
        Unspecified = "unspecified",
        /// Normal close.
        Closed = "closed",
        /// The peer aborted the connection.
        Aborted = "aborted",
        /// No such connection.
        NoConnection = "no-connection",
        /// A packet that must not come in this state.
        PacketError = "packet-error",
        /// An option was wrong.
        OptionError = "option-error",
        /// A mandatory option was not understood.
        MandatoryError = "mandatory-error",
        /// No listening socket on the destination port.
        ConnectionRefused = "connection-refused",
        /// No such service code.
        BadServiceCode = "bad-service-code",
        /// The server is busy.
        TooBusy = "too-busy",
        /// An Init Cookie was wrong.
        BadInitCookie = "bad-init-cookie",
        /// The peer cheated on acknowledgements.
        AggressionPenalty = "aggression-penalty",
    }
}

base::named! {
    /// Feature (RFC 4340 section 6.4). On the wire each has its number: [`Feature::number`].
    pub enum Feature {
        /// Congestion control identifier.
        Ccid = "ccid",
        /// Sequence numbers of 24 bits are allowed.
        AllowShort = "allow-short-seqnos",
        /// Width of the sequence validity window.
        SequenceWindow = "sequence-window",
        /// The endpoint cannot read ECN marks.
        EcnIncapable = "ecn-incapable",
        /// Data packets per acknowledgement.
        AckRatio = "ack-ratio",
        /// Acknowledgements carry Ack Vectors.
        SendAckVector = "send-ack-vector",
        /// The sender includes NDP Count options after packets without data.
        SendNdpCount = "send-ndp-count",
        /// Least checksum coverage that is accepted.
        MinimumCoverage = "minimum-checksum-coverage",
        /// Data checksums are checked.
        CheckData = "check-data-checksum",
        /// Acknowledgements carry loss event rates (RFC 4342 section 8.4).
        SendLossEventRate = "send-loss-event-rate",
    }
}

impl Feature {
    /// Feature number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Feature::SendLossEventRate => 192,
            other => other as u8 + 1,
        }
    }
    /// The feature with this number; none if unknown.
    pub fn of(number: u8) -> Option<Self> {
        Feature::ALL.iter().copied().find(|f| f.number() == number)
    }
    /// Whether the feature's value is negotiated between two preference lists; otherwise one end decides
    /// (RFC 4340 section 6.3).
    pub const fn is_server_priority(self) -> bool {
        !matches!(self, Feature::SequenceWindow | Feature::AckRatio)
    }
}

/// Which of the four negotiation options (RFC 4340 section 6.1, 6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Negotiation {
    /// The feature of the sender of the option is to change.
    ChangeL,
    /// The sender of the option confirms its own feature.
    ConfirmL,
    /// The feature of the receiver of the option is to change.
    ChangeR,
    /// The sender of the option confirms the feature of its receiver.
    ConfirmR,
}

impl Negotiation {
    /// Option number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Negotiation::ChangeL => 32,
            Negotiation::ConfirmL => 33,
            Negotiation::ChangeR => 34,
            Negotiation::ConfirmR => 35,
        }
    }
    /// The negotiation of an option number.
    pub const fn of(number: u8) -> Option<Self> {
        Some(match number {
            32 => Negotiation::ChangeL,
            33 => Negotiation::ConfirmL,
            34 => Negotiation::ChangeR,
            35 => Negotiation::ConfirmR,
            _ => return None,
        })
    }
}

/// A loss interval as reported (RFC 4342 section 8.6.1): lossless packets, then lossy ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportedInterval {
    /// Packets without loss.
    pub lossless: u32,
    /// Packets of the loss event.
    pub lossy: u32,
    /// Data packets among all of them.
    pub data: u32,
}

/// An option (RFC 4340 section 5.8).
#[derive(Clone, PartialEq, Debug)]
pub enum Opt {
    /// The next option must be understood.
    Mandatory,
    /// The receiver is slow.
    SlowReceiver,
    /// A feature's values, in order of preference.
    Feature(Negotiation, u8, Vec<u8>),
    /// State of the server that the client echoes.
    InitCookie(Vec<u8>),
    /// Packets without data before this one.
    NdpCount(u64),
    /// Which packets arrived.
    AckVector(AckVector),
    /// Sender's time in tens of microseconds.
    Timestamp(u32),
    /// The echo of a timestamp, and the time since it arrived, tens of microseconds.
    TimestampEcho(u32, u32),
    /// Time since the acknowledged packet arrived, tens of microseconds.
    ElapsedTime(u32),
    /// CRC-32c of the payload.
    DataChecksum(u32),
    /// CCID 3: inverse of the loss event rate; `u32::MAX`: no loss event (RFC 4342 section 8.5).
    LossEventRate(u32),
    /// CCID 3: packets not covered, and loss intervals, newest first (RFC 4342 section 8.6).
    LossIntervals(u8, Vec<ReportedInterval>),
    /// CCID 3: bytes per second received since the last report (RFC 4342 section 8.3).
    ReceiveRate(u32),
    /// Anything else: number and content.
    Other(u8, Vec<u8>),
}

/// Sequence numbers have 48 bits on the wire.
pub const SEQ_MASK: u64 = (1 << 48) - 1;

/// A packet. Numbers do not wrap here; the wire carries 48 bits.
#[derive(Clone, PartialEq, Debug)]
pub struct Dccp {
    /// Its type.
    pub kind: Kind,
    /// Sequence number.
    pub seq: u64,
    /// Acknowledgement number.
    pub ack: Option<u64>,
    /// CCID-specific four bits (CCID 3: the window counter).
    pub ccval: u8,
    /// Checksum coverage: 0 all, else 1 + words of the payload.
    pub coverage: u8,
    /// Service code, of requests and responses.
    pub service: u32,
    /// Reset code and three bytes of data (reset packets only).
    pub reset: Option<(ResetCode, [u8; 3])>,
    /// Options in order.
    pub options: Vec<Opt>,
    /// Bytes of application data.
    pub payload: u32,
    /// Offset of the data in the application's stream: models count bytes and carry none. Not on the wire.
    pub offset: u64,
    /// Message number of the data, and whether this packet ends the message. Not on the wire.
    pub message: (u64, bool),
    /// Offset of that message in the stream. Not on the wire.
    pub start: u64,
    /// Source and destination port; the IP header has the addresses.
    pub ports: (u16, u16),
}

impl Dccp {
    /// A packet without data or options.
    pub fn new(kind: Kind, seq: u64, ack: Option<u64>) -> Self {
        Dccp {
            kind,
            seq,
            ack,
            ccval: 0,
            coverage: 0,
            service: 0,
            reset: None,
            options: Vec::new(),
            payload: 0,
            offset: 0,
            message: (0, false),
            start: 0,
            ports: (5001, 5001),
        }
    }
    /// Carries application data.
    pub fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::DataAck) || self.payload > 0
    }
    /// Packets without data directly before it, as counted by its sender.
    pub fn ndp_count(&self) -> u64 {
        self.options.iter().find_map(|o| if let Opt::NdpCount(n) = o { Some(*n) } else { None }).unwrap_or(0)
    }
    /// The Ack Vector, if it carries one.
    pub fn ack_vector(&self) -> Option<&AckVector> {
        self.options.iter().find_map(|o| if let Opt::AckVector(v) = o { Some(v) } else { None })
    }
}

impl Body for Dccp {
    fn flags(&self) -> Flags {
        let when = |flag: Flags, on: bool| if on { flag } else { Flags::default() };
        when(Flags::DATA, self.is_data())
            .with(when(Flags::ACK, self.ack.is_some()))
            .with(when(Flags::SYN, matches!(self.kind, Kind::Request | Kind::Response)))
            .with(when(Flags::FIN, matches!(self.kind, Kind::CloseReq | Kind::Close)))
            .with(when(Flags::RST, self.kind == Kind::Reset))
            .with(when(Flags::LAST, self.message.1))
            .with(when(Flags::WHOLE, self.is_data()))
    }
    fn ranges(&self, cause: Cause, mut each: impl FnMut(Range)) {
        if self.payload > 0 {
            each(Range {
                channel: Channel(0),
                from: self.offset,
                to: self.offset + u64::from(self.payload),
                cause,
            });
        }
    }
    /// Nothing is ever sent again: no ACK concerns a retransmission.
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
    fn unit(&self) -> u16 {
        if self.is_data() { (self.message.0 % 65_535) as u16 + 1 } else { 0 }
    }
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        crate::wire::write(self, out);
        Some(crate::wire::PROTOCOL)
    }
}
