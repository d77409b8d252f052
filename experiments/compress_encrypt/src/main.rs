//! Prints what the attacks read (`attacks`) and, when built with that feature, what sealing costs beside real encryption (`cost`); both unless named.

use std::path::Path;
use std::time::Instant;

use fathom_experiment_compress_encrypt::documents::orders;
use fathom_experiment_compress_encrypt::length::{answer_length, answers as answers_needed, secret};
use fathom_experiment_compress_encrypt::trials::{
    Attack, Sample, TABLE_BITS, answers, message, of_repository, without_tables,
};

/// Bytes that the attacker knows of the beginning, and paths.
const TRIES: [(usize, usize); 3] = [(600, 300), (200, 300), (0, 6_000)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let only = std::env::args().nth(1);
    if only.as_deref() != Some("cost") {
        attacks()?;
    }
    #[cfg(feature = "cost")]
    if only.as_deref() != Some("attacks") {
        fathom_experiment_compress_encrypt::cost::print();
    }
    Ok(())
}

fn attacks() -> Result<(), Box<dyn std::error::Error>> {
    println!("| sealed | what the attacker knows | read without the key | seconds |\n|---|---|--:|--:|");
    for (name, plain, level) in
        [("stored block", orders(1, 20_000), 0), ("fixed tables, as short messages get", message(), 6)]
    {
        let (_, share) = without_tables(&plain, level).ok_or("the stream cannot be read")?;
        println!("| {name} | nothing | {:.1} % | 0 |", 100.0 * share);
    }
    println!("{}", by_length());
    let [log, text] = of_repository(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))?;
    for sample in [answers(), log, text] {
        attacked(&sample)?;
    }
    Ok(())
}

fn by_length() -> String {
    const SECRET: &str = "7f3a91d05be2c864";
    let found = secret("csrf_token=", SECRET.len(), |asked| answer_length(asked, SECRET));
    let right = SECRET.bytes().zip(found.bytes()).filter(|(one, other)| one == other).count();
    format!(
        "| a token of 16 digits in an answer | lengths of {} answers | {right} of 16 digits | 0 |",
        answers_needed(SECRET.len())
    )
}

fn attacked(sample: &Sample) -> Result<(), &'static str> {
    let attack = Attack::on(sample).ok_or("the stream cannot be read")?;
    for (known_bytes, paths) in TRIES {
        let began = Instant::now();
        let share = attack.reading(known_bytes, paths);
        let knows = if known_bytes == 0 {
            String::from("the kind of document")
        } else {
            format!("the kind, and the first {known_bytes} bytes")
        };
        println!(
            "| {}, {} bytes | {knows} | {:.1} % | {:.0} |",
            sample.name,
            sample.plain.len(),
            100.0 * share,
            began.elapsed().as_secs_f64()
        );
    }
    let began = Instant::now();
    let (places, is_right) = attack.finding(600, TABLE_BITS);
    let says = if is_right { "the right one among them" } else { "the right one not among them" };
    println!(
        "| {}: where the hidden table ends | the first 600 bytes | {places} of {} places left, {says} | {:.0} |",
        sample.name,
        TABLE_BITS.len(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}
