//! The JSON of `Thread.dump_to_file` to a dump. Knows no evidence.

use std::rc::Rc;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::thread_dump::dump::{Dump, How, Thread, Waited};
use crate::thread_dump::gather::FRAMES_MAX;
use crate::thread_dump::gather_file::add_sleep;
use crate::thread_dump::parse;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "threadDump")]
    dump: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Content {
    #[serde(deserialize_with = "number")]
    process_id: Option<i64>,
    time: String,
    runtime_version: String,
    thread_containers: Vec<Container>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Container {
    threads: Vec<Listed>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Listed {
    #[serde(deserialize_with = "number")]
    tid: Option<i64>,
    name: String,
    #[serde(rename = "virtual")]
    is_virtual: bool,
    state: String,
    stack: Vec<String>,
    park_blocker: Option<Blocker>,
    blocked_on: Option<String>,
    waiting_on: Option<String>,
    monitors_owned: Vec<Owned>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Blocker {
    object: String,
    #[serde(deserialize_with = "number")]
    owner: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Owned {
    /// Of a monitor that the compiler did away with there is null.
    locks: Vec<Option<String>>,
}

/// A number, which JSON of dumps has as text, or a number all the same.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    match serde_json::Value::deserialize(from)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::Number(number) => Ok(number.as_i64()),
        serde_json::Value::String(text) => text.parse().map(Some).map_err(D::Error::custom),
        _ => Err(D::Error::custom("a number is expected")),
    }
}

/// The dump in a file, or what is wrong with it.
pub(super) fn dump(text: &[u8]) -> Result<Dump, String> {
    let File { dump } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let listed: Vec<Listed> = dump.thread_containers.into_iter().flat_map(|container| container.threads).collect();
    let names: Vec<(Option<i64>, String)> = listed.iter().map(|thread| (thread.tid, thread.name.clone())).collect();
    let name_of = |id: i64| names.iter().find(|(tid, _)| *tid == Some(id)).map(|(_, name)| name.clone());
    Ok(Dump {
        time_ns: parse::iso(dump.time.as_bytes()),
        is_local: false,
        pid: dump.process_id,
        version: dump.runtime_version,
        threads: listed.into_iter().map(|thread| of_listed(thread, &name_of)).collect(),
        is_whole: true,
    })
}

/// What the beginning of a file says of its JVM.
pub(super) fn dump_of_head(head: &[u8]) -> Option<Dump> {
    let after = |key: &[u8]| {
        let at = memchr::memmem::find(head, key)?;
        head[at + key.len()..].split(|byte| *byte == b'"').nth(1)
    };
    let pid = std::str::from_utf8(after(b"\"processId\":")?).ok()?.parse().ok();
    Some(Dump { pid, ..Dump::default() })
}

fn of_listed(listed: Listed, name_of: &impl Fn(i64) -> Option<String>) -> Thread {
    let owner = listed.park_blocker.as_ref().and_then(|blocker| blocker.owner).and_then(name_of);
    let waits_for = waited(&listed);
    let locks = listed.monitors_owned.iter().flat_map(|owned| &owned.locks).flatten();
    let owns = locks.filter_map(|lock| Some(parse::identity(lock.as_bytes())?.0)).collect();
    let frames = listed.stack.iter().take(FRAMES_MAX).filter_map(|frame| parse::frame(frame.as_bytes())).collect();
    let mut thread = Thread {
        name: listed.name,
        java_id: listed.tid,
        is_virtual: listed.is_virtual,
        state: listed.state,
        frames: Rc::new(frames),
        waits_for,
        owns,
        owner,
        ..Thread::default()
    };
    add_sleep(&mut thread);
    thread
}

fn waited(listed: &Listed) -> Option<Waited> {
    let parked = listed.park_blocker.as_ref().map(|blocker| (How::Park, blocker.object.as_str()));
    let blocked = listed.blocked_on.as_deref().map(|object| (How::Enter, object));
    let waiting = listed.waiting_on.as_deref().map(|object| (How::Signal, object));
    let (how, object) = parked.or(blocked).or(waiting)?;
    let identity = parse::identity(object.as_bytes());
    let class = identity.map_or(object.as_bytes(), |(_, class)| class);
    Some(Waited { how, address: identity.map(|(address, _)| address), class: parse::text_of(class) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_with_virtual_threads() {
        let text = br#"{"threadDump": {"processId": "7", "time": "2026-11-27T16:01:24.5Z", "runtimeVersion": "25",
            "threadContainers": [{"container": "<root>", "parent": null, "threads": [
              {"tid": "21", "name": "holder", "state": "TIMED_WAITING", "stack": ["java.base\/java.lang.Thread.sleep(Thread.java:5)"],
               "monitorsOwned": [{"depth": 3, "locks": ["java.lang.Object@1f", null]}]},
              {"tid": 29, "virtual": true, "name": "", "state": "BLOCKED", "blockedOn": "java.lang.Object@1f", "stack": ["V.run(V.java:1)"]},
              {"tid": "30", "virtual": true, "parkBlocker": {"object": "x.Lock@2", "owner": "21"}, "stack": []}]}]}}"#;
        let dump = dump(text).unwrap();
        let [holder, blocked, parked] = &dump.threads[..] else { panic!("{dump:?}") };
        assert_eq!((dump.pid, dump.time_ns), (Some(7), Some(1_795_795_284_500_000_000)));
        assert_eq!(holder.waits_for.as_ref().map(|waited| waited.how), Some(How::Sleep));
        assert_eq!((blocked.is_virtual, dump.owner_of(0x1f)), (true, Some("holder")));
        assert_eq!((parked.owner.as_deref(), parked.java_id), (Some("holder"), Some(30)));
        assert!(super::dump(&text[..200]).is_err());
    }
}
