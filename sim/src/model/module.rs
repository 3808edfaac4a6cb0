//! Modules and libraries: PTX, loaded.
//!
//! 1. Only PTX text is accepted. A binary is refused with the code that a driver gives for code of another device.
//! 2. A module belongs to a context. A library belongs to none: it is loaded into a context when one of its kernels is first
//!    used there.
//! 3. Text that the interpreter does not support is refused when it is loaded, with the line and the reason in the call log.

use std::collections::BTreeMap;
use std::ffi::CString;

use super::Driver;
use super::bytes::{self, Span};
use super::id::{ContextId, FunctionId, Id, KernelId, LibraryId, Miss, ModuleId};
use super::memory::{BlockKind, Request};
use crate::code::{Code, Outcome};
use crate::ptx;
use crate::report::{ObjectKind, Range, Site, Violation};

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) context: ContextId,
    /// Its functions, by name.
    pub(crate) functions: BTreeMap<String, FunctionId>,
    /// Its variables, by name.
    pub(crate) globals: BTreeMap<String, Range>,
    pub(crate) made: Site,
}

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    text: String,
    pub(crate) device: u32,
    pub(crate) kernels: BTreeMap<String, KernelId>,
    /// Where it has been loaded.
    pub(crate) modules: BTreeMap<ContextId, ModuleId>,
    pub(crate) made: Site,
}

/// An image that a caller wants loaded.
#[derive(Debug)]
pub(crate) enum Image {
    /// PTX.
    Text(String),
    /// Device code in some binary form.
    Binary,
}

/// A refused load: the code, and what to tell the caller.
pub(crate) type Refused = (Code, Option<String>);

impl Driver {
    /// The module that a caller's handle names.
    pub(crate) fn module(&self, raw: u64) -> Outcome<ModuleId> {
        self.modules.find(raw).map_err(|_: Miss| Code::INVALID_HANDLE)
    }

    /// `cuModuleLoadData`.
    pub(crate) fn module_load(&mut self, image: Image, by: Site) -> Result<ModuleId, Refused> {
        let context = self.current(by.thread).map_err(|code| (code, None))?;
        match image {
            Image::Text(text) => self.load_into(&text, context, by),
            Image::Binary => {
                let why = "the image is a binary; the simulated device runs PTX only".to_owned();
                Err((Code::NO_BINARY_FOR_GPU, Some(why)))
            }
        }
    }

    fn load_into(&mut self, text: &str, context: ContextId, by: Site) -> Result<ModuleId, Refused> {
        let mut parsed = parse(text)?;
        let id = self.modules.upcoming();
        let device = self.device_of_context(context);
        let mut places: Vec<Range> = Vec::new();
        for global in parsed.globals() {
            let bytes = global.size().max(1);
            let request = Request { bytes, device, context, kind: BlockKind::Module, by };
            match self.memory.allocate(request) {
                Ok(address) => places.push(Range { address, bytes: global.size() }),
                Err(code) => {
                    places.iter().for_each(|place| drop(self.memory.release(place.address, by)));
                    return Err((code, None));
                }
            }
        }
        let mut next = places.iter();
        parsed.link(|_| next.next().map_or(0, |place| place.address));
        let mut globals = BTreeMap::new();
        for (global, place) in parsed.globals().iter().zip(&places) {
            self.write_initial(*place, global.initial());
            globals.insert(global.name().to_owned(), *place);
        }
        let mut functions = BTreeMap::new();
        for code in parsed.functions() {
            let function = self.make_function(id, context, code);
            functions.insert(code.name().to_owned(), function);
        }
        Ok(self.modules.insert(Module { context, functions, globals, made: by }))
    }

    /// Gives a variable the bytes that its module says, and zero where it says nothing.
    fn write_initial(&mut self, place: Range, initial: &[u8]) {
        let Ok(span) = self.memory.span(place.address, place.bytes) else { return };
        let len = initial.len().min(place.bytes as usize);
        // SAFETY: `span` vouches for the bytes of the variable.
        unsafe { bytes::fill(span, 0, 1, place.bytes as usize) };
        let src = Span { data: initial.as_ptr().cast_mut(), shared: false };
        // SAFETY: `len` is within both; the source is only read.
        unsafe { bytes::copy(span, src, len) };
    }

    /// `cuModuleUnload`.
    pub(crate) fn module_unload(&mut self, raw: u64, by: Site) -> Outcome {
        self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        if let Err(Miss::Stale(first)) = self.modules.find(raw) {
            self.destroyed_twice(ObjectKind::Module, raw, first, by);
        }
        let module = self.module(raw)?;
        self.unload(module, by);
        Ok(())
    }

    /// Takes a module away; pending work of its functions is recorded.
    fn unload(&mut self, module: ModuleId, by: Site) {
        let device = self.modules.get(module).map(|module| self.device_of_context(module.context));
        for (function, used) in self.pending_of(module) {
            self.violate(device, Violation::ModuleUnloaded { function, unloaded: by, used });
        }
        self.drop_module(module, by);
    }

    /// Takes a module away with its functions and variables.
    pub(crate) fn drop_module(&mut self, module: ModuleId, by: Site) {
        let Some(module) = self.modules.remove(module, by) else { return };
        for place in module.globals.values() {
            self.memory.release(place.address, by);
        }
        for function in module.functions.values() {
            self.functions.remove(*function, by);
        }
    }

    /// `cuModuleGetFunction`.
    pub(crate) fn module_function(&self, module: u64, name: &str) -> Outcome<FunctionId> {
        let module = self.modules.get(self.module(module)?).ok_or(Code::INVALID_HANDLE)?;
        self.healthy(self.device_of_context(module.context))?;
        module.functions.get(name).copied().ok_or(Code::NOT_FOUND)
    }

    /// `cuModuleGetGlobal`.
    pub(crate) fn module_global(&self, module: u64, name: &str) -> Outcome<Range> {
        let module = self.modules.get(self.module(module)?).ok_or(Code::INVALID_HANDLE)?;
        module.globals.get(name).copied().ok_or(Code::NOT_FOUND)
    }

    /// `cuLibraryLoadData`.
    pub(crate) fn library_load(&mut self, image: Image, by: Site) -> Result<LibraryId, Refused> {
        if !self.initialised {
            return Err((Code::NOT_INITIALIZED, None));
        }
        let Image::Text(text) = image else { return Err((Code::NO_BINARY_FOR_GPU, None)) };
        let parsed = parse(&text)?;
        let id = self.libraries.upcoming();
        let mut kernels = BTreeMap::new();
        for code in parsed.functions() {
            let name = CString::new(code.name()).unwrap_or_default();
            kernels.insert(code.name().to_owned(), self.kernels.insert(super::Kernel { library: id, name }));
        }
        let device = self.top(by.thread).map_or(0, |context| self.device_of_context(context));
        Ok(self.libraries.insert(Library { text, device, kernels, modules: BTreeMap::new(), made: by }))
    }

    /// The library that a caller's handle names.
    pub(crate) fn library(&self, raw: u64) -> Outcome<LibraryId> {
        self.libraries.find(raw).map_err(|_: Miss| Code::INVALID_HANDLE)
    }

    /// `cuLibraryUnload`.
    pub(crate) fn library_unload(&mut self, raw: u64, by: Site) -> Outcome {
        let id = self.library(raw)?;
        self.unsafe_call(by.thread)?;
        let Some(library) = self.libraries.remove(id, by) else { return Err(Code::INVALID_HANDLE) };
        for module in library.modules.into_values() {
            self.unload(module, by);
        }
        for kernel in library.kernels.into_values() {
            self.kernels.remove(kernel, by);
        }
        Ok(())
    }

    /// `cuLibraryGetKernel`.
    pub(crate) fn library_kernel(&self, library: u64, name: &str) -> Outcome<KernelId> {
        let library = self.libraries.get(self.library(library)?).ok_or(Code::INVALID_HANDLE)?;
        library.kernels.get(name).copied().ok_or(Code::NOT_FOUND)
    }

    /// The module of a library in a context, loaded now if it was not.
    pub(crate) fn library_module(&mut self, library: LibraryId, context: ContextId, by: Site) -> Outcome<ModuleId> {
        let entry = self.libraries.get(library).ok_or(Code::INVALID_HANDLE)?;
        if let Some(module) = entry.modules.get(&context).filter(|module| self.modules.get(**module).is_some()) {
            return Ok(*module);
        }
        let text = entry.text.clone();
        let module = self.load_into(&text, context, by).map_err(|(code, _)| code)?;
        if let Some(library) = self.libraries.get_mut(library) {
            library.modules.insert(context, module);
        }
        Ok(module)
    }

    /// Whether a module belongs to a library.
    pub(crate) fn of_library(&self, module: ModuleId) -> bool {
        self.libraries.iter().any(|(_, library)| library.modules.values().any(|other| *other == module))
    }

    /// The handle of a module or library, for [`Live`](crate::Live).
    pub(crate) fn live_modules(&self, device: u32) -> Vec<crate::report::Object> {
        let object = |handle, made| crate::report::Object { kind: ObjectKind::Module, handle, bytes: 0, made };
        let modules = self
            .modules
            .iter()
            .filter(|(id, module)| self.device_of_context(module.context) == device && !self.of_library(*id));
        let libraries = self.libraries.iter().filter(|(_, library)| library.device == device);
        modules
            .map(|(id, module)| object(id.raw(), module.made))
            .chain(libraries.map(|(id, library)| object(id.raw(), library.made)))
            .collect()
    }
}

fn parse(text: &str) -> Result<ptx::Module, Refused> {
    ptx::Module::parse(text).map_err(|error| (Code::INVALID_PTX, Some(error.to_string())))
}
