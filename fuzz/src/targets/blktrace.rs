//! Any bytes as a trace of the block layer: reading must end, and not panic.

pub(crate) fn run(bytes: &[u8]) {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file in memory");
    std::fs::write(file.path(), bytes).expect("the file can be written");
    let _ = fathom_readers::blktrace::table(file.path());
    fathom_fuzz::load(bytes, &["blktrace"], None);
}
