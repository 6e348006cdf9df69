// The table of a sweep (summary.csv).
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "sweep/row.h"

TROIKA_FUZZ_TARGET(sweeps)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  sweep::SweepRows rows;
  const std::string input(fuzz::text_of(data, size));
  if (!fuzz::accepted([&] { rows = sweep::parse_csv(input, "summary.csv"); })) return 0;
  const std::string again = sweep::to_csv(rows);
  fuzz::require(sweep::to_csv(sweep::parse_csv(again, "summary.csv")) == again, "a table reads back");
  return 0;
}
