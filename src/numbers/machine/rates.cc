#include "machine/rates.h"

namespace troika::machine {

double Rates::product_seconds(config::Precision precision, double flops, double bytes) const {
  const ProductRate& rate = products(precision);
  return call_seconds + flops / rate.flops_per_second + bytes / rate.bytes_per_second;
}

double Rates::attention_seconds(config::Precision precision, double flops, double bytes) const {
  return between_seconds(bytes) + flops / (attention_share * products(precision).flops_per_second);
}

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
