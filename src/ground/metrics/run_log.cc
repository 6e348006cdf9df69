#include "metrics/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <filesystem>
#include <mutex>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/descriptor.h"
#include "base/say.h"

namespace troika::metrics {
namespace {

// Each line in one write.
class AppendedFile final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit AppendedFile(base::Descriptor file) : file_(std::move(file)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (const int cause = base::write_whole(file_.number(), {line.data(), line.size()}); cause != 0)
      throw spdlog::spdlog_ex("the log file cannot be written", cause);
  }
  void flush_() override {}

  const base::Descriptor file_;
};

}  // namespace

// A logger of its own, not one of spdlog's global registry: several ranks may live in one process.
struct RunLog::Sinks {
  spdlog::logger logger{""};
};

static spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  throw base::BugError("a log level without a name");
}

std::string rank_log_name(int rank) { return fmt::format("rank-{:05}.log", rank); }

RunLog::RunLog(const std::string& folder, int rank, LogLevel level)
    : path_(folder + "/" + rank_log_name(rank)), sinks_(std::make_unique<Sinks>()) {
  base::make_directories(folder);
  const std::size_t name = folder.rfind('/') + 1;
  const std::string run = name == 0 ? "." : folder.substr(0, name);
  spdlog::logger& logger = sinks_->logger;
  logger.sinks().push_back(std::make_shared<AppendedFile>(
      base::open_in_run(run, folder.substr(name) + "/" + rank_log_name(rank), O_WRONLY | O_CREAT | O_APPEND)));
  if (rank == 0) {
    logger.sinks().push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger.sinks().back()->set_level(spdlog::level::warn);
  }
  logger.set_pattern(fmt::format("%Y-%m-%d %H:%M:%S.%e %l rank {}: %v", rank));
  logger.set_level(to_spdlog(level));
  logger.flush_on(spdlog::level::debug);
}

RunLog::~RunLog() = default;

void RunLog::debug(const std::string& text) { sinks_->logger.debug("{}", text); }
void RunLog::info(const std::string& text) { sinks_->logger.info("{}", text); }
void RunLog::warn(const std::string& text) { sinks_->logger.warn("{}", text); }
void RunLog::error(const std::string& text) { sinks_->logger.error("{}", text); }

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
    return base::say("{}; the run continues, and the rows are written once the disk accepts them", cause_);
  if (waited > 0 && waiting_.empty())
    return base::say("'{}' now has the delayed rows: {}", path_, base::counted_text(static_cast<std::int64_t>(waited), "row"));
  return {};
}

}  // namespace troika::metrics
