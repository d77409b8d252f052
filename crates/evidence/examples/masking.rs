//! What masking secrets adds to taking in a text that a recording did not have: `cargo run --release -p fathom-evidence --example masking`.
//!
//! Kinds of texts as recordings have them are taken in once with masking, as always, and once into a set that only keeps them. Texts that
//! a recording has already cost nothing more. The best of several turns is printed.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::Instant;

use fathom_evidence::Strings;

/// Texts of a kind: a large recording has as many frames.
const TEXTS: usize = 200_000;
const TURNS: usize = 5;

type Text = fn(usize) -> String;

const KINDS: &[(&str, Text)] = &[
    ("frames", |n| format!("com.acme.shop.Service{}.lambda$call${n}", n % 997)),
    ("threads", |n| format!("http-nio-8080-exec-{n}")),
    ("details", |n| format!("{{\"bytes\":{n},\"path\":\"/srv/data/part-{n:06}.db\"}}")),
    ("lines of logs", |n| format!("[{n}.005s][info][gc] GC({n}) Pause Young (Normal) 90M->80M(100M) 1.{n}ms")),
    ("with a secret", |n| format!("-Ddb.url=jdbc:pg://db/{n} -Ddb.password=x{n} -Xmx4g")),
];

fn main() {
    println!("| texts | ns each | without masking | MB/s |\n|---|--:|--:|--:|");
    for (kind, text) in KINDS {
        let texts: Vec<String> = (0..TEXTS).map(text).collect();
        let bytes: usize = texts.iter().map(String::len).sum();
        let masked_ns = best(&texts, |texts| {
            let mut strings = Strings::default();
            texts.iter().for_each(|text| {
                strings.intern(text);
            });
            strings.len()
        });
        let kept_ns = best(&texts, |texts| {
            let kept: HashSet<Box<str>> = texts.iter().map(|text| text.as_str().into()).collect();
            kept.len()
        });
        let mb_per_s = bytes as f64 / masked_ns * 1e3 / TEXTS as f64;
        println!("| {kind} | {masked_ns:.0} | {kept_ns:.0} | {mb_per_s:.0} |");
    }
}

/// Time for each text, in ns.
fn best(texts: &[String], take_in: impl Fn(&[String]) -> usize) -> f64 {
    let turn = |_| {
        let began = Instant::now();
        black_box(take_in(black_box(texts)));
        began.elapsed().as_secs_f64() * 1e9 / texts.len() as f64
    };
    (0..TURNS).map(turn).fold(f64::INFINITY, f64::min)
}
