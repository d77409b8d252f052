//! What sealing costs and saves beside whole encryption: nanoseconds of CPU per byte of plaintext, and size.

use std::hint::black_box;
use std::time::Instant;

use ring::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use crate::deflate::blocks;
use crate::documents::{deflated, orders};
use crate::seal::sealed;

const ROUNDS: usize = 15;
/// Student's t for 95 % with that many rounds less one.
const T: f64 = 2.145;
const PLAIN_BYTES: usize = 1 << 20;

/// The mean of rounds with the half width of its 95 % confidence interval (Student's t).
struct Measured {
    mean: f64,
    half: f64,
}

pub fn print() {
    let plain = orders(9, PLAIN_BYTES);
    let stream = deflated(&plain, 6);
    println!("\n| step | size, % of plaintext | ns per byte of plaintext |\n|---|--:|--:|");
    let row = |name: &str, size: usize, work: &mut dyn FnMut()| {
        let Measured { mean, half } = measured(plain.len(), work);
        println!("| {name} | {:.2} | {mean:.3} ± {half:.3} |", 100.0 * size as f64 / plain.len() as f64);
    };
    row("DEFLATE, level 6", stream.len(), &mut || drop(black_box(deflated(&plain, 6))));
    let zstd = zstd::bulk::compress(&plain, 3).unwrap_or_default();
    row("zstd, level 3", zstd.len(), &mut || drop(black_box(zstd::bulk::compress(&plain, 3))));
    let lz4 = lz4_flex::compress(&plain);
    row("LZ4", lz4.len(), &mut || drop(black_box(lz4_flex::compress(&plain))));
    for (name, algorithm) in [("AES-256-GCM", &AES_256_GCM), ("ChaCha20-Poly1305", &CHACHA20_POLY1305)] {
        for (of, stream) in [("DEFLATE", &stream), ("zstd", &zstd), ("LZ4", &lz4)] {
            let mut buffer = stream.clone();
            row(&format!("+ {name} of what {of} left"), stream.len() + algorithm.tag_len() + 12, &mut || {
                encrypt(algorithm, &mut buffer)
            });
        }
    }
    let tables: usize = blocks(&stream).unwrap_or_default().iter().map(|block| block.table.len()).sum();
    let mut table = vec![0; tables / 8];
    row("+ AES-256-GCM of the tables alone, given them", stream.len(), &mut || encrypt(&AES_256_GCM, &mut table));
    row("+ sealing, tables found by parsing", stream.len(), &mut || {
        drop(black_box(sealed(&stream, &[1; 32], &[2; 12])))
    });
    println!("\ntables are {:.2} % of the DEFLATE stream", 100.0 * tables as f64 / 8.0 / stream.len() as f64);
}

fn measured(bytes: usize, work: &mut dyn FnMut()) -> Measured {
    // Short steps are repeated, so that a round takes some milliseconds.
    const ROUND_NS: f64 = 2e6;
    work();
    let began = Instant::now();
    work();
    let times = (ROUND_NS / began.elapsed().as_nanos().max(1) as f64).ceil().max(1.0) as usize;
    let took: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            (0..times).for_each(|_| work());
            began.elapsed().as_nanos() as f64 / (times * bytes) as f64
        })
        .collect();
    let mean = took.iter().sum::<f64>() / ROUNDS as f64;
    let variance = took.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (ROUNDS - 1) as f64;
    Measured { mean, half: T * (variance / ROUNDS as f64).sqrt() }
}

fn encrypt(algorithm: &'static Algorithm, buffer: &mut [u8]) {
    let key = UnboundKey::new(algorithm, &[7; 32]).map(LessSafeKey::new);
    let nonce = Nonce::assume_unique_for_key([1; 12]);
    black_box(key.and_then(|key| key.seal_in_place_separate_tag(nonce, Aad::empty(), buffer)).is_ok());
}
