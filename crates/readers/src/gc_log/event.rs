//! What a line of a collector's log says, in the log's own terms and without knowing evidence.

/// When something was, as far as the log says: by the wall clock, by the JVM's uptime, or both.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Nanoseconds since the Unix epoch.
    pub(crate) wall_ns: Option<i64>,
    /// Nanoseconds since the JVM started.
    pub(crate) uptime_ns: Option<i64>,
    /// Whether the uptime is finer than milliseconds, and so finer than the wall clock.
    pub(crate) is_fine: bool,
    /// Length of the runs of the JVM that the log holds before the one that the uptime is of, as far as it tells.
    pub(crate) earlier_runs_ns: i64,
}

impl Stamp {
    /// The instant `duration_ns` earlier.
    pub(crate) fn minus(self, duration_ns: i64) -> Stamp {
        let earlier = |ns: i64| ns.saturating_sub(duration_ns);
        Stamp { wall_ns: self.wall_ns.map(earlier), uptime_ns: self.uptime_ns.map(earlier), ..self }
    }

    /// Whether the log says nothing about the time.
    pub(crate) fn is_none(self) -> bool {
        self.wall_ns.is_none() && self.uptime_ns.is_none()
    }
}

/// Occupancy before and after a collection, in bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// In use before.
    pub(crate) before: u64,
    /// In use after.
    pub(crate) after: u64,
    /// Capacity after, where it is logged.
    pub(crate) capacity: Option<u64>,
}

/// A part of the heap that a line reports by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// The young generation.
    Young,
    /// The old generation.
    Old,
    /// Metaspace.
    Metaspace,
    /// G1's eden, in regions.
    EdenRegions,
    /// G1's survivors, in regions.
    SurvivorRegions,
    /// G1's old regions.
    OldRegions,
    /// G1's regions of large objects.
    HumongousRegions,
}

/// Which collector writes the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `-XX:+UseSerialGC`
    Serial,
    /// `-XX:+UseParallelGC`
    Parallel,
    /// `-XX:+UseConcMarkSweepGC`
    Cms,
    /// `-XX:+UseG1GC`
    G1,
    /// `-XX:+UseShenandoahGC`, either mode
    Shenandoah,
    /// `-XX:+UseZGC`, one generation
    Z,
    /// `-XX:+UseZGC`, two generations
    ZGenerational,
    /// `-XX:+UseEpsilonGC`
    Epsilon,
}

/// CPU and elapsed time of a pause.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    /// In user mode, over all threads.
    pub(crate) user_ns: i64,
    /// In the kernel, over all threads.
    pub(crate) system_ns: i64,
    /// Elapsed.
    pub(crate) real_ns: i64,
}

/// One stop of the application.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause<'a> {
    /// When it began.
    pub(crate) start: Stamp,
    /// How long it took.
    pub(crate) duration_ns: i64,
    /// Number of the collection, where it is logged.
    pub(crate) gc_id: Option<u64>,
    /// `Pause Young (Normal)` and the like: unified logging's name, also for older logs.
    pub(crate) name: &'a [u8],
    /// Why, for example `Allocation Failure`; empty where it is not logged.
    pub(crate) cause: &'a [u8],
    /// The whole heap.
    pub(crate) heap: Option<Change>,
    /// The young generation.
    pub(crate) young: Option<Change>,
    /// The old generation.
    pub(crate) old: Option<Change>,
    /// Metaspace.
    pub(crate) metaspace: Option<Change>,
    /// The permanent generation of JDK 7 and before.
    pub(crate) permanent: Option<Change>,
    /// CPU and elapsed time.
    pub(crate) cpu: Option<CpuTimes>,
    /// The collector, where the line shows it.
    pub(crate) family: Option<Family>,
    /// What went wrong in it, for example `to-space exhausted`; empty if nothing did.
    pub(crate) trouble: &'a [u8],
}

/// A stretch of a collection that is not a stop.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phase<'a> {
    /// When it began.
    pub(crate) start: Stamp,
    /// How long it took.
    pub(crate) duration_ns: i64,
    /// Number of the collection, where it is logged.
    pub(crate) gc_id: Option<u64>,
    /// As logged.
    pub(crate) name: &'a [u8],
}

/// All Java threads stopped, whatever for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Safepoint<'a> {
    /// When it was requested.
    pub(crate) start: Stamp,
    /// From the request to the release.
    pub(crate) duration_ns: i64,
    /// From the request until the last thread had stopped.
    pub(crate) time_to_safepoint_ns: Option<i64>,
    /// The operation; empty where it is not logged.
    pub(crate) operation: &'a [u8],
    /// Java threads.
    pub(crate) threads: Option<u64>,
    /// Java threads that had to be stopped.
    pub(crate) running_threads: Option<u64>,
    /// Whether the times are whole milliseconds (the table of `PrintSafepointStatistics`).
    pub(crate) coarse: bool,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// A pause that is over.
    Pause(Pause<'a>),
    /// A pause has begun (`gc,start`).
    PauseBegins {
        /// When.
        at: Stamp,
        /// Number of the collection.
        gc_id: Option<u64>,
        /// As logged, cause included.
        name: &'a [u8],
    },
    /// A part of a pause is over.
    PausePhase(Phase<'a>),
    /// A phase beside the application is over.
    Concurrent(Phase<'a>),
    /// A whole collection or cycle begins (`ended` is false) or is over.
    Collection {
        /// When it began, or ended.
        at: Stamp,
        /// Number of the collection.
        gc_id: Option<u64>,
        /// As logged, without the cause.
        name: &'a [u8],
        /// Why; may be empty.
        cause: &'a [u8],
        /// The heap, at its end.
        heap: Option<Change>,
        /// Its duration where the line has it.
        duration_ns: Option<i64>,
        /// Whether it is over.
        ended: bool,
    },
    /// Part of the heap before and after a collection.
    Resize {
        /// Number of the collection.
        gc_id: Option<u64>,
        /// The collector, where the line shows it.
        family: Option<Family>,
        /// Which part.
        space: Space,
        /// Bytes, or regions for the spaces counted in regions.
        change: Change,
    },
    /// CPU time of the pause just reported.
    Cpu {
        /// Number of the collection.
        gc_id: Option<u64>,
        /// The times.
        times: CpuTimes,
    },
    /// All threads stopped and released again.
    Safepoint(Safepoint<'a>),
    /// The name of the safepoint that the next [`Event::Safepoint`] without a name is (JDK 9-12).
    SafepointName(&'a [u8]),
    /// A thread waited for memory.
    Stall(Phase<'a>),
    /// How full the code cache is.
    CodeCache {
        /// When.
        at: Stamp,
        /// Segment; empty for the only one.
        segment: &'a [u8],
        /// Size limit in bytes.
        size: u64,
        /// In use, in bytes.
        used: u64,
    },
    /// A code cache segment is full and compilation is switched off.
    CodeCacheFull {
        /// When.
        at: Stamp,
        /// Segment; empty for the only one.
        segment: &'a [u8],
    },
    /// A line worth showing to a person.
    Note {
        /// When.
        at: Stamp,
        /// What it is about: `code_cache`, `gc_trouble` or `gc_trigger`.
        class: &'static str,
        /// The message.
        text: &'a [u8],
    },
    /// Which collector this is.
    Collector(Family),
    /// Size of G1's and Shenandoah's regions.
    RegionSize(u64),
    /// Something true of the whole log.
    Fact {
        /// What.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// Understood; nothing in it is kept.
    Detail,
}
