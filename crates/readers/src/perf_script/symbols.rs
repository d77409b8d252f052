//! Names and layers of frames as perf prints them. Knows the words of evidence, and no rows.

use fathom_evidence::kinds::frame;

/// The layer and the name of a frame.
pub(crate) fn layer_and_name<'a>(symbol: &'a str, file: &str) -> (&'static str, std::borrow::Cow<'a, str>) {
    let name = file.rsplit('/').next().unwrap_or(file);
    if file.starts_with('[') && file != "[vdso]" && !file.starts_with("[unknown") {
        return (frame::KERNEL, symbol.into());
    }
    if name.starts_with("libjvm.so") {
        return (frame::VM, symbol.into());
    }
    if name.starts_with("perf-") && name.ends_with(".map") || name.starts_with("jitted-") {
        return of_map(symbol);
    }
    (frame::NATIVE, symbol.into())
}

/// Whether a file is one that only processes with a JVM have.
pub(crate) fn is_of_a_jvm(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with("libjvm.so"))
}

/// `int a.b.C.d(java.lang.String)` of the JVM's own map, `La/b/C;::d` of an agent's, and the JVM's stubs.
fn of_map(symbol: &str) -> (&'static str, std::borrow::Cow<'_, str>) {
    if symbol == "Interpreter" {
        return (frame::INTERPRETED, symbol.into());
    }
    if let Some((class, method)) = symbol.strip_prefix('L').and_then(|rest| rest.split_once(";::")) {
        return (frame::COMPILED, format!("{}.{method}", class.replace('/', ".")).into());
    }
    let before = symbol.split('(').next().unwrap_or(symbol);
    let method = before.rsplit(' ').next().unwrap_or(before);
    let is_method = symbol.contains('(') && method.contains('.');
    if is_method { (frame::COMPILED, method.into()) } else { (frame::VM, symbol.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers() {
        for (symbol, file, layer, name) in [
            ("__x64_sys_futex", "[kernel.kallsyms]", frame::KERNEL, "__x64_sys_futex"),
            ("nft_do_chain", "[nf_tables]", frame::KERNEL, "nft_do_chain"),
            ("__vdso_clock_gettime", "[vdso]", frame::NATIVE, "__vdso_clock_gettime"),
            ("[unknown]", "[unknown]", frame::NATIVE, "[unknown]"),
            ("Compile::Compile", "/usr/lib/jvm/lib/server/libjvm.so", frame::VM, "Compile::Compile"),
            ("int a.b.C.d(java.lang.String, int)", "/tmp/perf-7.map", frame::COMPILED, "a.b.C.d"),
            ("La/b/C;::d", "/tmp/perf-7.map", frame::COMPILED, "a.b.C.d"),
            ("Interpreter", "/tmp/perf-7.map", frame::INTERPRETED, "Interpreter"),
            ("StubRoutines (2)", "/tmp/perf-7.map", frame::VM, "StubRoutines (2)"),
            ("start_thread", "/usr/lib/libc.so.6", frame::NATIVE, "start_thread"),
        ] {
            assert_eq!(layer_and_name(symbol, file), (layer, name.into()), "{symbol}");
        }
    }
}
