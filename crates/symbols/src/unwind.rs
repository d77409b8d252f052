//! Finds the callers of a thread from its registers and a copied piece of its stack.
//!
//! The JVM, glibc and the dynamic linker keep no frame pointers; the unwind tables of their files say
//! how to find each caller. All registers are followed, not only those of the stack: the resolver of
//! glibc finds its frame through `rbx`. Code of the JIT has no tables: there the size of the frame is
//! read from the code (see [`crate::jit::JitMap::learn_frames`]), or else the chain of frame pointers is
//! followed as far as it is plausible, and the result says from where on it is a guess.
//!
//! All input is hostile: registers, stack and tables. Each step must lead up the stack, tables are evaluated with
//! bounds, and a walk that ends says why, so that failures are counted.

mod jit;
mod registers;
mod stack;
mod walk;

pub use registers::Registers;
pub use stack::{StackCopy, WalkEnd};
pub use walk::{Unwinder, Walk};
