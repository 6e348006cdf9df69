#include "serve/run_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "config/layers.h"
#include "host/subprocess.h"
#include "serve/form.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_yaml_bytes = 4 << 20;
constexpr int most_config_files = 10'000;

std::string config_name(int attempt) { return attempt == 1 ? "config.yaml" : fmt::format("config-{}.yaml", attempt); }

// The command of the whole run; a host has its own number where there are several.
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

// "/home/me/runs/a" that called itself "runs/a" was started in "/home/me".
std::string folder_before(const std::string& path, const std::string& own_name) {
  std::string name = base::without_end_slashes(own_name);
  if (name.rfind("./", 0) == 0) name.erase(0, 2);
  if (name.empty() || name.front() == '/' || path.size() <= name.size() + 1) return "";
  const std::size_t begin = path.size() - name.size();
  const bool ends_so = path.compare(begin, name.size(), name) == 0 && path[begin - 1] == '/';
  return ends_so ? path.substr(0, std::max<std::size_t>(1, begin - 1)) : "";
}

std::string typed(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(host::shell_word(word));
  return base::join(all, " ");
}

using Values = std::map<const config::Field*, std::string>;

Values values_of(const ConfigFile& config) {
  config::Layer layer = config::read_yaml(config.yaml, base::verbatim(config.name));
  Values values;
  for (const config::Assignment& assignment : layer.assignments) {
    config::Settings scratch;
    if (const auto wrong = config::set_text(*assignment.field, assignment.value, &scratch))
      layer.errors.push_back(base::say("{} {}", assignment.field->key(), *wrong));
    values[assignment.field] = config::get_text(*assignment.field, scratch);
  }
  if (!layer.errors.empty()) throw base::ConfigError(base::lines(layer.errors));
  return values;
}

std::string beginning_of_paths(const std::string& from, const std::string& root) {
  std::error_code error;
  const std::string real = from.empty() ? "" : std::filesystem::canonical(from, error).string();
  return !real.empty() && !error && lies_below(root, real) ? real : root;
}

}  // namespace

std::optional<ConfigFile> last_config(const std::string& folder) {
  int last = 0;
  while (last < most_config_files && base::RunFile::open(folder, config_name(last + 1))) ++last;
  if (last == 0) return std::nullopt;
  const std::string name = config_name(last);
  std::optional<std::string> yaml = base::text_of_run(folder, name, most_yaml_bytes);
  if (!yaml) return std::nullopt;
  return ConfigFile{name, *std::move(yaml)};
}

std::optional<RunSize> size_of_run(const std::optional<records::RunState>& state) {
  if (!state || state->ranks.empty()) return std::nullopt;
  return RunSize{static_cast<int>(state->ranks.size()), state->hosts(), state->predicted_seconds, state->lengths};
}

std::string config_json(const std::string& folder) {
  Json answer = {{"yaml", nullptr}, {"command", nullptr}, {"resume_command", nullptr}, {"launched", nullptr}};
  if (const auto launched = base::text_of_run(folder, "launch.yaml", most_yaml_bytes)) answer["launched"] = *launched;
  if (const std::optional<ConfigFile> config = last_config(folder)) {
    const std::optional<std::string> state = base::text_of_run(folder, "state.json", 64 << 20);
    std::optional<RunSize> size = size_of_run(state ? records::parse_run_state(*state) : std::nullopt);
    if (!size) size = size_by_settings(*config);
    const std::string start = fmt::format("{} {} --out ", launch_words(*size), host::shell_word(folder + "/" + config->name));
    answer["yaml"] = config->yaml;
    answer["command"] = start + host::shell_word(folder + "-again");
    answer["resume_command"] = start + host::shell_word(folder) + " --resume auto";
  }
  return json_line(answer);
}

std::vector<std::string> words_of(const ResumeWords& resume, const std::vector<std::string>& settings) {
  std::vector<std::string> words = resume.launch;
  for (const auto* more : {&settings, &resume.place}) words.insert(words.end(), more->begin(), more->end());
  return words;
}

std::optional<ResumeWords> resume_words(const std::string& run_folder, const std::string& from) {
  std::optional<ConfigFile> settings = last_config(run_folder);
  if (!settings) return std::nullopt;
  ResumeWords resume;
  const auto state = records::read_run_state(run_folder);
  if (state) resume.works_in = folder_before(run_folder, state->folder);
  const RunSize size = size_of_run(state).value_or(size_by_settings(*settings));
  resume.hosts = size.hosts;
  const int hosts = std::max<int>(1, static_cast<int>(size.hosts.size()));
  resume.launch = {"launch", "--nproc-per-node", std::to_string(size.ranks / hosts), "--", "train"};
  resume.settings = *std::move(settings);
  resume.file = run_folder + "/" + resume.settings.name;
  resume.place = {"--train.resume", from, "--train.out", run_folder};
  return resume;
}

std::string line_of(const ResumeWords& resume) {
  return "troika " + typed(words_of(resume, {"--config", resume.file}));
}

base::Text lines_of_hosts(const ResumeWords& resume) {
  std::vector<base::Text> lines;
  for (std::size_t node = 0; node < resume.hosts.size(); ++node) {
    const std::vector<std::string> meeting = {"--nnodes",      std::to_string(resume.hosts.size()),
                                              "--node-rank",   std::to_string(node),
                                              "--master-addr", resume.hosts.front()};
    std::vector<std::string> words = words_of(resume, {"--config", resume.file});
    words.insert(words.begin() + 1, meeting.begin(), meeting.end());
    lines.push_back(base::say("on {}: troika {}", resume.hosts[node], typed(words)));
  }
  return base::lines(lines);
}

std::vector<std::string> flags_of_resumed(const ConfigFile& config, const std::string& from, const std::string& root) {
  const Values values = values_of(config);
  const std::string begin = beginning_of_paths(from, root);
  const auto names = values.find(&config::field_of("data.folder"));
  const bool names_data_sets = names != values.end() && !names->second.empty();
  Form form;
  std::vector<base::Text> errors;
  for (const config::Field& field : config::fields()) {
    const std::string key = field.key();
    const auto value = values.find(&field);
    if (value == values.end() || key == "train.out" || key == "train.resume") continue;
    try {
      if (!why_not_of_a_page(key))
        form.settings.emplace_back(key, whole_path({key, value->second, names_data_sets, begin}, root));
      else if (!value->second.empty())
        throw base::ConfigError(base::say("names a command, but a page starts none"));
    } catch (const base::ConfigError& error) {
      errors.push_back(base::say("{} {}", key, base::text_of(error)));
    }
  }
  if (!errors.empty()) throw base::ConfigError(base::join(errors, "; ", "；"));
  return words_of_settings(form);
}

}  // namespace troika::serve
