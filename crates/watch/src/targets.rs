//! Which JVMs are watched.

use std::cell::LazyCell;

use fathom_collectors::containers::labels::{self, Labels};
use fathom_collectors::jvms::Jvm;

use crate::config::TargetConfig;
use crate::glob::Glob;

/// Whether a JVM is to be watched.
pub fn is_target(targets: &[TargetConfig], jvm: &Jvm) -> bool {
    // They lie in files, which are read where a target asks for labels, and once for all targets.
    let labels = LazyCell::new(|| labels::of(jvm.container.as_deref().unwrap_or_default()));
    targets.is_empty() || targets.iter().any(|target| target.matches(jvm, &labels))
}

impl TargetConfig {
    fn matches(&self, jvm: &Jvm, labels: &LazyCell<Labels, impl FnOnce() -> Labels>) -> bool {
        let has = |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|glob| glob.matches(text));
        has(&self.main, &jvm.main)
            && has(&self.user, &jvm.user)
            && has(&self.container, jvm.container.as_deref().unwrap_or_default())
            && self.pid.is_none_or(|pid| pid == jvm.target.pid)
            && (self.label.is_empty() || self.has_labels(labels))
    }

    fn has_labels(&self, labels: &Labels) -> bool {
        self.label.iter().all(|(name, glob)| labels.get(name).is_some_and(|value| glob.matches(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_must_all_be_there() {
        let glob = |text: &str| Glob::new(text);
        let label = [("app", "cart*"), ("tier", "*")].map(|(name, value)| (name.to_owned(), glob(value))).into();
        let target = TargetConfig { label, ..TargetConfig::default() };
        for (labels, expected) in [
            (vec![("app", "cart-2"), ("tier", "web"), ("more", "")], true),
            (vec![("app", "cart-2")], false),
            (vec![("app", "shop"), ("tier", "web")], false),
        ] {
            let labels: Labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            assert_eq!(target.has_labels(&labels), expected, "{labels:?}");
        }
    }
}
