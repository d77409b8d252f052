//! The thread that waited for memory: ZGC logs have its name but no id.

use fathom_evidence::Recording;

/// Ids from here on down are ours: neither the system's nor those of virtual threads. Programs that know numbers as doubles tell them apart.
const FIRST: i64 = -(1 << 52);

/// The thread that an allocation stall names, and its id, which is the same in all logs; 0 where it names none.
pub(super) fn thread(recording: &mut Recording, stall: &str) -> i64 {
    let name = stall.split_once('(').and_then(|(_, name)| name.strip_suffix(')')).filter(|name| !name.is_empty());
    let Some(name) = name else { return 0 };
    let tid = FIRST - (fnv(name) % FIRST.unsigned_abs()) as i64;
    recording.add_thread(tid, name);
    tid
}

/// The hash of Fowler, Noll and Vo.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_threads() {
        let mut recording = Recording::default();
        let mut tid = |stall| thread(&mut recording, stall);
        let (one, other) = (tid("Allocation Stall (pool-1 (a))"), tid("Allocation Stall (main)"));
        assert!(one != other && one == tid("Allocation Stall (pool-1 (a))") && one < FIRST && other < FIRST);
        assert_eq!((tid("Allocation Stall ()"), tid("Allocation Stall")), (0, 0));
        let names: Vec<&str> = recording.threads.iter().map(|(_, thread)| recording.text(thread.name)).collect();
        assert!(names.contains(&"pool-1 (a)") && names.contains(&"main") && names.len() == 2, "{names:?}");
    }
}
