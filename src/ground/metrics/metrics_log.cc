#include "metrics/metrics_log.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::metrics {

// A row that was written in part is taken back.
bool MetricsLog::write_first() const {
  std::error_code unheard;
  const std::uintmax_t before = base::file_exists(path_) ? std::filesystem::file_size(path_, unheard) : 0;
  try {
    file_.append(waiting_.front());
    return true;
  } catch (const base::DataError& error) {
    cause_ = base::text_of(error);
    if (base::file_exists(path_)) std::filesystem::resize_file(path_, before, unheard);
    return false;
  }
}

base::Text MetricsLog::append(const StepMetrics& row) {
  const std::size_t waited = waiting_.size();
  waiting_.push_back(row);
  while (!waiting_.empty() && write_first()) waiting_.pop_front();
  if (waited == 0 && !waiting_.empty())
    return base::say("{}; the run continues, and the rows are written when the disk takes them", cause_);
  if (waited > 0 && waiting_.empty())
    return base::say("'{}' has the rows that had waited: {}", path_, base::counted_text(static_cast<std::int64_t>(waited), "row"));
  return {};
}

}  // namespace troika::metrics
