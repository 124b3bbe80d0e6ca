//! RTP payload formats: the static payload types of RFC 3551 section 6, their clock rates and payload headers.

use base::Span;

base::named! {
    /// Payload format of a stream.
    pub enum Format {
        /// PCM, mu-law.
        Pcmu = "pcmu",
        /// GSM full rate.
        Gsm = "gsm",
        /// G.723.1 at 6.3 kbit/s.
        G723 = "g723",
        /// PCM, A-law.
        Pcma = "pcma",
        /// G.722 at 64 kbit/s.
        G722 = "g722",
        /// Linear PCM of 16 bits, two channels.
        L16Stereo = "l16-stereo",
        /// Linear PCM of 16 bits, one channel.
        L16Mono = "l16-mono",
        /// MPEG audio.
        Mpa = "mpa",
        /// G.728.
        G728 = "g728",
        /// G.729.
        G729 = "g729",
        /// JPEG (RFC 2435).
        Jpeg = "jpeg",
        /// H.261 (RFC 4587).
        H261 = "h261",
        /// MPEG-1 and MPEG-2 video (RFC 2250).
        Mpv = "mpv",
        /// MPEG-2 transport streams (RFC 2250).
        Mp2t = "mp2t",
        /// H.263 (RFC 2190).
        H263 = "h263",
        /// A format of payload type 96 with a clock of its own, video.
        Dynamic = "dynamic",
    }
}

/// Properties of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Payload type, 7 bits.
    pub payload_type: u8,
    /// Ticks of the timestamp per second.
    pub clock: u32,
    /// Octets of the payload header in each packet.
    pub header: u32,
    /// Octets of audio per second, by which the duration of a frame is known; none for video and for audio of variable
    /// rate.
    pub octets_per_second: Option<u32>,
    /// The marker bit ends a frame; for audio it begins a talkspurt (RFC 3551 sections 4.1 and 5).
    pub video: bool,
}

const fn audio(payload_type: u8, clock: u32, octets_per_second: u32) -> Properties {
    Properties { payload_type, clock, header: 0, octets_per_second: Some(octets_per_second), video: false }
}

const fn video(payload_type: u8, header: u32) -> Properties {
    Properties { payload_type, clock: 90_000, header, octets_per_second: None, video: true }
}

impl Format {
    /// Payload type, clock rate, payload header.
    pub const fn properties(self) -> Properties {
        match self {
            Format::Pcmu => audio(0, 8000, 8000),
            //= RFC 3551 section 4.5.8: frames of 33 octets for 20 ms
            Format::Gsm => audio(3, 8000, 1650),
            //= RFC 3551 section 4.5.3: 24 octets for 30 ms
            Format::G723 => audio(4, 8000, 800),
            Format::Pcma => audio(8, 8000, 8000),
            //= RFC 3551 section 4.5.2: the RTP clock rate of G.722 is 8000 Hz although it samples at 16000 Hz
            Format::G722 => audio(9, 8000, 8000),
            Format::L16Stereo => audio(10, 44_100, 176_400),
            Format::L16Mono => audio(11, 44_100, 88_200),
            //= RFC 2250 section 3.5: four octets before MPEG audio
            Format::Mpa => Properties {
                payload_type: 14,
                clock: 90_000,
                header: 4,
                octets_per_second: None,
                video: false,
            },
            Format::G728 => audio(15, 8000, 2000),
            Format::G729 => audio(18, 8000, 1000),
            Format::Jpeg => video(26, 8),
            Format::H261 => video(31, 4),
            Format::Mpv => video(32, 4),
            Format::Mp2t => video(33, 0),
            Format::H263 => video(34, 4),
            Format::Dynamic => video(96, 0),
        }
    }
}

impl Properties {
    /// Duration of `bytes` of audio.
    pub fn duration(&self, bytes: u64) -> Option<Span> {
        let rate = self.octets_per_second?;
        Some(Span::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64))
    }
}
