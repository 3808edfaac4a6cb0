//! The list of driver functions: what is implemented, with signatures, and what is only named.
//!
//! Everything that needs to know the functions (the definitions, the table of symbols, the shared object in `libcuda/`)
//! is made from this one list by handing it a macro.

/// Hands the list of implemented functions to a macro: `module::name(argument: Type, …);` for each.
///
/// The types are those of [`abi::args`](crate::abi::args) and [`abi::structs`](crate::abi::structs); the module is the file
/// that implements the function.
#[macro_export]
#[doc(hidden)]
macro_rules! driver_functions {
    ($with:ident) => {
        $with! {
            misc::cuInit(flags: u32);
            misc::cuDriverGetVersion(version: Out<i32>);
            misc::cuGetErrorName(code: u32, text: Out<u64>);
            misc::cuGetErrorString(code: u32, text: Out<u64>);
            misc::cuGetProcAddress(symbol: Text, function: Out<u64>, version: i32, flags: u64);
            misc::cuGetProcAddress_v2(symbol: Text, function: Out<u64>, version: i32, flags: u64, status: Out<u32>);
            misc::cuProfilerStart();
            misc::cuProfilerStop();

            device::cuDeviceGet(device: Out<i32>, ordinal: DeviceArg);
            device::cuDeviceGetCount(count: Out<i32>);
            device::cuDeviceGetName(name: Out<u8>, len: i32, device: DeviceArg);
            device::cuDeviceGetUuid(uuid: Out<Uuid>, device: DeviceArg);
            device::cuDeviceGetUuid_v2(uuid: Out<Uuid>, device: DeviceArg);
            device::cuDeviceTotalMem_v2(bytes: Out<u64>, device: DeviceArg);
            device::cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: DeviceArg);
            device::cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: DeviceArg);
            device::cuDeviceGetPCIBusId(text: Out<u8>, len: i32, device: DeviceArg);
            device::cuDeviceGetByPCIBusId(device: Out<i32>, text: Text);
            device::cuDeviceCanAccessPeer(can: Out<i32>, device: DeviceArg, peer: DeviceArg);
            device::cuDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, from: DeviceArg, to: DeviceArg);
            device::cuDevicePrimaryCtxRetain(context: Out<u64>, device: DeviceArg);
            device::cuDevicePrimaryCtxRelease(device: DeviceArg);
            device::cuDevicePrimaryCtxRelease_v2(device: DeviceArg);
            device::cuDevicePrimaryCtxReset(device: DeviceArg);
            device::cuDevicePrimaryCtxReset_v2(device: DeviceArg);
            device::cuDevicePrimaryCtxGetState(device: DeviceArg, flags: Out<u32>, active: Out<i32>);
            device::cuDevicePrimaryCtxSetFlags(device: DeviceArg, flags: u32);
            device::cuDevicePrimaryCtxSetFlags_v2(device: DeviceArg, flags: u32);
            device::cuDeviceGetDefaultMemPool(pool: Out<u64>, device: DeviceArg);
            device::cuDeviceGetMemPool(pool: Out<u64>, device: DeviceArg);
            device::cuDeviceSetMemPool(device: DeviceArg, pool: PoolArg);
            device::cuDeviceGraphMemTrim(device: DeviceArg);
            device::cuDeviceGetGraphMemAttribute(device: DeviceArg, attribute: u32, value: Out<u64>);
            device::cuDeviceSetGraphMemAttribute(device: DeviceArg, attribute: u32, value: In<u64>);

            context::cuCtxCreate_v2(context: Out<u64>, flags: u32, device: DeviceArg);
            context::cuCtxCreate_v3(context: Out<u64>, affinity: In<u64>, count: i32, flags: u32, device: DeviceArg);
            context::cuCtxCreate_v4(context: Out<u64>, params: In<u64>, flags: u32, device: DeviceArg);
            context::cuCtxDestroy_v2(context: ContextArg);
            context::cuCtxGetCurrent(context: Out<u64>);
            context::cuCtxSetCurrent(context: ContextArg);
            context::cuCtxPushCurrent_v2(context: ContextArg);
            context::cuCtxPopCurrent_v2(context: Out<u64>);
            context::cuCtxSynchronize();
            context::cuCtxSynchronize_v2(context: ContextArg);
            context::cuCtxGetDevice(device: Out<i32>);
            context::cuCtxGetDevice_v2(device: Out<i32>, context: ContextArg);
            context::cuCtxGetFlags(flags: Out<u32>);
            context::cuCtxSetFlags(flags: u32);
            context::cuCtxGetId(context: ContextArg, id: Out<u64>);
            context::cuCtxGetApiVersion(context: ContextArg, version: Out<u32>);
            context::cuCtxGetLimit(value: Out<u64>, limit: u32);
            context::cuCtxSetLimit(limit: u32, value: u64);
            context::cuCtxGetCacheConfig(config: Out<u32>);
            context::cuCtxSetCacheConfig(config: u32);
            context::cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>);
            context::cuCtxEnablePeerAccess(peer: ContextArg, flags: u32);
            context::cuCtxDisablePeerAccess(peer: ContextArg);
            context::cuCtxRecordEvent(context: ContextArg, event: EventArg);
            context::cuCtxWaitEvent(context: ContextArg, event: EventArg);

            stream::cuStreamCreate(stream: Out<u64>, flags: u32);
            stream::cuStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: i32);
            stream::cuStreamDestroy_v2(stream: StreamArg);
            stream::cuStreamSynchronize(stream: StreamArg);
            stream::cuStreamQuery(stream: StreamArg);
            stream::cuStreamWaitEvent(stream: StreamArg, event: EventArg, flags: u32);
            stream::cuStreamGetCtx(stream: StreamArg, context: Out<u64>);
            stream::cuStreamGetCtx_v2(stream: StreamArg, context: Out<u64>, green: Out<u64>);
            stream::cuStreamGetFlags(stream: StreamArg, flags: Out<u32>);
            stream::cuStreamGetPriority(stream: StreamArg, priority: Out<i32>);
            stream::cuStreamGetId(stream: StreamArg, id: Out<u64>);
            stream::cuStreamGetDevice(stream: StreamArg, device: Out<i32>);
            stream::cuStreamAddCallback(stream: StreamArg, callback: StreamCallback, data: u64, flags: u32);
            stream::cuStreamWriteValue32(stream: StreamArg, address: DevicePtr, value: u32, flags: u32);
            stream::cuStreamWriteValue32_v2(stream: StreamArg, address: DevicePtr, value: u32, flags: u32);
            stream::cuStreamWriteValue64(stream: StreamArg, address: DevicePtr, value: u64, flags: u32);
            stream::cuStreamWriteValue64_v2(stream: StreamArg, address: DevicePtr, value: u64, flags: u32);
            stream::cuStreamWaitValue32(stream: StreamArg, address: DevicePtr, value: u32, flags: u32);
            stream::cuStreamWaitValue32_v2(stream: StreamArg, address: DevicePtr, value: u32, flags: u32);
            stream::cuStreamWaitValue64(stream: StreamArg, address: DevicePtr, value: u64, flags: u32);
            stream::cuStreamWaitValue64_v2(stream: StreamArg, address: DevicePtr, value: u64, flags: u32);
            stream::cuStreamBatchMemOp(stream: StreamArg, count: u32, ops: In<MemOpParams>, flags: u32);
            stream::cuStreamBatchMemOp_v2(stream: StreamArg, count: u32, ops: In<MemOpParams>, flags: u32);

            capture::cuStreamBeginCapture_v2(stream: StreamArg, mode: u32);
            capture::cuStreamBeginCaptureToGraph(stream: StreamArg, graph: GraphArg, nodes: In<u64>, edges: In<EdgeData>, count: usize, mode: u32);
            capture::cuStreamEndCapture(stream: StreamArg, graph: Out<u64>);
            capture::cuStreamIsCapturing(stream: StreamArg, status: Out<u32>);
            capture::cuStreamGetCaptureInfo(stream: StreamArg, status: Out<u32>, id: Out<u64>);
            capture::cuStreamGetCaptureInfo_v2(stream: StreamArg, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>);
            capture::cuStreamGetCaptureInfo_v3(stream: StreamArg, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, edges: Out<u64>, count: Out<usize>);
            capture::cuStreamUpdateCaptureDependencies(stream: StreamArg, nodes: In<u64>, count: usize, flags: u32);
            capture::cuStreamUpdateCaptureDependencies_v2(stream: StreamArg, nodes: In<u64>, edges: In<EdgeData>, count: usize, flags: u32);
            capture::cuThreadExchangeStreamCaptureMode(mode: Out<u32>);

            event::cuEventCreate(event: Out<u64>, flags: u32);
            event::cuEventDestroy_v2(event: EventArg);
            event::cuEventRecord(event: EventArg, stream: StreamArg);
            event::cuEventRecordWithFlags(event: EventArg, stream: StreamArg, flags: u32);
            event::cuEventQuery(event: EventArg);
            event::cuEventSynchronize(event: EventArg);
            event::cuEventElapsedTime(milliseconds: Out<f32>, start: EventArg, end: EventArg);
            event::cuEventElapsedTime_v2(milliseconds: Out<f32>, start: EventArg, end: EventArg);

            memory::cuMemGetInfo_v2(free: Out<u64>, total: Out<u64>);
            memory::cuMemAlloc_v2(address: Out<u64>, bytes: usize);
            memory::cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<u64>, width: usize, height: usize, element: u32);
            memory::cuMemFree_v2(address: DevicePtr);
            memory::cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: StreamArg);
            memory::cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: PoolArg, stream: StreamArg);
            memory::cuMemFreeAsync(address: DevicePtr, stream: StreamArg);
            memory::cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<u64>, address: DevicePtr);
            memory::cuMemHostAlloc(pointer: Out<u64>, bytes: usize, flags: u32);
            memory::cuMemAllocHost_v2(pointer: Out<u64>, bytes: usize);
            memory::cuMemFreeHost(pointer: HostPtr);
            memory::cuMemHostRegister_v2(pointer: HostPtr, bytes: usize, flags: u32);
            memory::cuMemHostUnregister(pointer: HostPtr);
            memory::cuMemHostGetDevicePointer_v2(address: Out<u64>, pointer: HostPtr, flags: u32);
            memory::cuMemHostGetFlags(flags: Out<u32>, pointer: HostPtr);
            memory::cuPointerGetAttribute(data: Out<u8>, attribute: u32, address: DevicePtr);
            memory::cuPointerGetAttributes(count: u32, attributes: In<u32>, data: In<u64>, address: DevicePtr);
            memory::cuMemPoolCreate(pool: Out<u64>, props: In<PoolProps>);
            memory::cuMemPoolDestroy(pool: PoolArg);
            memory::cuMemPoolTrimTo(pool: PoolArg, keep: usize);
            memory::cuMemPoolGetAttribute(pool: PoolArg, attribute: u32, value: Out<u8>);
            memory::cuMemPoolSetAttribute(pool: PoolArg, attribute: u32, value: In<u8>);

            managed::cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32);
            managed::cuStreamAttachMemAsync(stream: StreamArg, address: DevicePtr, bytes: usize, flags: u32);
            managed::cuMemPrefetchAsync(address: DevicePtr, bytes: usize, device: DeviceArg, stream: StreamArg);
            managed::cuMemPrefetchAsync_v2(address: DevicePtr, bytes: usize, location: MemLocation, flags: u32, stream: StreamArg);
            managed::cuMemAdvise(address: DevicePtr, bytes: usize, advice: u32, device: DeviceArg);
            managed::cuMemAdvise_v2(address: DevicePtr, bytes: usize, advice: u32, location: MemLocation);

            copy::cuMemcpy(dst: DevicePtr, src: DevicePtr, bytes: usize);
            copy::cuMemcpyAsync(dst: DevicePtr, src: DevicePtr, bytes: usize, stream: StreamArg);
            copy::cuMemcpyHtoD_v2(dst: DevicePtr, src: HostPtr, bytes: usize);
            copy::cuMemcpyHtoDAsync_v2(dst: DevicePtr, src: HostPtr, bytes: usize, stream: StreamArg);
            copy::cuMemcpyDtoH_v2(dst: HostPtr, src: DevicePtr, bytes: usize);
            copy::cuMemcpyDtoHAsync_v2(dst: HostPtr, src: DevicePtr, bytes: usize, stream: StreamArg);
            copy::cuMemcpyDtoD_v2(dst: DevicePtr, src: DevicePtr, bytes: usize);
            copy::cuMemcpyDtoDAsync_v2(dst: DevicePtr, src: DevicePtr, bytes: usize, stream: StreamArg);
            copy::cuMemcpyPeer(dst: DevicePtr, to: ContextArg, src: DevicePtr, from: ContextArg, bytes: usize);
            copy::cuMemcpyPeerAsync(dst: DevicePtr, to: ContextArg, src: DevicePtr, from: ContextArg, bytes: usize, stream: StreamArg);
            copy::cuMemcpyBatchAsync(dsts: In<u64>, srcs: In<u64>, sizes: In<u64>, count: usize, attributes: In<u8>, indices: In<u64>, attribute_count: usize, failed: Out<u64>, stream: StreamArg);
            copy::cuMemcpyBatchAsync_v2(dsts: In<u64>, srcs: In<u64>, sizes: In<u64>, count: usize, attributes: In<u8>, indices: In<u64>, attribute_count: usize, stream: StreamArg);
            copy::cuMemcpy2D_v2(copy: In<Memcpy2d>);
            copy::cuMemcpy2DUnaligned_v2(copy: In<Memcpy2d>);
            copy::cuMemcpy2DAsync_v2(copy: In<Memcpy2d>, stream: StreamArg);
            copy::cuMemcpy3D_v2(copy: In<Memcpy3d>);
            copy::cuMemcpy3DAsync_v2(copy: In<Memcpy3d>, stream: StreamArg);
            copy::cuMemsetD8_v2(dst: DevicePtr, value: u8, count: usize);
            copy::cuMemsetD16_v2(dst: DevicePtr, value: u16, count: usize);
            copy::cuMemsetD32_v2(dst: DevicePtr, value: u32, count: usize);
            copy::cuMemsetD8Async(dst: DevicePtr, value: u8, count: usize, stream: StreamArg);
            copy::cuMemsetD16Async(dst: DevicePtr, value: u16, count: usize, stream: StreamArg);
            copy::cuMemsetD32Async(dst: DevicePtr, value: u32, count: usize, stream: StreamArg);
            copy::cuMemsetD2D8_v2(dst: DevicePtr, pitch: usize, value: u8, width: usize, height: usize);
            copy::cuMemsetD2D16_v2(dst: DevicePtr, pitch: usize, value: u16, width: usize, height: usize);
            copy::cuMemsetD2D32_v2(dst: DevicePtr, pitch: usize, value: u32, width: usize, height: usize);
            copy::cuMemsetD2D8Async(dst: DevicePtr, pitch: usize, value: u8, width: usize, height: usize, stream: StreamArg);
            copy::cuMemsetD2D16Async(dst: DevicePtr, pitch: usize, value: u16, width: usize, height: usize, stream: StreamArg);
            copy::cuMemsetD2D32Async(dst: DevicePtr, pitch: usize, value: u32, width: usize, height: usize, stream: StreamArg);

            module::cuModuleLoad(module: Out<u64>, path: Text);
            module::cuModuleLoadData(module: Out<u64>, image: In<u8>);
            module::cuModuleLoadDataEx(module: Out<u64>, image: In<u8>, count: u32, options: In<u32>, values: In<u64>);
            module::cuModuleLoadFatBinary(module: Out<u64>, image: In<u8>);
            module::cuModuleUnload(module: ModuleArg);
            module::cuModuleGetFunction(function: Out<u64>, module: ModuleArg, name: Text);
            module::cuModuleGetFunctionCount(count: Out<u32>, module: ModuleArg);
            module::cuModuleEnumerateFunctions(functions: Out<u64>, count: u32, module: ModuleArg);
            module::cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<u64>, module: ModuleArg, name: Text);
            module::cuModuleGetLoadingMode(mode: Out<u32>);
            module::cuLibraryLoadData(library: Out<u64>, image: In<u8>, jit: In<u32>, jit_values: In<u64>, jit_count: u32, options: In<u32>, values: In<u64>, count: u32);
            module::cuLibraryUnload(library: LibraryArg);
            module::cuLibraryGetKernel(kernel: Out<u64>, library: LibraryArg, name: Text);
            module::cuLibraryGetKernelCount(count: Out<u32>, library: LibraryArg);
            module::cuLibraryGetModule(module: Out<u64>, library: LibraryArg);
            module::cuLibraryGetGlobal(address: Out<u64>, bytes: Out<u64>, library: LibraryArg, name: Text);

            function::cuFuncGetName(name: Out<u64>, function: FunctionArg);
            function::cuFuncGetModule(module: Out<u64>, function: FunctionArg);
            function::cuFuncGetAttribute(value: Out<i32>, attribute: u32, function: FunctionArg);
            function::cuFuncSetAttribute(function: FunctionArg, attribute: u32, value: i32);
            function::cuFuncSetCacheConfig(function: FunctionArg, config: u32);
            function::cuFuncSetSharedMemConfig(function: FunctionArg, config: u32);
            function::cuFuncGetParamInfo(function: FunctionArg, index: usize, offset: Out<usize>, bytes: Out<usize>);
            function::cuFuncGetParamCount(function: FunctionArg, count: Out<usize>);
            function::cuFuncLoad(function: FunctionArg);
            function::cuFuncIsLoaded(state: Out<u32>, function: FunctionArg);
            function::cuKernelGetName(name: Out<u64>, kernel: KernelArg);
            function::cuKernelGetFunction(function: Out<u64>, kernel: KernelArg);
            function::cuKernelGetLibrary(library: Out<u64>, kernel: KernelArg);
            function::cuKernelGetAttribute(value: Out<i32>, attribute: u32, kernel: KernelArg, device: DeviceArg);
            function::cuKernelSetAttribute(attribute: u32, value: i32, kernel: KernelArg, device: DeviceArg);
            function::cuKernelGetParamInfo(kernel: KernelArg, index: usize, offset: Out<usize>, bytes: Out<usize>);
            function::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<i32>, function: FunctionArg, block: i32, dynamic: usize);
            function::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: Out<i32>, function: FunctionArg, block: i32, dynamic: usize, flags: u32);
            function::cuOccupancyMaxPotentialBlockSize(grid: Out<i32>, block: Out<i32>, function: FunctionArg, dynamic_of: BlockToShared, dynamic: usize, limit: i32);
            function::cuOccupancyMaxPotentialBlockSizeWithFlags(grid: Out<i32>, block: Out<i32>, function: FunctionArg, dynamic_of: BlockToShared, dynamic: usize, limit: i32, flags: u32);
            function::cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: FunctionArg, blocks: i32, block: i32);

            launch::cuLaunchKernel(function: FunctionArg, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: StreamArg, params: In<u64>, extra: In<u64>);
            launch::cuLaunchKernelEx(config: ConfigArg, function: FunctionArg, params: In<u64>, extra: In<u64>);
            launch::cuLaunchCooperativeKernel(function: FunctionArg, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: StreamArg, params: In<u64>);
            launch::cuLaunchHostFunc(stream: StreamArg, function: HostFn, data: u64);

            graph::cuGraphCreate(graph: Out<u64>, flags: u32);
            graph::cuGraphDestroy(graph: GraphArg);
            graph::cuGraphClone(clone: Out<u64>, graph: GraphArg);
            graph::cuGraphNodeFindInClone(node: Out<u64>, original: NodeArg, clone: GraphArg);
            graph::cuGraphGetNodes(graph: GraphArg, nodes: Out<u64>, count: Out<usize>);
            graph::cuGraphGetRootNodes(graph: GraphArg, nodes: Out<u64>, count: Out<usize>);
            graph::cuGraphGetEdges(graph: GraphArg, from: Out<u64>, to: Out<u64>, count: Out<usize>);
            graph::cuGraphGetEdges_v2(graph: GraphArg, from: Out<u64>, to: Out<u64>, data: Out<EdgeData>, count: Out<usize>);
            graph::cuGraphNodeGetType(node: NodeArg, kind: Out<u32>);
            graph::cuGraphNodeGetDependencies(node: NodeArg, nodes: Out<u64>, count: Out<usize>);
            graph::cuGraphNodeGetDependencies_v2(node: NodeArg, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>);
            graph::cuGraphNodeGetDependentNodes(node: NodeArg, nodes: Out<u64>, count: Out<usize>);
            graph::cuGraphNodeGetDependentNodes_v2(node: NodeArg, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>);
            graph::cuGraphAddDependencies(graph: GraphArg, from: In<u64>, to: In<u64>, count: usize);
            graph::cuGraphAddDependencies_v2(graph: GraphArg, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize);
            graph::cuGraphRemoveDependencies(graph: GraphArg, from: In<u64>, to: In<u64>, count: usize);
            graph::cuGraphRemoveDependencies_v2(graph: GraphArg, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize);
            graph::cuGraphDestroyNode(node: NodeArg);
            graph::cuGraphChildGraphNodeGetGraph(node: NodeArg, graph: Out<u64>);
            graph::cuGraphDebugDotPrint(graph: GraphArg, path: Text, flags: u32);
            graph::cuGraphConditionalHandleCreate(handle: Out<u64>, graph: GraphArg, context: ContextArg, default: u32, flags: u32);

            node::cuGraphAddEmptyNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize);
            node::cuGraphAddChildGraphNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, child: GraphArg);
            node::cuGraphAddKernelNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: In<KernelNodeParamsV1>);
            node::cuGraphAddKernelNode_v2(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: In<KernelNodeParams>);
            node::cuGraphAddMemcpyNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: In<Memcpy3d>, context: ContextArg);
            node::cuGraphAddMemsetNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: In<MemsetNodeParams>, context: ContextArg);
            node::cuGraphAddHostNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: In<HostNodeParams>);
            node::cuGraphAddEventRecordNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, event: EventArg);
            node::cuGraphAddEventWaitNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, event: EventArg);
            node::cuGraphAddMemAllocNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: Out<MemAllocNodeParams>);
            node::cuGraphAddMemFreeNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, address: DevicePtr);
            node::cuGraphAddBatchMemOpNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: In<BatchMemOpNodeParams>);
            node::cuGraphAddNode(node: Out<u64>, graph: GraphArg, deps: In<u64>, count: usize, params: Out<NodeParams>);
            node::cuGraphAddNode_v2(node: Out<u64>, graph: GraphArg, deps: In<u64>, data: In<EdgeData>, count: usize, params: Out<NodeParams>);

            node_params::cuGraphKernelNodeGetParams(node: NodeArg, params: Out<KernelNodeParamsV1>);
            node_params::cuGraphKernelNodeGetParams_v2(node: NodeArg, params: Out<KernelNodeParams>);
            node_params::cuGraphKernelNodeSetParams(node: NodeArg, params: In<KernelNodeParamsV1>);
            node_params::cuGraphKernelNodeSetParams_v2(node: NodeArg, params: In<KernelNodeParams>);
            node_params::cuGraphKernelNodeGetAttribute(node: NodeArg, attribute: u32, value: Out<u32>);
            node_params::cuGraphKernelNodeSetAttribute(node: NodeArg, attribute: u32, value: In<u32>);
            node_params::cuGraphMemcpyNodeGetParams(node: NodeArg, params: Out<Memcpy3d>);
            node_params::cuGraphMemcpyNodeSetParams(node: NodeArg, params: In<Memcpy3d>);
            node_params::cuGraphMemsetNodeGetParams(node: NodeArg, params: Out<MemsetNodeParams>);
            node_params::cuGraphMemsetNodeSetParams(node: NodeArg, params: In<MemsetNodeParams>);
            node_params::cuGraphHostNodeGetParams(node: NodeArg, params: Out<HostNodeParams>);
            node_params::cuGraphHostNodeSetParams(node: NodeArg, params: In<HostNodeParams>);
            node_params::cuGraphEventRecordNodeGetEvent(node: NodeArg, event: Out<u64>);
            node_params::cuGraphEventRecordNodeSetEvent(node: NodeArg, event: EventArg);
            node_params::cuGraphEventWaitNodeGetEvent(node: NodeArg, event: Out<u64>);
            node_params::cuGraphEventWaitNodeSetEvent(node: NodeArg, event: EventArg);
            node_params::cuGraphMemAllocNodeGetParams(node: NodeArg, params: Out<MemAllocNodeParams>);
            node_params::cuGraphMemFreeNodeGetParams(node: NodeArg, address: Out<u64>);

            exec::cuGraphInstantiateWithFlags(exec: Out<u64>, graph: GraphArg, flags: u64);
            exec::cuGraphInstantiateWithParams(exec: Out<u64>, graph: GraphArg, params: Out<InstantiateParams>);
            exec::cuGraphInstantiate_v2(exec: Out<u64>, graph: GraphArg, node: Out<u64>, log: Out<u8>, room: usize);
            exec::cuGraphExecDestroy(exec: ExecArg);
            exec::cuGraphLaunch(exec: ExecArg, stream: StreamArg);
            exec::cuGraphUpload(exec: ExecArg, stream: StreamArg);
            exec::cuGraphExecGetFlags(exec: ExecArg, flags: Out<u64>);
            exec::cuGraphExecUpdate(exec: ExecArg, graph: GraphArg, node: Out<u64>, result: Out<u32>);
            exec::cuGraphExecUpdate_v2(exec: ExecArg, graph: GraphArg, info: Out<UpdateInfo>);
            exec::cuGraphExecKernelNodeSetParams(exec: ExecArg, node: NodeArg, params: In<KernelNodeParamsV1>);
            exec::cuGraphExecKernelNodeSetParams_v2(exec: ExecArg, node: NodeArg, params: In<KernelNodeParams>);
            exec::cuGraphExecMemcpyNodeSetParams(exec: ExecArg, node: NodeArg, params: In<Memcpy3d>, context: ContextArg);
            exec::cuGraphExecMemsetNodeSetParams(exec: ExecArg, node: NodeArg, params: In<MemsetNodeParams>, context: ContextArg);
            exec::cuGraphExecHostNodeSetParams(exec: ExecArg, node: NodeArg, params: In<HostNodeParams>);
            exec::cuGraphExecEventRecordNodeSetEvent(exec: ExecArg, node: NodeArg, event: EventArg);
            exec::cuGraphExecEventWaitNodeSetEvent(exec: ExecArg, node: NodeArg, event: EventArg);
            exec::cuGraphNodeSetEnabled(exec: ExecArg, node: NodeArg, enabled: u32);
            exec::cuGraphNodeGetEnabled(exec: ExecArg, node: NodeArg, enabled: Out<u32>);

            object::cuUserObjectCreate(object: Out<u64>, data: u64, destroy: HostFn, count: u32, flags: u32);
            object::cuUserObjectRetain(object: ObjectArg, count: u32);
            object::cuUserObjectRelease(object: ObjectArg, count: u32);
            object::cuGraphRetainUserObject(graph: GraphArg, object: ObjectArg, count: u32, flags: u32);
            object::cuGraphReleaseUserObject(graph: GraphArg, object: ObjectArg, count: u32);
        }
    };
}
