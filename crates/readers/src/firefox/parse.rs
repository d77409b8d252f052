//! The JSON of Firefox Profiler. Knows no evidence. Tables are of a thread, or of all threads together (`shared`) since version 55.

use serde::Deserialize;

use crate::json_columns::{Column, First, Scalar};
use crate::profiles::ENTRIES_MAX;

/// Threads that are read: an empty one takes two bytes of a file and a thousand of memory.
const THREADS_MAX: usize = 1 << 16;

const CATEGORIES_MAX: usize = 1 << 12;

/// Whether a file that begins with `head` is a processed profile.
pub(super) fn is_profile(head: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(head, mark).is_some();
    head.trim_ascii_start().starts_with(b"{") && has(b"\"preprocessedProfileVersion\"")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Profile {
    pub(super) meta: Meta,
    pub(super) threads: First<Thread, THREADS_MAX>,
    pub(super) shared: Thread,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    /// In ms since the Unix epoch.
    pub(super) start_time: Scalar,
    /// In ms.
    pub(super) interval: Scalar,
    pub(super) product: Scalar,
    pub(super) categories: First<Category, CATEGORIES_MAX>,
    pub(super) sample_units: Units,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Category {
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Units {
    #[serde(rename = "threadCPUDelta")]
    pub(super) thread_cpu_delta: String,
}

/// A thread, with the tables that its samples lead to.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) tid: Scalar,
    pub(super) pid: Scalar,
    pub(super) samples: Samples,
    #[serde(alias = "stringTable")]
    pub(super) string_array: First<String, ENTRIES_MAX>,
    pub(super) frame_table: FrameTable,
    pub(super) func_table: FuncTable,
    pub(super) stack_table: StackTable,
    pub(super) resource_table: ResourceTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Samples {
    pub(super) stack: Column,
    /// In ms since the start, each.
    pub(super) time: Column,
    /// In ms since the sample before.
    pub(super) time_deltas: Column,
    pub(super) weight: Column,
    pub(super) weight_type: Scalar,
    #[serde(rename = "threadCPUDelta")]
    pub(super) thread_cpu_delta: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FrameTable {
    pub(super) func: Column,
    pub(super) category: Column,
    pub(super) line: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FuncTable {
    pub(super) name: Column,
    pub(super) resource: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StackTable {
    pub(super) frame: Column,
    pub(super) prefix: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceTable {
    pub(super) name: Column,
}

/// Reads a profile; what follows it does not matter. The error is one line.
pub(super) fn profile(json: &[u8]) -> Result<Profile, String> {
    let mut from = serde_json::Deserializer::from_slice(json);
    Profile::deserialize(&mut from).map_err(|error| error.to_string())
}

/// The tables of a thread: its own, or those of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<'p> {
    pub(super) strings: &'p [String],
    pub(super) frames: &'p FrameTable,
    pub(super) functions: &'p FuncTable,
    pub(super) stacks: &'p StackTable,
    pub(super) resources: &'p ResourceTable,
}

impl Profile {
    pub(super) fn tables<'p>(&'p self, thread: &'p Thread) -> Tables<'p> {
        let own = |has: bool| if has { thread } else { &self.shared };
        Tables {
            strings: &own(!thread.string_array.entries.is_empty()).string_array.entries,
            frames: &own(thread.frame_table.func.len() > 0).frame_table,
            functions: &own(thread.func_table.name.len() > 0).func_table,
            stacks: &own(thread.stack_table.frame.len() > 0).stack_table,
            resources: &own(thread.resource_table.name.len() > 0).resource_table,
        }
    }
}

impl<'p> Tables<'p> {
    pub(super) fn text(&self, place: Option<usize>) -> &'p str {
        place.and_then(|place| self.strings.get(place)).map_or("", String::as_str)
    }

    /// Name of a frame's function, and of the library that it is in.
    pub(super) fn function(&self, frame: usize) -> (&'p str, &'p str) {
        let Some(function) = self.frames.func.index(frame) else { return ("", "") };
        let resource = self.functions.resource.index(function);
        let library = resource.and_then(|resource| self.resources.name.index(resource));
        (self.text(self.functions.name.index(function)), self.text(library))
    }
}

impl Samples {
    /// The times of all samples, in ms since the start.
    pub(super) fn times_ms(&self) -> Vec<f64> {
        if self.time.len() > 0 {
            return (0..self.time.len()).map(|row| self.time.number(row).unwrap_or(f64::NAN)).collect();
        }
        let mut at = 0.0;
        let next = |row| {
            at += self.time_deltas.number(row).unwrap_or(0.0);
            at
        };
        (0..self.time_deltas.len()).map(next).collect()
    }
}
