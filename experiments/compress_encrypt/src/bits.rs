//! Bits of a DEFLATE stream by their position: the first is the lowest of the first byte.

/// The `count` bits from `at` on as a number whose lowest bit comes first; bits after the end are 0.
pub fn number(bytes: &[u8], at: usize, count: u32) -> u32 {
    let first = at / 8;
    let mut window = 0_u64;
    for (index, byte) in bytes.iter().skip(first).take(8).enumerate() {
        window |= u64::from(*byte) << (8 * index);
    }
    ((window >> (at % 8)) & ((1 << count) - 1)) as u32
}

/// The next 15 bits as Huffman codes are read: the first bit is the highest.
pub fn code_window(bytes: &[u8], at: usize) -> u16 {
    (number(bytes, at, 15).reverse_bits() >> 17) as u16
}
