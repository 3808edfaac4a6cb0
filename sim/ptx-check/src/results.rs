//! What a run gives, and the file it goes to.
//!
//! The file: `DPTX1\n`; the seed (8 bytes), the rows of each form (4), the device's name; then for each form its name, the
//! bytes of one value (1), and its values or why there are none. Texts and values have their length (4) in front; a length
//! with the top bit set is that of a reason. All numbers are little-endian.

use std::{fs, io, path::Path};

const MAGIC: &[u8] = b"DPTX1\n";
const REASON: u32 = 1 << 31;

/// The results of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// What operands are made from.
    pub seed: u64,
    /// Rows of each form.
    pub count: u32,
    /// The device and its driver.
    pub device: String,
    /// The results, in the order of the table.
    pub outcomes: Vec<Outcome>,
}

/// The results of one form, or of one output of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The form's name.
    pub name: String,
    /// Bytes of one value.
    pub width: u8,
    /// The values, or why there are none.
    pub values: Result<Vec<u8>, String>,
}

impl Outcome {
    /// The value with that number.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<u64> {
        let width = usize::from(self.width);
        let bytes = self.values.as_ref().ok()?.get(index * width..(index + 1) * width)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.as_ref().map_or(0, |bytes| bytes.len() / usize::from(self.width.max(1)))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Results {
    /// Writes the file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        push(&mut bytes, self.device.as_bytes(), 0);
        for outcome in &self.outcomes {
            push(&mut bytes, outcome.name.as_bytes(), 0);
            bytes.push(outcome.width);
            match &outcome.values {
                Ok(values) => push(&mut bytes, values, 0),
                Err(reason) => push(&mut bytes, reason.as_bytes(), REASON),
            }
        }
        fs::write(path, bytes)
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no such file.
    pub fn read(path: &Path) -> io::Result<Results> {
        let bytes = fs::read(path)?;
        Results::parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a file of results"))
    }

    fn parse(bytes: &[u8]) -> Option<Results> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let seed = u64::from_le_bytes(*take(&mut rest)?);
        let count = u32::from_le_bytes(*take(&mut rest)?);
        let device = text(pull(&mut rest)?.ok()?);
        let mut outcomes = Vec::new();
        while !rest.is_empty() {
            let name = text(pull(&mut rest)?.ok()?);
            let [width] = *take(&mut rest)?;
            let values = pull(&mut rest)?.map(<[u8]>::to_vec).map_err(text);
            outcomes.push(Outcome { name, width, values });
        }
        Some(Results { seed, count, device, outcomes })
    }
}

fn push(bytes: &mut Vec<u8>, part: &[u8], flag: u32) {
    bytes.extend((part.len() as u32 | flag).to_le_bytes());
    bytes.extend(part);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (part, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(part)
}

/// A part with its length in front; `Err` when it is a reason.
fn pull<'a>(rest: &mut &'a [u8]) -> Option<Result<&'a [u8], &'a [u8]>> {
    let length = u32::from_le_bytes(*take(rest)?);
    let (part, after) = rest.split_at_checked((length & !REASON) as usize)?;
    *rest = after;
    Some(if length & REASON == 0 { Ok(part) } else { Err(part) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_back_what_went_in() {
        let results = Results {
            seed: 7,
            count: 2,
            device: "one".to_owned(),
            outcomes: vec![
                Outcome { name: "add.u16".to_owned(), width: 2, values: Ok(vec![1, 0, 255, 255]) },
                Outcome { name: "tex".to_owned(), width: 4, values: Err("refused".to_owned()) },
            ],
        };
        let path = std::env::temp_dir().join(format!("dacapo-ptx-check-{}.bin", std::process::id()));
        results.write(&path).unwrap();
        let back = Results::read(&path).unwrap();
        let cut = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(back, results);
        assert_eq!((back.outcomes[0].value(1), back.outcomes[0].value(2)), (Some(0xffff), None));
        assert!(Results::parse(&cut[..cut.len() - 1]).is_none());
    }
}
