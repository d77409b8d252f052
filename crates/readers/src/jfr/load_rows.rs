//! Rows from events by the table of [`super::load_events`]: spans, counters, facts, logs, losses.

use fathom_evidence::kinds::{counter, subject};
use fathom_evidence::tables::{Counter, Span};
use fathom_evidence::{StackId, StrId};

use super::load_chunk::{Head, Loader, Lost, SOURCE};
use super::load_handlers::{Action, Bound, BoundName, BoundSum, Fields};
use super::load_map::{GcPart, SafepointPart};
use super::load_safepoint::SafepointEvent;
use super::load_settings::{SettingPlan, period_ns};
use super::parse_metadata::Unit;
use super::parse_plan::Kind;
use fathom_evidence::mask;

/// Counters that are about the thread of their event.
const OF_ONE_THREAD: &[&str] = &[counter::CPU_THREAD_RATIO, counter::THREAD_ALLOCATED_BYTES];

impl Loader<'_, '_> {
    pub(super) fn act(&mut self, head: Head, action: &Action, slots: &[u64]) {
        match action {
            Action::Span { kind, name, detail } => self.span(head, kind, name, detail, slots),
            Action::Counter { name, instance, value } => self.counter(head, name, instance, value, slots),
            Action::Fact { subject, key, value } => {
                let text = self.text(value, slots);
                let text = if *key == "arguments" { mask::options(&text) } else { (&*text).into() };
                self.fact(subject, key, &text);
            }
            Action::NamedFact { subject, key, value } => {
                let (key, text) = (self.text(key, slots), self.text(value, slots));
                // Of flags the JVM knows every name: all their values are shown, but for secrets.
                let is_anybodys = [subject::PROPERTY, subject::ENVIRONMENT].contains(subject);
                let text = if is_anybodys { mask::value(&key, &text) } else { (&*text).into() };
                self.fact(subject, &key, &text);
            }
            Action::Gc(part, fields) => self.gc(head, *part, fields, slots),
            Action::Safepoint(part, fields) => self.safepoint(head, *part, fields, slots),
            Action::Setting(plan) => self.setting(plan, slots),
            Action::Log { class, level, text } => {
                let level = level.as_ref().map_or(String::new(), |level| self.text(level, slots));
                let text = self.text(text, slots);
                self.out.recording.add_log(head.time_ns, SOURCE, &level, class, &text);
            }
            Action::Loss { says, count } => {
                let count = self.integer(count, slots).unwrap_or(0);
                self.out.lost.push(Lost { says, count, time_ns: head.time_ns });
            }
        }
    }

    fn span(&mut self, head: Head, kind: &str, name: &BoundName, detail: &[(&'static str, BoundSum)], slots: &[u64]) {
        let name = self.name(name, slots);
        let detail = self.detail(detail, slots);
        let strings = &mut self.out.recording.strings;
        let row = Span {
            time_ns: head.time_ns,
            duration_ns: head.duration_ns,
            tid: head.tid,
            kind: strings.intern(kind),
            name,
            stack_id: head.stack_id,
            kernel_stack_id: StackId(0),
            detail,
            source: self.source,
        };
        self.out.recording.spans.push(row);
    }

    fn counter(&mut self, head: Head, name: &str, instance: &BoundName, value: &BoundSum, slots: &[u64]) {
        // A damaged file may hold a number that is none; below zero is the JVM's word for what it could not find out.
        let Some(value) = self.sum(value, slots).filter(|value| value.is_finite() && *value >= 0.0) else { return };
        let instance = self.name(instance, slots);
        // Events of the whole process are written by some thread of the recorder, which is not what they are about.
        let tid = if OF_ONE_THREAD.contains(&name) { head.tid } else { 0 };
        let name = self.out.recording.strings.intern(name);
        let row = Counter { time_ns: head.time_ns, name, instance, tid, value, source: self.source };
        self.out.recording.counters.push(row);
    }

    fn sum(&self, sum: &BoundSum, slots: &[u64]) -> Option<f64> {
        // Addresses are close to 2^47 and their difference matters, so integers stay integers.
        if let [(1, only)] = sum.as_slice() {
            return self.resolver.number(&only.leaf, slots[only.slot]);
        }
        self.integer_sum(sum, slots).map(|sum| sum as f64)
    }

    fn integer_sum(&self, sum: &BoundSum, slots: &[u64]) -> Option<i64> {
        sum.iter().try_fold(0_i64, |total, (factor, bound)| {
            Some(total.wrapping_add(self.integer(bound, slots)?.wrapping_mul(*factor)))
        })
    }

    fn fact(&mut self, subject: &str, key: &str, value: &str) {
        if !value.is_empty() {
            self.out.recording.add_fact(subject, key, value, SOURCE);
        }
    }

    fn name(&mut self, name: &BoundName, slots: &[u64]) -> StrId {
        match name {
            BoundName::Is(text) => self.out.recording.strings.intern(text),
            BoundName::Of(bound) => self.text_id(bound, slots),
            BoundName::When(bound) => {
                let when = when(&self.text(bound, slots));
                self.out.recording.strings.intern(when)
            }
            BoundName::Segment(bound) => {
                let text = self.text(bound, slots);
                self.out.recording.strings.intern(segment(&text))
            }
            BoundName::Peer { host, address, port } => self.peer([host, address, port], slots),
        }
    }

    fn peer(&mut self, fields: [&Option<Bound>; 3], slots: &[u64]) -> StrId {
        let [host, address, port] =
            fields.map(|field| field.as_ref().map_or(String::new(), |bound| self.short_text(bound, slots)));
        let host = if host.is_empty() { address } else { host };
        self.out.recording.strings.intern(&format!("{host}:{port}"))
    }

    /// Writes the detail as JSON; keys without a value stay out.
    fn detail(&mut self, detail: &[(&'static str, BoundSum)], slots: &[u64]) -> StrId {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for (key, sum) in detail {
            let before = text.len();
            text.push_str(if text.is_empty() { "{\"" } else { ",\"" });
            text.push_str(key);
            text.push_str("\":");
            if self.json(&mut text, sum, slots).is_none() {
                text.truncate(before);
            }
        }
        if !text.is_empty() {
            text.push('}');
        }
        let id = self.out.recording.strings.intern(&text);
        self.text = text;
        id
    }

    fn json(&mut self, text: &mut String, sum: &BoundSum, slots: &[u64]) -> Option<()> {
        use std::fmt::Write;
        let (_, first) = sum.first()?;
        match first.leaf.kind {
            Kind::Integer { .. } => {
                let value = self.integer_sum(sum, slots)?;
                // A time limit of nothing means that there is none.
                if matches!(first.leaf.unit, Unit::SpanNs(_) | Unit::SpanTicks) && value <= 0 {
                    return None;
                }
                write!(text, "{value}").ok()
            }
            Kind::Boolean => write!(text, "{}", slots[first.slot] != 0).ok(),
            Kind::Text | Kind::Key(_) => {
                let value = self.short_text(first, slots);
                if value.is_empty() {
                    return None;
                }
                text.push_str(&serde_json::to_string(&value).ok()?);
                Some(())
            }
            Kind::Float | Kind::Double | Kind::Array => None,
        }
    }

    fn safepoint(&mut self, head: Head, part: SafepointPart, fields: &Fields, slots: &[u64]) {
        let integer = |name: &str| fields.get(name).and_then(|bound| self.integer(bound, slots));
        // An operation without a safepoint carries no id, or 0.
        let Some(id) = integer("safepointId").filter(|id| *id != 0) else { return };
        let (threads, running_threads) = (integer("totalThreadCount"), integer("runningThreadCount"));
        let operation = fields.get("operation").map_or(String::new(), |bound| self.short_text(bound, slots));
        let Head { time_ns, duration_ns, .. } = head;
        let event = SafepointEvent { id, part, time_ns, duration_ns, threads, running_threads, operation };
        self.out.safepoints.push(event);
    }

    fn setting(&mut self, plan: &SettingPlan, slots: &[u64]) {
        let setting = plan.setting(&mut self.resolver, slots);
        if setting.name == "period"
            && let Some(period) = period_ns(&setting.value)
        {
            self.periods.insert(setting.event.clone(), period);
        }
        self.fact(subject::SETTING, &format!("{}#{}", setting.event, setting.name), &setting.value);
    }

    pub(super) fn gc_id(&self, fields: &Fields, slots: &[u64]) -> Option<i64> {
        self.integer(fields.get("gcId")?, slots)
    }

    fn gc(&mut self, head: Head, part: GcPart, fields: &Fields, slots: &[u64]) {
        if let Some(gc_id) = self.gc_id(fields, slots) {
            self.gc_part(head, gc_id, part, fields, slots);
        }
    }
}

/// The instance of a counter that is read before and after a collection.
pub(super) fn when(text: &str) -> &'static str {
    match text {
        "Before GC" => "before_gc",
        _ => "after_gc",
    }
}

/// The segment of the code cache. An unsegmented cache is called "CodeCache" by one event and
/// "Unused" by another.
fn segment(text: &str) -> &str {
    match text {
        "CodeCache" | "Unused" => "",
        other => other,
    }
}
