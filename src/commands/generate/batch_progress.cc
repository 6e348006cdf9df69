#include "commands/generate/batch_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/say.h"

namespace troika::commands {

BatchProgress::BatchProgress(std::size_t total, base::Language language)
    : total_(total), language_(language), begin_(base::monotonic_seconds()), last_(begin_) {}

void BatchProgress::show(std::size_t done) {
  const double now = base::monotonic_seconds();
  if (now - last_ < 1 && done < total_) return;
  last_ = now;
  fmt::print(stderr, "{}\n",
             base::say("{}/{} texts, {}, {:.1f} tokens/s", done, total_,
                       base::counted_text(static_cast<std::int64_t>(tokens_), "token"),
                       static_cast<double>(tokens_) / std::max(now - begin_, 1e-9))
                 .in(language_));
}

}  // namespace troika::commands
