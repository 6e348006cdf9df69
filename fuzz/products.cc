// The algorithms of a run's products (products.txt).
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "train/products_text.h"

TROIKA_FUZZ_TARGET(products)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  train::ProductAlgorithms algorithms, again;
  const std::string input(fuzz::text_of(data, size));
  if (!fuzz::accepted([&] { train::add_products(input, &algorithms); })) return 0;
  train::add_products(train::to_text(algorithms), &again);
  fuzz::require(again == algorithms, "choices read back");
  return 0;
}
