//! Runs a program for each incident. No shell: its arguments are those of the configuration.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::incident::Incident;
use crate::sidecars;
use crate::trusted::Owner;

/// A program that takes longer is ended: the next incident is to be reported as well.
const PATIENCE: Duration = Duration::from_secs(300);

const LOOK: Duration = Duration::from_millis(50);

/// Runs it and waits for its end. `{folder}` and `{verdict}` in its arguments are paths.
///
/// It has the rights of who wrote the configuration, not those of the service.
pub(super) fn run(command: &[String], owner: Option<Owner>, incident: &Incident) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let (folder, verdict) = (&incident.folder, sidecars::path(&incident.folder, "json"));
    let fill = |argument: &String| {
        argument.replace("{folder}", &folder.to_string_lossy()).replace("{verdict}", &verdict.to_string_lossy())
    };
    let mut command = Command::new(program);
    if let Some((uid, gid)) = owner {
        // Other groups are given up with them.
        command.uid(uid).gid(gid);
    }
    let child = command
        .args(arguments.iter().map(fill))
        .env("FATHOM_CAUSE", incident.cause().unwrap_or("none"))
        // Ctrl-C ends the service, when this is done.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    wait(child.map_err(|error| format!("{program}: {error}"))?).map_err(|says| format!("{program}: {says}"))
}

fn wait(mut child: Child) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            Ok(None) => {
                // It may end at the same moment.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::body::tests::incident;
    use super::*;

    #[test]
    fn a_program_has_the_rights_of_the_configurations_owner() {
        const NOBODY: Owner = (65_534, 65_534);
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can start a program of another user");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let script = "echo $(id -u) $(id -G) > \"$0\"/rights";
        let command = ["/bin/sh", "-c", script, place.path().to_str().unwrap()].map(str::to_owned);
        run(&command, Some(NOBODY), &incident()).unwrap();
        assert_eq!(fs::read_to_string(place.path().join("rights")).unwrap(), "65534 65534\n");
    }
}
