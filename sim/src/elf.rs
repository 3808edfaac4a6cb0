//! Writes a shared object in memory: names, and for each a jump to an address in this process.
//!
//! The image is the least that a dynamic linker accepts: one segment with everything in it, a dynamic section, a symbol
//! table with a hash table of one chain, and code. Nothing in it is relocated, so it loads at any address.
//!
//! 1. The segment is mapped readable and executable and is never written.
//! 2. Every symbol's code jumps to its absolute address and touches no register that carries an argument.

/// The processor architectures for which jumps can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Machine {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// The architecture of this process, if it is one of them.
    pub(crate) fn host() -> Option<Machine> {
        if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
            Some(Machine::X86_64)
        } else if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
            Some(Machine::Aarch64)
        } else {
            None
        }
    }

    /// The number in the file header.
    fn number(self) -> u16 {
        match self {
            Machine::X86_64 => 62,
            Machine::Aarch64 => 183,
        }
    }

    /// Code that jumps to an absolute address. 16 bytes.
    fn jump(self, target: u64) -> [u8; JUMP] {
        let mut code = [0; JUMP];
        match self {
            Machine::X86_64 => {
                // movabs r11, target; jmp r11
                code[..2].copy_from_slice(&[0x49, 0xBB]);
                code[2..10].copy_from_slice(&target.to_le_bytes());
                code[10..13].copy_from_slice(&[0x41, 0xFF, 0xE3]);
                code[13..].fill(0xCC);
            }
            Machine::Aarch64 => {
                // ldr x16, #8; br x16; the target
                code[..4].copy_from_slice(&0x5800_0050u32.to_le_bytes());
                code[4..8].copy_from_slice(&0xD61F_0200u32.to_le_bytes());
                code[8..].copy_from_slice(&target.to_le_bytes());
            }
        }
        code
    }
}

const JUMP: usize = 16;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PROGRAM_HEADERS: usize = 3;
const SYMBOL: usize = 24;
const PAGE: u64 = 0x1_0000;

/// Kinds and flags of program headers.
mod segment {
    pub(super) const LOAD: u32 = 1;
    pub(super) const DYNAMIC: u32 = 2;
    pub(super) const STACK: u32 = 0x6474_E551;
    pub(super) const EXECUTE: u32 = 1;
    pub(super) const WRITE: u32 = 2;
    pub(super) const READ: u32 = 4;
}

/// Tags of the dynamic section.
mod tag {
    pub(super) const END: u64 = 0;
    pub(super) const HASH: u64 = 4;
    pub(super) const STRINGS: u64 = 5;
    pub(super) const SYMBOLS: u64 = 6;
    pub(super) const STRINGS_SIZE: u64 = 10;
    pub(super) const SYMBOL_SIZE: u64 = 11;
    pub(super) const SONAME: u64 = 14;
}

/// A shared object with this `DT_SONAME` and these symbols.
pub(crate) fn shared_object(machine: Machine, soname: &str, symbols: &[(&str, u64)]) -> Vec<u8> {
    let mut strings = vec![0u8];
    let mut string = |text: &str| {
        let at = strings.len();
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
        at as u64
    };
    let soname = string(soname);
    let names: Vec<u64> = symbols.iter().map(|(name, _)| string(name)).collect();

    let symbols_at = (HEADER + PROGRAM_HEADERS * PROGRAM_HEADER).next_multiple_of(8);
    let hash_at = symbols_at + (symbols.len() + 1) * SYMBOL;
    let dynamic_at = (hash_at + hash_table(symbols).len()).next_multiple_of(8);
    let dynamic = [
        (tag::SONAME, soname),
        (tag::HASH, hash_at as u64),
        (tag::SYMBOLS, symbols_at as u64),
        (tag::SYMBOL_SIZE, SYMBOL as u64),
        (tag::STRINGS, (dynamic_at + 8 * 16) as u64),
        (tag::STRINGS_SIZE, strings.len() as u64),
        (tag::END, 0),
        (tag::END, 0),
    ];
    let strings_at = dynamic_at + dynamic.len() * 16;
    let code_at = (strings_at + strings.len()).next_multiple_of(JUMP);
    let end = code_at + symbols.len() * JUMP;

    let mut image = Image(Vec::with_capacity(end));
    image.file_header(machine);
    image.program_header(segment::LOAD, segment::READ | segment::EXECUTE, 0, end as u64, PAGE);
    image.program_header(segment::DYNAMIC, segment::READ, dynamic_at as u64, (dynamic.len() * 16) as u64, 8);
    image.program_header(segment::STACK, segment::READ | segment::WRITE, 0, 0, 16);
    image.pad_to(symbols_at);
    image.symbol(0, 0, 0);
    for (at, name) in names.iter().enumerate() {
        image.symbol(*name, (code_at + at * JUMP) as u64, JUMP as u64);
    }
    image.0.extend(hash_table(symbols));
    image.pad_to(dynamic_at);
    for (tag, value) in dynamic {
        image.word(tag);
        image.word(value);
    }
    image.0.extend(strings);
    image.pad_to(code_at);
    for (_, target) in symbols {
        image.0.extend(machine.jump(*target));
    }
    image.0
}

/// A System V hash table.
fn hash_table(symbols: &[(&str, u64)]) -> Vec<u8> {
    let buckets = symbols.len().max(1);
    let mut heads = vec![0u32; buckets];
    let mut chains = vec![0u32; symbols.len() + 1];
    for (at, (name, _)) in symbols.iter().enumerate() {
        let symbol = at as u32 + 1;
        let bucket = hash(name) as usize % buckets;
        chains[symbol as usize] = std::mem::replace(&mut heads[bucket], symbol);
    }
    let counts = [heads.len() as u32, chains.len() as u32];
    counts.iter().chain(&heads).chain(&chains).flat_map(|word| word.to_le_bytes()).collect()
}

/// The hash of a symbol's name.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xF000_0000;
        (hash ^ high >> 24) & !high
    })
}

struct Image(Vec<u8>);

impl Image {
    fn half(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn int(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn word(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn pad_to(&mut self, offset: usize) {
        self.0.resize(offset, 0);
    }

    fn file_header(&mut self, machine: Machine) {
        const DYNAMIC_OBJECT: u16 = 3;
        // 64 bits, little-endian, version 1.
        self.0.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        self.half(DYNAMIC_OBJECT);
        self.half(machine.number());
        self.int(1);
        self.word(0);
        self.word(HEADER as u64);
        self.word(0);
        self.int(0);
        for value in [HEADER, PROGRAM_HEADER, PROGRAM_HEADERS, 64, 0, 0] {
            self.half(value as u16);
        }
    }

    fn program_header(&mut self, kind: u32, flags: u32, offset: u64, size: u64, align: u64) {
        self.int(kind);
        self.int(flags);
        for value in [offset, offset, offset, size, size, align] {
            self.word(value);
        }
    }

    fn symbol(&mut self, name: u64, value: u64, size: u64) {
        /// A global function.
        const GLOBAL_FUNCTION: u8 = 0x12;
        /// The index of a section that does not exist: the symbol is defined.
        const DEFINED: u16 = 1;
        let exists = size > 0;
        self.int(name as u32);
        self.0.extend([if exists { GLOBAL_FUNCTION } else { 0 }, 0]);
        self.half(if exists { DEFINED } else { 0 });
        self.word(value);
        self.word(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_documented_one() {
        assert_eq!(hash(""), 0);
        assert_eq!(hash("printf"), 0x077905a6);
        assert_eq!(hash("exit"), 0x0006cf04);
    }

    #[test]
    fn the_image_says_what_it_is() {
        let image = shared_object(Machine::Aarch64, "libx.so", &[("one", 1), ("two", 2)]);
        assert_eq!(&image[..4], b"\x7fELF");
        assert_eq!(image[18..20], 183u16.to_le_bytes());
        let text = String::from_utf8_lossy(&image);
        assert!(text.contains("libx.so\0one\0two\0"));
        assert_eq!(image.len() % JUMP, 0);
        assert_eq!(image[image.len() - 8..], 2u64.to_le_bytes());
    }
}
