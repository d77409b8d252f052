//! Addresses to names: ELF files, code of the JIT, the kernel. Also unwinding: from registers and a piece of stack to
//! the addresses of the callers.
//!
//! Lookups are free of I/O: the caller reads files and passes their bytes in, so that everything here can be tested on
//! bytes and used on a process that has ended. [`process::Process`] puts the parts together; [`unwind::Unwinder`] walks
//! its stacks.
//!
//! All input is hostile: the process can forge `maps` and perf maps, and anyone can forge ELF files. Nothing here
//! panics, hangs, or grows beyond a small multiple of its input.

pub mod demangle;
pub mod elf;
pub mod hotspot;
pub mod jit;
pub mod kernel;
pub mod maps;
pub mod process;
pub mod unwind;

/// Makes cargo build this crate anew when another checkout uses the same target folder (`.cargo/config.toml`).
const _: Option<&str> = option_env!("FATHOM_CHECKOUT");
