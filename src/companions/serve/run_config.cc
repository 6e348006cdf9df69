#include "serve/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/config.h"
#include "host/subprocess.h"
#include "serve/run_file.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_yaml_bytes = 4 << 20;
constexpr int most_config_files = 10'000;

std::string config_name(int attempt) { return attempt == 1 ? "config.yaml" : fmt::format("config-{}.yaml", attempt); }

// Of the whole run; a host has its own number where there are several.
std::string launch_words(const RunSize& size) {
  if (size.ranks == 1) return "troika train";
  const auto hosts = std::max<int>(1, static_cast<int>(size.hosts.size()));
  const std::string nproc = fmt::format("--nproc-per-node {}", std::max(1, size.ranks / hosts));
  if (hosts == 1) return fmt::format("troika launch {} -- train", nproc);
  return fmt::format("troika launch --nnodes {} --node-rank 0 --master-addr {} {} -- train", hosts,
                     host::shell_word(size.hosts.front()), nproc);
}

// A run of which nothing says who takes part has the ranks of its layout.
RunSize size_by_settings(const ConfigFile& config) {
  RunSize size;
  try {
    const config::ParallelSettings parallel = config::settings_from_yaml(config.yaml, config.name).parallel;
    const std::int64_t ranks = std::max<std::int64_t>(parallel.dp, 1) * parallel.pp * parallel.tp * parallel.cp;
    size.ranks = static_cast<int>(std::clamp<std::int64_t>(ranks, 1, 1 << 20));
  } catch (const base::Error&) {  // of another version
  }
  return size;
}

}  // namespace

std::optional<ConfigFile> last_config(const std::string& folder) {
  int last = 0;
  while (last < most_config_files && RunFile::open(folder, config_name(last + 1))) ++last;
  if (last == 0) return std::nullopt;
  const std::string name = config_name(last);
  std::optional<std::string> yaml = text_of_run(folder, name, most_yaml_bytes);
  if (!yaml) return std::nullopt;
  return ConfigFile{name, *std::move(yaml)};
}

std::optional<RunSize> size_of_run(const std::optional<records::RunState>& state) {
  if (!state || state->ranks.empty()) return std::nullopt;
  RunSize size;
  size.ranks = static_cast<int>(state->ranks.size());
  for (const records::RankPlace& place : state->ranks)
    if (std::find(size.hosts.begin(), size.hosts.end(), place.host) == size.hosts.end())
      size.hosts.push_back(place.host);
  return size;
}

std::string config_json(const std::string& folder) {
  Json answer = {{"yaml", nullptr}, {"command", nullptr}, {"resume_command", nullptr}, {"launched", nullptr}};
  if (const auto launched = text_of_run(folder, "launch.yaml", most_yaml_bytes)) answer["launched"] = *launched;
  if (const std::optional<ConfigFile> config = last_config(folder)) {
    const std::optional<std::string> state = text_of_run(folder, "state.json", 64 << 20);
    std::optional<RunSize> size = size_of_run(state ? records::parse_run_state(*state) : std::nullopt);
    if (!size) size = size_by_settings(*config);
    const std::string start = fmt::format("{} {} --out ", launch_words(*size), host::shell_word(folder + "/" + config->name));
    answer["yaml"] = config->yaml;
    answer["command"] = start + host::shell_word(folder + "-again");
    answer["resume_command"] = start + host::shell_word(folder) + " --resume auto";
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace troika::serve
