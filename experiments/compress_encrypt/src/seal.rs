//! "Compress and encrypt at once": of a DEFLATE stream only the Huffman tables are encrypted, in place, by a stream cipher.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};

use crate::deflate::blocks;

pub type Key = [u8; 32];
pub type Nonce = [u8; 12];

/// Seals a DEFLATE stream, or returns `None` if it is none. Each bit of a table is exchanged with a bit of the key stream, so the sealed
/// stream is as long as the plain one, and its holder of the key decodes it while it comes.
pub fn sealed(stream: &[u8], key: &Key, nonce: &Nonce) -> Option<Vec<u8>> {
    let mut sealed = stream.to_vec();
    let mut cipher = ChaCha20::new(key.into(), nonce.into());
    for block in blocks(stream)? {
        let mut mask = vec![0; block.table.len().div_ceil(8)];
        cipher.apply_keystream(&mut mask);
        for (index, bit) in block.table.enumerate() {
            sealed[bit / 8] ^= ((mask[index / 8] >> (index % 8)) & 1) << (bit % 8);
        }
    }
    Some(sealed)
}
