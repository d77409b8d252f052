//! The probes that a program or library offers to tracers (SystemTap's notes, "USDT"): places in the code that hold
//! only a no-operation, and which value is in which register there.

use super::headers::{Headers, note_at};
use super::{ElfError, Machine, ReadAt, read_part, text_at};

mod argument;

pub use argument::{Argument, Operand};

/// Those of a JVM take 50 KB.
const LARGEST_NOTES_BYTES: u64 = 4 << 20;
/// A JVM has some 570.
const MOST_PROBES: usize = 20_000;
/// A probe's own limit.
const MOST_ARGUMENTS: usize = 12;
/// Type of the notes.
const STAPSDT: usize = 3;

/// One place of a probe; a probe may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Who offers it, such as `hotspot`.
    pub provider: String,
    /// Its name, such as `gc__begin`.
    pub name: String,
    /// Where in the file the instruction stands.
    pub file_offset: u64,
    /// Where in the file the count of its users is, which has to be above 0 for the probe to be reached; none where it always is.
    pub semaphore_offset: Option<u64>,
    /// What it tells; `None` for an argument that cannot be understood.
    pub arguments: Vec<Option<Argument>>,
}

/// The probes of a file, in the order of its notes. Notes that make no sense are left out.
pub fn probes_of(file: &dyn ReadAt) -> Result<Vec<Probe>, ElfError> {
    let headers = Headers::read(file)?;
    let notes = headers.section(".note.stapsdt").filter(|section| section.size_bytes <= LARGEST_NOTES_BYTES);
    let notes = notes.and_then(|section| read_part(file, section.file_offset, section.size_bytes));
    let base = headers.section(".stapsdt.base").map(|section| section.address);
    let mut probes = Vec::new();
    let mut rest = notes.as_deref().unwrap_or_default();
    while let Some((note, after)) = note_at(rest) {
        if note.kind == STAPSDT && note.name == b"stapsdt\0" {
            probes.extend(probe(&headers, base, note.content));
        }
        if probes.len() >= MOST_PROBES {
            break;
        }
        rest = after;
    }
    Ok(probes)
}

/// Three addresses (of the place, of the base when the notes were written, of the semaphore) and three texts.
fn probe(headers: &Headers, base: Option<u64>, content: &[u8]) -> Option<Probe> {
    let address = |at: usize| Some(u64::from_le_bytes(content.get(at..at + 8)?.try_into().ok()?));
    let (place, base_then, semaphore) = (address(0)?, address(8)?, address(16)?);
    // The base moves with the rest when the file is prelinked.
    let moved = base.unwrap_or(base_then).wrapping_sub(base_then);
    let mut at = 24;
    let mut text = || {
        let text = text_at(content, at);
        at += text.len() + 1;
        text
    };
    let (provider, name, arguments) = (text(), text(), text());
    let semaphore = (semaphore != 0).then(|| headers.file_offset_of(semaphore.wrapping_add(moved)));
    // Only within an argument of arm64 is a comma followed by a blank.
    let arguments = arguments.replace(", ", ",");
    let arguments = arguments.split_ascii_whitespace().take(MOST_ARGUMENTS);
    Some(Probe {
        provider: provider.to_owned(),
        name: Some(name).filter(|name| !name.is_empty())?.to_owned(),
        file_offset: headers.file_offset_of(place.wrapping_add(moved))?,
        // One that is said to have a semaphore and has it nowhere could never be reached.
        semaphore_offset: match semaphore {
            Some(offset) => Some(offset?),
            None => None,
        },
        arguments: arguments.map(|text| Argument::parse(headers.machine, text)).collect(),
    })
}

/// Where in the file functions begin that have these names, as they stand in its symbol table; `None` for those that are not there.
pub fn functions_at<const N: usize>(file: &dyn ReadAt, names: [&str; N]) -> Result<[Option<u64>; N], ElfError> {
    let headers = Headers::read(file)?;
    let mut found = [None; N];
    super::symbols::each(file, &headers, |name, address| {
        if let Some(index) = names.iter().position(|wanted| *wanted == name) {
            found[index] = found[index].or_else(|| headers.file_offset_of(address));
        }
    });
    Ok(found)
}

/// The register that holds the first numbers that a function is given, as a word of the registers.
pub fn parameter(machine: Machine, index: usize) -> Option<Argument> {
    let register = match machine {
        Machine::X86_64 => *[14, 13, 12].get(index)?,
        Machine::Aarch64 => u8::try_from(index).ok().filter(|index| *index < 8)?,
    };
    Some(Argument { size_bytes: 4, is_signed: true, operand: Operand::Register(register) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_where_the_calling_convention_has_them() {
        for (machine, index, expected) in [
            (Machine::X86_64, 0, Some(14)),
            (Machine::X86_64, 1, Some(13)),
            (Machine::X86_64, 9, None),
            (Machine::Aarch64, 1, Some(1)),
            (Machine::Aarch64, 8, None),
        ] {
            let found = parameter(machine, index).map(|argument| argument.operand);
            assert_eq!(found, expected.map(Operand::Register), "{machine:?} {index}");
        }
    }
}
