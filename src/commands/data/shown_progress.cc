#include "commands/data/shown_progress.h"

#include <memory>

#include "base/clock.h"
#include "metrics/progress.h"

namespace troika::commands {

data::OnProgress shown_progress(const std::string& what, std::FILE* to) {
  if (to == nullptr) return {};
  const auto shown =
      std::make_shared<metrics::JobProgress>(to, metrics::progress_style(config::Progress::automatic, to), 10);
  return [shown, what](const data::Progress& now) {
    const std::string who = now.maker.empty() ? what : now.maker + ": " + what;
    shown->show({who, now.done_bytes, now.total_bytes, now.tokens, now.parts_reused}, base::monotonic_seconds());
  };
}

}  // namespace troika::commands
