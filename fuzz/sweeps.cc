// The table of a sweep (summary.csv).
#include <string>

#include "commands/sweep/summary_csv.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"

TROIKA_FUZZ_TARGET(sweeps)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  commands::SweepRows rows;
  const std::string input(fuzz::text_of(data, size));
  if (!fuzz::accepted([&] { rows = commands::parse_csv(input, "summary.csv"); })) return 0;
  const std::string again = commands::to_csv(rows);
  fuzz::require(commands::to_csv(commands::parse_csv(again, "summary.csv")) == again, "a table reads back");
  return 0;
}
