// The checkpoints of a run that can be named: those whose manifest stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika::serve {

std::string name_of_step(std::int64_t step);                                // "step-00000100"
std::optional<std::int64_t> step_of_name(const std::string& name);          // nothing for another name
std::string step_folder(const std::string& run_folder, std::int64_t step);  // RUN/checkpoints/step-00000100

std::vector<std::int64_t> complete_steps(const std::string& run_folder);  // ascending

}  // namespace troika::serve
