#include "commands/why/why.h"

#include <fmt/format.h>

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

}  // namespace

std::string why_report(const Call& call) {
  const WhyArguments arguments = parse_why_arguments(call.words);
  const base::Language language = base::language_of(arguments.lang, base::locale_in(call.environment));
  check_run(arguments.run_dir);
  const diagnosis::Diagnosis found = diagnosis::diagnose(arguments.run_dir);
  return arguments.json ? diagnosis::to_json(found, language) : diagnosis::describe(found, language);
}

}  // namespace troika::commands
