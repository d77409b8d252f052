//! The layers of frames.

use super::Word;

words! {
    /// The layer that a frame belongs to.
    frame {
        /// Java, run by the interpreter.
        INTERPRETED = "interpreted";
        /// Java, compiled; the tier is not known.
        COMPILED = "compiled";
        /// Java, compiled by C1.
        C1 = "c1";
        /// Java, inlined into its caller by the compiler.
        INLINED = "inlined";
        /// A native method of Java, or C code.
        NATIVE = "native";
        /// C++ code of the JVM.
        VM = "vm";
        /// The kernel.
        KERNEL = "kernel";
        /// Not code: the class of an allocated object, or of a lock, as the leaf of its stack.
        CLASS = "class";
    }
}
