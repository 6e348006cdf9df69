// Whether sums have one order, so that equal operands give equal bits.
#pragma once

namespace troika::base {

enum class Repeatable { no, yes };

}  // namespace troika::base
