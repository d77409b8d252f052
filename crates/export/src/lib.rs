//! A selection of a recording in the formats of other tools.
//!
//! [`Selection`] says which samples; [`markers::of`] gives stops and long waits as marks; callers add their own (slow intervals, causes). Each module is one
//! format. Frames keep their layer: formats without layers have it as a suffix of names, as flame graph tools do.

mod collapsed;
mod csv;
mod firefox;
pub mod markers;
mod otlp;
mod perfetto;
mod pprof;
mod protobuf;
mod selection;
mod speedscope;

use std::io::{self, Write};

use fathom_evidence::Recording;

pub use markers::Marker;
pub use selection::{Selected, Selection};

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line for each stack, with its weight: flame graph tools.
    Collapsed,
    /// Samples and marks as a table.
    Csv,
    /// Firefox Profiler.
    Firefox,
    /// OpenTelemetry.
    Otlp,
    /// Perfetto.
    Perfetto,
    /// pprof.
    Pprof,
    /// speedscope.
    Speedscope,
}

impl Format {
    /// All of them with the names that users give.
    pub const ALL: &[(&'static str, Format)] = &[
        ("collapsed", Format::Collapsed),
        ("csv", Format::Csv),
        ("firefox", Format::Firefox),
        ("otlp", Format::Otlp),
        ("perfetto", Format::Perfetto),
        ("pprof", Format::Pprof),
        ("speedscope", Format::Speedscope),
    ];

    /// Whether it is about times: sums without any would all be at one instant.
    pub fn needs_times(self) -> bool {
        matches!(self, Format::Csv | Format::Firefox | Format::Perfetto)
    }
}

/// Writes a selection and marks beside it.
pub fn write(
    format: Format,
    recording: &Recording,
    selected: &Selected,
    markers: &[Marker],
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Collapsed => collapsed::write(recording, selected, out),
        Format::Csv => csv::write(recording, selected, markers, out),
        Format::Firefox => firefox::write(recording, selected, markers, out),
        Format::Otlp => otlp::write(recording, selected, out),
        Format::Perfetto => perfetto::write(recording, selected, markers, out),
        Format::Pprof => pprof::write(recording, selected, out),
        Format::Speedscope => speedscope::write(recording, selected, out),
    }
}
