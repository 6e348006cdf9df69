#include "commands/why/why.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/language.h"
#include "commands/why/arguments.h"
#include "diagnosis/diagnosis.h"
#include "records/run_reader.h"

namespace troika::commands {
namespace {

void check_run(const std::string& folder) {
  if (!base::directory_exists(folder)) throw base::ConfigError(fmt::format("there is no run folder {}", folder));
  for (const std::string& path : {records::state_path(folder), records::events_path(folder), folder + "/metrics.jsonl"})
    if (base::file_exists(path)) return;
  throw base::ConfigError(
      fmt::format("{} holds no records of a run (events.jsonl, state.json, metrics.jsonl); name the folder that --out "
                  "of the training named",
                  folder));
}

// A disk that does not answer is a finding, too: it keeps the thread that reads, which is left behind.
diagnosis::Diagnosis diagnosis_of(const std::string& folder) {
  constexpr int patience_seconds = 10;
  const auto promise = std::make_shared<std::promise<diagnosis::Diagnosis>>();
  std::future<diagnosis::Diagnosis> found = promise->get_future();
  std::thread([promise, folder] {
    try {
      check_run(folder);
      promise->set_value(diagnosis::diagnose(folder));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  if (found.wait_for(std::chrono::seconds(patience_seconds)) != std::future_status::ready)
    return diagnosis::of_silent_disk(folder, patience_seconds);
  return found.get();
}

}  // namespace

std::string why_report(const Call& call) {
  const WhyArguments arguments = parse_why_arguments(call.words);
  const base::Language language = base::language_of(arguments.lang, base::locale_in(call.environment));
  const diagnosis::Diagnosis found = diagnosis_of(arguments.run_dir);
  return arguments.json ? diagnosis::to_json(found, language) : diagnosis::describe(found, language);
}

}  // namespace troika::commands
