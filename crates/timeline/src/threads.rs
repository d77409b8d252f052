//! Whose a thread is.

use fathom_evidence::Recording;
use fathom_evidence::kinds::role;

/// The role of a thread; the application's when unknown.
pub(crate) fn role_of(recording: &Recording, tid: i64) -> &str {
    let role = recording.threads.get(tid).map_or("", |thread| recording.text(thread.role));
    if role.is_empty() { role::JAVA } else { role }
}

/// Whether a thread belongs to the application.
pub(crate) fn is_application(recording: &Recording, tid: i64) -> bool {
    matches!(role_of(recording, tid), role::JAVA | role::HANDLER | role::NATIVE)
}
