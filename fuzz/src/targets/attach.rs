//! Any bytes as a JVM's answer, and its text as properties, flags and the code cache: reading must end, and not panic.
//! What was read can be requested again.
//!
//! The collectors need the kernel, but their parsers do not and are included as source files.

#[allow(dead_code)]
#[path = "../../../crates/collectors/src/jcmd/parse.rs"]
mod jcmd;
#[allow(dead_code)]
#[path = "../../../crates/collectors/src/attach/properties.rs"]
mod properties;
#[allow(dead_code)]
#[path = "../../../crates/collectors/src/attach/protocol.rs"]
mod protocol;

use protocol::{Reply, Version};

/// Why a request cannot be made, as in the collectors.
#[derive(Debug)]
pub(crate) enum AttachError {
    /// What is wrong with it.
    Request(#[allow(dead_code)] &'static str),
}

pub(crate) fn run(bytes: &[u8]) {
    let Some(reply) = Reply::parse(bytes) else { return };
    let words: Vec<&str> = reply.text.split('\n').take(4).collect();
    let _ = Version::of_reply(&reply).encode("jcmd", &words);
    for flag in jcmd::flags(&reply.text) {
        assert!(!flag.name.is_empty() && flag.origin.is_none_or(|origin| !origin.contains('\n')));
    }
    let cache = jcmd::code_cache(&reply.text);
    assert!(cache.segments.len() <= reply.text.lines().count());
    // Each request reads the text again, so one name is enough for all; the input's length selects it.
    let named = properties::parse(&reply.text);
    if let Some((name, _)) = named.get(bytes.len() % named.len().max(1)) {
        assert!(properties::value_of(&reply.text, name).is_some(), "{name:?} is there and is not found");
    }
}
