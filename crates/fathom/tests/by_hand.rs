//! Folders of files collected by hand: `fathom explain FOLDER` names the cause, from all of them and from some.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/by_hand").join(name)
}

/// The answers for the files of a folder whose names begin with one of `wanted`, all for none.
fn explain(name: &str, wanted: &[&str]) -> Vec<Value> {
    let scratch = TempDir::new().expect("a folder");
    for entry in std::fs::read_dir(folder(name)).expect("testdata") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        if wanted.is_empty() || wanted.iter().any(|begins| file.starts_with(begins)) {
            std::fs::copy(&path, scratch.path().join(file)).expect("a copy");
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    let output =
        command.args(["explain", "--json"]).arg(scratch.path()).env("TZ", "UTC").output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    match answer {
        Value::Array(answers) => answers,
        one => vec![one],
    }
}

/// The cause with the most time, and its share.
fn first(answer: &Value) -> (&str, f64) {
    let cause = &answer["causes"][0];
    (cause["id"].as_str().unwrap_or_default(), cause["share"].as_f64().unwrap_or_default())
}

#[test]
fn everything_of_one_run_is_one_account_that_names_the_cause() {
    // While the code cache was too small, builds had a CPU: a third was waiting for one.
    for (name, cause, least) in [
        ("lock", "lock_contention", 0.5),
        ("pool", "connection_pool_exhausted", 0.5),
        ("disk", "file_sync_slow", 0.8),
        ("code_cache", "code_cache_churn", 0.4),
    ] {
        let answers = explain(name, &[]);
        assert_eq!(answers.len(), 1, "{name}: one JVM");
        let (id, share) = first(&answers[0]);
        assert!(id == cause && share > least, "{name}: {id} {share}");
    }
}

/// The disk of that lab is as slow as before, and more is written through: iostat has the mean, which excludes nothing.
#[test]
fn what_iostat_counts_is_said_and_excludes_nothing() {
    let device = |wanted: &[&str]| {
        let answers = explain("disk", wanted);
        let causes = answers[0]["causes"].as_array().expect("causes").clone();
        causes.into_iter().find(|cause| cause["id"] == "block_device_slow").expect("the cause")
    };
    let with = device(&["app", "gc", "latency", "iostat"]);
    assert_eq!(with["verdict"], "not_enough");
    let said = "requests to loop0 (write) took 5.58 ms each instead of 5.13 ms";
    assert!(with["says"].as_str().is_some_and(|says| says.starts_with(said)), "{with}");
    assert!(!device(&["app", "gc", "latency"])["says"].to_string().contains("loop0"));
}

/// strace was attached for three seconds: what the JVM's recorder has of other times counts as well.
#[test]
fn a_short_trace_hides_nothing() {
    let without = explain("disk", &["app", "gc", "latency"]);
    let with = explain("disk", &["app", "gc", "latency", "strace"]);
    let [(_, share), (_, share_without)] = [&with, &without].map(|answers| first(&answers[0]));
    assert!((share - share_without).abs() < 0.1 && share > 0.8, "{share} {share_without}");
    let causes = with[0]["causes"].as_array().expect("causes");
    let verdict = |id: &str| causes.iter().find(|cause| cause["id"] == id).map(|cause| cause["verdict"].clone());
    assert_eq!(verdict("connect_slow"), Some("not_enough".into()), "calls were not looked at all the time");
}

/// Nothing is known of these threads but their calls.
#[test]
fn a_trace_alone_names_reads_that_take_little() {
    let answers = explain("reads", &["trace", "latency"]);
    let (id, share) = first(&answers[0]);
    assert!(id == "chatty_socket_reads" && share > 0.8, "{id} {share}");
    assert!(answers[0]["causes"][0]["says"].as_str().is_some_and(|says| says.contains("reads from sockets per MB")));
}

#[test]
fn three_thread_dumps_name_an_exhausted_pool() {
    let answers = explain("pool", &["dump"]);
    let (id, share) = first(&answers[0]);
    assert!(id == "connection_pool_exhausted" && share > 0.9, "{id} {share}");
    assert!(answers[0]["causes"][0]["says"].as_str().is_some_and(|says| says.contains("a thread was found there")));
}

#[test]
fn three_thread_dumps_of_a_server_name_who_has_the_connections() {
    let says_of = |name: &str| {
        let answers = explain(name, &["dump"]);
        let (id, share) = first(&answers[0]);
        assert!(id == "connection_pool_exhausted" && share > 0.8, "{name}: {id} {share}");
        answers[0]["causes"][0]["says"].as_str().unwrap_or_default().to_owned()
    };
    let held = says_of("holders");
    assert!(
        held.contains("http-nio-auto-1-exec-")
            && held.contains("had one in hand in the slow time, mostly in Orders.load"),
        "{held}"
    );
    let leaked = says_of("pool");
    assert!(leaked.contains("no thread in the dumps of the slow time had one in hand"), "{leaked}");
}

/// The holder of the lock sleeps 9 ms at a time, which Flight Recorder does not write down, and dumps see.
#[test]
fn three_thread_dumps_name_what_is_done_under_a_lock() {
    let answers = explain("lock", &["dump"]);
    let named: Vec<&str> =
        answers[0]["causes"].as_array().expect("causes")[..2].iter().filter_map(|cause| cause["id"].as_str()).collect();
    assert!(named.contains(&"lock_contention") && named.contains(&"sleeping_handlers"), "{named:?}");
    assert!(answers[0]["causes"][0]["says"].as_str().is_some_and(|says| says.contains("underTheLock")));
}

/// Kinds of messages that `fathom logs` says differ, with whether they came more often.
fn kinds_that_differ(log: &str, more: &[&str]) -> Vec<(String, bool)> {
    let testdata = folder("../app_log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.arg("logs").arg("--json").arg(testdata.join(log)).args(more).current_dir(&testdata).env("TZ", "UTC");
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kinds = answer["logs"][0]["compared"]["kinds"].as_array().expect("kinds");
    let differ = kinds.iter().filter(|kind| kind["differs"] == true);
    differ
        .map(|kind| (kind["says"].as_str().unwrap_or_default().to_owned(), kind["odds_ratio"].as_f64() > Some(1.0)))
        .collect()
}

/// Reads of the cache time out four times as often in seconds 20 to 30.
#[test]
fn logs_name_what_came_more_often_in_slow_time() {
    for log in ["logback.txt.gz", "log4j.txt.gz", "log4j-ecs.json.gz", "jul.txt.gz"] {
        let differ = kinds_that_differ(log, &["--slow", "+20s..+30s"]);
        let more: Vec<&str> = differ.iter().filter(|(_, more)| *more).map(|(says, _)| says.as_str()).collect();
        let expected = ["No answer of <*> within <*> ms", "exception: java.net.SocketTimeoutException"];
        assert!(expected.iter().all(|says| more.iter().any(|found| found.ends_with(says))), "{log}: {differ:?}");
        assert!(more.iter().all(|found| expected.iter().any(|says| found.ends_with(says))), "{log}: {differ:?}");
        // At another time nothing is different.
        assert_eq!(kinds_that_differ(log, &["--slow", "+32s..+38s"]), [], "{log}");
    }
    let by_latency = kinds_that_differ("logback.txt.gz", &["--latency", "latency.csv"]);
    assert!(by_latency.iter().any(|(says, more)| *more && says.contains("No answer")), "{by_latency:?}");
}

/// Half of the requests are reports in seconds 20 to 32 and a tenth before and after; a tenth is answered with 503 then.
#[test]
fn an_access_log_names_the_requests_that_slow_time_has_more_of() {
    let testdata = folder("../latency");
    let says = |command: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_fathom"));
        program.args([command, "access.log.gz", "--json"]).current_dir(&testdata).env("TZ", "UTC");
        let output = program.output().expect("the program starts");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let more = |kinds: &Value| {
        let kinds = kinds.as_array().expect("kinds").iter();
        let more = kinds.filter(|kind| kind["differs"] == true && kind["odds_ratio"].as_f64() > Some(1.0));
        more.map(|kind| kind["says"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let answer = says("explain");
    let mut requests = more(&answer["request_kinds"]);
    requests.sort_unstable();
    assert_eq!(
        (requests, more(&answer["statuses"])),
        (vec!["GET /broken/carts/<*>".into(), "GET /reports/<*>".into()], vec!["503".into()])
    );
    let reports = answer["request_kinds"]
        .as_array()
        .and_then(|kinds| kinds.iter().find(|kind| kind["says"] == "GET /reports/<*>"));
    let part = |name: &str| reports.and_then(|kind| kind[name].as_f64()).unwrap_or_default();
    assert!((0.4..0.65).contains(&part("slow_ratio")) && (0.05..0.15).contains(&part("baseline_ratio")), "{reports:?}");
    // It is evidence and no cause.
    assert!(answer["causes"].as_array().expect("causes").iter().all(|cause| cause["share"].as_f64() == Some(0.0)));
    let found = &says("logs")["logs"][0];
    assert_eq!(more(&found["statuses"]["compared"]["kinds"]), ["503"]);
    assert_eq!(found["requests"]["totals"].as_array().map(Vec::len), Some(6));
}
