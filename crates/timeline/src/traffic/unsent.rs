//! What users waited for while no thread did: answers in the kernel's send queue, after the program had written them.

use fathom_evidence::detail;

use crate::states::Hold;

/// For how long the end of what was sent stood in the kernel, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsent {
    /// What it waited for.
    pub hold: Hold,
    /// How long, in ns.
    pub ns: i64,
}

impl Unsent {
    /// Of an answer. A client without room for more holds up the program as well, which then sends bit by bit: all of that is
    /// the client's, not only what came after the last bit.
    pub(crate) fn of_answer(request: &detail::Request) -> Option<Unsent> {
        let stood = of(request.unsent_ns, request.unsent_for.as_deref());
        let full_ns = request.window_full_ns.unwrap_or(0);
        match stood {
            Some(Unsent { hold: Hold::Retransmission | Hold::Acknowledgement, .. }) => stood,
            _ if full_ns > stood.map_or(0, |stood| stood.ns) / 2 => {
                Some(Unsent { hold: Hold::Window, ns: stood.map_or(0, |stood| stood.ns).max(full_ns) })
            }
            _ => stood,
        }
    }

    /// Of the question of a call.
    pub(crate) fn of_question(call: &detail::Call) -> Option<Unsent> {
        of(call.unsent_ns, call.unsent_for.as_deref())
    }
}

fn of(ns: Option<i64>, hold: Option<&str>) -> Option<Unsent> {
    let ns = ns.filter(|ns| *ns > 0)?;
    Some(Unsent { hold: Hold::of_word(hold.unwrap_or("")), ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_room_is_charged_with_all_of_the_time_in_which_it_had_none() {
        let answer = |unsent_ns, unsent_for: &str, window_full_ns| {
            let unsent_for = (!unsent_for.is_empty()).then(|| unsent_for.to_owned());
            let detail = detail::Request { unsent_ns, unsent_for, window_full_ns, ..detail::Request::default() };
            Unsent::of_answer(&detail).map(|unsent| (unsent.hold, unsent.ns))
        };
        assert_eq!(answer(None, "", None), None);
        assert_eq!(answer(Some(40), "acknowledgement", None), Some((Hold::Acknowledgement, 40)));
        assert_eq!(answer(Some(200), "retransmission", Some(190)), Some((Hold::Retransmission, 200)));
        assert_eq!(answer(Some(40), "window", Some(30)), Some((Hold::Window, 40)));
        assert_eq!(answer(Some(40), "other", Some(300)), Some((Hold::Window, 300)));
        assert_eq!(answer(None, "", Some(300)), Some((Hold::Window, 300)));
        assert_eq!(answer(Some(40), "a word of tomorrow", None), Some((Hold::Other, 40)));
    }
}
