//! Names as in the source code.
//!
//! Mangled names come from untrusted files: the size of the result is bounded.

use std::borrow::Cow;
use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions};

/// Longer mangled names are left as they are.
const LONGEST_MANGLED_BYTES: usize = 4096;
/// Where a demangled name is cut: substitutions let a short name stand for a very long one.
const LONGEST_NAME_BYTES: usize = 1024;
/// How deep names may nest.
const DEEPEST_NESTING: u32 = 64;

/// The name in the source code of a function: C++ without its parameters, Rust without its hash,
/// anything else unchanged.
pub fn demangle(name: &str) -> Cow<'_, str> {
    if name.len() > LONGEST_MANGLED_BYTES || !name.starts_with(['_', '.']) {
        return name.into();
    }
    rust(name).or_else(|| cpp(name)).map_or(name.into(), Cow::Owned)
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    written(|text| write!(text, "{demangled:#}"))
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(DEEPEST_NESTING);
    let symbol = cpp_demangle::BorrowedSymbol::with_tail_and_options(name.as_bytes(), &parse);
    // Pieces that the optimiser made (`.part.0`, `.cold`) are shown under the name of the whole.
    let (symbol, _) = symbol.ok().filter(|(_, tail)| tail.is_empty() || tail.starts_with(b"."))?;
    let show = DemangleOptions::default().no_params().no_return_type().recursion_limit(DEEPEST_NESTING);
    written(|text| symbol.structured_demangle(text, &show).map_err(|_| fmt::Error))
}

/// What `write` writes, cut at the limit; `None` when it writes nothing.
fn written(write: impl FnOnce(&mut Limited) -> fmt::Result) -> Option<String> {
    let mut text = Limited(String::new());
    let whole = write(&mut text).is_ok();
    if !whole && text.0.len() < LONGEST_NAME_BYTES {
        return None;
    }
    Some(text.0).filter(|text| !text.is_empty())
}

struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST_NAME_BYTES.saturating_sub(self.0.len());
        let cut = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.0.push_str(&text[..cut]);
        if cut < text.len() {
            // Full to the byte, so that the end is known to be the limit's doing.
            self.0.extend(std::iter::repeat_n('.', room - cut));
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let cases = [
            ("main", "main"),
            ("_dl_fixup", "_dl_fixup"),
            ("__libc_start_main", "__libc_start_main"),
            ("_ZN10JavaThread3runEv", "JavaThread::run"),
            ("_ZN9CodeCache9find_blobEPv", "CodeCache::find_blob"),
            ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"),
            ("_ZL12thread_entryP10JavaThreadP6Thread", "thread_entry"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZL11find_numberi.part.0", "find_number"),
            ("_ZN7Compile99OptimizeEv", "_ZN7Compile99OptimizeEv"),
            ("", ""),
            ("_Z", "_Z"),
        ];
        for (mangled, name) in cases {
            assert_eq!(demangle(mangled), name);
        }
    }

    #[test]
    fn names_do_not_grow_without_bound() {
        // Each template argument doubles the one before it.
        let doubling = |times: usize| {
            let mut name = String::from("_Z1fI1aIiiE");
            for index in 0..times {
                name += &format!("1bIS{index}_S{index}_E");
            }
            name + "EvT_"
        };
        for name in [doubling(8), doubling(30), format!("_Z1f{}i", "P".repeat(4000)), "_ZN".repeat(1000)] {
            let shown = demangle(&name);
            assert!(shown.len() <= LONGEST_NAME_BYTES.max(name.len()), "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_taken(name: String, tail in "[0-9A-Za-z_]{0,80}") {
            demangle(&name);
            for prefix in ["_Z", "_ZN", "_R", "_RNv", "_ZNSt", "_ZTI"] {
                demangle(&format!("{prefix}{tail}"));
            }
        }
    }
}
