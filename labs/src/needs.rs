//! What the machine lacks to run a variant, reported in one line before the run starts.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::declaration::{Lab, Variant};
use crate::error::LabError;
use crate::libraries;

/// Where programs for root are, whether or not `PATH` has these folders.
const SYSTEM: &[&str] = &["/usr/sbin", "/sbin"];

/// Programs for a slow disk, each with its Debian package.
const OF_DISK: &[(&str, &str)] =
    &[("nbdkit", "nbdkit"), ("nbdfuse", "libnbd-bin"), ("losetup", "mount"), ("mkfs.ext4", "e2fsprogs")];

/// Programs for a swap disk.
const OF_SWAP: &[(&str, &str)] = &[("mkswap", "util-linux"), ("swapon", "mount")];

/// The C compiler, with its Debian package.
const COMPILER: (&str, &str) = ("cc", "gcc");

/// The path of a program, if it is installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Refuses a variant that cannot be run here.
pub(crate) fn check(lab: &Lab, variant: &Variant) -> Result<(), LabError> {
    let mut missing = missing(lab, variant, &|name| program(name).is_some(), geteuid().is_root());
    missing.extend(libraries::find(lab, variant).err());
    if missing.is_empty() { Ok(()) } else { Err(refusal(lab, variant, missing.join(", "))) }
}

/// The variant cannot run here because this is missing.
pub(crate) fn refusal(lab: &Lab, variant: &Variant, says: String) -> LabError {
    LabError::Missing { lab: lab.id.clone(), variant: variant.name.clone(), says }
}

fn missing(lab: &Lab, variant: &Variant, has: &dyn Fn(&str) -> bool, is_root: bool) -> Vec<String> {
    let stage = lab.stage(variant);
    let of_disk = stage.slow_disk.iter().flat_map(|_| OF_DISK);
    let of_swap = stage.slow_disk.iter().filter(|disk| disk.swap).flat_map(|_| OF_SWAP);
    let of_native = (!lab.native.is_empty()).then_some(&COMPILER);
    let declared = lab.needs.tools.iter().map(|(tool, package)| (tool.as_str(), package.as_str()));
    let tools = of_disk.chain(of_swap).chain(of_native).copied().chain(declared);
    let mut missing: Vec<String> = tools
        .filter(|(tool, _)| !has(tool))
        .map(|(tool, package)| format!("{tool} (Debian package {package})"))
        .collect();
    if (stage.needs_root() || lab.needs.root) && !is_root {
        missing.push("the rights of root".to_owned());
    }
    if stage.slow_disk.is_some() && is_root {
        let devices = ["/dev/fuse", "/dev/loop-control"].into_iter().filter(|device| !Path::new(device).exists());
        missing.extend(devices.map(str::to_owned));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        for lab in labs() {
            for variant in &lab.variants {
                assert_eq!(missing(lab, variant, &|_| true, true).iter().find(|says| !says.starts_with("/dev")), None);
                let without = missing(lab, variant, &|_| false, false).join(", ");
                let needs_root = lab.stage(variant).needs_root() || lab.needs.root;
                assert_eq!(without.contains("root"), needs_root, "{}: {without}", lab.id);
                assert_eq!(without.contains("cc (Debian package gcc)"), !lab.native.is_empty(), "{without}");
                assert_eq!(
                    without.contains("nbdfuse (Debian package libnbd-bin)"),
                    lab.stage(variant).slow_disk.is_some()
                );
            }
        }
    }
}
