#include "train/products_text.h"

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::train {

static constexpr const char* between = " = ";

std::string to_text(const ProductAlgorithms& algorithms) {
  std::string text;
  for (const auto& [kind, algorithm] : algorithms) text += kind + between + algorithm + '\n';
  return text;
}

void add_products(const std::string& text, ProductAlgorithms* algorithms) {
  for (const std::string& line : base::split(text, '\n')) {
    if (line.empty()) continue;
    const std::size_t at = line.rfind(between);
    if (at == std::string::npos)
      throw base::DataError(base::say("'products.txt' has a line that is not an algorithm choice: '{}'; delete the file to measure again",
                                        base::printable(line, 80)));
    algorithms->emplace(line.substr(0, at), line.substr(at + 3));
  }
}

}  // namespace troika::train
