#include "commands/timeline/arguments.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace troika::commands {

static std::int64_t parse_step(const std::string& text) {
  std::int64_t step = 0;
  if (base::parse_int(text, &step) && step >= 0) return step;
  throw base::ConfigError(fmt::format("--step must be the number of a step, not '{}'", text));
}

[[noreturn]] static void refuse_flag(const std::string& flag) {
  const std::string near = base::nearest(flag, {"--step", "--grid", "--summary", "--merge", "--help"});
  throw base::ConfigError(fmt::format("timeline has no flag '{}'{}; see 'troika timeline --help'", flag,
                                      near.empty() ? "" : ", nearest is '" + near + "'"));
}

static void take_flag(const std::string& flag, TimelineArguments* parsed) {
  if (flag == "--grid") {
    parsed->grid = true;
  } else if (flag == "--summary") {
    parsed->summary = true;
  } else if (flag == "--merge") {
    parsed->merge = true;
  } else if (flag == "--help" || flag == "-h") {
    parsed->help = true;
  } else {
    refuse_flag(flag);
  }
}

TimelineArguments parse_timeline_arguments(const std::vector<std::string>& arguments) {
  TimelineArguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--step") {
      if (i + 1 == arguments.size()) throw base::ConfigError("--step needs the number of a step");
      parsed.step = parse_step(arguments[++i]);
    } else if (word.rfind("--step=", 0) == 0) {
      parsed.step = parse_step(word.substr(7));
    } else if (word.rfind("-", 0) == 0) {
      take_flag(word, &parsed);
    } else if (parsed.run_dir.empty()) {
      parsed.run_dir = word;
    } else {
      throw base::ConfigError(
          fmt::format("timeline takes one run folder, but was given '{}' and '{}'", parsed.run_dir, word));
    }
  }
  if (parsed.run_dir.empty() && !parsed.help)
    throw base::ConfigError("timeline needs a run folder: troika timeline RUN_DIR");
  return parsed;
}

}  // namespace troika::commands
