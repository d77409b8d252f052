//! Calls that read and write, as the kernel counts them for the whole process: known without any rights. How long they took and on
//! what they were is not, but samples of the CPU show who makes them.

use fathom_evidence::kinds::{counter, frame};
use fathom_evidence::{Recording, StackId};

use super::{Call, MORE, TOO_FEW_PER_SECOND, as_before_or};
use crate::measure::stacks;
use crate::measure::syscalls::{self, cpu_claims};
use crate::{Comparison, Finding, Support, format};

/// One that transfers more on average may take as long as it does for what it transfers, in bytes.
const FEW_BYTES: f64 = 1_000.0;

/// What is known of them; none where they are no more than before, or each transfers much.
pub(super) fn find(comparison: &Comparison<'_>) -> Option<Finding> {
    let call = ["read", "write"].into_iter().filter_map(|name| most_grown(comparison, name));
    let (call, bytes) = call.max_by(|(a, _), (b, _)| a.per_second.0.total_cmp(&b.per_second.0))?;
    let below = stacks::below_by(comparison, |recording, stack| is_in(recording, stack, call.name));
    let sampled_ns: f64 = below.claims.iter().map(|claim| claim.grown_ns(comparison)).sum();
    let call = Call { cores: (sampled_ns / comparison.excess().slow_ns.max(1.0), None), ..call };
    let text = format!("{}; each transfers {} on average", call.says(comparison, &below), format::bytes(bytes));
    let [calls, time] = call.evidence(comparison, &below);
    let evidence = [calls.of(&[counter::PROCESS_IO_CALLS_COUNT]), time.of(&[stacks::running_event(comparison)])];
    Some(as_before_or(comparison, &call, text, evidence, |text| {
        let mut finding = Finding::new(Support::Consistent, text);
        finding.claims = cpu_claims(comparison, 0.0, below.claims);
        finding
    }))
}

/// A kind of call that is made many more times than before, and how much each transfers. Those on sockets are among them: without a time
/// to compare with they may be what the service does.
fn most_grown(comparison: &Comparison<'_>, name: &'static str) -> Option<(Call<'static>, f64)> {
    let ((count, bytes), before) = syscalls::both(comparison, |period| {
        let rate = |counter: &str| period.rise(&period.sources.counter(counter, name)) / period.seconds();
        (rate(counter::PROCESS_IO_CALLS_COUNT), rate(counter::PROCESS_IO_BYTES))
    });
    let (usual, _) = before?;
    let call = Call { name, per_second: (count, Some(usual)), cores: (0.0, None) };
    let each = bytes / count.max(1.0);
    let is_more = count >= TOO_FEW_PER_SECOND && count >= MORE * usual;
    (is_more && each <= FEW_BYTES).then_some((call, each))
}

/// Whether a thread is in such a call, by the function of the C library or of the kernel.
fn is_in(recording: &Recording, stack: StackId, name: &str) -> bool {
    let mut outside_java = recording
        .stacks
        .leaf_to_root(stack)
        .take_while(|frame| [frame::NATIVE, frame::KERNEL].contains(&recording.text(frame.kind)));
    outside_java.any(|frame| {
        let symbol = recording.text(frame.symbol).trim_start_matches("__GI_").trim_start_matches("__libc_");
        let call = symbol.trim_start_matches('_');
        [name.to_owned(), format!("{name}v"), format!("p{name}64")].iter().any(|known| known == call)
    })
}
