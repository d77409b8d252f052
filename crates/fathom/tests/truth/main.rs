//! How often answers are true: one scoreboard over all recordings of which the truth is known.
//!
//! As a test (`cargo test -p fathom --test truth`) it fails when any count is worse than in
//! `bench/truth/baseline.json`; `FATHOM_BLESS=1` rewrites that file. As a program (`bench/truth/run`) it prints the
//! table, also of folders of recordings that are given. Subjects are explained by each common mix of sources, and once
//! more without each source and each kind of event: an answer that then changes counts as turned.

#[path = "../shared/recordings.rs"]
mod recordings;

#[path = "../../../causes/tests/cases/expect.rs"]
#[allow(dead_code)]
mod expect;
#[path = "../../../causes/tests/cases/happen.rs"]
#[allow(dead_code)]
mod happen;
#[path = "../../../causes/tests/cases/recorders.rs"]
#[allow(dead_code)]
mod recorders;
#[path = "../../../causes/tests/cases/text.rs"]
#[allow(dead_code)]
mod text;
#[path = "../../../causes/tests/cases/told.rs"]
#[allow(dead_code)]
mod told;
#[path = "../../../causes/tests/cases/transform.rs"]
#[allow(dead_code)]
mod transform;
#[path = "../../../causes/tests/cases/world.rs"]
#[allow(dead_code)]
mod world;

mod corpus;
mod given;
mod labs;
mod score;
mod table;
mod worlds;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use score::{Board, Judged};

const BASELINE: &str = "bench/truth/baseline.json";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is asked for; cargo's own arguments for tests are passed over.
#[derive(Default)]
struct Arguments {
    json: bool,
    wrong: bool,
    list: bool,
    only_given: bool,
    folders: Vec<PathBuf>,
}

impl Arguments {
    fn read() -> Arguments {
        let mut arguments = Arguments::default();
        for word in std::env::args().skip(1) {
            match word.as_str() {
                "--json" => arguments.json = true,
                "--wrong" => arguments.wrong = true,
                "--list" => arguments.list = true,
                "--only-given" => arguments.only_given = true,
                word if word.starts_with('-') => {}
                folder if Path::new(folder).is_dir() => arguments.folders.push(PathBuf::from(folder)),
                _ => {}
            }
        }
        arguments
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read();
    if arguments.list {
        println!("truth: test");
        return ExitCode::SUCCESS;
    }
    let mut judged: Vec<Judged> = Vec::new();
    if !arguments.only_given {
        judged.extend(corpus::judged());
        judged.extend(labs::judged());
        judged.extend(worlds::judged());
    }
    let known = Board::of(&judged);
    let given: Vec<Judged> = arguments.folders.iter().flat_map(|folder| given::judged(folder)).collect();
    judged.extend(given);
    let board = Board::of(&judged);
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&board).expect("a board is JSON")),
        false => print!("{}", table::text(&board, arguments.wrong)),
    }
    if arguments.only_given { ExitCode::SUCCESS } else { compare(&known) }
}

/// Fails when something is worse than it was.
fn compare(board: &Board) -> ExitCode {
    let path = repository().join(BASELINE);
    if std::env::var_os("FATHOM_BLESS").is_some() {
        let text = serde_json::to_string_pretty(board).expect("a board is JSON");
        std::fs::write(&path, text + "\n").expect(BASELINE);
        return ExitCode::SUCCESS;
    }
    let text = std::fs::read_to_string(&path).expect(BASELINE);
    let before: Board = serde_json::from_str(&text).expect(BASELINE);
    let worse = board.worse_than(&before);
    // Counted as a suite of one test.
    let (passed, failed) = if worse.is_empty() { (1, 0) } else { (0, 1) };
    if failed > 0 {
        println!("\nworse than {BASELINE}:\n  {}", worse.join("\n  "));
        println!("\nwrong now and not before:\n  {}", board.new_wrongs(&before).join("\n  "));
        println!("\nWhat is right is changed in its world or lab; what has to be so for now by FATHOM_BLESS=1.");
    }
    println!("\ntest result: {}. {passed} passed; {failed} failed;", if failed == 0 { "ok" } else { "FAILED" });
    ExitCode::from(failed)
}
