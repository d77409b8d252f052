//! Starts small Java programs and sees to it that they end.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use fathom_collectors::Target;
use tempfile::TempDir;

/// A user that owns nothing.
pub(crate) const NOBODY: u32 = 65_534;

/// Says it is ready, then allocates and throws away, so that there are collections to see.
const PROGRAM: &str = r#"
public class Program {
    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setName("the thread with a rather long name");
        java.util.ArrayDeque<byte[]> kept = new java.util.ArrayDeque<>();
        System.out.println("ready");
        for (long turn = 0; ; turn++) {
            for (int i = 0; i < 20; i++) kept.add(new byte[50_000]);
            while (kept.size() > 200) kept.poll();
            if (turn % 20 == 19) System.gc();
            Thread.sleep(5);
        }
    }
}
"#;

/// A running JVM; it ends with the value.
pub(crate) struct Jvm {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    _place: TempDir,
}

/// Java of this feature release, or a line that says that the test is skipped.
pub(crate) fn java(major: u32) -> Option<PathBuf> {
    let homes = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_wanted = |home: &PathBuf| {
        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        release.contains(&format!("JAVA_VERSION=\"{major}.")) && home.join("bin/javac").is_file()
    };
    let found = homes.filter(is_wanted).min();
    if found.is_none() {
        println!("SKIPPED: no JDK {major} under /usr/lib/jvm");
    }
    found.map(|home| home.join("bin/java"))
}

/// The JDKs that tests run with, as far as they are here.
pub(crate) fn javas() -> Vec<PathBuf> {
    [17, 25].into_iter().filter_map(java).collect()
}

/// Whether this is root; if not, a line that says that the test is skipped.
pub(crate) fn is_root() -> bool {
    let is_root = own_uid() == 0;
    if !is_root {
        println!("SKIPPED: only root can start a JVM as another user");
    }
    is_root
}

/// The user who runs the tests.
pub(crate) fn own_uid() -> u32 {
    Target::of(std::process::id()).unwrap().uid
}

/// The compiled program, once for all tests.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("fathom-live-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("Program.java"), PROGRAM).unwrap();
        let javac = javas().first().unwrap().with_file_name("javac");
        let compiled =
            Command::new(javac).args(["--release", "11", "-d", ".", "Program.java"]).current_dir(&folder).status();
        assert!(compiled.unwrap().success());
        folder
    })
}

impl Jvm {
    /// Starts the program and waits until it says that it is ready.
    pub(crate) fn start(java: &Path, uid: u32, options: &[&str]) -> Jvm {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = match uid == own_uid() {
            true => Command::new(java),
            false => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={uid}")).arg(format!("--regid={uid}")).arg("--clear-groups").arg(java);
                command
            }
        };
        command.args(["-Xmx64m", "-cp"]).arg(classes()).args(options).arg("Program").current_dir(place.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Jvm { child, output: Some(output), _place: place }
    }

    /// As the collectors see it.
    pub(crate) fn target(&self) -> Target {
        Target::of(self.child.id()).unwrap()
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it and gives what it printed after it was ready.
    pub(crate) fn end(mut self) -> String {
        assert!(self.child.try_wait().unwrap().is_none(), "the JVM has ended by itself");
        self.child.kill().unwrap();
        let mut rest = String::new();
        self.output.take().unwrap().read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
