//! Documents to attack, and others of their kind to learn from.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use flate2::{Compress, Compression, FlushCompress};

/// An answer of a web service: orders of a shop, each with a token, which differ by `seed`.
pub fn orders(seed: u64, bytes: usize) -> Vec<u8> {
    const GOODS: [&str; 8] =
        ["lamp", "kettle", "garden chair", "bicycle pump", "notebook", "rain coat", "tea pot", "wall clock"];
    const STATES: [&str; 4] = ["paid", "packed", "on its way", "delivered"];
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = String::from("{\"status\":\"ok\",\"service\":\"orders\",\"version\":7,\"orders\":[");
    while text.len() < bytes {
        let _ = write!(
            text,
            "{{\"id\":{},\"customer\":\"c-{:08x}\",\"token\":\"{:016x}\",\"article\":\"{}\",\"pieces\":{},\"price\":{}.{:02},\"state\":\"{}\"}},",
            random.u32(100_000..999_999),
            random.u32(..),
            random.u64(..),
            GOODS[random.usize(..GOODS.len())],
            random.u8(1..20),
            random.u16(1..500),
            random.u8(..100),
            STATES[random.usize(..STATES.len())],
        );
    }
    text.into_bytes()
}

/// The files of a folder whose name passes, in the order of their names.
pub fn files(folder: &Path, passes: impl Fn(&str) -> bool) -> io::Result<Vec<Vec<u8>>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.file_name().is_some_and(|name| passes(&name.to_string_lossy())));
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// A DEFLATE stream without a header, as gzip, zip and HTTP have inside. `level` 0 stores.
pub fn deflated(plain: &[u8], level: u32) -> Vec<u8> {
    let mut compress = Compress::new(Compression::new(level), false);
    let mut stream = Vec::with_capacity(plain.len() + plain.len() / 8 + 1024);
    while !matches!(
        compress.compress_vec(&plain[compress.total_in() as usize..], &mut stream, FlushCompress::Finish),
        Ok(flate2::Status::StreamEnd)
    ) {
        stream.reserve(1024);
    }
    stream
}
