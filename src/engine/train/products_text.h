// The text of products.txt (docs/formats/products.md).
#pragma once

#include <map>
#include <string>

namespace troika::train {

using ProductAlgorithms = std::map<std::string, std::string>;  // by kinds of products, those of devices and libraries

std::string to_text(const ProductAlgorithms& algorithms);

// Kinds that are there already keep theirs. DataError: a line is no choice.
void add_products(const std::string& text, ProductAlgorithms* algorithms);

}  // namespace troika::train
