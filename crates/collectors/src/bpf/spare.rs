//! Programs that a collector can do without: if the kernel refuses one, only its data are missing.
//!
//! Kernels are hardened feature by feature: one refuses a kind of iterator, another lacks a tracepoint, a third has a
//! verifier that gives up on one function. The object of a collector is loaded whole, so libbpf's messages show which
//! program was refused. That one is left out and the rest is loaded again.

use crate::{Lesser, Refusal, Tier};

/// A program that is not needed, and what only it sees: the subject of "... cannot be seen".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spare {
    pub(crate) program: &'static str,
    pub(crate) sees: &'static str,
}

/// What the kernel refused, and the rest of what was wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOut {
    programs: Vec<&'static str>,
    refusals: Vec<Refusal>,
}

impl LeftOut {
    /// Leaves out the program that libbpf's messages or its caller name, if it is one of those; whether it was.
    pub(super) fn add(&mut self, spare: &[Spare], program: Option<&str>, refusal: &Refusal) -> bool {
        let is_it = |spare: &&Spare| Some(spare.program) == program && !self.programs.contains(&spare.program);
        let Some(Spare { program, sees }) = spare.iter().find(is_it).copied() else { return false };
        self.programs.push(program);
        self.refusals.push(Refusal::new(format!("{sees} cannot be seen: {}", refusal.why), refusal.grant.as_str()));
        true
    }

    /// Whether a program was left out.
    pub(crate) fn has(&self, program: &str) -> bool {
        self.programs.contains(&program)
    }

    /// What cannot be seen.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.refusals.clone()
    }

    /// The same for who asks what a collector would see: `sees` is all of it.
    pub(crate) fn lesser(&self, sees: &str) -> Option<Lesser> {
        let whys: Vec<&str> = self.refusals.iter().map(|refusal| refusal.why.as_str()).collect();
        let first = self.refusals.first()?;
        let refusal = Refusal::new(whys.join("; "), first.grant.as_str());
        Some(Lesser { tier: Tier::Bpf, sees: sees.to_owned(), refusal })
    }
}

/// The program of which libbpf says that it could not be loaded: `prog 'NAME': BPF program load failed: ...`.
pub(super) fn culprit(messages: &[String]) -> Option<String> {
    let of_program = |line: &str| Some(line.trim().strip_prefix("libbpf: prog '")?.split_once("': ")?.0.to_owned());
    messages.iter().flat_map(|message| message.lines()).find_map(of_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_that_is_named_is_the_culprit() {
        let messages = [
            "libbpf: Kernel error message: no\n".to_owned(),
            "libbpf: prog 'walk': BPF program load failed: -EPERM\n".to_owned(),
            "libbpf: failed to load object 'requests'\n".to_owned(),
        ];
        assert_eq!(culprit(&messages).as_deref(), Some("walk"));
        assert_eq!(culprit(&messages[..1]), None);
    }

    #[test]
    fn only_what_can_be_spared_is_left_out_and_once() {
        let spare = [Spare { program: "walk", sees: "requests under way" }];
        let refusal = Refusal::new("EPERM", "");
        let mut left_out = LeftOut::default();
        assert!(!left_out.add(&spare, Some("arrives"), &refusal) && !left_out.add(&spare, None, &refusal));
        assert!(left_out.add(&spare, Some("walk"), &refusal) && left_out.has("walk"));
        assert!(!left_out.add(&spare, Some("walk"), &refusal), "it would be loaded again for ever");
        assert_eq!(left_out.refusals()[0].why, "requests under way cannot be seen: EPERM");
    }
}
