// The C interface of cuDNN 9's backend as far as it is used here. The declarations are our own, so that every build has them; they
// follow cudnn_graph.h of cuDNN 9.10 to 9.28, in which numbers once given stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/language.h"
#include "base/exact_math.h"
#include "shape/gpu_chunks.h"

namespace troika::gpu {

enum class CudnnStatus : int { success = 0 };
enum class CudnnDataType : int { fp32 = 0, fp16 = 2, int32 = 4, bf16 = 9, boolean = 11 };
enum class CudnnPointwise : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exp = 13,
  log = 15,
  identity = 21,
  greater_or_equal = 303,
  index = 501,
  select = 601
};
enum class CudnnReduction : int { add = 0, max = 3 };
enum class CudnnHeuristic : int { a = 3 };
enum class CudnnNote : int { nondeterministic = 4 };
enum class CudnnKind : int {
  pointwise = 0,
  engine = 2,
  engine_config = 3,
  heuristic = 4,
  plan = 5,
  pointwise_operation = 13,
  graph = 15,
  variant_pack = 16,
  tensor = 17,
  matmul = 18,
  matmul_operation = 19,
  reduction = 21,
  reduction_operation = 22,
  reshape_operation = 31,
  device_properties = 38
};
enum class CudnnType : int {  // of an attribute's value
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  fp32 = 4,
  pointer = 6,
  heuristic = 8,
  note = 11,
  pointwise = 14,
  descriptor = 15,
  reduction = 18,
  character = 24
};
enum class CudnnAttribute : int {
  pointwise_mode = 0,
  pointwise_precision = 1,
  pointwise_axis = 9,
  heuristic_mode = 200,
  heuristic_graph = 201,
  heuristic_results = 202,
  heuristic_device = 204,
  config_engine = 300,
  plan_handle = 400,
  plan_config = 401,
  plan_workspace = 402,
  plan_device = 407,
  pointwise_of = 750,
  pointwise_x = 751,
  pointwise_b = 752,
  pointwise_y = 753,
  pointwise_t = 758,
  graph_handle = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_sizes = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_virtual = 907,
  tensor_is_by_value = 908,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_notes = 1303,
  matmul_precision = 1500,
  matmul_a = 1520,
  matmul_b = 1521,
  matmul_c = 1522,
  matmul_of = 1523,
  reduction_operator = 1600,
  reduction_precision = 1601,
  reduction_x = 1610,
  reduction_y = 1611,
  reduction_of = 1612,
  reshape_x = 2200,
  reshape_y = 2201,
  device_json = 2702
};

struct CudnnHandle;       // cudnnContext
using CudnnObject = void;  // what cudnnBackendDescriptor_t points to

#define TROIKA_CUDNN_FUNCTIONS(X)                                                                       \
  X(make, cudnnCreate, (CudnnHandle * *handle))                                                         \
  X(end, cudnnDestroy, (CudnnHandle * handle))                                                          \
  X(set_stream, cudnnSetStream, (CudnnHandle * handle, void* stream))                                   \
  X(make_object, cudnnBackendCreateDescriptor, (CudnnKind kind, CudnnObject * *object))                 \
  X(end_object, cudnnBackendDestroyDescriptor, (CudnnObject * object))                                  \
  X(set, cudnnBackendSetAttribute, (CudnnObject * object, CudnnAttribute name, CudnnType type, std::int64_t count, const void* values)) \
  X(get, cudnnBackendGetAttribute, (CudnnObject * object, CudnnAttribute name, CudnnType type, std::int64_t wanted, std::int64_t* count, void* values)) \
  X(finish, cudnnBackendFinalize, (CudnnObject * object))                                               \
  X(execute, cudnnBackendExecute, (CudnnHandle * handle, CudnnObject * plan, CudnnObject * variant_pack))

struct CudnnApi {
#define TROIKA_CUDNN_MEMBER(name, symbol, arguments) CudnnStatus(*name) arguments = nullptr;
  TROIKA_CUDNN_FUNCTIONS(TROIKA_CUDNN_MEMBER)
#undef TROIKA_CUDNN_MEMBER
  const char* (*status_name)(CudnnStatus status) = nullptr;  // cudnnGetErrorString
  std::size_t (*get_version)() = nullptr;                    // cudnnGetVersion
  std::size_t version = 0;                                   // 91002: 9.10.2
};

inline const std::vector<std::string> cudnn_libraries = {"libcudnn.so.9"};

// ConfigError when it or a function is missing, or when it is too old.
std::shared_ptr<const CudnnApi> load_cudnn(const std::string& library);
std::string cudnn_version(const CudnnApi& api);  // "9.28.0"

// The limits of cuDNN's attention here, as a table: numbers alone, so that it can be read and tested without a device.
inline constexpr int least_cudnn = 91002;  // 9.10.2, which torch 2.8 brings

struct FlashCase {
  int cudnn = 0;       // its version, as it counts: 91002 is 9.10.2
  int capability = 0;  // of the device: 90 is 9.0
  base::Dtype dtype = base::Dtype::bf16;
  std::int64_t T = 0, S = 0, H = 0;  // queries, keys, head width
  base::Repeatable repeatable = base::Repeatable::yes;
  std::int64_t most_bytes = shape::most_flash_bytes;  // of gradients of scores
};

// Why it does not compute this; empty: it does.
base::Text cudnn_lacks(const FlashCase& of);

}  // namespace troika::gpu
