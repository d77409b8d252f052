//! Seconds that may have been slow although no signal tells them: what the signals tell, and these. The causes decide.

use super::{Detection, Slowdown, SlowdownOptions, detect, found, together};
use crate::account::Account;
use crate::signals;
use crate::sources::Sources;
use crate::startup::Startup;
use crate::suspicion;

/// What the signals tell, and the seconds in which code below Java used more CPU than in others; nothing where there are none.
pub(crate) fn suspect(
    sources: &Sources<'_>,
    account: &Account,
    options: &SlowdownOptions<'_>,
    other: Option<(&Sources<'_>, &Account)>,
) -> Option<Slowdown> {
    let quiet =
        |(sources, account)| Some(suspicion::signal(sources, account)?.quiet(Startup::default(), &account.idle));
    let suspected = detect(suspicion::signal(sources, account)?, account, other.and_then(quiet));
    suspected.slow.contains(&true).then(|| {
        let (highest, mut found) = found(sources, account, options);
        found.push(suspected);
        Slowdown { highest, ..together(account, found, &[]) }
    })
}

/// The seconds in which each arrival of data cost more thread time, where nothing else tells how long requests took.
pub(crate) fn suspect_service(
    sources: &Sources<'_>,
    account: &Account,
    options: &SlowdownOptions<'_>,
) -> Option<Slowdown> {
    let longer = Detection::of_lasting(account, signals::service::signal(sources, account)?)?;
    let (highest, mut found) = found(sources, account, options);
    found.push(longer);
    Some(Slowdown { highest, ..together(account, found, &[]) })
}
