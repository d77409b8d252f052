//! All targets as one executable: their shared code, which is nearly everything, is compiled and linked once.
//! `FUZZ_TARGET` selects the target: `cargo fuzz run` and libFuzzer's `-jobs` both pass environment variables on.
//!
//! libFuzzer checks the counters of all code after each input, which takes longer than reading a short input.
//! `FUZZ_ONLY` at compile time leaves out all targets but one, and the code that only the others need.

#![no_main]

use std::env;
use std::sync::LazyLock;

type Target = fn(&[u8]);

const ONLY: Option<&str> = option_env!("FUZZ_ONLY");

/// As a constant, so that no code of the others remains.
const fn is_compiled(name: &str) -> bool {
    let Some(only) = ONLY else { return true };
    let (only, name) = (only.as_bytes(), name.as_bytes());
    let mut same = 0;
    while same < name.len() && same < only.len() && name[same] == only[same] {
        same += 1;
    }
    same == name.len() && same == only.len()
}

macro_rules! targets {
    ($($name:ident)*) => {
        mod targets {
            $(pub(super) mod $name;)*
        }

        const TARGETS: &[(&str, Option<Target>)] = &[$((stringify!($name), {
            let run: Target = targets::$name::run;
            if is_compiled(stringify!($name)) { Some(run) } else { None }
        })),*];
    };
}

// Each target is a file in `targets`; .ci/checks/fuzz runs those that it finds there.
targets! {
    app_log archive attach blktrace collapsed firefox gc_log hotspot hs_err hsperfdata jcmd jfr jstat latency mask mcp minutes otlp page
    pcap perf_data perf_map perf_script perf_trace perfetto pprof proc_files prometheus recording rings speedscope strace symbols sysstat thread_dump
    usdt vmstat watch_config
}

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    let compiled = TARGETS.iter().filter_map(|(known, run)| Some((*known, (*run)?)));
    let found = compiled.clone().find(|(known, _)| *known == name);
    let names = || compiled.map(|(known, _)| known).collect::<Vec<_>>().join(" ");
    found.unwrap_or_else(|| panic!("FUZZ_TARGET={name}: it must be one of {}", names())).1
});

libfuzzer_sys::fuzz_target!(init: LazyLock::force(&CHOSEN), |bytes: &[u8]| CHOSEN(bytes));
