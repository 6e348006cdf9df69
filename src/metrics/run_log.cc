#include "metrics/run_log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/error.h"
#include "base/file.h"

namespace troika::metrics {

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
  spdlog::logger& logger = sinks_->logger;
  try {
    logger.sinks().push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path_));
  } catch (const spdlog::spdlog_ex& error) {
    throw base::DataError(fmt::format("cannot open the log file '{}': {}", path_, error.what()));
  }
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

}  // namespace troika::metrics
