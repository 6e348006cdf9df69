// Numbers by their first digits, as people read them.
#pragma once

#include <string>

namespace troika::base {

// "0.0123", "4.56"; larger numbers whole: "4560", never "4.56e+03".
std::string format_digits(double value, int digits);

}  // namespace troika::base
