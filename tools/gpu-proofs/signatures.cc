// Whether the functions of NVIDIA's libraries that are loaded when the program runs have the signatures that it calls them with:
// compiled against their headers (tools/gpu-proofs.sh).
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

#include <cstdio>
#include <string>
#include <type_traits>

#include "comm/nccl_api.h"
#include "gpu/blas_api.h"
#include "gpu/driver.h"

namespace {

// A type by what a call passes: names of structures and of enumerations are each side's own.
template <class T>
std::string form() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_void_v<U>) {
    return "v";
  } else if constexpr (std::is_pointer_v<U>) {
    using Of = std::remove_cv_t<std::remove_pointer_t<U>>;
    if constexpr (std::is_pointer_v<Of>)
      return "p" + form<Of>();
    else if constexpr (std::is_integral_v<Of> || std::is_enum_v<Of> || std::is_floating_point_v<Of>)
      return "p" + form<Of>();
    else
      return "p*";  // of a structure, or void
  } else if constexpr (std::is_floating_point_v<U>) {
    return "f" + std::to_string(sizeof(U));
  } else if constexpr (std::is_integral_v<U> || std::is_enum_v<U>) {
    return "i" + std::to_string(sizeof(U));
  } else {
    return "s" + std::to_string(sizeof(U));
  }
}

template <class Function>
struct Form;
template <class Result, class... Arguments>
struct Form<Result(Arguments...)> {
  static std::string text() { return form<Result>() + "(" + (form<Arguments>() + ... + "") + ")"; }
};
template <class Function>
struct Form<Function*> : Form<Function> {};

int different = 0, count = 0;

template <class Ours, class Theirs>
void compare(const char* symbol) {
  ++count;
  const std::string ours = Form<Ours>::text(), theirs = Form<Theirs>::text();
  if (ours == theirs) return;
  ++different;
  std::printf("%s: %s here, %s in the headers\n", symbol, ours.c_str(), theirs.c_str());
}

}  // namespace

int main() {
  using namespace troika;
#define TROIKA_COMPARE(name, symbol, arguments) compare<decltype(gpu::Driver::name), decltype(&::symbol)>(#symbol);
  TROIKA_DRIVER_FUNCTIONS(TROIKA_COMPARE)
#undef TROIKA_COMPARE
#define TROIKA_COMPARE(name, symbol, arguments) compare<decltype(gpu::BlasApi::name), decltype(&::symbol)>(#symbol);
  TROIKA_BLAS_FUNCTIONS(TROIKA_COMPARE)
#undef TROIKA_COMPARE
  compare<decltype(gpu::BlasApi::status_name), decltype(&cublasLtGetStatusName)>("cublasLtGetStatusName");
  compare<decltype(gpu::BlasApi::get_version), decltype(&cublasLtGetVersion)>("cublasLtGetVersion");
#define TROIKA_COMPARE(name, symbol) compare<decltype(comm::nccl::Api::name), decltype(&::symbol)>(#symbol);
  TROIKA_COMPARE(get_version, ncclGetVersion)
  TROIKA_COMPARE(get_unique_id, ncclGetUniqueId)
  TROIKA_COMPARE(comm_init_rank_config, ncclCommInitRankConfig)
  TROIKA_COMPARE(comm_get_async_error, ncclCommGetAsyncError)
  TROIKA_COMPARE(comm_abort, ncclCommAbort)
  TROIKA_COMPARE(comm_destroy, ncclCommDestroy)
  TROIKA_COMPARE(get_error_string, ncclGetErrorString)
  TROIKA_COMPARE(get_last_error, ncclGetLastError)
  TROIKA_COMPARE(group_start, ncclGroupStart)
  TROIKA_COMPARE(group_end, ncclGroupEnd)
  TROIKA_COMPARE(send, ncclSend)
  TROIKA_COMPARE(recv, ncclRecv)
  TROIKA_COMPARE(broadcast, ncclBroadcast)

  static_assert(CUDA_ERROR_OUT_OF_MEMORY == static_cast<int>(gpu::Result::out_of_memory));
  static_assert(CUDA_ERROR_NOT_READY == static_cast<int>(gpu::Result::not_ready));
  static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == static_cast<int>(gpu::DeviceAttribute::multiprocessors));
  static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == static_cast<int>(gpu::DeviceAttribute::capability_major));
  static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == static_cast<int>(gpu::DeviceAttribute::capability_minor));
  static_assert(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED == static_cast<int>(gpu::DeviceAttribute::memory_pools));
  static_assert(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == static_cast<int>(gpu::PoolAttribute::release_threshold));
  static_assert(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT == static_cast<int>(gpu::PoolAttribute::reserved_now));
  static_assert(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH == static_cast<int>(gpu::PoolAttribute::reserved_peak));
  static_assert(CU_MEMPOOL_ATTR_USED_MEM_CURRENT == static_cast<int>(gpu::PoolAttribute::used_now));
  static_assert(CU_MEMPOOL_ATTR_USED_MEM_HIGH == static_cast<int>(gpu::PoolAttribute::used_peak));
  static_assert(CU_EVENT_DISABLE_TIMING == gpu::event_without_time && CU_STREAM_NON_BLOCKING == gpu::stream_of_its_own);
  static_assert(CUDA_R_32F == static_cast<int>(gpu::BlasType::fp32) && CUDA_R_16F == static_cast<int>(gpu::BlasType::fp16) &&
                CUDA_R_16BF == static_cast<int>(gpu::BlasType::bf16));
  static_assert(CUBLAS_COMPUTE_32F == static_cast<int>(gpu::BlasCompute::fp32));
  static_assert(CUBLAS_OP_T == static_cast<int>(gpu::BlasTranspose::transposed));
  static_assert(CUBLASLT_EPILOGUE_BIAS == static_cast<int>(gpu::BlasEpilogue::bias));
  static_assert(CUBLASLT_MATMUL_DESC_TRANSA == static_cast<int>(gpu::BlasProductAttribute::transpose_a));
  static_assert(CUBLASLT_MATMUL_DESC_TRANSB == static_cast<int>(gpu::BlasProductAttribute::transpose_b));
  static_assert(CUBLASLT_MATMUL_DESC_EPILOGUE == static_cast<int>(gpu::BlasProductAttribute::epilogue));
  static_assert(CUBLASLT_MATMUL_DESC_BIAS_POINTER == static_cast<int>(gpu::BlasProductAttribute::bias));
  static_assert(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE == static_cast<int>(gpu::BlasProductAttribute::bias_type));
  static_assert(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == static_cast<int>(gpu::BlasMatrixAttribute::batches));
  static_assert(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == static_cast<int>(gpu::BlasMatrixAttribute::batch_stride));
  static_assert(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == static_cast<int>(gpu::BlasPreferenceAttribute::workspace_bytes));
  static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES == static_cast<int>(gpu::BlasPreferenceAttribute::alignment_a));
  static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES == static_cast<int>(gpu::BlasPreferenceAttribute::alignment_d));
  static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(gpu::BlasChoice));
  static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == offsetof(gpu::BlasChoice, state));
  static_assert(sizeof(ncclUniqueId) == sizeof(comm::nccl::UniqueId));

  std::printf("CUDA %d.%d, cuBLASLt %d.%d.%d, NCCL %d.%d.%d: %d functions, %d differ\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
              CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH, NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH, count, different);
  return different == 0 ? 0 : 1;
}
