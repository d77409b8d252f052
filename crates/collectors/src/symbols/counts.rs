//! How many stacks and names were found, and what happened to the rest.

use std::collections::BTreeMap;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use fathom_symbols::unwind::WalkEnd;

/// Modules that a loss names.
const MOST_MODULES: usize = 4;

/// Of a layer, how many addresses have a name.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Layer {
    named: u64,
    nameless: u64,
}

impl Layer {
    pub(super) fn add(&mut self, is_named: bool) {
        if is_named { self.named += 1 } else { self.nameless += 1 }
    }

    fn all(self) -> u64 {
        self.named + self.nameless
    }
}

/// What the walks and the search for names came to.
#[derive(Debug, Default)]
pub(super) struct Counts {
    walks: u64,
    /// Walks that followed frame pointers through code that may keep none.
    guessed: u64,
    /// Walks that did not reach the thread's start: why, and in which module.
    ends: BTreeMap<(WalkEnd, Box<str>), u64>,
    modules: BTreeMap<Box<str>, Layer>,
    pub(super) kernel: Layer,
}

impl Counts {
    pub(super) fn add_walk(&mut self, end: WalkEnd, is_guess: bool, module: Option<&str>) {
        self.walks += 1;
        self.guessed += u64::from(is_guess);
        if end != WalkEnd::Complete {
            *self.ends.entry((end, module.unwrap_or_default().into())).or_default() += 1;
        }
    }

    pub(super) fn add_name(&mut self, module: &str, is_named: bool) {
        self.modules.entry(module.into()).or_default().add(is_named);
    }

    pub(super) fn tell(&self, found: &mut Recording, source: &str, kernel_hides: Option<&str>) {
        self.tell_walks(found, source);
        self.tell_names(found, source);
        if self.kernel.nameless > 0 {
            let why = kernel_hides.unwrap_or("they lie between its functions");
            let (all, nameless) = (self.kernel.all(), self.kernel.nameless);
            let says = format!("{nameless} of {all} kernel addresses have no name: {why}");
            found.add_loss(source, loss::NAMES_MISSING, nameless as i64, &says);
        }
    }

    fn tell_walks(&self, found: &mut Recording, source: &str) {
        if self.guessed > 0 {
            let (walks, guessed) = (self.walks, self.guessed);
            let says = format!(
                "{guessed} of {walks} user stacks may lack some callers: the frames of compiled Java code were not known \
                 and frame pointers were followed"
            );
            found.add_loss(source, loss::STACKS_CUT, guessed as i64, &says);
        }
        let mut reasons: BTreeMap<WalkEnd, (u64, Vec<&str>)> = BTreeMap::new();
        for ((end, module), count) in &self.ends {
            let reason = reasons.entry(*end).or_default();
            reason.0 += count;
            reason.1.push(if module.is_empty() { "code without a file" } else { module });
        }
        for (end, (count, modules)) in reasons {
            let says =
                format!("{count} of {} user stacks may lack callers: {} ({})", self.walks, end.says(), list(&modules));
            found.add_loss(source, loss::STACKS_CUT, count as i64, &says);
        }
    }

    fn tell_names(&self, found: &mut Recording, source: &str) {
        let nameless: Vec<_> = self.modules.iter().filter(|(_, layer)| layer.nameless > 0).collect();
        let count: u64 = nameless.iter().map(|(_, layer)| layer.nameless).sum();
        if count > 0 {
            let all: u64 = self.modules.values().map(|layer| layer.all()).sum();
            let modules: Vec<&str> = nameless
                .iter()
                .map(|(module, _)| if module.is_empty() { "compiled code" } else { &***module })
                .collect();
            let says = format!("{count} of {all} user addresses have no name: {}", list(&modules));
            found.add_loss(source, loss::NAMES_MISSING, count as i64, &says);
        }
    }
}

fn list(modules: &[&str]) -> String {
    let shown = modules.iter().take(MOST_MODULES).copied().collect::<Vec<_>>().join(", ");
    match modules.len().checked_sub(MOST_MODULES) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}
