//! Starting up, error names, looking functions up.

use super::args::{Out, Text};
use super::{Call, symbols};
use crate::code::{Code, Outcome};

/// The CUDA version that the driver reports: 13.0.
const VERSION: i32 = 13000;

pub(super) fn cuInit(call: &mut Call, flags: u32) -> Outcome {
    if flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    if call.devices.is_empty() {
        return Err(Code::NO_DEVICE);
    }
    call.initialised = true;
    Ok(())
}

pub(super) fn cuDriverGetVersion(_call: &mut Call, version: Out<i32>) -> Outcome {
    version.set(VERSION)
}

pub(super) fn cuGetErrorName(_call: &mut Call, code: u32, text: Out<u64>) -> Outcome {
    let name = Code::from(code).c_name();
    text.set(name.map_or(0, |name| name.as_ptr() as u64))?;
    name.map(|_| ()).ok_or(Code::INVALID_VALUE)
}

pub(super) fn cuGetErrorString(_call: &mut Call, code: u32, text: Out<u64>) -> Outcome {
    let description = Code::from(code).c_description();
    text.set(description.map_or(0, |description| description.as_ptr() as u64))?;
    description.map(|_| ()).ok_or(Code::INVALID_VALUE)
}

/// The functions of which several versions with different arguments exist, each with the CUDA version that it came with.
const VERSIONED: &[(&str, &[(i32, &str)])] = &[
    ("cuCtxCreate", &[(2000, "cuCtxCreate_v2"), (11040, "cuCtxCreate_v3"), (12050, "cuCtxCreate_v4")]),
    (
        "cuStreamGetCaptureInfo",
        &[
            (10010, "cuStreamGetCaptureInfo"),
            (11030, "cuStreamGetCaptureInfo_v2"),
            (12030, "cuStreamGetCaptureInfo_v3"),
        ],
    ),
    (
        "cuStreamUpdateCaptureDependencies",
        &[(11030, "cuStreamUpdateCaptureDependencies"), (12030, "cuStreamUpdateCaptureDependencies_v2")],
    ),
    ("cuGraphGetEdges", &[(10000, "cuGraphGetEdges"), (12030, "cuGraphGetEdges_v2")]),
    ("cuGraphNodeGetDependencies", &[(10000, "cuGraphNodeGetDependencies"), (12030, "cuGraphNodeGetDependencies_v2")]),
    (
        "cuGraphNodeGetDependentNodes",
        &[(10000, "cuGraphNodeGetDependentNodes"), (12030, "cuGraphNodeGetDependentNodes_v2")],
    ),
    ("cuGraphAddDependencies", &[(10000, "cuGraphAddDependencies"), (12030, "cuGraphAddDependencies_v2")]),
    ("cuGraphRemoveDependencies", &[(10000, "cuGraphRemoveDependencies"), (12030, "cuGraphRemoveDependencies_v2")]),
    ("cuGraphAddNode", &[(12020, "cuGraphAddNode"), (12030, "cuGraphAddNode_v2")]),
    ("cuGraphAddKernelNode", &[(10000, "cuGraphAddKernelNode"), (12000, "cuGraphAddKernelNode_v2")]),
    ("cuGraphKernelNodeGetParams", &[(10000, "cuGraphKernelNodeGetParams"), (12000, "cuGraphKernelNodeGetParams_v2")]),
    ("cuGraphKernelNodeSetParams", &[(10000, "cuGraphKernelNodeSetParams"), (12000, "cuGraphKernelNodeSetParams_v2")]),
    (
        "cuGraphExecKernelNodeSetParams",
        &[(10010, "cuGraphExecKernelNodeSetParams"), (12000, "cuGraphExecKernelNodeSetParams_v2")],
    ),
    ("cuGraphExecUpdate", &[(10020, "cuGraphExecUpdate"), (12000, "cuGraphExecUpdate_v2")]),
    ("cuGraphInstantiate", &[(11000, "cuGraphInstantiate_v2"), (12000, "cuGraphInstantiateWithFlags")]),
    ("cuMemcpyBatchAsync", &[(12080, "cuMemcpyBatchAsync"), (13000, "cuMemcpyBatchAsync_v2")]),
];

/// `CU_GET_PROC_ADDRESS_SUCCESS` and the reasons for failure.
mod status {
    pub(super) const FOUND: u32 = 0;
    pub(super) const NO_SUCH_SYMBOL: u32 = 1;
    pub(super) const VERSION_TOO_OLD: u32 = 2;
}

/// The exported name for a plain name and a CUDA version.
fn resolve(name: &str, version: i32) -> Result<String, u32> {
    if let Some((_, versions)) = VERSIONED.iter().find(|(plain, _)| *plain == name) {
        let fit = versions.iter().rev().find(|(since, _)| *since <= version);
        return fit.map(|(_, name)| (*name).to_owned()).ok_or(status::VERSION_TOO_OLD);
    }
    let exists = |name: &str| symbols().any(|(other, _)| other == name);
    let candidates = (2..=4).rev().map(|v| format!("{name}_v{v}")).chain([name.to_owned()]);
    candidates.into_iter().find(|name| exists(name)).ok_or(status::NO_SUCH_SYMBOL)
}

pub(super) fn cuGetProcAddress_v2(
    _call: &mut Call,
    symbol: Text,
    function: Out<u64>,
    version: i32,
    _flags: u64,
    found: Out<u32>,
) -> Outcome {
    function.wanted()?;
    let name = symbol.get()?;
    let address = resolve(&name, version).and_then(|name| {
        let symbol = symbols().find(|(other, _)| *other == name);
        symbol.map(|(_, address)| address.get()).ok_or(status::NO_SUCH_SYMBOL)
    });
    match address {
        Ok(address) => {
            found.set_if_wanted(status::FOUND);
            function.set(address)
        }
        Err(why) => {
            found.set_if_wanted(why);
            function.set(0)?;
            Err(Code::NOT_FOUND)
        }
    }
}

pub(super) fn cuGetProcAddress(call: &mut Call, symbol: Text, function: Out<u64>, version: i32, flags: u64) -> Outcome {
    let mut ignored = 0u32;
    cuGetProcAddress_v2(call, symbol, function, version, flags, Out::to(&mut ignored))
}

pub(super) fn cuProfilerStart(call: &mut Call) -> Outcome {
    call.current(call.by.thread).map(|_| ())
}

pub(super) fn cuProfilerStop(call: &mut Call) -> Outcome {
    call.current(call.by.thread).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_resolves_to_the_version_asked_for() {
        assert_eq!(resolve("cuMemAlloc", 12000).as_deref(), Ok("cuMemAlloc_v2"));
        assert_eq!(resolve("cuInit", 12000).as_deref(), Ok("cuInit"));
        assert_eq!(resolve("cuCtxCreate", 12000).as_deref(), Ok("cuCtxCreate_v3"));
        assert_eq!(resolve("cuCtxCreate", 13000).as_deref(), Ok("cuCtxCreate_v4"));
        assert_eq!(resolve("cuGraphAddNode", 12000), Err(status::VERSION_TOO_OLD));
        assert_eq!(resolve("cuNoSuchThing", 13000), Err(status::NO_SUCH_SYMBOL));
    }

    #[test]
    fn every_versioned_name_is_exported() {
        for name in VERSIONED.iter().flat_map(|(_, versions)| versions.iter().map(|(_, name)| name)) {
            assert!(super::super::is_implemented(name), "{name}");
        }
    }
}
