//! Any bytes as a perf map: reading must end, and not panic, and each symbol is found where it is.

use fathom_symbols::jit::JitMap;

pub(crate) fn run(bytes: &[u8]) {
    let mut map = JitMap::parse(bytes);
    assert!(map.len() <= bytes.len());
    assert_eq!(map.is_empty(), matches!(map.len(), 0));
    map.learn_frames(|_, code| {
        code.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        true
    });
    let starts = bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line.get(..16)?).ok());
    for word in starts.filter_map(|line| line.split(' ').next()) {
        if let Ok(address) = u64::from_str_radix(word, 16) {
            map.resolve(address);
            map.resolve(address.wrapping_sub(1));
        }
    }
    map.resolve(u64::MAX);
}
