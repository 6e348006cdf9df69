// The number formats of config/choices.h as libtorch names them.
#pragma once

#include <c10/core/ScalarType.h>

#include "config/choices.h"

namespace troika::model {

inline c10::ScalarType scalar_type(config::Precision precision) {
  if (precision == config::Precision::bf16) return c10::ScalarType::BFloat16;
  return precision == config::Precision::fp16 ? c10::ScalarType::Half : c10::ScalarType::Float;
}

}  // namespace troika::model
