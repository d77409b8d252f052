//! What threads are for.

use super::Word;

words! {
    /// What a thread is for.
    role {
        /// Serves requests; decided by the account of time from what the threads do.
        HANDLER = "handler";
        /// Another thread of the application or of the class library.
        JAVA = "java";
        /// The collector's workers and coordinators.
        GC = "gc";
        /// C1, C2 and JVMCI compiler threads.
        COMPILER = "compiler";
        /// Other threads of the JVM, such as the VM thread and the recorder.
        VM = "vm";
        /// Threads of native libraries.
        NATIVE = "native";
        /// Kernel threads.
        KERNEL = "kernel";
    }
}
