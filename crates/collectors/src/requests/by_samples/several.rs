//! Whether a connection carries several requests at once, by what the kernel counts of it and whatever the protocol.
//!
//! A client that waits for each answer sends nothing while one is owed. So arrivals without an answer between them are one
//! request in pieces, or several requests. They are several if each is no larger than a request that came alone and was
//! answered, which is known after a while; or if they came while the answer before was still on its way to the client.

use crate::sock_diag::Connection;

/// Sizes of requests that came alone that are remembered: those of one connection are few, or they all differ.
const SIZES: usize = 8;

/// So many arrivals, none larger than requests are: of two the first may be the head of a request and the second its body.
const PIECES: u32 = 3;

/// So often it was seen, as the programs in the kernel want it: once or twice a client may have given up an answer.
const TIMES: u32 = 3;

/// Less often than one in so many times it moves no 99th percentile.
const ONE_IN: u32 = 100;

/// A segment of this part of the largest is a piece of something larger: on its way it may have had to be a little smaller.
const FULL: u64 = 4;

/// Arrivals since the last answer.
#[derive(Debug, Clone, Copy, Default)]
struct Owed {
    /// Whether the first was seen.
    is_whole: bool,
    pieces: u32,
    bytes: u64,
    /// Whether one has a size that no request alone has had.
    has_other: bool,
    /// Whether one is a full segment.
    has_full: bool,
    is_counted: bool,
}

impl Owed {
    fn nothing() -> Owed {
        Owed { is_whole: true, ..Owed::default() }
    }

    /// Whether these are requests of their own, where none alone was larger than so many bytes.
    fn are_several(&self, largest_alone: u64) -> bool {
        let are_small = self.bytes <= u64::from(self.pieces).saturating_mul(largest_alone);
        self.is_whole && (self.pieces > 1 && !self.has_other || self.pieces >= PIECES && are_small)
    }
}

/// What looks at a connection show, at any distance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Several {
    segments_in: u32,
    segments_out: u32,
    bytes_in: u64,
    owed: Owed,
    /// Sizes of requests that came alone in one segment, and how many sizes there were.
    alone: [u64; SIZES],
    sizes: usize,
    largest_alone: u64,
    answers: u32,
    times: u32,
}

impl Several {
    /// A connection at its first look.
    pub(super) fn of(seen: &Connection) -> Several {
        let Connection { segments_in, segments_out, bytes_in, .. } = *seen;
        Several { segments_in, segments_out, bytes_in, ..Several::default() }
    }

    /// Whether it does.
    pub(super) fn is_known(&self) -> bool {
        self.times >= TIMES && self.times.saturating_mul(ONE_IN) >= self.answers
    }

    /// Something was sent without a request.
    pub(super) fn see_unasked(&mut self) {
        self.times = self.times.saturating_add(1);
    }

    /// Looks again.
    pub(super) fn look(&mut self, seen: &Connection) {
        let came = seen.segments_in.wrapping_sub(self.segments_in);
        let went = seen.segments_out.wrapping_sub(self.segments_out);
        let bytes = seen.bytes_in.wrapping_sub(self.bytes_in);
        (self.segments_in, self.segments_out, self.bytes_in) = (seen.segments_in, seen.segments_out, seen.bytes_in);
        match (came, went) {
            (0, 0) => {}
            (0, _) => self.answer(),
            (_, 0) => self.arrive(came, bytes, seen),
            // Which was first is not known, nor what is owed now.
            _ => self.owed = Owed::default(),
        }
    }

    /// Something was sent, and nothing came.
    fn answer(&mut self) {
        let owed = std::mem::replace(&mut self.owed, Owed::nothing());
        if !owed.is_whole || owed.pieces == 0 {
            return;
        }
        self.answers = self.answers.saturating_add(1);
        if owed.pieces == 1 {
            self.largest_alone = self.largest_alone.max(owed.bytes);
        }
        if owed.pieces == 1 && !self.alone.contains(&owed.bytes) {
            self.alone[self.sizes % SIZES] = owed.bytes;
            self.sizes += 1;
        }
    }

    /// Something came, and nothing was sent.
    fn arrive(&mut self, came: u32, bytes: u64, seen: &Connection) {
        // What was sent again counts as a segment.
        if bytes == 0 {
            return;
        }
        let each = bytes / u64::from(came);
        let is_exact = each * u64::from(came) == bytes;
        self.owed.pieces = self.owed.pieces.saturating_add(came);
        self.owed.bytes = self.owed.bytes.saturating_add(bytes);
        self.owed.has_other |= !is_exact || !self.alone.contains(&each);
        self.owed.has_full |= each.saturating_mul(FULL) >= u64::from(seen.largest_segment) * (FULL - 1);
        // The client had not got all of the answer before: it says with each segment up to where it has.
        let is_early = seen.unacknowledged > 0;
        let are_several = self.owed.are_several(self.largest_alone) || is_early;
        if are_several && !self.owed.has_full && !self.owed.is_counted {
            self.owed.is_counted = true;
            self.times = self.times.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a look finds new.
    #[derive(Clone, Copy)]
    enum New {
        Came(&'static [u64]),
        Went,
        Both(&'static [u64]),
        /// Something came while what had been sent was not acknowledged.
        Early(u64),
    }
    use New::{Both, Came, Early, Went};

    /// How often it seems to carry several at once after so many rounds of this.
    fn times(rounds: u32, of_round: &[New]) -> Several {
        let mut seen = Connection { largest_segment: 1448, ..Connection::default() };
        let mut several = Several::of(&seen);
        for _ in 0..rounds {
            for new in of_round {
                let came: &[u64] = match new {
                    Came(sizes) | Both(sizes) => sizes,
                    Early(size) => &[*size],
                    Went => &[],
                };
                seen.segments_in += came.len() as u32;
                seen.bytes_in += came.iter().sum::<u64>();
                seen.segments_out += u32::from(matches!(new, Went | Both(_)));
                seen.unacknowledged = u32::from(matches!(new, Early(_)));
                several.look(&seen);
            }
        }
        several
    }

    #[test]
    fn one_after_the_other_is_one_at_a_time() {
        for round in [
            // Small and large ones; a head and a body, of other sizes; an answer in pieces.
            &[Came(&[300]), Went, Came(&[420]), Went][..],
            &[Came(&[300]), Went, Came(&[250]), Came(&[100]), Went, Went],
            &[Came(&[300]), Went, Came(&[250, 100]), Went],
            // Large ones in full segments, and in small pieces that are larger than what comes alone.
            &[Came(&[300]), Went, Came(&[250]), Came(&[1448, 1448]), Came(&[1448, 600]), Went],
            &[Came(&[300]), Went, Came(&[700]), Came(&[700]), Came(&[700]), Came(&[700]), Went],
            // Of a busy one looks see both, or something before its first answer.
            &[Both(&[300]), Both(&[300, 300, 300]), Came(&[300])],
            &[Came(&[300]), Came(&[300])],
        ] {
            assert_eq!(times(100, round).times, 0);
        }
    }

    #[test]
    fn arrivals_while_an_answer_is_owed_are_several() {
        for round in [
            // Two of a size that came alone; three that are no larger; several segments at once (HBase).
            &[Came(&[81]), Went, Came(&[81]), Came(&[81]), Went][..],
            &[Came(&[635]), Went, Came(&[111]), Came(&[300]), Came(&[620]), Went],
            &[Came(&[635]), Went, Came(&[111, 111, 111, 635, 635]), Went],
            &[Came(&[81]), Went, Came(&[81]), Went, Came(&[81, 81]), Both(&[81])],
            &[Came(&[200]), Went, Early(150), Went],
        ] {
            assert!(!times(2, round).is_known() && times(4, round).is_known());
        }
    }

    #[test]
    fn rare_ones_make_no_connection_one_of_several() {
        let mut several = times(4, &[Came(&[81]), Went, Came(&[81, 81]), Went]);
        assert!(several.is_known());
        several.answers = 1_000;
        assert!(!several.is_known());
    }

    #[test]
    fn nothing_is_too_strange() {
        proptest::proptest!(|(looks: Vec<(u32, u32, u64, u32, u32)>)| {
            let mut several = Several::default();
            for (segments_in, segments_out, bytes_in, largest_segment, unacknowledged) in looks {
                several.look(&Connection {
                    segments_in, segments_out, bytes_in, largest_segment, unacknowledged, ..Connection::default()
                });
                let _ = several.is_known();
            }
        });
    }
}
