//! A slow disk in a box: an image that nbdkit serves with delays, as a file through nbdfuse, as a block device through a
//! loop device, with a file system that is mounted. No other disk is touched. Each request takes the set time.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{tool, undo};
use crate::declaration::{Content, SlowDisk};
use crate::error::LabError;
use crate::needs;
use crate::places::Places;
use crate::process::Kept;

/// Where the JVM's performance counters are on the disk.
pub(super) const PERF_DATA: &str = "hsperfdata";
/// Where JVMs of root look for them.
pub(super) const PERF_DATA_OF_ROOT: &str = "/tmp/hsperfdata_root";

/// How long the server may take to start.
const START: Duration = Duration::from_secs(20);
/// More than any disk can transfer, in bits per second.
const UNLIMITED: &str = "100G";
/// How long the rate may be exceeded, in s: a fraction of one request's time.
const BURST: &str = "burstiness=0.02";

/// The disk; unmounted and removed when dropped. The fields are dropped in this order.
pub(super) struct Disk {
    rates_kib_per_s: BTreeMap<String, u64>,
    rate: PathBuf,
    _mounted: Option<Mounted>,
    _swap: Option<Swap>,
    device: Loop,
    _server: Server,
}

impl Disk {
    pub(super) fn make(
        wanted: &SlowDisk,
        with_perf_data: bool,
        places: &Places,
        stop: &AtomicBool,
    ) -> Result<Disk, LabError> {
        let folder = places.stage();
        fs::create_dir_all(&folder).map_err(LabError::io("cannot make the folder", &folder))?;
        let image = image(wanted, with_perf_data, places)?;
        let rate = folder.join("rate");
        fs::write(&rate, UNLIMITED).map_err(LabError::io("cannot write", &rate))?;
        let file = folder.join("disk");
        File::create(&file).map_err(LabError::io("cannot write", &file))?;
        let server = Server { process: Some(serve(wanted, &image, &rate, &file)?), file: file.clone() };
        server.wait(stop)?;
        let device = Loop::of(&file)?;
        device.set("scheduler", wanted.scheduler.as_deref())?;
        device.set("nr_requests", wanted.nr_requests.map(|number| number.to_string()).as_deref())?;
        device.set("read_ahead_kb", wanted.read_ahead_kb.map(|number| number.to_string()).as_deref())?;
        let swap = wanted.swap.then(|| Swap::on(&device.0)).transpose()?;
        let mounted = (!wanted.swap).then(|| Mounted::at(&device.0, &places.disk())).transpose()?;
        let rates_kib_per_s = wanted.rates_kib_per_s.clone();
        Ok(Disk { rates_kib_per_s, rate, _mounted: mounted, _swap: swap, device, _server: server })
    }

    /// Major and minor number of the block device.
    pub(super) fn number(&self) -> Result<(u32, u32), LabError> {
        let device = &self.device.0;
        let found =
            rustix::fs::stat(device).map_err(io::Error::from).map_err(LabError::io("cannot look at", device))?;
        Ok((rustix::fs::major(found.st_rdev), rustix::fs::minor(found.st_rdev)))
    }

    pub(super) fn phase_begins(&self, phase: &str) -> io::Result<()> {
        let Some(kib) = self.rates_kib_per_s.get(phase) else { return Ok(()) };
        // Replaced atomically: the server may read it at any time.
        let new = self.rate.with_extension("new");
        fs::write(&new, (kib * 1024 * 8).to_string())?;
        fs::rename(new, &self.rate)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Remaining writes need not take place at the slow rate.
        let _ = fs::write(&self.rate, UNLIMITED);
    }
}

/// Makes the file system with its files without mounting it, so that no file is in the page cache.
fn image(wanted: &SlowDisk, with_perf_data: bool, places: &Places) -> Result<PathBuf, LabError> {
    let (image, content) = (places.stage().join("image"), places.stage().join("content"));
    fs::create_dir_all(&content).map_err(LabError::io("cannot make the folder", &content))?;
    for (name, what) in &wanted.files {
        let path = content.join(name);
        let done = match what {
            Content::Native(output) => fs::copy(places.native().join(output), &path).map(drop),
            Content::NoiseMb(mb) => write_noise(&path, *mb),
            Content::Folder {} => fs::create_dir(&path),
        };
        done.map_err(LabError::io("cannot write", path))?;
    }
    if with_perf_data {
        let path = content.join(PERF_DATA);
        fs::create_dir(&path).map_err(LabError::io("cannot make the folder", path))?;
    }
    let file = File::create(&image).map_err(LabError::io("cannot write", &image))?;
    file.set_len(wanted.size_mb << 20).map_err(LabError::io("cannot write", &image))?;
    if wanted.swap {
        return Ok(image);
    }
    let arguments = [OsStr::new("-q"), OsStr::new("-F"), OsStr::new("-d"), content.as_os_str(), image.as_os_str()];
    tool("mkfs.ext4", &arguments)?;
    fs::remove_dir_all(&content).map_err(LabError::io("cannot remove", content))?;
    Ok(image)
}

/// Bytes that are not zero: a file system keeps no block for zeros and reads none.
fn write_noise(path: &Path, mb: u64) -> io::Result<()> {
    let mut file = io::BufWriter::new(File::create(path)?);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..mb << 17 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        file.write_all(&state.to_ne_bytes())?;
    }
    file.flush()
}

fn serve(wanted: &SlowDisk, image: &Path, rate: &Path, file: &Path) -> Result<Kept, LabError> {
    let argument = |name: &str, path: &Path| {
        let mut argument = std::ffi::OsString::from(name);
        argument.push(path);
        argument
    };
    let server = needs::program("nbdfuse").unwrap_or_else(|| "nbdfuse".into());
    let log = file.with_extension("log");
    let log = File::create(&log).map_err(LabError::io("cannot write", &log))?;
    let mut command = Command::new(&server);
    command.arg(file).args(["--command", "nbdkit", "-s", "--exit-with-parent", "--filter=delay"]);
    if !wanted.rates_kib_per_s.is_empty() {
        command.arg("--filter=rate");
    }
    command.arg("file").arg(image).arg(format!("delay-read={}ms", wanted.read_delay_ms));
    command.arg(format!("delay-write={}ms", wanted.write_delay_ms));
    if !wanted.rates_kib_per_s.is_empty() {
        command.arg(format!("rate={UNLIMITED}")).arg(argument("rate-file=", rate)).arg(BURST);
    }
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().map(Kept::new).map_err(LabError::io("cannot start", server))
}

/// The process that serves the disk as a file; ended when dropped.
struct Server {
    process: Option<Kept>,
    file: PathBuf,
}

impl Server {
    /// Waits until it serves.
    fn wait(&self, stop: &AtomicBool) -> Result<(), LabError> {
        let until = Instant::now() + START;
        while !stop.load(Ordering::Relaxed) {
            if fs::metadata(&self.file).is_ok_and(|metadata| metadata.len() > 0) {
                return Ok(());
            }
            if Instant::now() > until {
                let said = fs::read_to_string(self.file.with_extension("log")).unwrap_or_default();
                let says = said.lines().last().unwrap_or("it printed no reason").to_owned();
                return Err(LabError::Stage { says: format!("nbdfuse does not serve the slow disk: {says}") });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(LabError::Stopped)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // End the process first: it might be about to mount.
        drop(self.process.take());
        undo(&format!("the mount {}", self.file.display()), || unmounted(&self.file));
    }
}

/// Unmounts the file system that is mounted there, if any.
fn unmounted(path: &Path) -> rustix::io::Result<()> {
    match unmount(path, UnmountFlags::empty()) {
        Err(Errno::INVAL) => Ok(()),
        done => done,
    }
}

/// Swap; disabled when dropped.
struct Swap(PathBuf);

impl Swap {
    fn on(device: &Path) -> Result<Swap, LabError> {
        tool("mkswap", &[device.as_os_str()])?;
        tool("swapon", &[device.as_os_str()])?;
        Ok(Swap(device.to_owned()))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        undo(&format!("the swap {}", self.0.display()), || tool("swapoff", &[self.0.as_os_str()]).map(drop));
    }
}

/// Something mounted; unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn at(device: &Path, folder: &Path) -> Result<Mounted, LabError> {
        fs::create_dir_all(folder).map_err(LabError::io("cannot make the folder", folder))?;
        let done = mount(device, folder, "ext4", MountFlags::NOATIME, None);
        done.map_err(|error| LabError::io("cannot mount the slow disk at", folder)(error.into()))?;
        Ok(Mounted(folder.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        undo(&format!("the mount {}", self.0.display()), || unmounted(&self.0));
    }
}

/// A loop device; detached when dropped.
struct Loop(PathBuf);

impl Loop {
    fn of(file: &Path) -> Result<Loop, LabError> {
        let arguments = ["--find", "--show", "--direct-io=on"].map(OsStr::new);
        let name = tool("losetup", &[&arguments[..], &[file.as_os_str()]].concat())?;
        Ok(Loop(PathBuf::from(name)))
    }

    fn set(&self, setting: &str, value: Option<&str>) -> Result<(), LabError> {
        let (Some(value), Some(name)) = (value, self.0.file_name()) else { return Ok(()) };
        let path = Path::new("/sys/block").join(name).join("queue").join(setting);
        fs::write(&path, value).map_err(LabError::io("cannot set", path))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let arguments = [OsStr::new("--detach"), self.0.as_os_str()];
        undo(&format!("the loop device {}", self.0.display()), || tool("losetup", &arguments).map(drop));
    }
}
