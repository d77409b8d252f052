//! Reads the Arrow IPC streams of unfinished recordings, trusting nothing in them.
//!
//! The library's own reader panics on streams in which a bit has changed. Here the library reads only the metadata,
//! after its verifier has accepted them; lengths, offsets, texts and keys are checked before an array is made of them.
//! Only what [`crate::FolderWriter`] writes is understood: numbers, texts in dictionaries, no nulls, no compression.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_ipc::{Buffer, FieldNode, Message, MessageHeader, Precision, Type, root_as_message};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::batch::primitive;

/// In front of each message.
const CONTINUATION: u32 = u32::MAX;
/// Metadata of a message are some hundred bytes.
const METADATA_MAX_BYTES: u64 = 1 << 20;
/// A batch of 65,536 rows with details that are all different takes some tens of megabytes.
const BODY_MAX_BYTES: u64 = 1 << 29;

/// What is written at once: a batch, its texts and, once, the schema. Together they take no more than a body may.
pub(crate) const CHUNK_MAX_BYTES: u64 = BODY_MAX_BYTES;

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It ends in the middle of a message.
    Cut,
    /// What stands there makes no sense.
    Damaged,
}

/// What has been learnt from the messages before.
#[derive(Default)]
pub(crate) struct Decoder {
    schema: Option<SchemaRef>,
    /// The dictionary of each column, 0 for those without.
    ids: Vec<i64>,
    dictionaries: HashMap<i64, Arc<StringArray>>,
}

impl Decoder {
    /// The next batch; `None` at the end.
    pub(crate) fn next(&mut self, bytes: &mut impl Read) -> Result<Option<RecordBatch>, Broken> {
        loop {
            let Some(metadata) = metadata(bytes)? else { return Ok(None) };
            let message = root_as_message(&metadata).map_err(|_| Broken::Damaged)?;
            let length = u64::try_from(message.bodyLength()).map_err(|_| Broken::Damaged)?;
            let body = take(bytes, length, BODY_MAX_BYTES)?;
            match message.header_type() {
                MessageHeader::Schema => self.learn_schema(&message).ok_or(Broken::Damaged)?,
                MessageHeader::DictionaryBatch => self.learn_texts(&message, &body).ok_or(Broken::Damaged)?,
                MessageHeader::RecordBatch => return self.batch(&message, &body).map(Some).ok_or(Broken::Damaged),
                _ => return Err(Broken::Damaged),
            }
        }
    }

    fn learn_schema(&mut self, message: &Message) -> Option<()> {
        let fields = message.header_as_schema()?.fields()?;
        let mut known = Vec::new();
        self.ids.clear();
        for field in fields {
            known.push(Field::new(field.name()?, data_type(&field)?, false));
            self.ids.push(field.dictionary().map_or(0, |dictionary| dictionary.id()));
        }
        self.schema = Some(Arc::new(Schema::new(known)));
        Some(())
    }

    fn learn_texts(&mut self, message: &Message, body: &[u8]) -> Option<()> {
        let dictionary = message.header_as_dictionary_batch().filter(|dictionary| !dictionary.isDelta())?;
        let batch = dictionary.data()?;
        let mut columns = Columns::of(&batch, body)?;
        let rows = columns.rows()?;
        let (offsets, texts) = (columns.buffer()?, columns.buffer()?);
        let offsets = numbers(offsets, rows.checked_add(1)?, i32::from_le_bytes)?;
        let text = |ends: &[i32]| {
            let range = usize::try_from(ends[0]).ok()?..usize::try_from(ends[1]).ok()?;
            std::str::from_utf8(texts.get(range)?).ok()
        };
        let texts: Option<Vec<&str>> = offsets.windows(2).map(text).collect();
        self.dictionaries.insert(dictionary.id(), Arc::new(StringArray::from_iter_values(texts?)));
        Some(())
    }

    fn batch(&self, message: &Message, body: &[u8]) -> Option<RecordBatch> {
        let batch = message.header_as_record_batch()?;
        let schema = self.schema.as_ref()?;
        let mut columns = Columns::of(&batch, body)?;
        let mut arrays = Vec::new();
        for (field, id) in schema.fields().iter().zip(&self.ids) {
            arrays.push(self.array(field.data_type(), *id, &mut columns)?);
        }
        RecordBatch::try_new(Arc::clone(schema), arrays).ok()
    }

    fn array(&self, data_type: &DataType, id: i64, columns: &mut Columns) -> Option<ArrayRef> {
        let rows = columns.rows()?;
        let bytes = columns.buffer()?;
        Some(match data_type {
            DataType::Int64 => primitive::<Int64Type>(numbers(bytes, rows, i64::from_le_bytes)?),
            DataType::Int32 => primitive::<Int32Type>(numbers(bytes, rows, i32::from_le_bytes)?),
            DataType::UInt32 => primitive::<UInt32Type>(numbers(bytes, rows, u32::from_le_bytes)?),
            DataType::Float64 => primitive::<Float64Type>(numbers(bytes, rows, f64::from_le_bytes)?),
            _ => {
                let keys = PrimitiveArray::<UInt32Type>::from_iter_values(numbers(bytes, rows, u32::from_le_bytes)?);
                let texts = Arc::clone(self.dictionaries.get(&id)?);
                Arc::new(DictionaryArray::try_new(keys, texts).ok()?)
            }
        })
    }
}

/// The columns of a batch, one after the other.
struct Columns<'a> {
    nodes: Box<dyn Iterator<Item = &'a FieldNode> + 'a>,
    buffers: Box<dyn Iterator<Item = &'a Buffer> + 'a>,
    body: &'a [u8],
}

impl<'a> Columns<'a> {
    fn of(batch: &arrow_ipc::RecordBatch<'a>, body: &'a [u8]) -> Option<Columns<'a>> {
        let is_plain = batch.compression().is_none();
        let (nodes, buffers) = (batch.nodes()?, batch.buffers()?);
        is_plain.then(|| Columns { nodes: Box::new(nodes.iter()), buffers: Box::new(buffers.iter()), body })
    }

    /// Begins the next column: its rows, none of which may be null, which is what its first buffer would tell.
    fn rows(&mut self) -> Option<usize> {
        let node = self.nodes.next().filter(|node| node.null_count() == 0)?;
        self.buffers.next()?;
        usize::try_from(node.length()).ok()
    }

    fn buffer(&mut self) -> Option<&'a [u8]> {
        let buffer = self.buffers.next()?;
        let start = usize::try_from(buffer.offset()).ok()?;
        self.body.get(start..start.checked_add(usize::try_from(buffer.length()).ok()?)?)
    }
}

/// The first `count` numbers; `None` when there are fewer. Bytes need not be aligned.
fn numbers<T, const SIZE: usize>(bytes: &[u8], count: usize, number: fn([u8; SIZE]) -> T) -> Option<Vec<T>> {
    let (all, _) = bytes.get(..count.checked_mul(SIZE)?)?.as_chunks::<SIZE>();
    Some(all.iter().map(|bytes| number(*bytes)).collect())
}

fn data_type(field: &arrow_ipc::Field) -> Option<DataType> {
    let data_type = match field.type_type() {
        Type::Int => {
            let int = field.type_as_int()?;
            match (int.bitWidth(), int.is_signed()) {
                (64, true) => DataType::Int64,
                (32, true) => DataType::Int32,
                (32, false) => DataType::UInt32,
                _ => return None,
            }
        }
        Type::FloatingPoint if field.type_as_floating_point()?.precision() == Precision::DOUBLE => DataType::Float64,
        Type::Utf8 => DataType::Utf8,
        _ => return None,
    };
    match (data_type, field.dictionary()) {
        (DataType::Utf8, Some(dictionary)) => {
            let index = dictionary.indexType().map_or((32, true), |int| (int.bitWidth(), int.is_signed()));
            let texts = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
            (index == (32, false)).then_some(texts)
        }
        (DataType::Utf8, None) | (_, Some(_)) => None,
        (number, None) => Some(number),
    }
}

/// The metadata of the next message; `None` at the end of the stream.
fn metadata(bytes: &mut impl Read) -> Result<Option<Vec<u8>>, Broken> {
    let prefix = take_up_to(bytes, 8)?;
    let prefix: [u8; 8] = match prefix.len() {
        0 => return Ok(None),
        8 => prefix.try_into().map_err(|_| Broken::Cut)?,
        _ => return Err(Broken::Cut),
    };
    let [mark, length] =
        [&prefix[..4], &prefix[4..]].map(|four| four.iter().rfold(0_u32, |all, byte| all << 8 | u32::from(*byte)));
    match (mark, length) {
        (CONTINUATION, 0) => Ok(None),
        (CONTINUATION, length) => take(bytes, u64::from(length), METADATA_MAX_BYTES).map(Some),
        _ => Err(Broken::Damaged),
    }
}

/// Exactly so many bytes. Memory is asked for as they come.
fn take(bytes: &mut impl Read, length: u64, max: u64) -> Result<Vec<u8>, Broken> {
    if length > max {
        return Err(Broken::Damaged);
    }
    let taken = take_up_to(bytes, length)?;
    if taken.len() as u64 == length { Ok(taken) } else { Err(Broken::Cut) }
}

fn take_up_to(bytes: &mut impl Read, length: u64) -> Result<Vec<u8>, Broken> {
    let mut taken = Vec::new();
    bytes.by_ref().take(length).read_to_end(&mut taken).map_err(|_| Broken::Cut)?;
    Ok(taken)
}
