//! How long requests took, for Prometheus: a histogram of each port of each JVM, for as long as the JVM lives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::levels::Level;
use crate::port::PortSecond;

/// What identifies a time series: names and values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The first bucket ends here, in s: at a power of two of ns, where levels end as well. Each other one is twice as long.
const FIRST_S: f64 = (1_u64 << 18) as f64 / 1e9;
/// The last one ends at 34 s.
const BUCKETS: u16 = 18;

/// Most ports of a JVM that have their own histogram.
const MOST_PORTS: usize = 32;

/// The histograms.
#[derive(Debug, Clone)]
pub(crate) struct RequestSeconds {
    family: Family<Labels, Histogram, fn() -> Histogram>,
    /// Those that there are, by JVM.
    ports: Arc<Mutex<BTreeMap<Labels, BTreeSet<String>>>>,
}

impl Default for RequestSeconds {
    fn default() -> RequestSeconds {
        RequestSeconds { family: Family::new_with_constructor(histogram), ports: Arc::default() }
    }
}

fn histogram() -> Histogram {
    Histogram::new((0..BUCKETS).map(|bucket| FIRST_S * f64::from(1_u32 << bucket)))
}

impl RequestSeconds {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help =
            "How long requests took at the sockets of a port, but for those while a recording of the JVM was made";
        registry.register("request_seconds", help, self.family.clone());
    }

    /// What was answered in a second.
    pub(crate) fn add(&self, jvm: &Labels, ports: &BTreeMap<String, PortSecond>) {
        let mut known = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(jvm.clone()).or_default();
        for (port, second) in ports {
            if !known.contains(port) && known.len() >= MOST_PORTS {
                continue;
            }
            known.insert(port.clone());
            let histogram = self.family.get_or_create(&of_port(jvm, port));
            for (level, count) in second.answered.levels() {
                (0..count).for_each(|_| histogram.observe(middle_s(level)));
            }
        }
    }

    /// The JVM has ended.
    pub(crate) fn forget(&self, jvm: &Labels) {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner).remove(jvm);
        for port in ports.into_iter().flatten() {
            self.family.remove(&of_port(jvm, &port));
        }
    }
}

fn of_port(jvm: &Labels, port: &str) -> Labels {
    let mut labels = jvm.clone();
    labels.push(("port", port.trim_start_matches(':').to_owned()));
    labels
}

/// Of a level it is known that what it has is as long.
fn middle_s(level: Level) -> f64 {
    (level.from_ns() as f64 + level.to_ns() as f64) / 2.0 / 1e9
}
