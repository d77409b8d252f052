//! How large the frames of compiled code are, read from the code itself.
//!
//! HotSpot's compilers keep no frame pointer, but each compiled method makes one frame of a fixed size at its
//! beginning. That place is searched among the first bytes of the code (before it are the check of the receiver's class
//! and the probe for stack overflow). Only x86-64 is known.

use super::{Found, JitKind};

/// How far into the code a frame is made at the latest.
pub const SEARCHED_BYTES: usize = 192;

/// How a piece of code makes its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JitFrame {
    /// The caller's stack begins this many bytes above the stack pointer, once the frame is made; below
    /// it lie the return address and the caller's `rbp`.
    Fixed {
        /// Size, return address and `rbp` included.
        size_bytes: u32,
        /// Where in the code the frame begins to be made.
        begins_at: u32,
        /// From here on it is made.
        made_at: u32,
    },
    /// `rbp` points to the frame.
    Pointer,
}

impl JitFrame {
    /// As HotSpot says it, which does not tell from where on the frame is made.
    pub(super) fn of_method(found: &Found) -> Option<JitFrame> {
        let has_frame = found.kind == JitKind::Method && found.frame_bytes >= 16;
        has_frame.then_some(JitFrame::Fixed { size_bytes: found.frame_bytes, begins_at: 0, made_at: 0 })
    }
}

/// Finds the making of the frame in the first bytes of a piece of code.
pub(super) fn frame_of(code: &[u8]) -> Option<JitFrame> {
    (0..code.len()).find_map(|at| frame_at(&code[at..], u32::try_from(at).ok()?))
}

fn frame_at(code: &[u8], begins_at: u32) -> Option<JitFrame> {
    let made = |size_bytes: u32, length: usize| {
        let made_at = begins_at + length as u32;
        Some(JitFrame::Fixed { size_bytes, begins_at, made_at })
    };
    match code {
        // push rbp; mov rbp, rsp; and mostly: sub rsp, N
        [0x55, 0x48, 0x8b, 0xec, rest @ ..] => match sub_rsp(rest) {
            Some((room, length)) => made(room.checked_add(16)?, 4 + length),
            None => Some(JitFrame::Pointer),
        },
        // push rbp; sub rsp, N
        [0x55, rest @ ..] => {
            let (room, length) = sub_rsp(rest)?;
            made(room.checked_add(16)?, 1 + length)
        }
        // sub rsp, N; mov [rsp + N - 8], rbp
        _ => {
            let (room, length) = sub_rsp(code)?;
            let (offset, more) = store_rbp(&code[length..])?;
            if room.checked_sub(8)? != offset {
                return None;
            }
            made(room.checked_add(8)?, length + more)
        }
    }
}

/// `sub rsp, N`: N and the length of the instruction.
fn sub_rsp(code: &[u8]) -> Option<(u32, usize)> {
    match code {
        [0x48, 0x83, 0xec, room, ..] if *room < 0x80 => Some((u32::from(*room), 4)),
        [0x48, 0x81, 0xec, a, b, c, d, ..] => Some((u32::from_le_bytes([*a, *b, *c, *d]), 7)),
        _ => None,
    }
    .filter(|(room, _)| *room < 1 << 20 && room % 8 == 0)
}

/// `mov [rsp + N], rbp`: N and the length of the instruction.
fn store_rbp(code: &[u8]) -> Option<(u32, usize)> {
    match code {
        [0x48, 0x89, 0x2c, 0x24, ..] => Some((0, 4)),
        [0x48, 0x89, 0x6c, 0x24, offset, ..] => Some((u32::from(*offset), 5)),
        [0x48, 0x89, 0xac, 0x24, a, b, c, d, ..] => Some((u32::from_le_bytes([*a, *b, *c, *d]), 8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_both_compilers_are_found() {
        let fixed = |size_bytes, begins_at, made_at| Some(JitFrame::Fixed { size_bytes, begins_at, made_at });
        // Each seen in JDK 17 or 25.
        let cases: [(&str, &[u8], Option<JitFrame>); 8] = [
            ("C1", &[0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x30, 0x83], fixed(0x40, 7, 12)),
            ("C2, large", &[0x55, 0x48, 0x81, 0xec, 0x80, 1, 0, 0], fixed(0x190, 0, 8)),
            (
                "made not entrant",
                &[0xe9, 0x5b, 0xdc, 0xf5, 0xff, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20],
                fixed(0x30, 7, 12),
            ),
            ("native", &[0x90, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x40, 0x90], fixed(0x50, 1, 9)),
            ("stub of C2", &[0x48, 0x81, 0xec, 8, 0, 0, 0, 0x48, 0x89, 0x2c, 0x24, 0x49], fixed(16, 0, 11)),
            ("leaf of C2", &[0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10], fixed(0x20, 0, 9)),
            ("runtime", &[0x55, 0x48, 0x8b, 0xec, 0x9c, 0x48, 0x83, 0xec, 8], Some(JitFrame::Pointer)),
            ("other store", &[0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x08], None),
        ];
        for (what, code, frame) in cases {
            assert_eq!(frame_of(code), frame, "{what}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_code_is_read(code: Vec<u8>, prefix in proptest::sample::select(vec![&[0x55_u8][..], &[0x48, 0x81, 0xec], &[]])) {
            if let Some(JitFrame::Fixed { begins_at, made_at, .. }) = frame_of(&[prefix, &code[..]].concat()) {
                assert!(begins_at < made_at);
            }
        }
    }
}
