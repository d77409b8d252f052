//! Names of the kernel's functions, from the text of `/proc/kallsyms`.

use std::ops::Range;

use crate::maps::hex;

/// Addresses from here on are the kernel's, on x86-64 and arm64.
pub const KERNEL_START: u64 = 0xffff_0000_0000_0000;

/// The kernel's functions by address.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// Start and name of each function, and starts without a name where data begin.
    starts: Vec<(u64, Range<u32>)>,
    /// All names, each as `name` or `name [module]`.
    names: String,
}

/// Why the kernel's functions have no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KernelHides {
    /// All addresses are zero.
    #[error("/proc/kallsyms shows no addresses (kernel.kptr_restrict, or CAP_SYSLOG is missing): run as root")]
    Addresses,
    /// There is no function in it.
    #[error("/proc/kallsyms names no function: the kernel was built without CONFIG_KALLSYMS")]
    Everything,
}

/// A function of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module it belongs to; empty for the kernel proper.
    pub module: &'a str,
    /// Distance of the address from its start.
    pub offset: u64,
}

impl KernelSymbols {
    /// Reads the text of `/proc/kallsyms`.
    pub fn parse(text: &[u8]) -> Result<KernelSymbols, KernelHides> {
        let mut read = KernelSymbols::default();
        let mut functions = 0_usize;
        for line in text.split(|byte| *byte == b'\n') {
            let Some((address, kind, name)) = parse_line(line) else { continue };
            let is_function = matches!(kind.to_ascii_lowercase(), b't' | b'w');
            functions += usize::from(is_function);
            if address >= KERNEL_START {
                let name = if is_function { read.store(name) } else { 0..0 };
                read.starts.push((address, name));
            }
        }
        if read.starts.is_empty() {
            return Err(if functions == 0 { KernelHides::Everything } else { KernelHides::Addresses });
        }
        let names = std::mem::take(&mut read.names);
        read.starts.sort_by_key(|(start, name)| (*start, rank(&names, name)));
        read.starts.dedup_by_key(|(start, _)| *start);
        read.names = names;
        Ok(read)
    }

    /// The function that `address` belongs to.
    pub fn resolve(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.starts.get(after.checked_sub(1)?)?;
        // Functions have no size here. The last one would reach to the end of all addresses.
        self.starts.get(after)?;
        let text = self.names.get(name.start as usize..name.end as usize).filter(|text| !text.is_empty())?;
        let (name, module) = text.split_once('\t').unwrap_or((text, ""));
        let module = module.trim_matches(['[', ']']);
        Some(KernelSymbol { name, module, offset: address - start })
    }

    /// How many starts are known.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Never true: without any, [`KernelSymbols::parse`] says why.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    fn store(&mut self, name: &str) -> Range<u32> {
        let start = self.names.len() as u32;
        // Text beyond 4 GB is not of any kernel.
        if self.names.len() + name.len() < u32::MAX as usize {
            self.names.push_str(name);
        }
        start..self.names.len() as u32
    }
}

/// Of several names of one address: a name before none, then fewer underscores in front, then shorter.
fn rank<'a>(names: &'a str, name: &Range<u32>) -> (bool, usize, usize, &'a str) {
    let text = names.get(name.start as usize..name.end as usize).unwrap_or_default();
    (text.is_empty(), text.len() - text.trim_start_matches('_').len(), text.len(), text)
}

/// `ADDRESS KIND NAME[<TAB>[MODULE]]`
fn parse_line(line: &[u8]) -> Option<(u64, u8, &str)> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let address = hex(fields.next()?)?;
    let [kind] = fields.next()? else { return None };
    let name = std::str::from_utf8(fields.next()?).ok()?;
    Some((address, *kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T __text\nffffffff81000000 T _stext\nffffffff81000010 t do_fault\n\
                        ffffffff81000100 D jiffies\nffffffff81000200 W weak\nffffffffc0201000 t ext4_readpage\t[ext4]\n\
                        ffffffffc0202000 t last\t[ext4]\n";

    #[test]
    fn addresses_find_their_function() {
        let kernel = KernelSymbols::parse(TEXT.as_bytes()).unwrap();
        let cases = [
            (0xffff_ffff_8100_0000, Some(("_stext", "", 0))),
            (0xffff_ffff_8100_0015, Some(("do_fault", "", 5))),
            (0xffff_ffff_8100_0100, None),
            (0xffff_ffff_8100_0200, Some(("weak", "", 0))),
            (0xffff_ffff_c020_1010, Some(("ext4_readpage", "ext4", 16))),
            (0xffff_ffff_ffff_ffff, None),
            (0xffff_ffff_8000_0000, None),
            (0x1000, None),
        ];
        for (address, expected) in cases {
            let found = kernel.resolve(address).map(|symbol| (symbol.name, symbol.module, symbol.offset));
            assert_eq!(found, expected, "{address:x}");
        }
    }

    #[test]
    fn a_kernel_that_hides_says_so() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_fault\n";
        assert_eq!(KernelSymbols::parse(hidden.as_bytes()).unwrap_err(), KernelHides::Addresses);
        for nothing in ["", "\n", "0000000000000000 D x\n", "junk"] {
            assert_eq!(KernelSymbols::parse(nothing.as_bytes()).unwrap_err(), KernelHides::Everything, "{nothing:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text: Vec<u8>, address: u64) {
            if let Ok(kernel) = KernelSymbols::parse(&text) {
                kernel.resolve(address);
            }
        }

        #[test]
        fn changed_text_is_read(at in 0..TEXT.len(), byte: u8, cut in 0..TEXT.len(), address in 0xffff_ffff_8000_0000_u64..) {
            let mut text = TEXT.as_bytes().to_vec();
            text[at] = byte;
            text.truncate(cut);
            if let Ok(kernel) = KernelSymbols::parse(&text) {
                kernel.resolve(address);
            }
        }
    }
}
