#include "cuda/dispatch.h"

#include <cctype>
#include <cstddef>

namespace troika::cuda {
namespace {

constexpr const char* digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

// The number behind "S": _ is 0, 0_ is 1, Z_ is 36, 10_ is 37.
std::string successor(const std::string& number) {
  if (number.empty()) return "0";
  std::string next = number;
  for (std::size_t i = next.size(); i-- > 0;) {
    const std::size_t digit = std::string(digits).find(next[i]);
    if (digit < 35) {
      next[i] = digits[digit + 1];
      return next;
    }
    next[i] = '0';
  }
  return "1" + next;
}

}  // namespace

// A name that was met before is spelled S_, S0_, ... in the order of meeting, and the function's own name comes first.
std::string entry_symbol(const std::type_info& kernel) {
  const std::string type = kernel.name()[0] == '*' ? kernel.name() + 1 : kernel.name();
  std::string shifted;
  for (std::size_t i = 0; i < type.size();) {
    if (std::isdigit(static_cast<unsigned char>(type[i])) != 0) {  // an identifier behind its length
      std::size_t length = 0, begin = i;
      while (i < type.size() && std::isdigit(static_cast<unsigned char>(type[i])) != 0)
        length = 10 * length + static_cast<std::size_t>(type[i++] - '0');
      i += length;
      shifted += type.substr(begin, i - begin);
    } else if (type[i] == 'L') {  // a literal: its type, its value
      const std::size_t end = type.find('E', i);
      shifted += type.substr(i, end - i);
      i = end;
    } else if (type[i] == 'S' && (type[i + 1] == '_' || std::isdigit(static_cast<unsigned char>(type[i + 1])) != 0 ||
                                  (std::isupper(static_cast<unsigned char>(type[i + 1])) != 0))) {
      const std::size_t end = type.find('_', i);
      shifted += "S" + successor(type.substr(i + 1, end - i - 1)) + "_";
      i = end + 1;
    } else {
      shifted += type[i++];
    }
  }
  return "_Z13troika_kernelI" + shifted + "EvT_";
}

}  // namespace troika::cuda
