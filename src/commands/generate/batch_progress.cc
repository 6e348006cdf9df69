#include "commands/generate/batch_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/counted.h"

namespace troika::commands {

BatchProgress::BatchProgress(std::size_t total) : total_(total), begin_(base::monotonic_seconds()), last_(begin_) {}

void BatchProgress::show(std::size_t done) {
  const double now = base::monotonic_seconds();
  if (now - last_ < 1 && done < total_) return;
  last_ = now;
  fmt::print(stderr, "{}/{} texts, {}, {:.1f} tokens/s\n", done, total_, base::counted(tokens_, "token"),
             static_cast<double>(tokens_) / std::max(now - begin_, 1e-9));
}

}  // namespace troika::commands
