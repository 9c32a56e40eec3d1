//! The bytes of a block, version 1: dictionaries of the values that repeat, then the rows.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use thiserror::Error;
use uuid::Uuid;

use super::{
    CallCredential, CallCredentialKind, CallEnd, CallRow, CallTimes, CallVia,
    bytes::{Reader, put_number, put_signed, put_text},
};
use crate::{
    id::{SpaceId, UserId},
    timestamp::Timestamp,
};

const VERSION: u8 = 1;
/// This bit is set if a row has a trace id. The lower bits hold the `CallEnd` and the `CallVia`.
const HAS_TRACE: u8 = 0x80;
const VIA_SHIFT: u8 = 4;
/// Every row has at least this many bytes.
const ROW_BYTES_MIN: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BlockError {
    #[error("the block has version {0}, which this svc cannot read")]
    Version(u8),
    #[error("the block ends too early")]
    Truncated,
    #[error("the block has bytes after its last row")]
    TooLong,
    #[error("a number of the block is out of range")]
    Number,
    #[error("a row names an entry that the block does not have")]
    Index,
    #[error("a name in the block is not text")]
    Text,
}

/// Packs rows. Readers expect them in the order of their ids.
pub fn encode(rows: &[CallRow]) -> Vec<u8> {
    let mut packed = Packed::default();
    let mut out = Vec::with_capacity(rows.len() * 24);
    let (mut at, mut number) = (0, 0);
    for row in rows {
        put_signed(&mut out, row.at.0.wrapping_sub(at));
        put_signed(&mut out, row.number.wrapping_sub(number).cast_signed());
        (at, number) = (row.at.0, row.number);
        packed.put(row, &mut out);
    }
    let mut block = vec![VERSION];
    packed.put_dictionaries(&mut block);
    put_number(&mut block, rows.len() as u64);
    block.extend_from_slice(&out);
    block
}

/// Unpacks rows. Damaged bytes never cause a panic or a large allocation.
pub fn decode(block: &[u8]) -> Result<Vec<CallRow>, BlockError> {
    let mut reader = Reader::open(block, VERSION)?;
    let dictionaries = Dictionaries::read(&mut reader)?;
    let count = reader.count(ROW_BYTES_MIN)?;
    let mut rows = Vec::with_capacity(count);
    let (mut at, mut number) = (0_i64, 0_u64);
    for _ in 0..count {
        at = at.wrapping_add(reader.signed()?);
        number = number.wrapping_add(reader.signed()?.cast_unsigned());
        rows.push(dictionaries.read_row(&mut reader, Timestamp(at), number)?);
    }
    reader.end()?;
    Ok(rows)
}

/// Values in the order of their first occurrence.
struct Index<T> {
    values: Vec<T>,
    positions: HashMap<T, usize>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            positions: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Index<T> {
    fn put(&mut self, out: &mut Vec<u8>, value: &T) {
        // Most rows have the value of the first row. This value needs no look-up.
        let position = match self.values.first() {
            Some(first) if first == value => 0,
            _ => self.find_or_add(value),
        };
        put_number(out, position as u64);
    }

    fn find_or_add(&mut self, value: &T) -> usize {
        if let Some(position) = self.positions.get(value) {
            return *position;
        }
        let position = self.values.len();
        self.values.push(value.clone());
        self.positions.insert(value.clone(), position);
        position
    }
}

/// The dictionaries of a block while it is written.
#[derive(Default)]
struct Packed {
    processes: Index<u32>,
    users: Index<UserId>,
    credentials: Index<Option<CallCredential>>,
    methods: Index<Arc<str>>,
    spaces: Index<Option<SpaceId>>,
}

impl Packed {
    fn put(&mut self, row: &CallRow, out: &mut Vec<u8>) {
        self.processes.put(out, &row.process);
        self.users.put(out, &row.caller);
        self.credentials.put(out, &row.credential);
        self.methods.put(out, &row.method);
        self.spaces.put(out, &row.space);
        let trace = if row.trace == 0 { 0 } else { HAS_TRACE };
        out.push(trace | (row.via as u8) << VIA_SHIFT | row.end as u8);
        put_signed(out, row.code.into());
        for number in [row.duration_us, row.params_bytes, row.result_bytes] {
            put_number(out, number.into());
        }
        // 0 means that the row has no times.
        put_number(
            out,
            row.times.map_or(0, |times| u64::from(times.queue_us) + 1),
        );
        if let Some(times) = row.times {
            put_number(out, times.method_us.into());
        }
        if row.trace != 0 {
            out.extend_from_slice(&row.trace.to_le_bytes());
        }
    }

    fn put_dictionaries(&self, out: &mut Vec<u8>) {
        put_number(out, self.processes.values.len() as u64);
        for process in &self.processes.values {
            out.extend_from_slice(&process.to_le_bytes());
        }
        put_number(out, self.users.values.len() as u64);
        for user in &self.users.values {
            out.extend_from_slice(user.0.as_bytes());
        }
        put_number(out, self.credentials.values.len() as u64);
        for credential in &self.credentials.values {
            let kind = credential.map_or(0, |credential| 1 + credential.kind as u8);
            out.push(kind);
            let id = credential.map_or(Uuid::nil(), |credential| credential.id);
            out.extend_from_slice(id.as_bytes());
        }
        put_number(out, self.methods.values.len() as u64);
        for method in &self.methods.values {
            put_text(out, method);
        }
        put_number(out, self.spaces.values.len() as u64);
        for space in &self.spaces.values {
            out.extend_from_slice(space.unwrap_or(SpaceId::NIL).0.as_bytes());
        }
    }
}

/// The dictionaries of a block that is read.
struct Dictionaries {
    processes: Vec<u32>,
    users: Vec<UserId>,
    credentials: Vec<Option<CallCredential>>,
    methods: Vec<Arc<str>>,
    spaces: Vec<Option<SpaceId>>,
}

impl Dictionaries {
    fn read(reader: &mut Reader<'_>) -> Result<Self, BlockError> {
        Ok(Self {
            processes: read_list(reader, 4, |reader| Ok(u32::from_le_bytes(reader.array()?)))?,
            users: read_list(reader, 16, |reader| Ok(UserId(read_uuid(reader)?)))?,
            credentials: read_list(reader, 17, |reader| {
                let kind = reader.byte()?;
                let id = read_uuid(reader)?;
                let Some(kind) = kind.checked_sub(1) else {
                    return Ok(None);
                };
                let kind = variant(CallCredentialKind::ALL, kind)?;
                Ok(Some(CallCredential { kind, id }))
            })?,
            methods: read_list(reader, 1, |reader| Ok(reader.text()?.into()))?,
            spaces: read_list(reader, 16, |reader| {
                let id = SpaceId(read_uuid(reader)?);
                Ok((id != SpaceId::NIL).then_some(id))
            })?,
        })
    }

    fn read_row(
        &self,
        reader: &mut Reader<'_>,
        at: Timestamp,
        number: u64,
    ) -> Result<CallRow, BlockError> {
        let process = self.processes[reader.index(self.processes.len())?];
        let caller = self.users[reader.index(self.users.len())?];
        let credential = self.credentials[reader.index(self.credentials.len())?];
        let method = Arc::clone(&self.methods[reader.index(self.methods.len())?]);
        let space = self.spaces[reader.index(self.spaces.len())?];
        let flags = reader.byte()?;
        let end = variant(CallEnd::ALL, flags & 0x0f)?;
        let via = variant(CallVia::ALL, (flags & !HAS_TRACE) >> VIA_SHIFT)?;
        let code = i32::try_from(reader.signed()?).map_err(|_| BlockError::Number)?;
        let mut small = || u32::try_from(reader.number()?).map_err(|_| BlockError::Number);
        let (duration_us, params_bytes, result_bytes) = (small()?, small()?, small()?);
        let times = read_times(reader)?;
        let trace = match flags & HAS_TRACE {
            0 => 0,
            _ => u128::from_le_bytes(reader.array()?),
        };
        Ok(CallRow {
            at,
            number,
            process,
            caller,
            credential,
            via,
            method,
            space,
            end,
            code,
            duration_us,
            times,
            params_bytes,
            result_bytes,
            trace,
        })
    }
}

fn read_list<T>(
    reader: &mut Reader<'_>,
    bytes_min: usize,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, BlockError>,
) -> Result<Vec<T>, BlockError> {
    let count = reader.count(bytes_min)?;
    (0..count).map(|_| read(reader)).collect()
}

fn read_times(reader: &mut Reader<'_>) -> Result<Option<CallTimes>, BlockError> {
    let small = |number: u64| u32::try_from(number).map_err(|_| BlockError::Number);
    let Some(queue) = reader.number()?.checked_sub(1) else {
        return Ok(None);
    };
    Ok(Some(CallTimes {
        queue_us: small(queue)?,
        method_us: small(reader.number()?)?,
    }))
}

fn read_uuid(reader: &mut Reader<'_>) -> Result<Uuid, BlockError> {
    Ok(Uuid::from_bytes(reader.array()?))
}

fn variant<T: Copy>(all: &[T], index: u8) -> Result<T, BlockError> {
    all.get(usize::from(index))
        .copied()
        .ok_or(BlockError::Index)
}
