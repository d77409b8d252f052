//! Data that a library exports by name.

use object::LittleEndian as LE;
use object::elf::{SHN_UNDEF, STT_OBJECT, Sym64};
use object::pod;

use super::dynamic::Dynamic;
use super::headers::Headers;
use super::{ElfError, ReadAt, read_part, text_at};

/// Where the data of these names are in a process that has the byte at `file_offset` of the library at `address`; `None` for
/// those that it does not export.
pub fn exported<const N: usize>(
    file: &dyn ReadAt,
    names: [&str; N],
    (address, file_offset): (u64, u64),
) -> Result<[Option<u64>; N], ElfError> {
    let headers = Headers::read(file)?;
    let moved = headers.address_of(file_offset).map(|unmoved| address.wrapping_sub(unmoved));
    let mut found = [None; N];
    each_datum(file, &headers, |name, unmoved| {
        if let Some(index) = names.iter().position(|wanted| *wanted == name) {
            found[index] = moved.map(|moved| unmoved.wrapping_add(moved));
        }
    });
    Ok(found)
}

fn each_datum(file: &dyn ReadAt, headers: &Headers, mut tell: impl FnMut(&str, u64)) -> Option<()> {
    const SYMBOL_BYTES: u64 = size_of::<Sym64<LE>>() as u64;
    let dynamic = Dynamic::read(file, headers);
    let (at, count) = dynamic.symbols(file, headers)?;
    let symbols = read_part(file, at, count.checked_mul(SYMBOL_BYTES)?)?;
    let texts = dynamic.texts(file, headers)?;
    let symbols = pod::slice_from_all_bytes::<Sym64<LE>>(&symbols).ok()?;
    for symbol in symbols.iter().filter(|symbol| symbol.st_type() == STT_OBJECT && symbol.st_shndx.get(LE) != SHN_UNDEF)
    {
        tell(text_at(&texts, symbol.st_name.get(LE) as usize), symbol.st_value.get(LE));
    }
    Some(())
}
