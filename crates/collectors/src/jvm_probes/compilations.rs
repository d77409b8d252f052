//! Compilations, each on its compiler's thread.

use std::collections::HashMap;

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, Compilation};
use fathom_evidence::kinds::span;

use super::NAME;
use super::parse::Event;
use super::probes::Probe;

/// Compiler threads that are followed.
const THREADS_MAX: usize = 1024;

/// What the compilers are at: since when, by thread.
#[derive(Debug, Default)]
pub(super) struct Compilations(HashMap<u32, i64>);

impl Compilations {
    /// Takes what concerns it.
    pub(super) fn see(&mut self, event: &Event, found: &mut Recording) {
        match event.probe {
            Probe::CompilationBegin if self.0.len() < THREADS_MAX => {
                self.0.insert(event.tid, event.time_ns);
            }
            Probe::CompilationEnd => {
                if let Some(began_ns) = self.0.remove(&event.tid) {
                    write(event, began_ns, found);
                }
            }
            _ => {}
        }
    }
}

fn write(event: &Event, began_ns: i64, found: &mut Recording) {
    let [class, method] = &event.texts;
    let name = format!("{}.{method}", class.replace('/', "."));
    let [compiler, succeeded, ..] = event.numbers;
    let compiler = compiler_of(compiler);
    let detail = Compilation {
        // C2 has a level of its own, C1 has three.
        level: (compiler == "c2").then_some(4),
        compiler: Some(compiler).filter(|compiler| !compiler.is_empty()),
        succeeded: Some(succeeded != 0),
        ..Compilation::default()
    };
    let duration_ns = event.time_ns.saturating_sub(began_ns).max(0);
    let (tid, text) = (i64::from(event.tid), detail::to_text(&detail));
    found.add_span(began_ns, duration_ns, tid, span::COMPILATION, &name, &text, NAME);
}

/// The first eight bytes of the compiler's name: `C1`, `C2`, `JVMCI`.
fn compiler_of(beginning: i64) -> String {
    let bytes = beginning.to_ne_bytes();
    let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric());
    letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_by_the_beginning_of_their_names() {
        for (bytes, expected) in
            [(b"C1\0paths", "c1"), (b"C2\0\0\0\0\0\0", "c2"), (b"JVMCI\0\0\0", "jvmci"), (b"\0\0\0\0\0\0\0\0", "")]
        {
            assert_eq!(compiler_of(i64::from_ne_bytes(*bytes)), expected);
        }
    }
}
