//! Addresses to names: ELF files, code of the JIT, the kernel. Looking up is free of I/O.
