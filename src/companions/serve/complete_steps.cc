#include "serve/complete_steps.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace troika::serve {

std::string name_of_step(std::int64_t step) { return fmt::format("step-{:08}", step); }

std::optional<std::int64_t> step_of_name(const std::string& name) {
  std::int64_t step = -1;
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos || !base::parse_int(name.substr(dash + 1), &step) || step < 0) return std::nullopt;
  return name == name_of_step(step) ? std::optional<std::int64_t>(step) : std::nullopt;
}

std::string step_folder(const std::string& run_folder, std::int64_t step) {
  return run_folder + "/checkpoints/" + name_of_step(step);
}

std::vector<std::int64_t> complete_steps(const std::string& run_folder) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : base::list_directory(run_folder + "/checkpoints")) {
    const std::optional<std::int64_t> step = step_of_name(name);
    struct stat facts {};
    if (step && ::lstat((step_folder(run_folder, *step) + "/manifest.json").c_str(), &facts) == 0 &&
        S_ISREG(facts.st_mode))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace troika::serve
