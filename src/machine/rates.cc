#include "machine/rates.h"

namespace troika::machine {

Rates Rates::times(double factor) const {
  Rates r = *this;
  for (ProductRate* product : {&r.fp32, &r.bf16, &r.fp16}) {
    product->flops_per_second *= factor;
    product->bytes_per_second *= factor;
  }
  r.between_bytes_per_second *= factor;
  r.stream_bytes_per_second *= factor;
  r.call_seconds /= factor;
  return r;
}

}  // namespace troika::machine
