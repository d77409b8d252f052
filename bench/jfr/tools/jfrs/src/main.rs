//! Reads start time, thread and stack of every event of FILE with jfrs, PASSES times; prints seconds and events of each.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::time::Instant;

use jfrs::reader::JfrReader;

const FIELDS: [&str; 4] = ["startTime", "eventThread", "sampledThread", "stackTrace"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: jfrs-load FILE PASSES")?;
    let passes: usize = args.next().ok_or("usage: jfrs-load FILE PASSES")?.parse()?;
    for _ in 0..passes {
        let start = Instant::now();
        let events = load(&file)?;
        println!("{:.6} {events}", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn load(file: &str) -> Result<u64, Box<dyn Error>> {
    let mut recording = JfrReader::new(BufReader::with_capacity(1 << 20, File::open(file)?));
    let mut events = 0;
    for chunk in recording.chunks() {
        let (mut reader, chunk) = chunk?;
        for event in reader.events(&chunk) {
            let event = event?;
            let fields = event.value();
            for name in FIELDS {
                black_box(fields.get_field_raw(name));
            }
            events += 1;
        }
    }
    Ok(events)
}
