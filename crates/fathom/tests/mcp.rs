//! `fathom mcp` as an assistant's program speaks to it: lines of JSON, written by hand, over its standard input and output.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

struct Client {
    fathom: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Client {
    fn start(arguments: &[&str]) -> Client {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut fathom = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .arg("mcp")
            .args(arguments)
            .current_dir(repository)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (fathom.stdin.take(), BufReader::new(fathom.stdout.take().unwrap()));
        Client { fathom, to, from }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Calls a tool; its text, and whether it was refused.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(&json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params }).to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], tool, "{answer}");
        let result = &answer["result"];
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    }

    fn asked(&mut self, tool: &str, arguments: &Value) -> Value {
        let (text, is_refused) = self.call(tool, arguments);
        assert!(!is_refused, "{tool} {arguments}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_refused) = self.call(tool, arguments);
        assert!(is_refused && !text.contains('\n'), "{tool} {arguments}: {text}");
        text
    }

    /// The end of the input is the end of the program, and nothing else was said.
    fn end(mut self) {
        self.to = None;
        let mut rest = String::new();
        self.from.read_line(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert!(self.fathom.wait().unwrap().success());
    }
}

const LAB: &str = "testdata/labs/full_gc_old_generation_full-sick-jdk17";

#[test]
fn an_assistant_finds_out_why_it_was_slow() {
    let mut client = Client::start(&[LAB]);
    client.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#);
    assert_eq!(client.receive()["result"]["serverInfo"]["name"], "fathom");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let tools = client.receive();
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 9);

    let listed = client.asked("recordings", &json!({}));
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let recording = &listed[0]["id"];
    let explained = client.asked("explain", &json!({ "recording": recording }));
    assert_eq!(explained["causes"][0]["id"], "full_gc_old_generation_full");
    let (markdown, _) = client.call("explain", &json!({ "recording": recording, "form": "markdown" }));
    let whole = client.asked("explain", &json!({ "recording": recording, "form": "json" }));
    assert!(markdown.contains("full_gc_old_generation_full") && markdown.len() < whole.to_string().len());
    let cause = client.asked("explain", &json!({ "recording": recording, "cause": "lock_contention" }));
    assert_eq!(cause, *whole["causes"].as_array().unwrap().iter().find(|one| one["id"] == "lock_contention").unwrap());

    let contents = client.asked("contents", &json!({ "recording": recording }));
    assert!(contents["kinds"].as_array().unwrap().contains(&"gc_pause".into()), "{contents}");
    let lanes = client.asked("contents", &json!({ "recording": recording, "part": "lanes" }));
    // The times of an explanation are those that other tools take and give.
    let (from, to) = (&explained["slow"][0]["from_ns"], &explained["slow"][0]["to_ns"]);
    let pauses = client.asked(
        "spans",
        &json!({ "recording": recording, "kinds": "gc_pause", "from_ns": from, "to_ns": to, "limit": 3 }),
    );
    let rows = pauses["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row["kind"] == "gc_pause" && row["time_ns"].as_i64() < to.as_i64()), "{pauses}");
    assert!(rows.iter().all(|row| row["thread_name"].as_str() != Some("")), "{pauses}");
    assert!(rows[0]["duration_ns"].as_i64() >= rows[1]["duration_ns"].as_i64());
    let stack = rows[0]["stack"].as_u64().unwrap_or(0);
    assert!(client.asked("stack", &json!({ "recording": recording, "id": stack }))["frames"].is_array());

    let frames = client.asked("samples", &json!({ "recording": recording, "compare": true, "limit": 5 }));
    assert!(frames["rows"].as_array().unwrap().len() <= 5);
    let lane = lanes["lanes"].as_array().unwrap().iter().find(|lane| lane["instances"].as_array().unwrap().len() == 1);
    let counter = client.asked("counter", &json!({ "recording": recording, "lane": lane.unwrap()["id"], "width": 7 }));
    assert!((1..=7).contains(&counter["rows"].as_array().unwrap().len()), "{counter}");
    assert!(client.asked("log", &json!({ "recording": recording, "limit": 1 }))["rows"].is_array());
    let compared = client.asked("compare", &json!({ "a": recording, "b": recording }));
    assert_eq!(compared["a"]["headline"], explained["headline"]);
    client.end();
}

#[test]
fn what_cannot_be_answered_is_told_in_one_line() {
    let mut client = Client::start(&[LAB]);
    for (tool, arguments, expected) in [
        ("explain", json!({ "recording": 7 }), "no recording 7: `recordings` lists them, 1 in all"),
        ("explain", json!({ "recording": 0, "cause": "gc" }), "no cause gc: there are full_gc_old_generation_full, "),
        ("spans", json!({ "recording": 0, "kinds": "gcc" }), "no spans of gcc: there are "),
        ("samples", json!({ "recording": 0, "event": "wall" }), "no event wall: there are "),
        ("explain", json!({}), "recording is missing"),
        ("spans", json!({ "recording": 0, "kinds": "x", "limit": 1000 }), "limit: expected"),
        ("spans", json!({ "recording": 0, "from_ns": 5, "to_ns": 4 }), "to="),
        ("stack", json!({ "recording": 0, "id": 4_000_000_000_u32 }), "id=4000000000: expected"),
        ("counter", json!({ "recording": 0, "lane": "x\u{1b}[2J" }), "no lane x\\x1b[2J: there are "),
    ] {
        let says = client.refused(tool, &arguments);
        assert!(says.starts_with(expected), "{says}");
    }
    client.end();

    let empty = tempfile::tempdir().unwrap();
    let mut client = Client::start(&[empty.path().to_str().unwrap()]);
    assert!(!client.refused("recordings", &json!({})).is_empty());
    client.end();
}

/// An assistant reads the first answers whole, whatever was recorded.
#[test]
fn first_answers_are_short_and_hold_no_null() {
    for lab in ["labs/code_cache_churn-sick-jdk25-profile_settings", "labs/healthy_server-healthy-jdk17", "page/mixed"]
    {
        let mut client = Client::start(&[&format!("testdata/{lab}")]);
        let (listed, _) = client.call("recordings", &json!({}));
        assert!(listed.contains("headline") && !listed.contains("null"), "{lab}: {listed}");
        for tool in ["explain", "contents"] {
            let (text, is_refused) = client.call(tool, &json!({ "recording": 0 }));
            assert!(
                !is_refused && (500..=6_000).contains(&text.len()),
                "{lab}: {tool} has {} bytes: {text}",
                text.len()
            );
        }
        let explained = client.asked("explain", &json!({ "recording": 0 }));
        let ruled_out = &explained["ruled_out"];
        let ids = |group: &str| explained[group]["ids"].as_array().map_or(0, Vec::len);
        let named = explained["causes_count"].as_u64().unwrap() as usize;
        assert!(named + ids("ruled_out") + ids("cannot_tell") > 50, "{lab}: each cause is named");
        assert!(ids("ruled_out") == 0 || ruled_out["from_ns"].as_i64() < ruled_out["to_ns"].as_i64(), "{ruled_out}");
        client.end();
    }
}

/// Threads that had nothing to do wait longest.
#[test]
fn idle_waits_do_not_come_first() {
    let mut client = Client::start(&["testdata/labs/slow_downstream-sick-jdk25"]);
    let busy = client.asked("spans", &json!({ "recording": 0, "limit": 1 }));
    let all = client.asked("spans", &json!({ "recording": 0, "limit": 1, "idle": true }));
    let number = |answer: &Value, of: &str| answer[of].as_f64().unwrap();
    assert!(number(&busy, "total") < number(&all, "total"), "{busy} {all}");
    assert_eq!(number(&busy, "total") + number(&busy, "idle_left_out"), number(&all, "total"), "{busy} {all}");
    assert!(all.get("idle_left_out").is_none(), "{all}");
    assert!(number(&busy["rows"][0], "duration_ns") <= number(&all["rows"][0], "duration_ns"), "{busy} {all}");
    client.end();
}
