//! Whose samples of the CPU count, where two have looked: they see other frames of the same code, so that they must be neither
//! added up nor compared with each other.

use crate::dictionaries::StrId;
use crate::kinds::event;
use crate::recording::Recording;

impl Recording {
    /// Keeps the samples of the profiler that ran longest as samples of the CPU: for when everything that is known of a JVM
    /// is together.
    pub fn choose_cpu_samples(&mut self) {
        let Some(outside) = self.strings.find(event::CPU_FROM_OUTSIDE) else { return };
        let cpu = self.strings.intern(event::CPU);
        if self.looked_ns(outside) <= self.looked_ns(cpu) {
            return;
        }
        let set_aside = self.strings.intern(event::CPU_SET_ASIDE);
        for event in &mut self.samples.event {
            *event = match *event {
                of if of == cpu => set_aside,
                of if of == outside => cpu,
                other => other,
            };
        }
    }

    /// From the first to the last sample of an event; less than 0 without any.
    fn looked_ns(&self, event: StrId) -> i64 {
        let events = self.samples.event.iter().zip(&self.samples.time_ns);
        let of_event = events.filter(|(of, _)| **of == event).map(|(_, time_ns)| *time_ns);
        let ends = of_event.fold((i64::MAX, i64::MIN), |(first, last), time| (first.min(time), last.max(time)));
        if ends.0 > ends.1 { -1 } else { ends.1.saturating_sub(ends.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Sample;

    #[test]
    fn who_looked_for_longer_counts() {
        let (outside, aside) = (event::CPU_FROM_OUTSIDE, event::CPU_SET_ASIDE);
        for (profiler_s, outside_s, names) in [
            (0_usize..10, 0_usize..1, [event::CPU, outside]),
            (8..10, 0..8, [aside, event::CPU]),
            (0..0, 0..1, [event::CPU, event::CPU]),
            (0..5, 0..0, [event::CPU, event::CPU]),
        ] {
            let mut recording = Recording::default();
            let expected = [vec![names[0]; profiler_s.len()], vec![names[1]; outside_s.len()]].concat();
            for (event, seconds) in [(event::CPU, profiler_s), (outside, outside_s)] {
                let event = recording.strings.intern(event);
                for second in seconds {
                    let time_ns = second as i64 * 1_000_000_000;
                    recording.samples.push(Sample { time_ns, event, ..Sample::default() });
                }
            }
            for _ in 0..2 {
                recording.choose_cpu_samples();
                let found: Vec<&str> = recording.samples.rows().map(|row| recording.text(row.event)).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
