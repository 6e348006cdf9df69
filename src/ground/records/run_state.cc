#include "records/run_state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "records/old_sentences.h"
#include "records/run_reader.h"

namespace troika::records {
namespace {

constexpr std::array<std::pair<Life, std::string_view>, 5> lives = {{{Life::preparing, "preparing"},
                                                                     {Life::training, "training"},
                                                                     {Life::finished, "finished"},
                                                                     {Life::failed, "failed"},
                                                                     {Life::stopped, "stopped"}}};

template <class Value>
void take(const nlohmann::json& object, const char* key, Value* value) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (found->is_string()) *value = found->get<std::string>();
  } else {
    if (found->is_number()) *value = found->get<Value>();
  }
}

}  // namespace

std::string_view word_of(Life life) {
  for (const auto& [known, word] : lives)
    if (known == life) return word;
  return "";
}

std::vector<std::string> RunState::hosts() const {
  std::vector<std::string> all;
  for (const RankPlace& rank : ranks)
    if (std::find(all.begin(), all.end(), rank.host) == all.end()) all.push_back(rank.host);
  return all;
}

std::string to_json(const RunState& s) {
  nlohmann::ordered_json json;
  json["state"] = word_of(s.life);
  json["since"] = s.since;
  json["began"] = s.began;
  json["launch"] = s.launch;
  json["attempt"] = s.attempt;
  json["slurm_job"] = s.slurm_job;
  json["folder"] = s.folder;
  json["model"] = s.model;
  json["parameters"] = s.parameters;
  json["layout"] = s.layout;
  json["dp"] = s.dp;
  json["pp"] = s.pp;
  json["tp"] = s.tp;
  json["cp"] = s.cp;
  json["zero"] = s.zero;
  json["schedule"] = s.schedule;
  json["precision"] = s.precision;
  json["device"] = s.device;
  json["steps"] = s.steps;
  json["first_step"] = s.first_step;
  json["tokens_per_step"] = s.tokens_per_step;
  json["flops_per_step"] = s.flops_per_step;
  json["sample_seconds"] = s.sample_seconds;
  json["text"] = s.text;
  if (s.incident) json["incident"] = to_json_object(*s.incident);
  json["exit_code"] = s.exit_code;
  json["ranks"] = nlohmann::ordered_json::array();
  for (const RankPlace& r : s.ranks)
    json["ranks"].push_back(
        {{"rank", r.rank}, {"host", r.host}, {"pid", r.pid}, {"dp", r.dp}, {"pp", r.pp}, {"tp", r.tp}, {"cp", r.cp}});
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<RunState> parse_run_state(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  RunState s;
  std::string word;
  take(object, "state", &word);
  bool known = false;
  for (const auto& [life, name] : lives) {
    if (name != word) continue;
    s.life = life;
    known = true;
  }
  if (!known) return std::nullopt;
  take(object, "since", &s.since);
  take(object, "began", &s.began);
  take(object, "launch", &s.launch);
  take(object, "attempt", &s.attempt);
  take(object, "slurm_job", &s.slurm_job);
  take(object, "folder", &s.folder);
  take(object, "model", &s.model);
  take(object, "parameters", &s.parameters);
  take(object, "layout", &s.layout);
  take(object, "dp", &s.dp);
  take(object, "pp", &s.pp);
  take(object, "tp", &s.tp);
  take(object, "cp", &s.cp);
  take(object, "zero", &s.zero);
  take(object, "schedule", &s.schedule);
  take(object, "precision", &s.precision);
  take(object, "device", &s.device);
  take(object, "steps", &s.steps);
  take(object, "first_step", &s.first_step);
  take(object, "tokens_per_step", &s.tokens_per_step);
  take(object, "flops_per_step", &s.flops_per_step);
  take(object, "sample_seconds", &s.sample_seconds);
  take(object, "text", &s.text);
  if (const auto incident = object.find("incident"); incident != object.end())
    s.incident = incident_of(*incident);
  else if (!s.text.empty())
    s.incident = incident_in(s.text);
  take(object, "exit_code", &s.exit_code);
  if (const auto ranks = object.find("ranks"); ranks != object.end() && ranks->is_array()) {
    for (const nlohmann::json& of_rank : *ranks) {
      if (!of_rank.is_object()) continue;
      RankPlace r;
      take(of_rank, "rank", &r.rank);
      take(of_rank, "host", &r.host);
      take(of_rank, "pid", &r.pid);
      take(of_rank, "dp", &r.dp);
      take(of_rank, "pp", &r.pp);
      take(of_rank, "tp", &r.tp);
      take(of_rank, "cp", &r.cp);
      s.ranks.push_back(r);
    }
  }
  return s;
}

void write_run_state(const std::string& folder, const RunState& state) {
  base::write_file_atomic(state_path(folder), to_json(state));
}

std::optional<RunState> read_run_state(const std::string& folder) {
  try {
    const auto text = base::text_of_run(folder, "state.json", base::most_state_bytes);
    return text ? parse_run_state(*text) : std::nullopt;
  } catch (const base::DataError&) {
    return std::nullopt;
  }
}

}  // namespace troika::records
