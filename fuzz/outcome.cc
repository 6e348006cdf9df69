#include "fuzz/outcome.h"

#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace troika::fuzz {

void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

void require_message(std::string_view text) {
  constexpr std::size_t longest = 65536;
  require(!text.empty() && text.size() <= longest, "an error's text has 1 to 65536 bytes");
  require(base::printable(text, longest) == text, "an error's text can be shown");
}

}  // namespace troika::fuzz
