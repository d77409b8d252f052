//! What has to be recorded before its absence means anything.

/// Something whose absence means something where it was recorded.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// Collections of the JVM.
    Collections,
    /// Stops of the application that are no collections.
    Stops,
    /// Calls of `System.gc()`.
    SystemGc,
    /// Waits that JFR tells as an event, also short ones.
    Event(&'static str),
    /// A counter, for nearly all of the slow time.
    Counter(&'static str),
    /// Spans of a kind, or any row of the collector that makes them.
    Spans(&'static str, &'static str),
    /// Page faults with their duration.
    PageFaults,
    /// A fact that shows that it was looked for, or that excludes by itself: subject and key.
    Fact(&'static str, &'static str),
    /// Which threads are the JVM's own.
    VmThreads,
    /// Samples of running code.
    Samples,
    /// Samples with the JVM's own frames.
    JvmFrames,
    /// Samples and waits with the frames of the kernel.
    KernelFrames,
    /// How answers and questions left the machine.
    Sockets,
    /// How many requests came.
    Requests,
}
