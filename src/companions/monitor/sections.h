// The parts of a screen, from above to below. None is longer than its `most` lines.
#pragma once

#include <cstddef>
#include <vector>

#include "monitor/screen.h"

namespace troika::monitor {

// Name, state, progress and curves; `loss_rows`: how high the curve of the loss is.
std::vector<TextLine> head_section(const View& view, const Frame& frame, std::size_t loss_rows);
// What should be looked at, and why the run failed.
std::vector<TextLine> finding_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> rank_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> host_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> link_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> event_section(const View& view, const Frame& frame, std::size_t most);

// The ranks in the order in which they matter: slow, silent, waited for, in a circle, not heard, the others.
std::vector<const RankView*> by_weight(const std::vector<RankView>& ranks);

}  // namespace troika::monitor
