// The C interface of cuBLASLt as far as it is used here. The declarations are our own, so that every build has them; they follow
// cublasLt.h of CUDA 12.4 and 13.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika::gpu {

enum class BlasStatus : int { success = 0, alloc_failed = 3 };
enum class BlasType : int { fp32 = 0, fp16 = 2, bf16 = 14 };
enum class BlasCompute : int { fp32 = 68 };
enum class BlasTranspose : std::int32_t { none = 0, transposed = 1 };
enum class BlasEpilogue : std::int32_t { none = 1, bias = 4 };
enum class BlasProductAttribute : int { transpose_a = 3, transpose_b = 4, epilogue = 7, bias = 8, bias_type = 26 };
enum class BlasMatrixAttribute : int { batches = 5, batch_stride = 6 };
enum class BlasPreferenceAttribute : int { workspace_bytes = 1, alignment_a = 5, alignment_b = 6, alignment_c = 7, alignment_d = 8 };

struct BlasHandle;      // cublasLtContext
struct BlasProduct;     // cublasLtMatmulDescOpaque_t
struct BlasMatrix;      // cublasLtMatrixLayoutOpaque_t
struct BlasPreference;  // cublasLtMatmulPreferenceOpaque_t
struct BlasAlgorithm {  // cublasLtMatmulAlgo_t: "can be trivially serialized and later restored for use with the same version"
  std::uint64_t data[8];
};
struct BlasChoice {  // cublasLtMatmulHeuristicResult_t
  BlasAlgorithm algorithm;
  std::size_t workspace_bytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(void*) != 8 || sizeof(BlasChoice) == 96);

#define TROIKA_BLAS_FUNCTIONS(X)                                                                                      \
  X(make, cublasLtCreate, (BlasHandle * *handle))                                                                     \
  X(end, cublasLtDestroy, (BlasHandle * handle))                                                                      \
  X(make_product, cublasLtMatmulDescCreate, (BlasProduct * *product, BlasCompute compute, BlasType scale))            \
  X(set_product, cublasLtMatmulDescSetAttribute, (BlasProduct * product, BlasProductAttribute name, const void* value, std::size_t bytes)) \
  X(end_product, cublasLtMatmulDescDestroy, (BlasProduct * product))                                                  \
  X(make_matrix, cublasLtMatrixLayoutCreate, (BlasMatrix * *matrix, BlasType type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride)) \
  X(set_matrix, cublasLtMatrixLayoutSetAttribute, (BlasMatrix * matrix, BlasMatrixAttribute name, const void* value, std::size_t bytes)) \
  X(end_matrix, cublasLtMatrixLayoutDestroy, (BlasMatrix * matrix))                                                   \
  X(make_preference, cublasLtMatmulPreferenceCreate, (BlasPreference * *preference))                                  \
  X(set_preference, cublasLtMatmulPreferenceSetAttribute, (BlasPreference * preference, BlasPreferenceAttribute name, const void* value, std::size_t bytes)) \
  X(end_preference, cublasLtMatmulPreferenceDestroy, (BlasPreference * preference))                                   \
  X(choose, cublasLtMatmulAlgoGetHeuristic, (BlasHandle * handle, BlasProduct * product, BlasMatrix * a, BlasMatrix * b, BlasMatrix * c, BlasMatrix * d, BlasPreference * preference, int wanted, BlasChoice * choices, int* found)) \
  X(check_algorithm, cublasLtMatmulAlgoCheck, (BlasHandle * handle, BlasProduct * product, BlasMatrix * a, BlasMatrix * b, BlasMatrix * c, BlasMatrix * d, const BlasAlgorithm* algorithm, BlasChoice* result)) \
  X(multiply, cublasLtMatmul, (BlasHandle * handle, BlasProduct * product, const void* alpha, const void* a, BlasMatrix* of_a, const void* b, BlasMatrix* of_b, const void* beta, const void* c, BlasMatrix* of_c, void* d, BlasMatrix* of_d, const BlasAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes, void* stream))

struct BlasApi {
#define TROIKA_BLAS_MEMBER(name, symbol, arguments) BlasStatus(*name) arguments = nullptr;
  TROIKA_BLAS_FUNCTIONS(TROIKA_BLAS_MEMBER)
#undef TROIKA_BLAS_MEMBER
  const char* (*status_name)(BlasStatus status) = nullptr;  // cublasLtGetStatusName
  std::size_t (*get_version)() = nullptr;                   // cublasLtGetVersion
  std::size_t version = 0;                                  // 120901: 12.9.1
};

}  // namespace troika::gpu
