//! The files of code that a recording has read, each once, and the kernel's functions.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use fathom_symbols::elf::{Image, ReadAt};
use fathom_symbols::hotspot::HotSpot;
use fathom_symbols::kernel::{KernelHides, KernelSymbols};
use fathom_symbols::maps::{FileId, Mapping, MappingKind, Mappings};
use rustc_hash::FxHashMap;
use rustix::fs::Stat;

use super::Code;
use super::memory;
use crate::{Target, hostile_files, procfs};

/// What all images together may take. Those of a JVM take some 20 MB.
const MOST_IMAGE_BYTES: usize = 128 << 20;

/// Files that are read, whatever they hold. A JVM has some hundred; a hostile one maps as many as it is allowed to, and each
/// would be read in full to find nothing.
const MOST_FILES: usize = 4_000;

/// What is in use anywhere in this program: JVMs of one JDK have the same files, and a host may have many of them.
static IN_USE: LazyLock<Mutex<InUse>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct InUse(FxHashMap<FileId, (FileState, Weak<Image>)>);

/// Images that the collectors of a recording share.
#[derive(Debug, Clone, Default)]
pub struct Images(Arc<Shared>);

type Kernel = Arc<Result<KernelSymbols, KernelHides>>;

#[derive(Debug, Default)]
struct Shared {
    files: Mutex<Files>,
    kernel: OnceLock<Kernel>,
    vdso: OnceLock<Option<Arc<Image>>>,
    code: Code,
    hotspot: OnceLock<Option<HotSpot>>,
}

#[derive(Debug, Default)]
struct Files {
    images: FxHashMap<FileId, (FileState, Option<Arc<Image>>)>,
    bytes: usize,
}

/// A file that is written again, or another one with its number, is in another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    size_bytes: i64,
    changed_s: i64,
    changed_ns: u64,
}

impl Images {
    /// Of a JVM whose memory is not looked into: it is asked where its code is.
    pub fn asking_the_jvm() -> Images {
        let images = Images::default();
        let _ = images.0.hotspot.set(None);
        images
    }

    /// The image of the file that `mapping` of `target` shows; `None` when it cannot be read.
    pub(super) fn load(&self, target: &Target, mapping: &Mapping) -> Option<Arc<Image>> {
        if mapping.kind == MappingKind::Vdso {
            return self.0.vdso.get_or_init(own_vdso).clone();
        }
        let found = hostile_files::mapped(target, mapping);
        let mut files = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.images.get(&mapping.file);
        let Some(found) = found else { return known?.1.clone() };
        let state = state_of(&found.is);
        if let Some((_, image)) = known.filter(|(known, _)| *known == state) {
            return image.clone();
        }
        let has_room = files.bytes < MOST_IMAGE_BYTES && files.images.len() < MOST_FILES;
        let image = has_room.then(|| {
            let known = in_use().find(mapping.file, state);
            known.or_else(|| {
                let image = read_image(target, mapping, found.open(target).ok()?)?;
                in_use().add(mapping.file, state, &image);
                Some(image)
            })
        });
        let image = image.flatten();
        files.bytes += image.as_ref().map_or(0, |image| image.memory_bytes());
        files.images.insert(mapping.file, (state, image.clone()));
        image
    }

    /// Reads the files of all code now, so that they need not be there later.
    pub(crate) fn load_all(&self, target: &Target) {
        let text = procfs::read_long(target.proc("maps")).unwrap_or_default();
        for mapping in Mappings::parse(&text).iter().filter(|mapping| mapping.is_executable && mapping.has_file()) {
            self.load(target, mapping);
        }
    }

    /// The code that the JVM compiled.
    pub(crate) fn code(&self) -> &Code {
        &self.0.code
    }

    /// Where the JVM keeps its code, found out at the first call; `None` where that cannot be read.
    pub(super) fn hotspot(&self, target: &Target) -> Option<HotSpot> {
        self.0.hotspot.get_or_init(|| hotspot_of(target)).clone()
    }

    /// The kernel's functions, read at the first call.
    pub(super) fn kernel(&self) -> Kernel {
        Arc::clone(self.0.kernel.get_or_init(|| {
            let text = procfs::read_long("/proc/kallsyms").unwrap_or_default();
            Arc::new(KernelSymbols::parse(&text))
        }))
    }

    /// The kernel's functions, if they were requested.
    pub(super) fn kernel_if_read(&self) -> Option<Kernel> {
        self.0.kernel.get().cloned()
    }
}

impl InUse {
    fn find(&self, file: FileId, state: FileState) -> Option<Arc<Image>> {
        self.0.get(&file).filter(|(known, _)| *known == state)?.1.upgrade()
    }

    fn add(&mut self, file: FileId, state: FileState, image: &Arc<Image>) {
        self.0.retain(|_, (_, image)| image.strong_count() > 0);
        self.0.insert(file, (state, Arc::downgrade(image)));
    }
}

fn in_use() -> MutexGuard<'static, InUse> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn state_of(stat: &Stat) -> FileState {
    FileState { size_bytes: stat.st_size, changed_s: stat.st_mtime, changed_ns: stat.st_mtime_nsec }
}

fn read_image(target: &Target, mapping: &Mapping, file: File) -> Option<Arc<Image>> {
    let mut image = Image::read(&Bytes(file)).ok()?;
    if !image.has_full_symbols() {
        // Several may be there; the first that belongs to this build is taken.
        let debug_files = debug_files(target, mapping, &image);
        debug_files.into_iter().any(|file| image.add_debug_file(&Bytes(file)).is_ok());
    }
    Some(Arc::new(image))
}

/// Where distributions put the names that they strip off.
fn debug_files(target: &Target, mapping: &Mapping, image: &Image) -> Vec<File> {
    let mut files = Vec::new();
    let id: String = image.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some((first, rest)) = id.split_at_checked(2) {
        let path = format!("/usr/lib/debug/.build-id/{first}/{rest}.debug");
        files.extend(hostile_files::by_own_name(target, &path));
        files.extend(hostile_files::by_name(target, &path));
    }
    let root = hostile_files::Root::of(target);
    let folder = Path::new(root.inside(&mapping.path)).parent().unwrap_or(Path::new("/")).to_string_lossy();
    if let Some(name) = image.debug_link() {
        for path in
            [format!("{folder}/{name}"), format!("{folder}/.debug/{name}"), format!("/usr/lib/debug{folder}/{name}")]
        {
            files.extend(hostile_files::by_name(target, &path));
        }
    }
    files
}

/// The kernel maps the same library into every process: ours can be read without any right.
fn own_vdso() -> Option<Arc<Image>> {
    let maps = Mappings::parse(&procfs::read("/proc/self/maps").ok()?);
    let range = maps.iter().find(|mapping| mapping.kind == MappingKind::Vdso)?.addresses.clone();
    let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
    procfs::file("/proc/self/mem").ok()?.read_exact_at(&mut bytes, range.start).ok()?;
    Image::read(&bytes).ok().map(Arc::new)
}

/// A file, read where it is asked.
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) File);

impl ReadAt for Bytes {
    fn read_at(&self, offset: u64, size_bytes: usize) -> Option<Cow<'_, [u8]>> {
        let mut bytes = vec![0; size_bytes];
        self.0.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes.into())
    }
}
/// Finds out where the JVM keeps its code; `None` where its library or its memory cannot be read, or it is no HotSpot.
fn hotspot_of(target: &Target) -> Option<HotSpot> {
    let maps = Mappings::parse(&procfs::read_long(target.proc("maps")).ok()?);
    let mapping = maps.iter().find(|mapping| mapping.has_file() && mapping.file_name() == "libjvm.so")?;
    let file = hostile_files::open_mapped(target, mapping)?;
    let place = (mapping.addresses.start, mapping.file_offset);
    HotSpot::of(&Bytes(file), place, &Bytes(memory::of(target)?)).ok()
}
