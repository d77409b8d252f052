//! Prices of fences on this CPU, for a person and as JSON.

use fathom_causes::format;
use serde::Serialize;

use crate::TextOptions;
use crate::sheet::{Sheet, Tone, styled};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// Column of the prices' explanations.
const HANG: usize = 26;

/// Compiled methods that a service of some size enters again and again.
const METHODS: f64 = 5_000.0;

/// A way to do it, with its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Fence {
    /// The instructions.
    pub name: &'static str,
    /// Who executes them.
    pub says: &'static str,
    /// What once takes, in ns.
    pub ns: f64,
    /// The price from which on it does not stay on the CPU but traps, if it may: several times what any
    /// processor needs for it, and less than any trap.
    pub trap_ns: Option<f64>,
}

impl Fence {
    /// Whether it takes so long that it must trap: to the hypervisor, or to firmware.
    pub fn traps(&self) -> bool {
        self.trap_ns.is_some_and(|trap_ns| self.ns >= trap_ns)
    }
}

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
pub struct Probed {
    /// Version of the JSON.
    pub schema: u32,
    /// What the processor is, where that matters.
    pub processor: Option<String>,
    /// The fences, the one that a JDK uses first.
    pub fences: Vec<Price>,
    /// What that means, in a sentence.
    pub says: String,
}

/// A fence and its price.
#[derive(Debug, Clone, Serialize)]
pub struct Price {
    /// The instructions.
    pub name: &'static str,
    /// Who executes them.
    pub meaning: &'static str,
    /// What once takes.
    pub ns: f64,
    /// Whether it takes so long that it must leave the CPU's own mode.
    pub traps: bool,
}

impl Probed {
    /// Puts the answer together.
    pub fn new(fences: &[Fence], processor: Option<String>) -> Probed {
        let price = |fence: &Fence| Price { name: fence.name, meaning: fence.says, ns: fence.ns, traps: fence.traps() };
        // With SERIALIZE the JDK uses that and not `cpuid`.
        let used = fences.iter().find(|fence| fence.name == "serialize").or(fences.first());
        Probed {
            schema: SCHEMA,
            processor,
            fences: fences.iter().map(price).collect(),
            says: used.map_or_else(String::new, says),
        }
    }
}

fn says(fence: &Fence) -> String {
    let trap = match (fence.traps(), fence.name) {
        (true, "ic ivau") => "it traps to firmware; ",
        (true, _) => "it leaves the virtual machine; ",
        (false, _) => "it stays on the CPU; ",
    };
    format!(
        "{} takes {}: {trap}when a collection has armed {} compiled methods, entering each of them once costs {}",
        fence.name,
        format::time(fence.ns),
        format::number(METHODS),
        format::time(fence.ns * METHODS)
    )
}

/// The same for a person.
pub fn text(probed: &Probed, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    if let Some(processor) = &probed.processor {
        sheet.paragraph(0, Tone::Strong, processor);
    }
    for price in &probed.fences {
        let tone = if price.traps { Tone::Bad } else { Tone::Strong };
        let label = format!("{:<13}{:>10}", price.name, format::time(price.ns));
        sheet.labelled(0, HANG, styled(tone, &label), price.meaning);
    }
    sheet.blank();
    sheet.paragraph(0, Tone::Plain, &probed.says);
    sheet.render(options.color)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn prices_as_they_are_read() {
        let of = |name, ns, trap_ns| Fence { name, says: "an instruction of a user program", ns, trap_ns };
        let options = TextOptions { width: 100, color: false, all: false, zone: TimeZone::UTC };
        let machines = [
            (vec![of("cpuid", 3_617.0, Some(500.0)), of("store", 0.31, None)], None),
            (vec![of("cpuid", 48.0, Some(500.0)), of("serialize", 31.0, Some(500.0))], None),
            (vec![of("ic ivau", 12_000.0, Some(1_000.0))], Some("Neoverse N1 r3p1".to_owned())),
        ];
        let told = machines.map(|(fences, processor)| text(&Probed::new(&fences, processor), &options));
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_trap_is_told_by_its_price() {
        let of = |ns, trap_ns| Fence { name: "cpuid", says: "", ns, trap_ns };
        for (fence, expected) in
            [(of(60.0, Some(500.0)), false), (of(3_600.0, Some(500.0)), true), (of(3_600.0, None), false)]
        {
            assert_eq!(fence.traps(), expected, "{fence:?}");
        }
    }
}
