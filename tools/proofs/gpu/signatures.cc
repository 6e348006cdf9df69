// Whether the functions of NVIDIA's libraries that are loaded when the program runs have the signatures that it calls them with:
// compiled against their headers (tools/proofs/gpu.sh).
#include <cublasLt.h>
#include <cuda.h>
#include <cudnn_graph.h>
#include <nccl.h>

#include <cstdio>
#include <string>
#include <type_traits>

#include "comm/nccl_api.h"
#include "gpu/blas_api.h"
#include "gpu/cudnn_api.h"
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
#define TROIKA_COMPARE(name, symbol, arguments) compare<decltype(gpu::CudnnApi::name), decltype(&::symbol)>(#symbol);
  TROIKA_CUDNN_FUNCTIONS(TROIKA_COMPARE)
#undef TROIKA_COMPARE
  compare<decltype(gpu::CudnnApi::status_name), decltype(&cudnnGetErrorString)>("cudnnGetErrorString");
  compare<decltype(gpu::CudnnApi::get_version), decltype(&cudnnGetVersion)>("cudnnGetVersion");
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
  TROIKA_COMPARE(reduce, ncclReduce)

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
  static_assert(CUDNN_STATUS_SUCCESS == static_cast<int>(gpu::CudnnStatus::success));
  static_assert(CUDNN_DATA_FLOAT == static_cast<int>(gpu::CudnnDataType::fp32));
  static_assert(CUDNN_DATA_HALF == static_cast<int>(gpu::CudnnDataType::fp16));
  static_assert(CUDNN_DATA_INT32 == static_cast<int>(gpu::CudnnDataType::int32));
  static_assert(CUDNN_DATA_BFLOAT16 == static_cast<int>(gpu::CudnnDataType::bf16));
  static_assert(CUDNN_DATA_BOOLEAN == static_cast<int>(gpu::CudnnDataType::boolean));
  static_assert(CUDNN_POINTWISE_ADD == static_cast<int>(gpu::CudnnPointwise::add));
  static_assert(CUDNN_POINTWISE_MUL == static_cast<int>(gpu::CudnnPointwise::multiply));
  static_assert(CUDNN_POINTWISE_DIV == static_cast<int>(gpu::CudnnPointwise::divide));
  static_assert(CUDNN_POINTWISE_SUB == static_cast<int>(gpu::CudnnPointwise::subtract));
  static_assert(CUDNN_POINTWISE_EXP == static_cast<int>(gpu::CudnnPointwise::exp));
  static_assert(CUDNN_POINTWISE_LOG == static_cast<int>(gpu::CudnnPointwise::log));
  static_assert(CUDNN_POINTWISE_IDENTITY == static_cast<int>(gpu::CudnnPointwise::identity));
  static_assert(CUDNN_POINTWISE_CMP_GE == static_cast<int>(gpu::CudnnPointwise::greater_or_equal));
  static_assert(CUDNN_POINTWISE_GEN_INDEX == static_cast<int>(gpu::CudnnPointwise::index));
  static_assert(CUDNN_POINTWISE_BINARY_SELECT == static_cast<int>(gpu::CudnnPointwise::select));
  static_assert(CUDNN_REDUCE_TENSOR_ADD == static_cast<int>(gpu::CudnnReduction::add));
  static_assert(CUDNN_REDUCE_TENSOR_MAX == static_cast<int>(gpu::CudnnReduction::max));
  static_assert(CUDNN_HEUR_MODE_A == static_cast<int>(gpu::CudnnHeuristic::a));
  static_assert(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC == static_cast<int>(gpu::CudnnNote::nondeterministic));
  static_assert(CUDNN_BACKEND_POINTWISE_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::pointwise));
  static_assert(CUDNN_BACKEND_ENGINE_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::engine));
  static_assert(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::engine_config));
  static_assert(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::heuristic));
  static_assert(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::plan));
  static_assert(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::pointwise_operation));
  static_assert(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::graph));
  static_assert(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::variant_pack));
  static_assert(CUDNN_BACKEND_TENSOR_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::tensor));
  static_assert(CUDNN_BACKEND_MATMUL_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::matmul));
  static_assert(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::matmul_operation));
  static_assert(CUDNN_BACKEND_REDUCTION_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::reduction));
  static_assert(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::reduction_operation));
  static_assert(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::reshape_operation));
  static_assert(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR == static_cast<int>(gpu::CudnnKind::device_properties));
  static_assert(CUDNN_TYPE_HANDLE == static_cast<int>(gpu::CudnnType::handle));
  static_assert(CUDNN_TYPE_DATA_TYPE == static_cast<int>(gpu::CudnnType::data_type));
  static_assert(CUDNN_TYPE_BOOLEAN == static_cast<int>(gpu::CudnnType::boolean));
  static_assert(CUDNN_TYPE_INT64 == static_cast<int>(gpu::CudnnType::int64));
  static_assert(CUDNN_TYPE_FLOAT == static_cast<int>(gpu::CudnnType::fp32));
  static_assert(CUDNN_TYPE_VOID_PTR == static_cast<int>(gpu::CudnnType::pointer));
  static_assert(CUDNN_TYPE_HEUR_MODE == static_cast<int>(gpu::CudnnType::heuristic));
  static_assert(CUDNN_TYPE_NUMERICAL_NOTE == static_cast<int>(gpu::CudnnType::note));
  static_assert(CUDNN_TYPE_POINTWISE_MODE == static_cast<int>(gpu::CudnnType::pointwise));
  static_assert(CUDNN_TYPE_BACKEND_DESCRIPTOR == static_cast<int>(gpu::CudnnType::descriptor));
  static_assert(CUDNN_TYPE_REDUCTION_OPERATOR_TYPE == static_cast<int>(gpu::CudnnType::reduction));
  static_assert(CUDNN_TYPE_CHAR == static_cast<int>(gpu::CudnnType::character));
  static_assert(CUDNN_ATTR_POINTWISE_MODE == static_cast<int>(gpu::CudnnAttribute::pointwise_mode));
  static_assert(CUDNN_ATTR_POINTWISE_MATH_PREC == static_cast<int>(gpu::CudnnAttribute::pointwise_precision));
  static_assert(CUDNN_ATTR_POINTWISE_AXIS == static_cast<int>(gpu::CudnnAttribute::pointwise_axis));
  static_assert(CUDNN_ATTR_ENGINEHEUR_MODE == static_cast<int>(gpu::CudnnAttribute::heuristic_mode));
  static_assert(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH == static_cast<int>(gpu::CudnnAttribute::heuristic_graph));
  static_assert(CUDNN_ATTR_ENGINEHEUR_RESULTS == static_cast<int>(gpu::CudnnAttribute::heuristic_results));
  static_assert(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP == static_cast<int>(gpu::CudnnAttribute::heuristic_device));
  static_assert(CUDNN_ATTR_ENGINECFG_ENGINE == static_cast<int>(gpu::CudnnAttribute::config_engine));
  static_assert(CUDNN_ATTR_EXECUTION_PLAN_HANDLE == static_cast<int>(gpu::CudnnAttribute::plan_handle));
  static_assert(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG == static_cast<int>(gpu::CudnnAttribute::plan_config));
  static_assert(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE == static_cast<int>(gpu::CudnnAttribute::plan_workspace));
  static_assert(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP == static_cast<int>(gpu::CudnnAttribute::plan_device));
  static_assert(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR == static_cast<int>(gpu::CudnnAttribute::pointwise_of));
  static_assert(CUDNN_ATTR_OPERATION_POINTWISE_XDESC == static_cast<int>(gpu::CudnnAttribute::pointwise_x));
  static_assert(CUDNN_ATTR_OPERATION_POINTWISE_BDESC == static_cast<int>(gpu::CudnnAttribute::pointwise_b));
  static_assert(CUDNN_ATTR_OPERATION_POINTWISE_YDESC == static_cast<int>(gpu::CudnnAttribute::pointwise_y));
  static_assert(CUDNN_ATTR_OPERATION_POINTWISE_TDESC == static_cast<int>(gpu::CudnnAttribute::pointwise_t));
  static_assert(CUDNN_ATTR_OPERATIONGRAPH_HANDLE == static_cast<int>(gpu::CudnnAttribute::graph_handle));
  static_assert(CUDNN_ATTR_OPERATIONGRAPH_OPS == static_cast<int>(gpu::CudnnAttribute::graph_operations));
  static_assert(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT == static_cast<int>(gpu::CudnnAttribute::tensor_alignment));
  static_assert(CUDNN_ATTR_TENSOR_DATA_TYPE == static_cast<int>(gpu::CudnnAttribute::tensor_type));
  static_assert(CUDNN_ATTR_TENSOR_DIMENSIONS == static_cast<int>(gpu::CudnnAttribute::tensor_sizes));
  static_assert(CUDNN_ATTR_TENSOR_STRIDES == static_cast<int>(gpu::CudnnAttribute::tensor_strides));
  static_assert(CUDNN_ATTR_TENSOR_UNIQUE_ID == static_cast<int>(gpu::CudnnAttribute::tensor_id));
  static_assert(CUDNN_ATTR_TENSOR_IS_VIRTUAL == static_cast<int>(gpu::CudnnAttribute::tensor_is_virtual));
  static_assert(CUDNN_ATTR_TENSOR_IS_BY_VALUE == static_cast<int>(gpu::CudnnAttribute::tensor_is_by_value));
  static_assert(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS == static_cast<int>(gpu::CudnnAttribute::pack_ids));
  static_assert(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS == static_cast<int>(gpu::CudnnAttribute::pack_pointers));
  static_assert(CUDNN_ATTR_VARIANT_PACK_WORKSPACE == static_cast<int>(gpu::CudnnAttribute::pack_workspace));
  static_assert(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE == static_cast<int>(gpu::CudnnAttribute::engine_notes));
  static_assert(CUDNN_ATTR_MATMUL_COMP_TYPE == static_cast<int>(gpu::CudnnAttribute::matmul_precision));
  static_assert(CUDNN_ATTR_OPERATION_MATMUL_ADESC == static_cast<int>(gpu::CudnnAttribute::matmul_a));
  static_assert(CUDNN_ATTR_OPERATION_MATMUL_BDESC == static_cast<int>(gpu::CudnnAttribute::matmul_b));
  static_assert(CUDNN_ATTR_OPERATION_MATMUL_CDESC == static_cast<int>(gpu::CudnnAttribute::matmul_c));
  static_assert(CUDNN_ATTR_OPERATION_MATMUL_DESC == static_cast<int>(gpu::CudnnAttribute::matmul_of));
  static_assert(CUDNN_ATTR_REDUCTION_OPERATOR == static_cast<int>(gpu::CudnnAttribute::reduction_operator));
  static_assert(CUDNN_ATTR_REDUCTION_COMP_TYPE == static_cast<int>(gpu::CudnnAttribute::reduction_precision));
  static_assert(CUDNN_ATTR_OPERATION_REDUCTION_XDESC == static_cast<int>(gpu::CudnnAttribute::reduction_x));
  static_assert(CUDNN_ATTR_OPERATION_REDUCTION_YDESC == static_cast<int>(gpu::CudnnAttribute::reduction_y));
  static_assert(CUDNN_ATTR_OPERATION_REDUCTION_DESC == static_cast<int>(gpu::CudnnAttribute::reduction_of));
  static_assert(CUDNN_ATTR_OPERATION_RESHAPE_XDESC == static_cast<int>(gpu::CudnnAttribute::reshape_x));
  static_assert(CUDNN_ATTR_OPERATION_RESHAPE_YDESC == static_cast<int>(gpu::CudnnAttribute::reshape_y));
  static_assert(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION == static_cast<int>(gpu::CudnnAttribute::device_json));
  static_assert(sizeof(ncclUniqueId) == sizeof(comm::nccl::UniqueId));

  std::printf("CUDA %d.%d, cuBLASLt %d.%d.%d, cuDNN %d.%d.%d, NCCL %d.%d.%d: %d functions, %d differ\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
              CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH, CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL, NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH, count, different);
  return different == 0 ? 0 : 1;
}
