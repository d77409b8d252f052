//! Any bytes as a tar, bare or compressed, or a zip: reading its members must end, and not panic, whatever they unpack to.

use std::io::{self, Read};

use fathom_readers::archive::{Member, each_member_of};

/// The most that is unpacked from one input, in bytes.
const UNPACKED_MAX: u64 = 64 << 10;

pub(crate) fn run(bytes: &[u8]) {
    let mut left = UNPACKED_MAX;
    let mut take = |_: &Member, content: &mut dyn Read| {
        left -= io::copy(&mut content.take(left), &mut io::sink())?;
        match left {
            0 => Err(io::Error::other("enough")),
            _ => Ok(()),
        }
    };
    if let Ok(lost) = each_member_of(bytes, &mut take) {
        assert!(lost.lines().iter().all(|line| !line.is_empty()), "a loss that says nothing");
    }
}
