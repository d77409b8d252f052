//! Numbers as the kernel and programs in it write them.

/// 64-bit numbers as programs write them.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}

/// The two 32-bit numbers of one word, in the order of their addresses.
pub(crate) fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_ne_bytes();
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    (half(0), half(4))
}
