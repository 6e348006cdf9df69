// The C interface of NVIDIA's driver as far as it is used here, loaded when the program runs. The declarations are our own, so that
// every build has them; they follow cuda.h, whose functions keep their form under these names (CUDA 12.4 and 13).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace troika::gpu {

inline constexpr const char* usual_driver = "libcuda.so.1";
inline constexpr int least_driver = 12000;  // what cuDriverGetVersion tells: CUDA 12.0 came with driver 525

enum class Result : int { success = 0, out_of_memory = 2, not_ready = 600 };

using DeviceNumber = int;
using DevicePointer = unsigned long long;
struct ContextHandle;   // CUctx_st
struct StreamHandle;    // CUstream_st
struct EventHandle;     // CUevent_st
struct ModuleHandle;    // CUmod_st
struct FunctionHandle;  // CUfunc_st
struct PoolHandle;      // CUmemPoolHandle_st

enum class DeviceAttribute : int { multiprocessors = 16, capability_major = 75, capability_minor = 76, memory_pools = 115 };
enum class PoolAttribute : int { release_threshold = 4, reserved_now = 5, reserved_peak = 6, used_now = 7, used_peak = 8 };
inline constexpr unsigned event_without_time = 2, stream_of_its_own = 1;  // CU_EVENT_DISABLE_TIMING, CU_STREAM_NON_BLOCKING

// Each with its symbol, which of several versions of a function it is.
#define TROIKA_DRIVER_FUNCTIONS(X)                                                                             \
  X(init, cuInit, (unsigned flags))                                                                            \
  X(driver_version, cuDriverGetVersion, (int* version))                                                        \
  X(device_count, cuDeviceGetCount, (int* count))                                                              \
  X(device, cuDeviceGet, (DeviceNumber * device, int number))                                                  \
  X(device_name, cuDeviceGetName, (char* name, int bytes, DeviceNumber device))                                \
  X(device_attribute, cuDeviceGetAttribute, (int* value, DeviceAttribute attribute, DeviceNumber device))      \
  X(retain_context, cuDevicePrimaryCtxRetain, (ContextHandle * *context, DeviceNumber device))                 \
  X(set_context, cuCtxSetCurrent, (ContextHandle * context))                                                   \
  X(free_memory, cuMemGetInfo_v2, (std::size_t * free, std::size_t * total))                                   \
  X(default_pool, cuDeviceGetDefaultMemPool, (PoolHandle * *pool, DeviceNumber device))                        \
  X(set_pool, cuMemPoolSetAttribute, (PoolHandle * pool, PoolAttribute attribute, void* value))                \
  X(ask_pool, cuMemPoolGetAttribute, (PoolHandle * pool, PoolAttribute attribute, void* value))                \
  X(trim_pool, cuMemPoolTrimTo, (PoolHandle * pool, std::size_t bytes_kept))                                   \
  X(allocate, cuMemAllocFromPoolAsync, (DevicePointer * to, std::size_t bytes, PoolHandle* pool, StreamHandle* stream)) \
  X(release, cuMemFreeAsync, (DevicePointer pointer, StreamHandle * stream))                                   \
  X(allocate_host, cuMemHostAlloc, (void** to, std::size_t bytes, unsigned flags))                             \
  X(copy, cuMemcpyAsync, (DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle * stream))     \
  X(load_module, cuModuleLoadDataEx, (ModuleHandle * *module, const void* image, unsigned options, int* names, void** values)) \
  X(module_function, cuModuleGetFunction, (FunctionHandle * *function, ModuleHandle * module, const char* name)) \
  X(launch, cuLaunchKernel, (FunctionHandle * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,      \
                             StreamHandle* stream, void** arguments, void** extra))                            \
  X(make_stream, cuStreamCreate, (StreamHandle * *stream, unsigned flags))                                     \
  X(end_stream, cuStreamDestroy_v2, (StreamHandle * stream))                                                   \
  X(stream_waits, cuStreamWaitEvent, (StreamHandle * stream, EventHandle * event, unsigned flags))             \
  X(make_event, cuEventCreate, (EventHandle * *event, unsigned flags))                                         \
  X(end_event, cuEventDestroy_v2, (EventHandle * event))                                                       \
  X(record, cuEventRecord, (EventHandle * event, StreamHandle * stream))                                       \
  X(query, cuEventQuery, (EventHandle * event))                                                                \
  X(elapsed, cuEventElapsedTime, (float* milliseconds, EventHandle* begin, EventHandle* end))                  \
  X(error_name, cuGetErrorName, (Result result, const char** name))                                            \
  X(error_text, cuGetErrorString, (Result result, const char** text))

struct Driver {
#define TROIKA_DRIVER_MEMBER(name, symbol, arguments) Result(*name) arguments = nullptr;
  TROIKA_DRIVER_FUNCTIONS(TROIKA_DRIVER_MEMBER)
#undef TROIKA_DRIVER_MEMBER

  int version = 0;  // 12080: CUDA 12.8

  // BugError that names the operation and what the driver says of it: "the GPU failed at launch: CUDA_ERROR_ILLEGAL_ADDRESS (...)".
  void check(Result result, const char* operation) const;
};

std::string version_text(int version);  // "12.8" of 12080

// `library`: a file's path, or a name that the dynamic linker looks for. It stays loaded. ConfigError when it or a function is
// missing, when it is too old, and when it finds no device or none that it can use.
std::shared_ptr<const Driver> load_driver(const std::string& library);

}  // namespace troika::gpu
