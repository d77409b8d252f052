//! Facts of the recording itself, and names of its files, that one part of the program writes and another reads.

/// Why it ended. A recording without this and without an end was cut off.
pub const ENDED_BECAUSE: &str = "ended_because";
/// Why `fathom watch` made it: the kind of its reason, and of which port or rule. [`TRIGGER_OF_REQUESTS`] begins those of requests.
pub const TRIGGER: &str = "trigger";
/// The same in a sentence.
pub const TRIGGER_SAYS: &str = "trigger_says";
/// Requests were slow, late or not answered, by hours of history.
pub const TRIGGER_OF_REQUESTS: &str = "requests_";
/// In the folder of a recording that `fathom watch` made, another one: of a minute in which nothing was noticed.
pub const USUAL: &str = "usual";
/// In front of the name of a file that is fetched into `raw` at the end. The value says what is in it and how to get it.
pub const OUTSTANDING: &str = "outstanding.";
/// In the folder `raw`, the copy that follows a file while another process writes it. Where the file itself is there, that has
/// all of it.
pub fn followed(file: &str) -> String {
    format!("followed-{file}")
}

/// How often the recorder checked whether a signal had stopped the process, in ns. Absent if it did not check.
pub const PROCESS_STOP_LOOKS_NS: &str = "process_stop_looks_ns";

/// From which length on waits in the kernel have rows of their own, in ns.
pub const BLOCKED_THRESHOLD_NS: &str = "blocked_threshold_ns";

/// With what rights it was made; without this fact, with fewer than all.
pub const RIGHTS: &str = "rights";
/// The value of it for one that root, or who may do as much, has made.
pub const ALL_RIGHTS: &str = "all";

/// How requests and calls were measured, where each was followed at its socket: then none is a measurement.
pub const REQUESTS_FOLLOWED: &str = "requests_followed";
