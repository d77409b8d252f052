//! What is said of data on its way.

use super::Word;

words! {
    /// What data that a program has sent waits for in the kernel.
    unsent {
        /// The peer's acknowledgement of what was sent before (Nagle's algorithm), which peers delay.
        ACKNOWLEDGEMENT = "acknowledgement";
        /// To be sent again, because it was lost.
        RETRANSMISSION = "retransmission";
        /// Room in the window of the peer, which does not read.
        WINDOW = "window";
        /// The congestion window, pacing, or an unknown reason.
        OTHER = "other";
    }
}
