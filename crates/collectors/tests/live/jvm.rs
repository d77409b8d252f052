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

/// Says it is ready, then allocates and throws away, so that there are collections to see, and counts its turns in a file. With
/// `-Dcontended=true` two threads wait for each other's lock meanwhile, which each holds for `-Dhold` ms; with `-Dwork=N` each turn
/// computes so many numbers.
const PROGRAM: &str = r#"
public class Program {
    private static volatile long sum;

    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setName("the thread with a rather long name");
        java.util.ArrayDeque<byte[]> kept = new java.util.ArrayDeque<>();
        java.io.RandomAccessFile turns = new java.io.RandomAccessFile("turns", "rw");
        turns.writeLong(0);
        if (Boolean.getBoolean("contended")) for (int i = 0; i < 2; i++) new Thread(Program::hold).start();
        System.out.println("ready");
        for (long turn = 0; ; turn++) {
            for (int i = 0; i < 20; i++) kept.add(new byte[50_000]);
            while (kept.size() > 200) kept.poll();
            if (turn % 20 == 19) System.gc();
            turns.seek(0);
            turns.writeLong(turn + 1);
            compute(Integer.getInteger("work", 0));
            Thread.sleep(5);
        }
    }

    private static void compute(int count) {
        long number = count;
        for (int i = 0; i < count; i++) number = number * 6364136223846793005L + i;
        sum = number;
    }

    private static void hold() {
        while (true) synchronized (Program.class) {
            try { Thread.sleep(Integer.getInteger("hold", 4)); } catch (InterruptedException end) { return; }
        }
    }
}
"#;

/// A running JVM; it ends with the value.
pub(crate) struct Jvm {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    place: TempDir,
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

/// Not in `/tmp`, which a JVM in a container has for itself.
fn new_place() -> TempDir {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    place
}

/// A folder with the compiled program, which is compiled once for all tests.
fn place_with_program() -> TempDir {
    static PROGRAM_CLASS: OnceLock<Vec<u8>> = OnceLock::new();
    let class = PROGRAM_CLASS.get_or_init(|| {
        let place = new_place();
        fs::write(place.path().join("Program.java"), PROGRAM).unwrap();
        let javac = javas().first().unwrap().with_file_name("javac");
        let mut compile = Command::new(javac);
        compile.args(["--release", "8", "-d", ".", "Program.java"]).current_dir(place.path());
        assert!(compile.status().unwrap().success());
        fs::read(place.path().join("Program.class")).unwrap()
    });
    let place = new_place();
    fs::write(place.path().join("Program.class"), class).unwrap();
    place
}

impl Jvm {
    /// Starts the program as a user and waits until it says that it is ready.
    pub(crate) fn start(java: &Path, uid: u32, options: &[&str]) -> Jvm {
        let mut command = match uid == own_uid() {
            true => Command::new(java),
            false => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={uid}")).arg(format!("--regid={uid}")).arg("--clear-groups").arg(java);
                command
            }
        };
        command.args(["-Xmx64m", "-cp", "."]).args(options);
        Jvm::wait_for(command)
    }

    /// Starts the program in namespaces of its own, with a `/tmp` of its own; only root can.
    pub(crate) fn start_inside(java: &Path) -> Jvm {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]);
        command.arg("mount -t tmpfs tmpfs /tmp && exec \"$@\"").arg("sh").arg(java);
        command.args(["-Xmx64m", "-cp", "."]);
        Jvm::wait_for(command)
    }

    /// Its only argument tells it from the others.
    fn wait_for(mut command: Command) -> Jvm {
        let place = place_with_program();
        command.arg("Program").arg(place.path()).current_dir(place.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // Of a process that had the number before and was killed.
        remove_attach_files(child.id());
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Jvm { child, output: Some(output), place }
    }

    /// Compiles and starts another program, a class without a package, and gives what it prints when it is ready.
    pub(crate) fn run(java: &Path, class: &str, source: &str, arguments: &[&str]) -> (Jvm, String) {
        let place = new_place();
        let file = format!("{class}.java");
        fs::write(place.path().join(&file), source).unwrap();
        let mut compile = Command::new(java.with_file_name("javac"));
        assert!(compile.args(["-d", ".", &file]).current_dir(place.path()).status().unwrap().success());
        let mut command = Command::new(java);
        command.args(["-Xmx64m", "-cp", ".", class]).args(arguments).current_dir(place.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        (Jvm { child, output: Some(output), place }, line.trim_end().to_owned())
    }

    /// What its command line ends with.
    pub(crate) fn mark(&self) -> &str {
        self.place.path().to_str().unwrap()
    }

    /// As the collectors see it.
    pub(crate) fn target(&self) -> Target {
        Target::of(self.child.id()).unwrap()
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How far the program has come; it asks for a full collection every twentieth turn.
    pub(crate) fn turns(&self) -> u64 {
        let bytes = fs::read(self.place.path().join("turns")).unwrap();
        bytes.try_into().map_or(0, u64::from_be_bytes)
    }

    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(sent.unwrap().success());
        // The kernel stops one thread after the other: a JVM that is still stopping would answer.
        while name == "STOP" && !self.has_stopped() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    fn has_stopped(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let stats = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        stats.into_iter().all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
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
        // A later process may get the number: it must not find what this one left.
        remove_attach_files(self.pid());
    }
}

fn remove_attach_files(pid: u32) {
    for name in [".java_pid", ".attach_pid"] {
        let _ = fs::remove_file(format!("/tmp/{name}{pid}"));
    }
}
