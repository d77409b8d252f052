//! The JVMs of a machine, one line each.

use serde::Serialize;

use crate::sheet::{Sheet, Styled, Tone, columns, fit, styled};
use crate::{TextOptions, clean, units};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
pub struct Jvms {
    /// Version of the JSON.
    pub schema: u32,
    /// By process id.
    pub jvms: Vec<JvmLine>,
}

/// One JVM. What is not known is null.
#[derive(Debug, Clone, Default, Serialize)]
pub struct JvmLine {
    /// Process id here.
    pub pid: u32,
    /// Process id as the process itself has it.
    pub inner_pid: u32,
    /// Its user.
    pub user: String,
    /// Main class, module or jar.
    pub main: Option<String>,
    /// From the main class on, secrets masked.
    pub command_line: String,
    /// Version of Java.
    pub version: Option<String>,
    /// The collector.
    pub collector: Option<String>,
    /// Time since it began.
    pub uptime_s: f64,
    /// Heap in use when the collector last said so.
    pub heap_used_bytes: Option<u64>,
    /// Limit of the heap.
    pub heap_max_bytes: Option<u64>,
    /// The container, if it is in another one than we are.
    pub container: Option<String>,
}

impl Jvms {
    /// Puts the lines together.
    pub fn new(jvms: Vec<JvmLine>) -> Jvms {
        Jvms { schema: SCHEMA, jvms }
    }
}

/// Blanks between columns.
const GAP: usize = 2;

/// The same for a person.
pub fn text(jvms: &Jvms, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    if jvms.jvms.is_empty() {
        sheet.paragraph(0, Tone::Plain, "no JVM that may be looked at: root sees those of other users");
        return sheet.render(options.color);
    }
    let heads = ["PID", "USER", "JDK", "COLLECTOR", "UP", "HEAP", "CONTAINER"];
    let rows: Vec<[String; 7]> = jvms.jvms.iter().map(cells).collect();
    let width = |column: usize| {
        let widest = rows.iter().map(|row| columns(&clean::line(&row[column]))).max().unwrap_or(0);
        // A column that says nothing of any JVM is left out.
        if widest == 0 { 0 } else { widest.max(columns(heads[column])) }
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let used: usize = widths.iter().filter(|width| **width > 0).map(|width| width + GAP).sum();
    line(&mut sheet, Tone::Faint, &heads, &widths, styled(Tone::Faint, "MAIN"));
    for (jvm, row) in jvms.jvms.iter().zip(&rows) {
        let room = if options.all { usize::MAX } else { sheet.room(used) };
        let main = fit(&clean::line(&jvm.command_line), room);
        line(&mut sheet, Tone::Plain, &row.each_ref().map(String::as_str), &widths, styled(Tone::Strong, &main));
    }
    sheet.render(options.color)
}

fn cells(jvm: &JvmLine) -> [String; 7] {
    let pid = match jvm.inner_pid == jvm.pid {
        true => jvm.pid.to_string(),
        false => format!("{} ({} inside)", jvm.pid, jvm.inner_pid),
    };
    let bytes = |bytes: u64| units::amount(bytes as f64, "bytes");
    let heap = match (jvm.heap_used_bytes, jvm.heap_max_bytes) {
        (Some(used), Some(max)) => format!("{} of {}", bytes(used), bytes(max)),
        (Some(used), None) => bytes(used),
        (None, max) => max.map_or_else(String::new, |max| format!("of {}", bytes(max))),
    };
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    [
        pid,
        jvm.user.clone(),
        or_empty(&jvm.version),
        or_empty(&jvm.collector),
        units::amount(jvm.uptime_s.round() * 1e9, "ns"),
        heap,
        or_empty(&jvm.container),
    ]
}

/// Cells padded to the widths of their columns, then the rest.
fn line(sheet: &mut Sheet, tone: Tone, cells: &[&str; 7], widths: &[usize; 7], rest: Styled) {
    let padded = cells.iter().zip(widths).filter(|(_, width)| **width > 0).map(|(cell, width)| {
        let cell = clean::line(cell);
        let blanks = width.saturating_sub(columns(&cell)) + GAP;
        styled(tone, &format!("{cell}{}", " ".repeat(blanks)))
    });
    sheet.line(0, padded.chain([rest]).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn jvm(pid: u32, command_line: &str) -> JvmLine {
        JvmLine {
            pid,
            inner_pid: pid,
            user: "shop".to_owned(),
            command_line: command_line.to_owned(),
            version: Some("25.0.3".to_owned()),
            collector: Some("G1".to_owned()),
            uptime_s: 12_345.6,
            heap_used_bytes: Some(30 << 20),
            heap_max_bytes: Some(4 << 30),
            ..JvmLine::default()
        }
    }

    #[test]
    fn a_table_with_the_columns_that_say_something() {
        let inside =
            JvmLine { inner_pid: 1, container: Some("0123456789ab".to_owned()), ..jvm(4_242, "shop.Main --port 80") };
        let bare = JvmLine { pid: 7, inner_pid: 7, user: "1000".to_owned(), ..JvmLine::default() };
        let hostile = jvm(17, &format!("\u{1b}[2Jshop.Other {}", "x".repeat(300)));
        let options = TextOptions { width: 100, color: false, all: false, zone: TimeZone::UTC };
        let shown = [vec![], vec![jvm(17, "shop.Main")], vec![bare, hostile, inside]];
        let shown: Vec<String> = shown.into_iter().map(|lines| text(&Jvms::new(lines), &options)).collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}
