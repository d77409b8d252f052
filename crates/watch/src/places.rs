//! Which JVMs are watched if there are more JVMs than places. A user who starts many JVMs must not keep the services of
//! others from being watched.

use std::collections::HashMap;

use crate::host_events::JvmKey;

/// While JVMs of others wait, one user's have all places but a third of them.
const KEPT_FOR_OTHERS: usize = 3;

/// The JVM that gives its place to one of `uid`: the youngest of the user who has the most, because the least was
/// learned about it. `None` if no user has more than a fair share.
pub(crate) fn gives_way(watched: &[(JvmKey, u32)], max: usize, uid: u32) -> Option<JvmKey> {
    let kept = max / KEPT_FOR_OTHERS;
    let mut counts: HashMap<u32, usize> = HashMap::new();
    watched.iter().for_each(|(_, of)| *counts.entry(*of).or_default() += 1);
    let (&most, &count) = counts.iter().max_by_key(|(uid, count)| (**count, **uid))?;
    let is_owed = most != uid && count > max - kept && counts.get(&uid).is_none_or(|own| *own < kept);
    let of_most = watched.iter().filter(|(_, of)| *of == most).map(|(key, _)| *key);
    is_owed.then(|| of_most.max_by_key(|(pid, start_ticks)| (*start_ticks, *pid)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JVMs of these users, each younger than the one before.
    fn watched(uids: &[u32]) -> Vec<(JvmKey, u32)> {
        (1..).zip(uids).map(|(number, uid)| ((number, u64::from(number)), *uid)).collect()
    }

    #[test]
    fn a_third_of_the_places_is_for_others() {
        let crowd = watched(&[1, 1, 1, 1, 1, 1]);
        assert_eq!(gives_way(&crowd, 6, 2), Some((6, 6)), "the youngest");
        assert_eq!(gives_way(&crowd, 6, 1), None, "nobody else waits");
        assert_eq!(gives_way(&watched(&[1, 1, 1, 1, 1, 2]), 6, 2), Some((5, 5)));
        assert_eq!(gives_way(&watched(&[1, 1, 1, 1, 2, 2]), 6, 3), None, "nobody has more than his part");
        assert_eq!(gives_way(&watched(&[1, 1, 1, 1, 1, 2]), 6, 3), Some((5, 5)), "whoever the others are");
        assert_eq!(gives_way(&watched(&[1, 1]), 2, 2), None, "a third of two is none");
        assert_eq!(gives_way(&[], 0, 2), None);
    }
}
