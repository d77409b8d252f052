//! How many of something there were, and for how long.

use crate::format;

/// What is known of them.
#[derive(Debug, Default, Clone, Copy)]
pub struct Lengths {
    /// How many.
    pub count: f64,
    /// For how long together, in ns.
    pub total_ns: f64,
    /// The longest, in ns.
    pub longest_ns: i64,
}

impl Lengths {
    /// One that stands for so many.
    pub fn add(&mut self, ns: i64, weight: f64) {
        self.count += weight;
        self.total_ns += ns as f64 * weight;
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// For how long on average, in ns.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns / self.count.max(1.0)
    }

    /// `31 answers, 44 ms on average, the longest 48 ms`.
    pub fn says(&self, what: &str) -> String {
        format!(
            "{}, {} on average, the longest {}",
            format::count(self.count.round() as usize, what),
            format::time(self.mean_ns()),
            format::time(self.longest_ns as f64)
        )
    }
}
