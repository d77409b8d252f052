//! Programs at places in the code of a process.

use std::path::Path;

use libbpf_rs::{Link, ProgramMut, UprobeMultiOpts, UprobeOpts};

use super::{Programs, refusal};
use crate::Refusal;

/// Places in one file, each with the number by which the program knows it.
#[derive(Debug, Default)]
pub(crate) struct UserPlaces {
    offsets: Vec<usize>,
    semaphores: Vec<usize>,
    cookies: Vec<u64>,
}

impl UserPlaces {
    /// Another place, by its offset in the file; `semaphore` is where its users are counted, if they are.
    pub(crate) fn add(&mut self, offset: u64, semaphore: Option<u64>, cookie: u64) {
        self.offsets.push(offset as usize);
        self.semaphores.push(semaphore.unwrap_or(0) as usize);
        self.cookies.push(cookie);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }
}

impl Programs {
    /// Runs a program where the process `pid` comes by these places of the file at `path`, until the links are dropped: the
    /// program `of_many` at all of them at once where the kernel can, else `of_one` at each.
    pub(crate) fn attach_user(
        &mut self,
        [of_many, of_one]: [&str; 2],
        pid: u32,
        path: &Path,
        places: &UserPlaces,
    ) -> Result<Vec<Link>, Refusal> {
        let pid = i32::try_from(pid).map_err(|_| Refusal::new(format!("no process {pid}"), ""))?;
        let at_once = self.program(of_many).filter(|program| program.autoload()).and_then(|program| {
            let options = UprobeMultiOpts {
                offsets: places.offsets.clone(),
                ref_ctr_offsets: places.semaphores.clone(),
                cookies: places.cookies.clone(),
                ..UprobeMultiOpts::default()
            };
            program.attach_uprobe_multi_with_opts(pid, path, "", options).ok()
        });
        match at_once {
            Some(link) => Ok(vec![link]),
            None => self.attach_each(of_one, pid, path, places),
        }
    }

    fn attach_each(&mut self, name: &str, pid: i32, path: &Path, places: &UserPlaces) -> Result<Vec<Link>, Refusal> {
        let program = self.program(name).ok_or_else(|| Refusal::new(format!("no program is named {name}"), ""))?;
        let all = places.offsets.iter().zip(&places.semaphores).zip(&places.cookies);
        let links = all.map(|((offset, semaphore), cookie)| {
            let options = UprobeOpts { ref_ctr_offset: *semaphore, cookie: *cookie, ..UprobeOpts::default() };
            let link = program.attach_uprobe_with_opts(pid, path, *offset, options);
            link.map_err(|error| refusal("a probe of libjvm could not be attached", &error))
        });
        links.collect()
    }

    fn program(&mut self, name: &str) -> Option<ProgramMut<'_>> {
        self.object.progs_mut().find(|program| program.name() == name)
    }
}
