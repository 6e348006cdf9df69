// oneDNN in builds against a pip torch. That libtorch exports templates which its own oneDNN and the system's have in common
// but lay out differently; linked beside it the system's library calls them and its products end with status 3. Loaded with
// RTLD_DEEPBIND it calls its own.
#ifdef TROIKA_DNNL_APART
#include <dlfcn.h>
#include <dnnl.h>

#include <cstdint>

#include "cpu/product.h"
#include "cpu/sgemm.h"

#define TROIKA_TEXT(x) #x
#define TROIKA_TEXT_OF(x) TROIKA_TEXT(x)

namespace troika::cpu {
namespace {

// What this build knows, and the next one, in which dnnl_sgemm is the same.
constexpr const char* libraries[] = {"libdnnl.so." TROIKA_TEXT_OF(DNNL_VERSION_MAJOR), "libdnnl.so.3"};

using Product = decltype(&dnnl_sgemm);
using HalfProduct = dnnl_status_t (*)(char, char, dnnl_dim_t, dnnl_dim_t, dnnl_dim_t, float, const std::uint16_t*,
                                      dnnl_dim_t, const std::uint16_t*, dnnl_dim_t, float, float*, dnnl_dim_t);

struct Products {
  Product product = nullptr;
  HalfProduct half_product = nullptr;
};

Products load() {
  for (const char* library : libraries) {
    void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (loaded != nullptr)
      return {reinterpret_cast<Product>(::dlsym(loaded, "dnnl_sgemm")),
              reinterpret_cast<HalfProduct>(::dlsym(loaded, "dnnl_gemm_bf16bf16f32"))};
  }
  return {};
}

// Loaded before main: what compares ranks looks at the libraries that the process has.
const Products products = load();

}  // namespace

std::string missing_library() { return products.product == nullptr ? libraries[0] : ""; }

}  // namespace troika::cpu

extern "C" dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t M, dnnl_dim_t N, dnnl_dim_t K, float alpha,
                                    const float* A, dnnl_dim_t lda, const float* B, dnnl_dim_t ldb, float beta,
                                    float* C, dnnl_dim_t ldc) {
  if (troika::cpu::products.product != nullptr)
    return troika::cpu::products.product(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
  const auto by = [](char order, const float* data, dnnl_dim_t distance) {
    return order == 'N' ? troika::cpu::Matrix{data, distance, 1} : troika::cpu::Matrix{data, 1, distance};
  };
  troika::cpu::product(M, N, K, by(transa, A, lda), by(transb, B, ldb), beta, C, ldc);
  return dnnl_success;
}

extern "C" dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t M, dnnl_dim_t N, dnnl_dim_t K,
                                               float alpha, const std::uint16_t* A, dnnl_dim_t lda,
                                               const std::uint16_t* B, dnnl_dim_t ldb, float beta, float* C,
                                               dnnl_dim_t ldc) {
  const auto half_product = troika::cpu::products.half_product;
  return half_product == nullptr ? dnnl_unimplemented
                                 : half_product(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
}

#endif
