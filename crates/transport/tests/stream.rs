//! The player of a stream: start-up, stalls, missing frames, jumps, against times counted by hand (catalogue RT-13).

use base::{Span, Time};
use transport::app::media::{Jump, Player, Streaming};

fn plan() -> Streaming {
    Streaming {
        rates: vec![8000, 16_000],
        frame: Span::from_secs(1),
        frames: 60,
        buffer: Span::from_secs(3),
        holds: Span::from_secs(10),
        fill: 2.0,
        adapts: true,
        jumps: vec![Jump { at: Span::from_secs(1), to: Span::from_secs(2) }],
        request: Span::ZERO,
    }
}
fn at(s: f64) -> Time {
    Time::from_secs_f64(s)
}
fn secs(s: u64) -> Span {
    Span::from_secs(s)
}

/// Frames in time: one start-up of the time to the third frame, no stall; the last one ends it.
#[test]
fn plays_what_arrives_in_time() {
    let mut player = Player::new(plan());
    player.start(at(0.0));
    for frame in 0..60 {
        player.arrive(at(1.0 + frame as f64), frame, 0);
    }
    // The buffer was full at 3 s: frame 59 begins at 62 s and ends at 63 s.
    player.advance(at(70.0));
    assert_eq!(player.done(), Some(at(63.0)));
    let played = player.played();
    assert_eq!((played.startup, played.stalls, played.missed), (Some(secs(3)), 0, 0));
    assert_eq!((played.frames, played.bits, played.late), (60, 60.0 * 8000.0, 0));
}

/// A frame that is missing while later ones wait is skipped; that it arrives later is of no use.
#[test]
fn skips_what_is_missing() {
    let mut player = Player::new(plan());
    player.start(at(0.0));
    for frame in [0, 1, 3, 4] {
        player.arrive(at(1.0), frame, 0);
    }
    player.arrive(at(3.5), 2, 0);
    player.advance(at(4.0));
    let played = player.played();
    assert_eq!((played.missed, played.late, played.frames, played.stalls), (1, 1, 3, 0));
}

/// An empty buffer stalls; the target doubles up to what the buffer holds, and comes back after half a minute.
#[test]
fn stalls_when_empty_and_adapts_its_target() {
    let mut player = Player::new(plan());
    player.start(at(0.0));
    (0..3).for_each(|frame| player.arrive(at(0.0), frame, 0));
    player.advance(at(3.0));
    assert_eq!((player.target(), player.played().stalls), (secs(6), 0));
    (3..8).for_each(|frame| player.arrive(at(5.0), frame, 0));
    assert_eq!(player.played().stalls, 0, "five of six frames");
    player.arrive(at(7.0), 8, 0);
    assert_eq!((player.played().stalls, player.played().stalled), (1, secs(4)));
    player.advance(at(13.0));
    assert_eq!(player.target(), secs(10), "no more than the buffer holds");
    // Nothing more comes for the time of the target: it plays what is there.
    player.arrive(at(14.0), 9, 0);
    assert_eq!(player.next_timeout(), at(24.0));
    player.advance(at(24.0));
    assert_eq!(player.played().stalls, 2);
    for frame in 10..50 {
        player.arrive(at(15.0 + frame as f64), frame, 0);
    }
    assert_eq!(player.target(), secs(5), "halved once");
}

/// A jump to a frame in the buffer goes on at once; one elsewhere fills the buffer anew.
#[test]
fn jumps_inside_and_outside_the_buffer() {
    let mut player = Player::new(plan());
    player.start(at(0.0));
    (0..8).for_each(|frame| player.arrive(at(0.0), frame, 0));
    assert!(player.jump(at(1.5), secs(5)));
    assert!(!player.jump(at(2.0), secs(40)));
    assert_eq!(player.buffered(), 0);
    (40..43).for_each(|frame| player.arrive(at(3.0 + (frame - 40) as f64), frame, 1));
    assert_eq!(player.played().jumps, vec![Span::ZERO, secs(3)]);
    player.advance(at(5.5));
    assert_eq!(player.played().frames, 2 + 1 + 1);
}

/// No order of arrivals, jumps and times breaks it: every frame that arrived is played, late, discarded, skipped by a
/// jump, or in the buffer.
#[test]
fn any_order_keeps_count() {
    let mut state = 1_u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    for _ in 0..200 {
        let mut player = Player::new(plan());
        let (mut now, mut came) = (at(0.0), 0);
        player.start(now);
        for _ in 0..300 {
            now += Span::from_millis(draw(900));
            match draw(40) {
                0 => {
                    player.jump(now, secs(draw(70)));
                }
                1..30 => {
                    player.arrive(now, (now.as_nanos() / 1_000_000_000 + draw(8)) % 64, 1);
                    came += 1;
                }
                _ => player.advance(now),
            }
            assert!(player.buffered() <= 10 && player.target() <= secs(10));
            let played = player.played();
            assert!(played.frames + played.late + played.discarded <= came);
        }
    }
}
