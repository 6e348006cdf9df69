// The functions that write rows of settings.
//
// Each struct of settings has `add_rows(Rows& t)`: one call for each member,
//
//   t.add("steps", &M::steps, "Optimizer steps; 0: epochs decide.").unit("steps").flags({"steps"}).range(0, bounds::tera);
//
// with the YAML key, the member and the help sentence, then the columns of config/flag.h that it needs. All else follows
// from the row: --train.steps, YAML, help, docs/settings.md, completion, the check of the bounds and the agreement
// between ranks. Rules about several settings are in config/checks.cc.
#pragma once

#include <limits>

#include "base/language.h"

namespace troika::config {

// The part of a setting that ranks compare before they form groups.
enum class Agreement {
  value,         // the whole value
  word_or_path,  // one of the row's words, else only "a path": paths differ between hosts
  kind,          // the part before ':' ("cuda" of "cuda:1")
  none,          // each rank may have its own
};

namespace bounds {
constexpr double million = 1048576;  // keeps products of counts far from overflow
constexpr double tera = 1099511627776.0;
constexpr double above_zero = std::numeric_limits<double>::min();
constexpr double below_one = 1.0 - std::numeric_limits<double>::epsilon() / 2;
constexpr double any_seed = 18446744073709551615.0;
}  // namespace bounds

}  // namespace troika::config
