//! The functions that a driver of this version has and the simulator does not.
//!
//! They are there by name, so that a program that looks them all up finds them, and answer `CUDA_ERROR_NOT_SUPPORTED`.
//! None of them looks at its arguments, so one function without any stands for them all: in the C calling conventions of the
//! supported platforms the caller removes the arguments.

use super::entry::{Call, enter};
use crate::code::Code;

/// Hands the names of the functions that are not implemented to a macro.
#[macro_export]
#[doc(hidden)]
macro_rules! unsupported_functions {
    ($with:ident) => {
        $with! {
            cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayCreate_v2 cuArrayDestroy
            cuArrayGetDescriptor_v2 cuArrayGetMemoryRequirements cuArrayGetPlane cuArrayGetSparseProperties
            cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute
            cuCoredumpGetAttributeGlobal cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback
            cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal cuCtxAttach cuCtxDetach cuCtxFromGreenCtx
            cuCtxGetDevResource cuCtxGetExecAffinity cuCtxGetSharedMemConfig cuCtxResetPersistingL2Cache
            cuCtxSetSharedMemConfig cuDestroyExternalMemory cuDestroyExternalSemaphore
            cuDevResourceGenerateDesc cuDevSmResourceSplit cuDevSmResourceSplitByCount cuDeviceGetCliqueCount
            cuDeviceGetCliqueInfo cuDeviceGetDevResource cuDeviceGetExecAffinitySupport
            cuDeviceGetFabricClusterUuid cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid
            cuDeviceGetP2PAtomicCapabilities cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth
            cuDeviceRegisterAsyncNotification cuDeviceUnregisterAsyncNotification
            cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray cuFlushGPUDirectRDMAWrites
            cuFuncSetBlockShape cuFuncSetSharedSize cuGetExportTable cuGraphAddExternalSemaphoresSignalNode
            cuGraphAddExternalSemaphoresWaitNode cuGraphAddNode_v3 cuGraphBatchMemOpNodeGetParams
            cuGraphBatchMemOpNodeSetParams cuGraphExecBatchMemOpNodeSetParams
            cuGraphExecChildGraphNodeSetParams cuGraphExecExternalSemaphoresSignalNodeSetParams
            cuGraphExecExternalSemaphoresWaitNodeSetParams cuGraphExecGetId cuGraphExecNodeSetParams
            cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
            cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams cuGraphGetId
            cuGraphKernelNodeCopyAttributes cuGraphNodeGetContainingGraph cuGraphNodeGetLocalId
            cuGraphNodeGetParams cuGraphNodeGetToolsId cuGraphNodeSetParams cuGraphNodeSetParams_v2
            cuGraphicsMapResources cuGraphicsResourceGetMappedMipmappedArray
            cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags_v2
            cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnregisterResource
            cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent
            cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuImportExternalMemory cuImportExternalSemaphore
            cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle
            cuIpcOpenMemHandle_v2 cuKernelGetParamCount cuKernelSetCacheConfig cuLaunch
            cuLaunchCooperativeKernelMultiDevice cuLaunchGrid cuLaunchGridAsync cuLaunchHostFunc_v2
            cuLibraryEnumerateKernels cuLibraryGetManaged cuLibraryGetUnifiedFunction cuLibraryLoadFromFile
            cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkCreate_v2 cuLinkDestroy
            cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr cuLogicalEndpointBindMem
            cuLogicalEndpointCreate cuLogicalEndpointDestroy cuLogicalEndpointExport cuLogicalEndpointGetLimits
            cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve cuLogicalEndpointImport
            cuLogicalEndpointQuery cuLogicalEndpointUnbind cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory
            cuLogsRegisterCallback cuLogsUnregisterCallback cuMemAddressFree cuMemAddressReserve
            cuMemBatchDecompressAsync cuMemCreate
            cuMemDiscardAndPrefetchBatchAsync cuMemDiscardBatchAsync cuMemExportToShareableHandle
            cuMemGetAccess cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle
            cuMemGetDefaultMemPool cuMemGetHandleForAddressRange cuMemGetLocationInfo cuMemGetMemPool
            cuMemImportFromShareableHandle cuMemMap cuMemMapArrayAsync cuMemPoolExportPointer
            cuMemPoolExportToShareableHandle cuMemPoolGetAccess cuMemPoolImportFromShareableHandle
            cuMemPoolImportPointer cuMemPoolSetAccess
            cuMemPrefetchBatchAsync cuMemRangeGetAttribute cuMemRangeGetAttributes cuMemRelease
            cuMemRetainAllocationHandle cuMemSetAccess cuMemSetMemPool cuMemUnmap cuMemcpy3DBatchAsync
            cuMemcpy3DBatchAsync_v2 cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpy3DWithAttributesAsync
            cuMemcpyAtoA_v2 cuMemcpyAtoD_v2 cuMemcpyAtoHAsync_v2 cuMemcpyAtoH_v2 cuMemcpyDtoA_v2
            cuMemcpyHtoAAsync_v2 cuMemcpyHtoA_v2 cuMemcpyWithAttributesAsync cuMipmappedArrayCreate
            cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuMipmappedArrayGetMemoryRequirements
            cuMipmappedArrayGetSparseProperties cuModuleGetSurfRef cuModuleGetTexRef cuMulticastAddDevice
            cuMulticastBindAddr cuMulticastBindAddr_v2 cuMulticastBindMem cuMulticastBindMem_v2
            cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind cuOccupancyMaxActiveClusters
            cuOccupancyMaxPotentialClusterSize cuParamSetSize cuParamSetTexRef cuParamSetf cuParamSeti
            cuParamSetv cuPointerSetAttribute cuProfilerInitialize cuSignalExternalSemaphoresAsync
            cuStreamBeginCaptureToCig cuStreamBeginRecaptureToGraph
            cuStreamCopyAttributes cuStreamEndCaptureToCig cuStreamGetAttribute cuStreamGetDevResource
            cuStreamGetGreenCtx cuStreamSetAttribute cuSurfObjectCreate cuSurfObjectDestroy
            cuSurfObjectGetResourceDesc cuSurfRefGetArray cuSurfRefSetArray cuTensorMapEncodeIm2col
            cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled cuTensorMapReplaceAddress cuTexObjectCreate
            cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
            cuTexObjectGetTextureDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddressMode
            cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode
            cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode
            cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray
            cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray
            cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetFormat
            cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
            cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray cuWaitExternalSemaphoresAsync
        }
    };
}

macro_rules! names {
    ($($name:ident)*) => {
        /// Their names.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}
unsupported_functions!(names);

/// The function with this place in [`NAMES`].
pub(super) unsafe extern "C" fn refuse<const PLACE: usize>() -> u32 {
    by_name(NAMES[PLACE])
}

/// Refuses a call. The log names each function once: a program that goes on without it may try again and again.
pub(crate) fn by_name(name: &'static str) -> u32 {
    let refusal = |call: &mut Call| {
        call.detail = Some("not implemented".to_owned());
        call.once = true;
        Err(Code::NOT_SUPPORTED)
    };
    enter(name, |_| None, || None, refusal)
}
