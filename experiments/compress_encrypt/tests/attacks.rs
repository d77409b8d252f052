//! Sealed streams are read without their key.

use fathom_experiment_compress_encrypt::deflate::{Kind, blocks};
use fathom_experiment_compress_encrypt::documents::{deflated, orders};
use fathom_experiment_compress_encrypt::length::{answer_length, secret};
use fathom_experiment_compress_encrypt::seal::sealed;
use fathom_experiment_compress_encrypt::trials::{Attack, Sample, message, without_tables};

fn answers() -> Sample {
    Sample { name: "answers", plain: orders(1, 8_000), others: (100..110).map(|seed| orders(seed, 8_000)).collect() }
}

#[test]
fn who_has_the_key_reads_it() {
    let stream = deflated(&orders(1, 8_000), 6);
    let (key, nonce) = ([3; 32], [4; 12]);
    let sealed_once = sealed(&stream, &key, &nonce).expect("a stream");
    let table = blocks(&stream).expect("a stream")[0].table.clone();
    assert!(table.len() > 200, "{table:?}");
    assert_ne!(sealed_once, stream);
    // Outside the table nothing has changed.
    assert_eq!(sealed_once[table.end.div_ceil(8)..], stream[table.end.div_ceil(8)..]);
}

#[test]
fn blocks_without_tables_are_in_the_clear() {
    assert_eq!(without_tables(&orders(1, 20_000), 0), Some((vec![Kind::Stored], 1.0)));
    assert_eq!(without_tables(&message(), 6), Some((vec![Kind::Fixed], 1.0)));
}

#[test]
fn a_hidden_table_is_recovered_from_a_known_beginning() {
    let attack = Attack::on(&answers()).expect("a stream");
    assert!(attack.reading(200, 300) > 0.8);
}

#[test]
fn the_length_tells_a_secret() {
    let wanted = "7f3a91d05be2c864";
    assert_eq!(secret("csrf_token=", wanted.len(), |asked| answer_length(asked, wanted)), wanted);
}
