//! Modules and libraries.

use super::Call;
use super::args::{In, LibraryArg, ModuleArg, Out, Text, handle};
use crate::code::{Code, Outcome};
use crate::model::Image;

/// How the binary forms of device code begin: ELF, and two kinds of fat binary.
const BINARIES: [[u8; 4]; 3] = [*b"\x7fELF", 0x4662_43B1u32.to_le_bytes(), 0xBA55_ED50u32.to_le_bytes()];

/// What an image pointer points to: a binary by its first bytes, or else a string of PTX.
fn image(pointer: In<u8>) -> Outcome<Image> {
    let mut head = [0u8; 4];
    for (at, byte) in head.iter_mut().enumerate() {
        *byte = pointer.add(at).get()?;
        if *byte == 0 {
            break;
        }
    }
    if BINARIES.contains(&head) {
        return Ok(Image::Binary);
    }
    let text = Text::at(pointer.address()).get().map_err(|_| Code::INVALID_PTX)?;
    Ok(Image::Text(text))
}

/// Keeps what a refused load has to say for the log.
fn loaded<T>(call: &mut Call, result: Result<T, (Code, Option<String>)>) -> Outcome<T> {
    result.map_err(|(code, detail)| {
        call.detail = detail;
        code
    })
}

pub(super) fn cuModuleLoadData(call: &mut Call, module: Out<u64>, pointer: In<u8>) -> Outcome {
    module.wanted()?;
    let by = call.by;
    let image = image(pointer)?;
    let result = call.module_load(image, by);
    let id = loaded(call, result)?;
    module.set(handle(id))
}

/// `CU_JIT_ERROR_LOG_BUFFER` and its size.
const ERROR_LOG: (u32, u32) = (5, 6);

pub(super) fn cuModuleLoadDataEx(
    call: &mut Call,
    module: Out<u64>,
    pointer: In<u8>,
    count: u32,
    options: In<u32>,
    values: In<u64>,
) -> Outcome {
    const MANY: u32 = 64;
    if count > MANY {
        return Err(Code::INVALID_VALUE);
    }
    let options = options.array(count as usize)?;
    let values = values.array(count as usize)?;
    let outcome = cuModuleLoadData(call, module, pointer);
    let option = |wanted| options.iter().position(|option| *option == wanted).map(|at| values[at]);
    if let (Some(buffer), Some(room), Some(detail)) = (option(ERROR_LOG.0), option(ERROR_LOG.1), &call.detail)
        && let Ok(room) = usize::try_from(room)
        && room > 0
    {
        let mut bytes: Vec<u8> = detail.bytes().take(room - 1).collect();
        bytes.push(0);
        Out::<u8>::at(buffer).set_array(&bytes, room)?;
    }
    outcome
}

pub(super) fn cuModuleLoad(call: &mut Call, module: Out<u64>, path: Text) -> Outcome {
    module.wanted()?;
    let by = call.by;
    let path = path.get()?;
    let bytes = std::fs::read(&path).map_err(|_| Code::FILE_NOT_FOUND)?;
    let image = match BINARIES.iter().any(|head| bytes.starts_with(head)) {
        true => Image::Binary,
        false => Image::Text(String::from_utf8(bytes).map_err(|_| Code::INVALID_PTX)?),
    };
    let result = call.module_load(image, by);
    let id = loaded(call, result)?;
    module.set(handle(id))
}

pub(super) fn cuModuleLoadFatBinary(call: &mut Call, module: Out<u64>, pointer: In<u8>) -> Outcome {
    module.wanted()?;
    pointer.get()?;
    let by = call.by;
    let result = call.module_load(Image::Binary, by);
    let id = loaded(call, result)?;
    module.set(handle(id))
}

pub(super) fn cuModuleUnload(call: &mut Call, module: ModuleArg) -> Outcome {
    let by = call.by;
    call.module_unload(module.0, by)
}

pub(super) fn cuModuleGetFunction(call: &mut Call, function: Out<u64>, module: ModuleArg, name: Text) -> Outcome {
    let name = name.get()?;
    function.wanted()?;
    function.set(handle(call.module_function(module.0, &name)?))
}

pub(super) fn cuModuleGetFunctionCount(call: &mut Call, count: Out<u32>, module: ModuleArg) -> Outcome {
    let module = call.module(module.0)?;
    count.set(call.modules.get(module).map_or(0, |module| module.functions.len()) as u32)
}

pub(super) fn cuModuleEnumerateFunctions(
    call: &mut Call,
    functions: Out<u64>,
    count: u32,
    module: ModuleArg,
) -> Outcome {
    let module = call.module(module.0)?;
    functions.wanted()?;
    let handles: Vec<u64> =
        call.modules.get(module).map_or_else(Vec::new, |module| module.functions.values().map(|f| handle(*f)).collect());
    functions.set_array(&handles, count as usize)
}

pub(super) fn cuModuleGetGlobal_v2(
    call: &mut Call,
    address: Out<u64>,
    bytes: Out<u64>,
    module: ModuleArg,
    name: Text,
) -> Outcome {
    let name = name.get()?;
    let range = call.module_global(module.0, &name)?;
    address.set_if_wanted(range.address);
    bytes.set_if_wanted(range.bytes);
    Ok(())
}

/// Lazy loading, though nothing here depends on it.
pub(super) fn cuModuleGetLoadingMode(_call: &mut Call, mode: Out<u32>) -> Outcome {
    const LAZY: u32 = 2;
    mode.set(LAZY)
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuLibraryLoadData(
    call: &mut Call,
    library: Out<u64>,
    pointer: In<u8>,
    _jit: In<u32>,
    _jit_values: In<u64>,
    _jit_count: u32,
    _options: In<u32>,
    _values: In<u64>,
    _count: u32,
) -> Outcome {
    library.wanted()?;
    let by = call.by;
    let image = image(pointer)?;
    let result = call.library_load(image, by);
    let id = loaded(call, result)?;
    library.set(handle(id))
}

pub(super) fn cuLibraryUnload(call: &mut Call, library: LibraryArg) -> Outcome {
    let by = call.by;
    call.library_unload(library.0, by)
}

pub(super) fn cuLibraryGetKernel(call: &mut Call, kernel: Out<u64>, library: LibraryArg, name: Text) -> Outcome {
    let name = name.get()?;
    kernel.wanted()?;
    kernel.set(handle(call.library_kernel(library.0, &name)?))
}

pub(super) fn cuLibraryGetKernelCount(call: &mut Call, count: Out<u32>, library: LibraryArg) -> Outcome {
    let library = call.library(library.0)?;
    count.set(call.libraries.get(library).map_or(0, |library| library.kernels.len()) as u32)
}

pub(super) fn cuLibraryGetModule(call: &mut Call, module: Out<u64>, library: LibraryArg) -> Outcome {
    module.wanted()?;
    let by = call.by;
    let library = call.library(library.0)?;
    let context = call.current(by.thread)?;
    module.set(handle(call.library_module(library, context, by)?))
}

pub(super) fn cuLibraryGetGlobal(
    call: &mut Call,
    address: Out<u64>,
    bytes: Out<u64>,
    library: LibraryArg,
    name: Text,
) -> Outcome {
    let name = name.get()?;
    let by = call.by;
    let library = call.library(library.0)?;
    let context = call.current(by.thread)?;
    let module = call.library_module(library, context, by)?;
    let range = call.module_global(handle(module), &name)?;
    address.set_if_wanted(range.address);
    bytes.set_if_wanted(range.bytes);
    Ok(())
}
