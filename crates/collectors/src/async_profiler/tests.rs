//! A profiler in a simulated JVM: this process, with an attach socket.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;

/// Commands for the profiler that the JVM came to, by their first word.
type Done = Arc<Mutex<Vec<String>>>;

/// Answers as the JVM does, one after the other, while `turn` is not held.
fn play_jvm(listener: UnixListener, turn: Arc<Mutex<()>>, done: Done) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            drop(turn.lock().unwrap());
            answer(stream, &done);
        }
    });
}

fn answer(mut stream: UnixStream, done: &Done) {
    let mut request = [0; 1024];
    let length = stream.read(&mut request).unwrap();
    let text = String::from_utf8_lossy(&request[..length]).into_owned();
    let options = text.split('\0').find(|argument| argument.contains(",jfr,"));
    done.lock().unwrap().extend(options.and_then(|options| options.split(',').next()).map(str::to_owned));
    // The client may have gone.
    let _ = stream.write_all(b"0\nreturn code: 0\n");
}

fn profiling(attach: Attach, place: &Path) -> Profiling {
    let folder = PrivateFolder::make(attach.target()).unwrap();
    let samples = folder.inner_path(SAMPLES_FILE);
    Profiling {
        clock: Clock::read(),
        guard: None,
        profiler: Profiler { attach, library: "/x.so".to_owned(), locks: "", samples },
        others: collector::Profiler::default(),
        folder,
        event: "cpu",
        raw: Raw::left(place),
        files: Vec::new(),
        copy: None,
        began: Instant::now().checked_sub(SEGMENT).unwrap(),
        is_running: true,
        asks_again: None,
        first: None,
    }
}

#[test]
fn a_start_that_is_left_unanswered_is_tried_again_and_never_left_behind() {
    let socket = format!("/tmp/.java_pid{}", std::process::id());
    let (turn, done) = (Arc::new(Mutex::new(())), Done::default());
    play_jvm(UnixListener::bind(&socket).unwrap(), Arc::clone(&turn), Arc::clone(&done));
    let attach = Attach::to(&Target::of(std::process::id()).unwrap(), PATIENCE).unwrap();
    let (place, mut found) = (tempfile::tempdir().unwrap(), Recording::default());

    let stopped = turn.lock().unwrap();
    // After the first unanswered command the waits are short.
    assert!(attach.command("properties", &[], Duration::from_millis(50)).is_err());
    let mut profiling = profiling(attach, place.path());
    profiling.others.has_begun();
    profiling.look(&mut found);
    assert!(!profiling.is_running && profiling.asks_again.is_some() && !profiling.others.is_sampling());
    drop(stopped);
    profiling.asks_again = Some(Instant::now());
    profiling.look(&mut found);
    assert!(profiling.is_running && profiling.asks_again.is_none() && profiling.others.is_sampling());
    assert_eq!(*done.lock().unwrap(), ["stop", "start", "stop", "start"], "what the JVM came to late, and then again");

    let stopped = turn.lock().unwrap();
    profiling.began = Instant::now().checked_sub(SEGMENT).unwrap();
    profiling.look(&mut found);
    Box::new(profiling).finish(&mut found);
    drop(stopped);
    let until = Instant::now() + PATIENCE;
    while done.lock().unwrap().len() < 7 && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(done.lock().unwrap()[4..], ["stop", "start", "stop"], "nothing runs that nobody knows of");
    std::fs::remove_file(&socket).unwrap();
}
