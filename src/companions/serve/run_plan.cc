#include "serve/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "records/run_reader.h"
#include "serve/planned_step.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr records::Kept kept_for_plan{100, 1, 1, 64 << 10};

std::int64_t bytes_in(const records::Sample& sample, const char* name) {
  const auto found = sample.memory.find(name);
  return found == sample.memory.end() ? 0 : found->second;
}

// Words of the answer and names in samples; buffers: what is being saved while training goes on.
constexpr std::array<std::pair<const char*, const char*>, 5> memory_classes = {{{"parameters", "parameters"},
                                                                                {"gradients", "gradients"},
                                                                                {"state", "state"},
                                                                                {"activations", "activations"},
                                                                                {"buffers", "snapshot"}}};

std::int64_t bytes_of_tensors(const records::Sample& sample) {
  std::int64_t bytes = 0;
  for (const auto& [word, name] : memory_classes) bytes += bytes_in(sample, name);
  return bytes;
}

// What a process has beside tensors differs by chance, so the tensors say which rank holds most, as in the plan.
Json measured_memory(const records::RunReader& run) {
  const std::map<int, records::Sample> samples = records::newest(run);
  const auto most = std::max_element(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return bytes_of_tensors(a.second) < bytes_of_tensors(b.second);
  });
  Json memory = Json::object();
  if (most == samples.end()) return memory;
  for (const auto& [word, name] : memory_classes) memory[word] = bytes_in(most->second, name);
  const std::int64_t beside = bytes_in(most->second, "resident") - bytes_of_tensors(most->second);
  memory["program"] = std::max<std::int64_t>(0, beside);
  return memory;
}

// How much is saved beside training is decided when the run begins.
Json predicted_memory(const plan::Memory& memory) {
  return {{"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"state", memory.state},
          {"activations", memory.activations},
          {"buffers", memory.snapshot > 0 ? Json(memory.snapshot) : Json(nullptr)},
          {"program", memory.program}};
}

// The median of the last steps: the first of an attempt is longer.
Json measured_seconds(const records::RunReader& run) {
  std::vector<double> seconds;
  for (const metrics::StepMetrics& row : run.steps())
    if (std::isfinite(row.step_seconds)) seconds.push_back(row.step_seconds);
  if (seconds.empty()) return nullptr;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

struct Predicted {
  Json memory = Json::object(), seconds = nullptr;
  std::vector<std::string> notes;
};

Predicted predicted(const std::string& folder, const records::RunReader& run, const config::Environment& environment,
                    base::Language language) {
  Predicted result;
  const auto note = [&](base::Phrase text, const std::string& why) {
    result.notes.push_back(fmt::format(fmt::runtime(text.in(language)), why));
  };
  const auto without = [&](const std::string& why) {
    note(base::Phrase("No memory is predicted: {0}"), why);
    return result;
  };
  const std::optional<RunSize> size = size_of_run(run.state());
  if (!last_config(folder)) return without(std::string(base::Phrase("the run has no config.yaml.").in(language)));
  if (!size) return without(std::string(base::Phrase("it is not known how many ranks take part.").in(language)));
  try {
    const PlannedStep step = planned_step(plan_of_run(folder, size->ranks), *size, environment, language);
    result.memory = predicted_memory(step.memory);
    result.notes = step.notes;
    if (step.seconds)
      result.seconds = *step.seconds;
    else
      note(base::Phrase("No seconds are predicted: {0}"), step.why_no_seconds.value_or(base::Text{}).in(language));
  } catch (const Refused& refused) {
    return without(refused.text.in(language));
  } catch (const base::Error& error) {
    return without(error.in(language));
  }
  return result;
}

}  // namespace

std::string plan_json_of_run(const std::string& folder, const config::Environment& environment,
                             base::Language language) {
  records::RunReader run(folder, kept_for_plan);
  run.refresh();
  Predicted plan = predicted(folder, run, environment, language);
  Json measured = measured_memory(run);
  if (measured.empty()) plan.notes.emplace_back(base::Phrase("Nothing has been measured yet: no rank has told of itself.").in(language));
  const Json answer = {{"memory", {{"predicted", std::move(plan.memory)}, {"measured", std::move(measured)}}},
                       {"step_seconds", {{"predicted", std::move(plan.seconds)}, {"measured", measured_seconds(run)}}},
                       {"notes", plan.notes}};
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace troika::serve
