//! Archives that were cut, damaged, or nested: their content is read, and losses are reported.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

const BLOCK_BYTES: usize = 512;

/// A log of a JVM with one collection per second; an ill one has full collections of 900 ms.
fn log(started: &str, is_ill: bool) -> Vec<u8> {
    let mut text = format!("[2026-11-02T{started}:00.005+0000][0.005s][info][gc] Using Serial\n");
    for second in 1..30 {
        let (what, took) =
            if is_ill { ("Pause Full (Ergonomics)", "900.000") } else { ("Pause Young (Allocation Failure)", "1.000") };
        text += &format!(
            "[2026-11-02T{started}:{second:02}.950+0000][{second}.950s][info][gc] GC({second}) {what} 90M->80M(100M) {took}ms\n"
        );
    }
    text.into_bytes()
}

fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut block = vec![0_u8; BLOCK_BYTES];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    block[148..156].fill(b' ');
    block[156] = b'0';
    block[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.extend_from_slice(content);
    block.resize(block.len().next_multiple_of(BLOCK_BYTES), 0);
    block
}

fn tar(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 2 * BLOCK_BYTES]].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// What `fathom explain` says of a path: its answers, and the lines beside them.
fn explained(path: &Path) -> (Vec<serde_json::Value>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).arg("explain").arg(path).arg("--json").output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let answers = match answer["explanations"].as_array() {
        Some(answers) => answers.clone(),
        None if answer.is_null() => Vec::new(),
        None => vec![answer],
    };
    (answers, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn place() -> (tempfile::TempDir, impl Fn(&str, &[u8]) -> PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_owned();
    let write = move |name: &str, bytes: &[u8]| {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
        folder.join(name)
    };
    (place, write)
}

/// Two logs, of which the one with the problem is damaged: the answer must not say that all is well.
#[test]
fn what_an_archive_has_lost_is_told() {
    let (_place, write) = place();
    let (good, ill) = (member("good.log", &log("10:00", false)), member("ill.log", &log("11:00", true)));
    let hurt = |change: fn(&mut Vec<u8>)| {
        let mut ill = ill.clone();
        change(&mut ill);
        tar(&[good.clone(), ill])
    };
    let whole = tar(&[good.clone(), ill.clone()]);
    for (what, archive, names) in [
        ("cut behind the first", good.clone(), "good.log"),
        ("cut in a header", whole[..good.len() + 100].to_vec(), "good.log"),
        ("cut in the content", whole[..good.len() + 700].to_vec(), "ill.log"),
        ("a header zeroed", hurt(|bytes| bytes[..BLOCK_BYTES].fill(0)), "good.log"),
        ("a checksum wrong", hurt(|bytes| bytes[150] ^= 1), "good.log"),
        ("another kind", hurt(|bytes| bytes[156] = b'Z'), "good.log"),
        ("cut and compressed", gzip(&whole[..good.len()]), "good.log"),
    ] {
        let (answers, says) = explained(&write("two.tar", &archive));
        let losses = answers.iter().flat_map(|answer| answer["losses"].as_array().cloned().unwrap_or_default());
        let lost: Vec<String> = losses.map(|loss| loss.to_string()).collect();
        assert!(!answers.is_empty(), "{what}: {says}");
        assert!(lost.iter().any(|loss| loss.contains("two.tar") && loss.contains(names)), "{what}: {lost:?} {says}");
        let is_all_clear = |answer: &serde_json::Value| answer["headline"]["kind"] == "nothing_slow";
        assert!(!answers.iter().any(is_all_clear), "{what}: {answers:?}");
    }
    let (answers, says) = explained(&write("two.tar", &whole));
    assert_eq!((answers.len(), says.as_str()), (2, ""));
    assert!(answers.iter().all(|answer| answer["losses"].as_array().unwrap().is_empty()), "{answers:?}");
}

#[test]
fn archives_in_folders_and_in_archives_are_opened() {
    let (_place, write) = place();
    let two = tar(&[member("logs/good.log", &log("10:00", false)), member("logs/ill.log", &log("11:00", true))]);
    write("folder/two.tar", &two);
    write("folders/two.tgz", &gzip(&two));
    let nested = write("nested.tar", &tar(&[member("inner.tgz", &gzip(&two))]));
    let hidden =
        write("hidden.tar", &tar(&[member(".good.log", &log("10:00", false)), member("ill.log", &log("11:00", true))]));
    let same = tar(&[member("gc.log", &log("10:00", false)), member("gc.log", &log("11:00", true))]);
    let twice = write("twice.tar", &same);
    let folder = |name: &str| nested.with_file_name(name);
    for path in [folder("folder"), folder("folders"), nested.clone(), hidden, twice] {
        let (answers, says) = explained(&path);
        assert_eq!(answers.len(), 2, "{}: one for each JVM: {says}", path.display());
    }
    let bad = write(
        "bad.tar",
        &tar(&[member("", b"?"), member("a", &log("10:00", false)), member("a/b", &log("11:00", true))]),
    );
    assert_eq!(explained(&bad).0.len(), 2);
    let deep = (0..9).fold(two, |inner, _| tar(&[member("inner.tar", &inner)]));
    assert!(explained(&write("deep.tar", &deep)).1.contains("archives in each other"));
}

#[test]
fn what_was_unpacked_is_gone_after_a_signal() {
    let (place, write) = place();
    let archive = write("two.tar", &tar(&[member("good.log", &log("10:00", false))]));
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let unpacked = || fs::read_dir(&temporary).unwrap().count();
    for signal in ["TERM", "HUP", "INT"] {
        // It waits for questions, with what it unpacked.
        let mut open = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["open"])
            .arg(&archive)
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while unpacked() == 0 {
            assert!(
                began.elapsed() < Duration::from_secs(60) && open.try_wait().unwrap().is_none(),
                "nothing is unpacked"
            );
            std::thread::sleep(Duration::from_millis(10));
        }

        assert!(Command::new("kill").args(["-s", signal, &open.id().to_string()]).status().unwrap().success());
        let ended = open.wait().unwrap();
        assert!(ended.signal().is_some() || ended.success(), "{ended}");
        assert_eq!(unpacked(), 0, "{signal}");
    }
}
