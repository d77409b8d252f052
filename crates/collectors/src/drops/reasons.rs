//! Which of the kernel's drop reasons mean that a reader was too slow. Their numbers differ between kernels, so they
//! are read from the running one.

use std::collections::HashMap;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Enum;

/// Reasons that the programs have room for.
const REASONS: usize = 256;

const PREFIX: &str = "SKB_DROP_REASON_";

/// A queue between the network card and the reader was full, or memory for it lacked.
const MEANT: &[&str] = &[
    "SOCKET_RCVBUFF",
    "SOCKET_BACKLOG",
    "PROTO_MEM",
    "TCP_ZEROWINDOW",
    "TCP_OFO_QUEUE_PRUNE",
    "TCP_OFO_DROP",
    "TCP_LISTEN_OVERFLOW",
    "CPU_BACKLOG",
    "FULL_RING",
    "NOMEM",
];

/// The reasons that are meant, by number.
pub(super) struct Reasons(HashMap<i64, String>);

impl Reasons {
    /// Of the running kernel; none if it does not say.
    pub(super) fn of_kernel() -> Reasons {
        let types = Btf::from_vmlinux().ok();
        let reasons = types.as_ref().and_then(|types| types.type_by_name::<Enum<'_>>("skb_drop_reason"));
        let named = reasons.iter().flat_map(|reasons| reasons.iter());
        Reasons::of(named.filter_map(|member| Some((member.name?.to_str()?, member.value))))
    }

    fn of<'a>(all: impl Iterator<Item = (&'a str, i64)>) -> Reasons {
        let meant = all.filter_map(|(name, number)| Some((number, name.strip_prefix(PREFIX)?)));
        Reasons(
            meant.filter(|(_, name)| MEANT.contains(name)).map(|(number, name)| (number, name.to_owned())).collect(),
        )
    }

    /// What the programs look up.
    pub(super) fn table(&self) -> [u8; REASONS] {
        let mut table = [0; REASONS];
        for number in self.0.keys() {
            if let Some(slot) = usize::try_from(*number).ok().and_then(|number| table.get_mut(number)) {
                *slot = 1;
            }
        }
        table
    }

    /// The name of what the programs tell: a reason, or, negative, the error of UDP's own tracepoint.
    pub(super) fn name(&self, reason: i16) -> String {
        match self.0.get(&i64::from(reason)) {
            Some(name) => name.clone(),
            // ENOMEM: the socket's own buffer. Anything else: the memory of the protocol.
            None if i32::from(reason) == -libc::ENOMEM => "SOCKET_RCVBUFF".to_owned(),
            None if reason < 0 => "PROTO_MEM".to_owned(),
            None => format!("reason {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        let reasons = Reasons::of(
            [
                ("SKB_NOT_DROPPED_YET", 0),
                ("SKB_DROP_REASON_NO_SOCKET", 3),
                ("SKB_DROP_REASON_SOCKET_RCVBUFF", 6),
                ("SKB_DROP_REASON_NOMEM", 300),
                ("SKB_DROP_REASON_FULL_RING", -1),
            ]
            .into_iter(),
        );
        let listed: Vec<usize> = (0..REASONS).filter(|number| reasons.table()[*number] == 1).collect();
        assert_eq!(listed, [6]);
        for (reason, name) in
            [(6, "SOCKET_RCVBUFF"), (-12, "SOCKET_RCVBUFF"), (-105, "PROTO_MEM"), (3, "reason 3"), (-1, "FULL_RING")]
        {
            assert_eq!(reasons.name(reason), name);
        }
    }

    #[test]
    fn this_kernel_has_them() {
        if crate::bpf::tests::can_load("this_kernel_has_them") {
            assert!(Reasons::of_kernel().0.values().any(|name| name == "SOCKET_RCVBUFF"));
        }
    }
}
