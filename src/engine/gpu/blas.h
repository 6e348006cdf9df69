// Products by NVIDIA's cuBLASLt, loaded when the program runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/blas_api.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::gpu {

// By preference; their functions used here are equal.
inline const std::vector<std::string> blas_libraries = {"libcublasLt.so.13", "libcublasLt.so.12"};
inline constexpr std::size_t least_blas = 120400;  // cublasLtGetVersion: 12.4.0

// ConfigError when it or a function is missing, or when it is too old.
std::shared_ptr<const BlasApi> load_blas(const std::string& library);
std::string blas_version(const BlasApi& api);  // "12.9.1"

// cuBLASLt on one device, whose context the calling thread has. Any thread, one at a time.
class Blas {
 public:
  // `workspace`: memory of the device, used in the order of the stream.
  Blas(std::shared_ptr<const BlasApi> api, std::shared_ptr<tensor::Memory> workspace);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // Accelerator::multiply, queued on the stream (cudaStream_t).
  void multiply(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Tensor& out, const tensor::Tensor& bias,
                const tensor::Tensor& plus, void* stream);

  // Kinds of products, as text, with algorithms, as text: products of these kinds take them from now on, others what the library
  // recommends. DataError at a product whose kind has here what is no algorithm of the library for it.
  void use(std::map<std::string, std::string> choices);

  // Does some work and tells how long the stream took for it.
  using SecondsOf = std::function<double(const std::function<void()>& work)>;
  // Accelerator::measure_products. Returns all choices that are in use then.
  std::map<std::string, std::string> measure(const SecondsOf& seconds_of, const std::function<void()>& passes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A product's matrices as cuBLASLt sees them: columns are contiguous, so a matrix whose rows are is its own transpose.
BlasType type_of(tensor::Dtype dtype);  // BugError for one that has no products
bool rows_are_contiguous(const tensor::Tensor& x);

struct BlasOperand {
  tensor::Dtype dtype = tensor::Dtype::fp32;
  std::int64_t rows = 0, columns = 0, stride = 0, batch_stride = 0;
  BlasTranspose transpose = BlasTranspose::none;  // where it has to be turned back
  std::int64_t alignment = 16;                    // bytes, of its first element and its strides

  std::array<std::int64_t, 7> key() const {
    return {static_cast<std::int64_t>(dtype),     rows,     columns, stride, batch_stride,
            static_cast<std::int64_t>(transpose), alignment};
  }
};
BlasOperand operand_of(const tensor::Tensor& x);  // BugError where neither rows nor columns are contiguous

// "bf16 1024x8192 stride 1024 aligned 16", with "transposed" and the stride of batches where there are any.
std::string text_of(const BlasOperand& x);

}  // namespace troika::gpu
