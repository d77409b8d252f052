//! What can be missing from a recording.

use super::Word;

words! {
    /// Kinds of losses.
    loss {
        /// The file ends in the middle of something.
        TRUNCATED = "truncated";
        /// Bytes that make no sense.
        DAMAGED = "damaged";
        /// Events that the recorder dropped.
        EVENTS_LOST = "events_lost";
        /// Lines or events that the reader does not understand.
        NOT_UNDERSTOOD = "not_understood";
        /// The source had to be placed on the time axis by an estimate.
        CLOCK_ESTIMATED = "clock_estimated";
        /// The source does not say in which unit its numbers are, and one was assumed.
        UNIT_ASSUMED = "unit_assumed";
        /// A profile has no time of each sample, so slow time and quiet time cannot be separated.
        NO_TIMES = "no_times";
        /// Looks of a sampler that came too late to be made.
        TICKS_MISSED = "ticks_missed";
        /// Too few looks were made to know how long anything took.
        FEW_LOOKS = "few_looks";
        /// Stacks of which not all callers could be found.
        STACKS_CUT = "stacks_cut";
        /// Addresses for which no name could be found.
        NAMES_MISSING = "names_missing";
        /// The recorder was cut off (killed, or the machine went down) or runs still: what it had not fetched or written is not there.
        CUT_OFF = "cut_off";
        /// A table of the recording, or a part of one, is not there any more, damaged, or not the one that was written.
        MISSING = "missing";
        /// A limit of Fathom's own was reached.
        LIMIT = "limit";
        /// Something could not be read or recorded at all.
        REFUSED = "refused";
        /// Rows that are far from all others in time; they were set aside.
        FOREIGN_TIMES = "foreign_times";
    }
}
