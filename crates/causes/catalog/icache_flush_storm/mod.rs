//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "icache_flush_storm",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["async_profiler"],
    actions: &["a JDK with the fix for Neoverse N1 (JDK-8381003), or another CPU or collector"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel(
        "native frames of the application's and the collector's threads on an arm64 CPU were not recorded",
    )
}
