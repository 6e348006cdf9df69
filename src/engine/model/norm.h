// The norm of an architecture: RMSNorm, or LayerNorm with a bias. Its weights, and their gradients, follow each other
// in a flat piece of a segment's buffer. Shapes: M rows, D width, E = elements(). Dtypes as in kernels/cpu_operands.h;
// gradients fp32.
#pragma once

#include <cstdint>
#include <memory>

#include "config/settings.h"
#include "tensor/tensor.h"

namespace troika::model {

struct NormSaved {
  tensor::Tensor mean_M, rstd_M;  // fp32; x itself is kept by the caller
  std::int64_t bytes() const;
};

class Norm {
 public:
  virtual ~Norm() = default;
  std::int64_t elements() const { return elements_; }

  // Returns y_MD; fills `saved` when it is not null. plus_MD, where it is defined, is added to x first, in place.
  virtual tensor::Tensor forward(const tensor::Tensor& w_E, const tensor::Tensor& x_MD, NormSaved* saved,
                                 const tensor::Tensor& plus_MD = {}) const = 0;
  // Returns dx_MD = gradient + plus_MD (may be undefined) and writes dw_E.
  virtual tensor::Tensor backward(const tensor::Tensor& w_E, const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD,
                                  const NormSaved& saved, const tensor::Tensor& dw_E,
                                  const tensor::Tensor& plus_MD = {}) const = 0;

 protected:
  explicit Norm(std::int64_t elements) : elements_(elements) {}

 private:
  const std::int64_t elements_;
};

// Over the stream, of width model.hidden.
std::unique_ptr<const Norm> make_norm(const config::ModelSettings& model);

}  // namespace troika::model
