//! The attach client against real JVMs and against things that only look like one.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use fathom_collectors::Target;
use fathom_collectors::attach::{Attach, AttachError, PATIENCE};

use crate::jvm::{self, Jvm, NOBODY, is_root, javas, own_uid};

/// Patience where the answer is known not to come.
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn commands_of_real_jvms() {
    for java in javas() {
        for uid in [own_uid(), NOBODY] {
            if uid != own_uid() && !is_root() {
                continue;
            }
            let jvm = Jvm::start(&java, uid, &["-Dmine=1"]);
            let target = jvm.target();
            assert_eq!(target.uid, uid);
            Attach::check(&target).unwrap();
            let attach = Attach::to(&target, PATIENCE).unwrap();
            let said = |command: &str| attach.diagnose(command, PATIENCE).unwrap();
            assert!(said("VM.version").contains("OpenJDK"), "{java:?}");
            assert!(said("VM.flags -all").contains("ReservedCodeCacheSize"));
            assert!(said("Compiler.codecache").contains("max_used="));
            assert!(attach.command("properties", &[], PATIENCE).unwrap().contains("\nmine=1\n"));
            let unknown = attach.diagnose("No.such", PATIENCE);
            assert!(matches!(unknown, Err(AttachError::Failed { .. })), "{unknown:?}");
            let again = Attach::to(&target, PATIENCE).unwrap();
            assert!(again.diagnose("VM.uptime", PATIENCE).unwrap().contains(" s"));
            assert_eq!(jvm.end(), "", "no stacks were printed");
        }
    }
}

#[test]
fn long_arguments_go_where_the_protocol_carries_them() {
    let long = format!("Thread.print {}", "x".repeat(2_000));
    for (major, is_carried) in [(17, false), (25, true)] {
        let Some(java) = jvm::java(major) else { continue };
        let jvm = Jvm::start(&java, own_uid(), &[]);
        let attach = Attach::to(&jvm.target(), PATIENCE).unwrap();
        match attach.diagnose(&long, PATIENCE) {
            Err(AttachError::Failed { .. }) => assert!(is_carried, "the JVM read it and did not like it"),
            Err(AttachError::Request(_)) => assert!(!is_carried),
            other => panic!("JDK {major}: {other:?}"),
        }
    }
}

/// The socket of a process that had the same number an hour ago.
fn left_by_one_before(jvm: &Jvm) -> PathBuf {
    let path = PathBuf::from(format!("/tmp/.java_pid{}", jvm.pid()));
    drop(UnixListener::bind(&path).unwrap());
    assert!(Command::new("touch").args(["-d", "1 hour ago"]).arg(&path).status().unwrap().success());
    path
}

#[test]
fn a_jvm_that_must_not_be_signalled_is_not() {
    let Some(java) = javas().pop() else { return };
    for options in [
        &["-XX:+DisableAttachMechanism"][..],
        &["-XX:+DisableAttachMechanism", "-XX:+PerfDisableSharedMem"],
        &["-XX:+DisableAttachMechanism", "-Xrs"],
    ] {
        let jvm = Jvm::start(&java, own_uid(), options);
        let refused = Attach::to(&jvm.target(), SHORT);
        assert!(matches!(refused, Err(AttachError::Disabled(_))), "{options:?}: {refused:?}");
        assert!(Attach::check(&jvm.target()).is_err());
        let left = left_by_one_before(&jvm);
        assert!(Attach::check(&jvm.target()).is_err(), "{options:?}: nobody listens there any more");
        fs::remove_file(left).unwrap();
        assert_eq!(jvm.end(), "", "{options:?}: neither ended nor printed its stacks");
    }
    // Such a JVM listens from its start, because it will not take the signal.
    let jvm = Jvm::start(&java, own_uid(), &["-Xrs"]);
    let attach = Attach::to(&jvm.target(), PATIENCE).unwrap();
    assert!(attach.diagnose("VM.uptime", PATIENCE).is_ok());
    assert_eq!(jvm.end(), "");
}

#[test]
fn a_jvm_that_does_not_run_holds_up_nobody_and_prints_nothing_later() {
    for java in javas() {
        let jvm = Jvm::start(&java, own_uid(), &[]);
        jvm.signal("STOP");
        let stopped = Attach::to(&jvm.target(), SHORT);
        assert!(matches!(stopped, Err(AttachError::TimedOut(_))), "{stopped:?}");
        jvm.signal("CONT");
        let attach = Attach::to(&jvm.target(), PATIENCE).unwrap();
        jvm.signal("STOP");
        let stopped = attach.diagnose("VM.uptime", SHORT);
        assert!(matches!(stopped, Err(AttachError::TimedOut(_))), "{stopped:?}");
        jvm.signal("CONT");
        assert!(attach.diagnose("VM.uptime", PATIENCE).is_ok());
        assert_eq!(jvm.end(), "");
    }
}

/// Stops the thread that takes the signals, as a safepoint does: the JVM counts them meanwhile.
fn hold_signal_dispatcher(jvm: &Jvm, work: impl FnOnce()) {
    let threads = jvm.target().thread_ids();
    let comm = |tid: &u32| fs::read_to_string(format!("/proc/{}/task/{tid}/comm", jvm.pid())).unwrap_or_default();
    let tid = threads.into_iter().find(|tid| comm(tid).starts_with("Signal Dispatch")).unwrap() as libc::pid_t;
    let (none, mut status) = (std::ptr::null_mut::<libc::c_void>(), 0);
    // SAFETY: no memory is given but the status, which outlives the call.
    unsafe {
        assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, tid, none, none), 0);
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, tid, none, none), 0);
        assert_eq!(libc::waitpid(tid, &raw mut status, libc::__WALL), tid);
    }
    work();
    // SAFETY: as above.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, none, none) };
}

#[test]
fn a_jvm_that_does_not_answer_for_long_is_signalled_once() {
    for java in javas() {
        let jvm = Jvm::start(&java, own_uid(), &[]);
        let file = PathBuf::from(format!("/tmp/.attach_pid{}", jvm.pid()));
        let try_in_vain = || {
            let stopped = Attach::to(&jvm.target(), SHORT);
            assert!(matches!(stopped, Err(AttachError::TimedOut(_))), "{stopped:?}");
        };
        hold_signal_dispatcher(&jvm, || {
            try_in_vain();
            assert!(Command::new("touch").args(["-d", "1 hour ago"]).arg(&file).status().unwrap().success());
            try_in_vain();
            // Another client takes it away when it gives up.
            fs::remove_file(&file).unwrap();
            try_in_vain();
        });
        assert!(Attach::to(&jvm.target(), PATIENCE).unwrap().diagnose("VM.uptime", PATIENCE).is_ok());
        assert!(!file.exists());
        assert_eq!(jvm.end(), "", "a second signal would have printed the stacks");
    }
}

#[test]
fn the_jvms_own_user_attaches_and_another_does_not() {
    const PID: &str = "FATHOM_TEST_ATTACH_TO";
    if let Ok(pid) = std::env::var(PID) {
        // The second half of this test: the same test as another user.
        let attached = Attach::to(&Target::of(pid.parse().unwrap()).unwrap(), PATIENCE);
        let code = match attached.and_then(|attach| attach.diagnose("VM.uptime", PATIENCE)) {
            Ok(_) => 10,
            Err(error) => {
                println!("{error}");
                11
            }
        };
        std::process::exit(code);
    }
    let Some(java) = javas().pop().filter(|_| is_root()) else { return };
    let jvm = Jvm::start(&java, NOBODY, &[]);
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = place.path().join("live");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for (uid, code) in [(NOBODY - 1, 11), (NOBODY, 10)] {
        let mut client = Command::new("setpriv");
        client.arg(format!("--reuid={uid}")).arg(format!("--regid={uid}")).arg("--clear-groups").arg(&program);
        client.args(["--exact", "attach::the_jvms_own_user_attaches_and_another_does_not", "--nocapture"]);
        let status = client.env(PID, jvm.pid().to_string()).current_dir("/").status().unwrap();
        assert_eq!(status.code(), Some(code), "user {uid}");
    }
    assert_eq!(jvm.end(), "");
}

/// Where a JVM of this process would listen.
fn own_socket() -> PathBuf {
    PathBuf::from(format!("/tmp/.java_pid{}", std::process::id()))
}

/// What a thing that looks like a socket of a JVM does with a connection.
fn with_server(serve: fn(UnixStream), expect: fn(&AttachError) -> bool) {
    let path = own_socket();
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            serve(stream);
        }
    });
    let own = Target::of(std::process::id()).unwrap();
    let attached = Attach::to(&own, SHORT);
    assert!(attached.as_ref().is_err_and(expect), "{attached:?}");
    server.join().unwrap();
    fs::remove_file(&path).unwrap();
}

fn read_request(stream: &mut UnixStream) {
    let mut request = [0; 64];
    let _ = stream.read(&mut request);
}

/// One after the other: all of them are this process.
#[test]
fn things_that_only_look_like_a_jvm() {
    let is_timed_out = |error: &AttachError| matches!(error, AttachError::TimedOut(_));
    let is_no_answer = |error: &AttachError| matches!(error, AttachError::Answer(_));
    // Never answers; the client goes away first.
    with_server(|mut stream| drop(stream.read_to_end(&mut Vec::new())), is_timed_out);
    // Answers so slowly that it never ends.
    with_server(
        |mut stream| {
            read_request(&mut stream);
            while stream.write_all(b"0").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        },
        |error| matches!(error, AttachError::TimedOut(_)),
    );
    with_server(
        |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(b"\xff\xfe no status");
        },
        is_no_answer,
    );
    // For ever.
    with_server(
        |mut stream| {
            read_request(&mut stream);
            let piece = vec![b'0'; 1 << 20];
            while stream.write_all(&piece).is_ok() {}
        },
        |error| matches!(error, AttachError::Answer(_) | AttachError::TimedOut(_)),
    );
    with_server(drop, |error| matches!(error, AttachError::HungUp));
    not_sockets();
    nobody_listens();
}

fn not_sockets() {
    let own = Target::of(std::process::id()).unwrap();
    let path = own_socket();
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().join("socket");
    let listener = UnixListener::bind(&real).unwrap();
    listener.set_nonblocking(true).unwrap();
    symlink(&real, &path).unwrap();
    assert!(matches!(Attach::to(&own, SHORT), Err(AttachError::Foreign(_))), "a link");
    assert!(listener.accept().is_err(), "was not followed");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    assert!(matches!(Attach::to(&own, SHORT), Err(AttachError::Foreign(_))), "a file");
    fs::remove_file(&path).unwrap();
}

/// A socket that was left behind, and this process is no JVM.
fn nobody_listens() {
    let own = Target::of(std::process::id()).unwrap();
    drop(UnixListener::bind(own_socket()).unwrap());
    assert!(matches!(Attach::to(&own, SHORT), Err(AttachError::NotAJvm(_))));
    fs::remove_file(own_socket()).unwrap();
    let trigger = format!("/tmp/.attach_pid{}", std::process::id());
    assert!(!PathBuf::from(trigger).exists(), "nothing was made for a process that is no JVM");
}

#[test]
fn another_process_on_the_socket_is_found_out() {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let path = PathBuf::from(format!("/tmp/.java_pid{}", child.id()));
    let listener = UnixListener::bind(&path).unwrap();
    let attached = Attach::to(&Target::of(child.id()).unwrap(), SHORT);
    assert!(matches!(&attached, Err(AttachError::Foreign(says)) if says.contains("listens")), "{attached:?}");
    drop(listener);
    fs::remove_file(&path).unwrap();
    assert!(child.try_wait().unwrap().is_none(), "the process was not harmed");
    child.kill().unwrap();
    child.wait().unwrap();
}
