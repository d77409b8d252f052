//! Which methods were inlined into another one, at an address of its code.
//!
//! For places at which the JVM may need it, above all calls, the compiler leaves a description: the innermost method, and the
//! position of its caller's description. Numbers in it have as many bytes as they need; since JDK 20 none of these is zero.

use super::HotSpotError;
use super::memory::{Field, Place, believed, number, value};
use super::structs::Structs;
use crate::elf::ReadAt;

/// The largest method of the JDK has some thousand described places.
const MOST_PLACES: u64 = 1 << 16;
/// Compilers inline less deeply.
const DEEPEST: usize = 64;
/// Of one description: three numbers of at most five bytes, of which the last is not needed.
const SCOPE_BYTES: usize = 10;
/// From this release on.
const NO_ZEROS: u64 = 20;

/// Where descriptions are.
#[derive(Debug)]
pub(super) struct Layout {
    places: Places,
    place_bytes: u64,
    place_offset: Field,
    place_scope: Field,
    has_zeros: bool,
}

/// From the description of a compiled method to those of its places.
#[derive(Debug)]
enum Places {
    /// JDK 23 and later: in a part that does not change, and one that does.
    Apart { fixed: Field, places: Field, scopes: Field, mutable: Field, relocation_bytes: Field },
    /// JDK 9 to 22: behind the code, the scopes at a pointer; those of JDK 8 are behind it too.
    Behind { scopes: Place, places: Place, end: Place, methods: Place },
}

impl Layout {
    pub(super) fn of(structs: &Structs, memory: &dyn ReadAt) -> Result<Layout, HotSpotError> {
        let of = |name| structs.field(&[("nmethod", name)]);
        let places = if let Ok(fixed) = of("_immutable_data") {
            let (mutable, relocation_bytes) =
                (structs.field(&[("CodeBlob", "_mutable_data")])?, structs.field(&[("CodeBlob", "_relocation_size")])?);
            let (places, scopes) = (of("_scopes_pcs_offset")?, of("_scopes_data_offset")?);
            Places::Apart { fixed, places, scopes, mutable, relocation_bytes }
        } else {
            let scopes = structs.field(&[("CompiledMethod", "_scopes_data_begin"), ("nmethod", "_scopes_data_begin")]);
            let behind = |name| of(name).map(Place::Offset);
            Places::Behind {
                scopes: scopes.map(Place::Pointer).or_else(|_| behind("_scopes_data_offset"))?,
                places: behind("_scopes_pcs_offset")?,
                end: behind("_dependencies_offset")?,
                methods: behind("_metadata_offset")?,
            }
        };
        let release = structs.field(&[("Abstract_VM_Version", "_vm_major_version")]);
        let release = release.ok().and_then(|field| number(memory, 0, field)).unwrap_or(0);
        // That of JDK 8 is 25: the number of its virtual machine.
        let is_8 = matches!(places, Places::Behind { scopes: Place::Offset(_), .. });
        Ok(Layout {
            places,
            place_bytes: believed(structs.size_of("PcDesc")?, "PcDesc")?,
            place_offset: structs.field(&[("PcDesc", "_pc_offset")])?,
            place_scope: structs.field(&[("PcDesc", "_scope_decode_offset")])?,
            has_zeros: is_8 || release < NO_ZEROS,
        })
    }

    /// How many bytes of a compiled method's description have its fields.
    pub(super) fn bytes(&self) -> u64 {
        let fields = match &self.places {
            Places::Apart { fixed, places, scopes, mutable, relocation_bytes } => {
                [fixed, places, scopes, mutable, relocation_bytes].map(|field| *field).to_vec()
            }
            Places::Behind { scopes, places, end, methods } => {
                [scopes, places, end, methods].map(|place| place.field()).to_vec()
            }
        };
        fields.into_iter().map(|field| field.place.saturating_add(8)).max().unwrap_or_default()
    }
}

/// The descriptions of one compiled method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scopes {
    places: u64,
    places_end: u64,
    scopes: u64,
    methods: u64,
}

impl Scopes {
    /// Of the compiled method at `at`, of whose description these are the bytes.
    pub(super) fn of(at: u64, bytes: &[u8], layout: &Layout) -> Option<Scopes> {
        let get = |field: Field| value(bytes, field);
        let address = |place: Place| place.address(at, bytes);
        let all = match layout.places {
            Places::Apart { fixed, places, scopes, mutable, relocation_bytes } => {
                let fixed = get(fixed)?;
                let scopes = fixed.checked_add(get(scopes)?)?;
                let methods = get(mutable)?.checked_add(get(relocation_bytes)?)?;
                Scopes { places: fixed.checked_add(get(places)?)?, places_end: scopes, scopes, methods }
            }
            Places::Behind { scopes, places, end, methods } => Scopes {
                places: address(places)?,
                places_end: address(end)?,
                scopes: address(scopes)?,
                methods: address(methods)?,
            },
        };
        Some(all)
    }

    /// Where the JVM describes the methods at a distance from where the code begins, the innermost first.
    pub(super) fn methods_at(&self, offset: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<Vec<u64>> {
        let mut scope = self.scope_behind(offset, layout, memory)?;
        let mut methods = Vec::new();
        while scope != 0 && methods.len() < DEEPEST {
            let bytes = memory.read_at(self.scopes.checked_add(scope)?, SCOPE_BYTES)?;
            let mut numbers = Numbers { bytes: &bytes, has_zeros: layout.has_zeros };
            let (caller, method) = (numbers.next()?, numbers.next()?);
            let place = self.methods.checked_add(method.checked_sub(1)?.checked_mul(8)?)?;
            methods.push(number(memory, place, Field { place: 0, size_bytes: 8 })?);
            scope = caller;
        }
        Some(methods)
    }

    /// The scope of the first place that is described at or behind an offset: that of a call is where it returns to.
    fn scope_behind(&self, offset: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<u64> {
        let count = self.places_end.checked_sub(self.places)? / layout.place_bytes;
        let size_bytes = count.min(MOST_PLACES) * layout.place_bytes;
        let bytes = memory.read_at(self.places, usize::try_from(size_bytes).ok()?)?;
        let places = bytes.chunks_exact(usize::try_from(layout.place_bytes).ok()?);
        // The first has an offset below all, the last one above all.
        let signed = |place: &[u8], field| Some(value(place, field)? as u32 as i32);
        let behind = places.filter(|place| {
            signed(place, layout.place_offset)
                .is_some_and(|at| i64::from(at) > i64::try_from(offset).unwrap_or(i64::MAX))
        });
        let nearest = behind.min_by_key(|place| signed(place, layout.place_offset))?;
        let is_last = signed(nearest, layout.place_offset)? == i32::MAX;
        let scope = value(nearest, layout.place_scope)?;
        (!is_last && scope > 0).then_some(scope)
    }
}

/// Numbers of one to five bytes.
struct Numbers<'a> {
    bytes: &'a [u8],
    has_zeros: bool,
}

impl Numbers<'_> {
    /// From this byte on another one follows.
    const HIGH: u8 = 192;
    const BITS: u32 = 6;
    const LONGEST: u32 = 5;

    fn next(&mut self) -> Option<u64> {
        let mut sum = 0_u32;
        for index in 0..Self::LONGEST {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let digit = if self.has_zeros { *byte } else { byte.checked_sub(1)? };
            sum = sum.wrapping_add(u32::from(digit) << (Self::BITS * index));
            if *byte < Self::HIGH {
                break;
            }
        }
        Some(sum.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_bytes_as_they_need() {
        for (bytes, has_zeros, expected) in [
            (&[5, 191, 1][..], true, &[5, 191, 1][..]),
            (&[192, 0, 255, 3], true, &[192, 447]),
            (&[1, 191, 192, 1, 255, 4], false, &[0, 190, 191, 446]),
            (&[0], false, &[]),
            (&[192], true, &[]),
        ] {
            let mut numbers = Numbers { bytes, has_zeros };
            let found: Vec<u64> = std::iter::from_fn(|| numbers.next()).collect();
            assert_eq!(found, expected, "{bytes:?}");
        }
    }
}
