//! What may have been slow although nothing tells it, and when an answer to that is better than none.

use fathom_timeline::{Analysis, Excess, Slowdown};

use super::Answer;

/// Causes that were named answer a suspicion when they explain this part of it.
const ANSWERS_SUSPICION: f64 = 0.5;

/// The same where each request took more of the threads' time: that something was slower is known, and part of it may have no name.
const ANSWERS_SUSPICION_OF_SERVICE: f64 = 0.2;

/// Seconds that may have been slow: only causes that explain them make them so.
pub(super) struct Suspicion {
    pub(super) slowdown: fn(&Analysis<'_>) -> Option<(Slowdown, Excess)>,
    /// Whether it may matter although a cause was named without it.
    pub(super) is_asked_beside_a_cause: bool,
    /// Whether what the causes say of it is better than the answer without it.
    pub(super) is_answered: fn(&Answer, &Answer) -> bool,
}

pub(super) const SUSPICIONS: [Suspicion; 2] = [
    Suspicion {
        slowdown: |analysis| analysis.suspicion(),
        is_asked_beside_a_cause: true,
        // Beside a cause that was named the CPU that is wasted counts where it is more than that.
        is_answered: |suspected, answer| {
            suspected.explains_what_is_below_java() >= ANSWERS_SUSPICION
                && (!answer.names_a_cause() || suspected.below_java_ns >= answer.lost_ns)
        },
    },
    Suspicion {
        slowdown: |analysis| analysis.suspicion_of_service(),
        is_asked_beside_a_cause: false,
        is_answered: |suspected, _| suspected.explained_by_named() >= ANSWERS_SUSPICION_OF_SERVICE,
    },
];
