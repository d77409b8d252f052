//! A small JVM to be observed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Works a little, and keeps as many idle threads as its argument says.
const PROGRAM: &str = r#"
public final class Quiet {
    public static void main(String[] args) throws Exception {
        int idle = args.length > 0 ? Integer.parseInt(args[0]) : 0;
        for (int i = 0; i < idle; i++) {
            Thread thread = new Thread(Quiet::sleep, "idle-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        long sum = 0;
        while (true) {
            for (int i = 0; i < 20_000; i++) {
                sum += Integer.toString(i).hashCode();
            }
            Thread.sleep(20);
            if (sum == 42) {
                System.out.println(sum);
            }
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(600_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
"#;

/// A running JVM; it ends with this value.
pub(crate) struct Jvm {
    child: Child,
    _sources: tempfile::TempDir,
}

impl Jvm {
    /// Starts the program and waits until it runs; says so when there is no JDK.
    pub(crate) fn start(arguments: &[&str]) -> Option<Jvm> {
        Jvm::of(Path::new("java"), &[], arguments)
    }

    /// The same with a JDK and options of the JVM.
    pub(crate) fn of(java: &Path, options: &[&str], arguments: &[&str]) -> Option<Jvm> {
        let sources = tempfile::tempdir().unwrap();
        let source = sources.path().join("Quiet.java");
        std::fs::write(&source, PROGRAM).unwrap();
        let mut java = Command::new(java);
        java.args(["-Xmx64m", "-Xss256k"]).args(options).arg(&source).args(arguments).stdout(Stdio::piped());
        let Ok(mut child) = java.spawn() else {
            eprintln!("SKIPPED: there is no java on the path");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Jvm { child, _sources: sources })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap().success());
    }

    pub(crate) fn is_alive(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// As the out-of-memory killer does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
