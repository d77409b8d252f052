//! The settings that a recording was made with. A JVM's own recorder repeats them in each chunk, at any place of it.

use super::load_resolve::Resolver;
use super::parse_plan::Plan;

/// A setting: the event it is of, its name, its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) event: String,
    pub(super) name: String,
    pub(super) value: String,
}

/// Decodes settings of a chunk.
pub(super) struct SettingPlan {
    pub(super) plan: Plan,
    id: usize,
    name: usize,
    value: usize,
}

impl SettingPlan {
    pub(super) fn of(plan: Plan) -> Option<SettingPlan> {
        let (id, name, value) = (plan.slot("id")?, plan.slot("name")?, plan.slot("value")?);
        Some(SettingPlan { plan, id, name, value })
    }

    pub(super) fn setting(&self, resolver: &mut Resolver<'_, '_>, slots: &[u64]) -> Setting {
        let event = resolver.types.get(slots[self.id]).map_or(String::new(), |kind| kind.name.clone());
        let mut text = |slot: usize| resolver.text(self.plan.leaf(slot), slots[slot]);
        Setting { event, name: text(self.name), value: text(self.value) }
    }
}

/// A length of time as the JVM's settings write it, for example `20 ms`.
pub(super) fn period_ns(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: i64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_of_settings() {
        for (text, expected) in [
            ("20 ms", Some(20_000_000)),
            ("1 s", Some(1_000_000_000)),
            ("10us", Some(10_000)),
            ("everyChunk", None),
            ("", None),
            ("99999999999999999999 s", None),
            ("9999999999999 d", None),
        ] {
            assert_eq!(period_ns(text), expected, "{text}");
        }
    }
}
