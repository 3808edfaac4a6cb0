//! What kernels say to the outside: `printf` and `assert`.

use super::{LaneFault, Surroundings};
use crate::ptx::{
    fault::FaultKind,
    op::SystemCall,
    printf,
    registers::{Mask, lanes},
    types::Space,
};

/// The longest text that is read from a kernel's memory.
const LONGEST_TEXT: u64 = 1 << 12;

/// What the kernels of a launch have said.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Console {
    /// What was printed and not yet taken.
    pub(in crate::ptx) printed: Vec<u8>,
    /// The assertion that failed.
    pub(in crate::ptx) assertion: Option<String>,
}

impl Surroundings<'_, '_> {
    /// Runs a system function for each lane, the lowest first.
    pub(super) fn system(&mut self, call: SystemCall, mask: Mask) -> Result<(), LaneFault> {
        for lane in lanes(mask) {
            match call {
                SystemCall::AssertionFailed { condition, file, line, function } => {
                    let [condition, file, function] = [condition, file, function].map(|at| self.argument(lane, at, 8));
                    let condition = self.text(lane, condition?)?;
                    let file = self.text(lane, file?)?;
                    let function = self.text(lane, function?)?;
                    let line = self.argument(lane, line, 4)?;
                    let [condition, file, function] =
                        [condition, file, function].map(|text| String::from_utf8_lossy(&text).into_owned());
                    self.console.assertion = Some(format!("`{condition}` in {function}, {file}:{line}"));
                    return Err(LaneFault { lane, kind: FaultKind::Assertion });
                }
                SystemCall::Print { format, arguments, count } => {
                    let format = self.argument(lane, format, 8)?;
                    let next = self.argument(lane, arguments, 8)?;
                    let taken = match format {
                        0 => u32::MAX,
                        _ => {
                            let format = self.text(lane, format)?;
                            let mut arguments = Arguments { surroundings: self, lane, next, taken: 0 };
                            let text = printf::format(&format, &mut arguments)?;
                            let taken = arguments.taken;
                            self.console.printed.extend(text);
                            taken
                        }
                    };
                    let result = self.resolve(Space::Param, lane, count, 4, true)?;
                    self.write(result, 0, 4, taken.into());
                }
            }
        }
        Ok(())
    }

    /// A call parameter.
    fn argument(&mut self, lane: usize, address: u64, bytes: u8) -> Result<u64, LaneFault> {
        let place = self.resolve(Space::Param, lane, address, bytes.into(), false)?;
        Ok(self.read(place, 0, bytes))
    }

    /// The text at a generic address, up to its zero byte.
    fn text(&mut self, lane: usize, address: u64) -> Result<Vec<u8>, LaneFault> {
        let mut text = Vec::new();
        for offset in 0..LONGEST_TEXT {
            let place = self.resolve(Space::Generic, lane, address.wrapping_add(offset), 1, false)?;
            match self.read(place, 0, 1) as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}

/// The variable arguments of a call of `vprintf`: a structure in memory, each field aligned to its size.
struct Arguments<'s, 'c, 'm> {
    surroundings: &'s mut Surroundings<'c, 'm>,
    lane: usize,
    next: u64,
    taken: u32,
}

impl printf::Arguments for Arguments<'_, '_, '_> {
    type Error = LaneFault;

    fn take(&mut self, bytes: u8) -> Result<u64, LaneFault> {
        let address = self.next.next_multiple_of(bytes.into());
        let place = self.surroundings.resolve(Space::Generic, self.lane, address, bytes.into(), false)?;
        self.next = address + u64::from(bytes);
        self.taken += 1;
        Ok(self.surroundings.read(place, 0, bytes))
    }

    fn text(&mut self, address: u64) -> Result<Vec<u8>, LaneFault> {
        self.surroundings.text(self.lane, address)
    }
}
