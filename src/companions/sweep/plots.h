// A sweep as pictures for papers and mail: FOLDER/plots, SVG files that show what the page of `troika serve` shows.
#pragma once

#include <map>
#include <string>

#include "sweep/row.h"

namespace troika::sweep {

// "throughput", "memory" and "shares" of the fastest 40 layouts that were measured, the fastest first; empty where none
// was. A picture refers to no other file.
std::map<std::string, std::string> sweep_plots(const SweepRows& rows, const SweepStep& step);

}  // namespace troika::sweep
