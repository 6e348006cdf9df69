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

// The members with their names in the file, for writing and for reading.
template <class Of, class Visit>
void for_each_field(Of& s, Visit visit) {
  visit("since", s.since);
  visit("began", s.began);
  visit("launch", s.launch);
  visit("attempt", s.attempt);
  visit("slurm_job", s.slurm_job);
  visit("folder", s.folder);
  visit("model", s.model);
  visit("parameters", s.parameters);
  visit("layout", s.layout);
  visit("dp", s.dp);
  visit("pp", s.pp);
  visit("tp", s.tp);
  visit("cp", s.cp);
  visit("zero", s.zero);
  visit("schedule", s.schedule);
  visit("precision", s.precision);
  visit("device", s.device);
  visit("steps", s.steps);
  visit("first_step", s.first_step);
  visit("tokens_per_step", s.tokens_per_step);
  visit("flops_per_step", s.flops_per_step);
  visit("sample_seconds", s.sample_seconds);
  visit("predicted_seconds", s.predicted_seconds);
  visit("text", s.text);
}

template <class Of, class Visit>
void for_each_place_field(Of& r, Visit visit) {
  visit("rank", r.rank);
  visit("host", r.host);
  visit("pid", r.pid);
  visit("dp", r.dp);
  visit("pp", r.pp);
  visit("tp", r.tp);
  visit("cp", r.cp);
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
  for_each_field(s, [&](const char* key, const auto& value) { json[key] = value; });
  if (s.incident) json["incident"] = to_json_object(*s.incident);
  json["exit_code"] = s.exit_code;
  json["ranks"] = nlohmann::ordered_json::array();
  for (const RankPlace& rank : s.ranks) {
    nlohmann::ordered_json& of_rank = json["ranks"].emplace_back();
    for_each_place_field(rank, [&](const char* key, const auto& value) { of_rank[key] = value; });
  }
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<RunState> parse_run_state(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  std::string word;
  take(object, "state", &word);
  const auto life = std::find_if(lives.begin(), lives.end(), [&](const auto& known) { return known.second == word; });
  if (life == lives.end()) return std::nullopt;
  RunState s;
  s.life = life->first;
  for_each_field(s, [&](const char* key, auto& value) { take(object, key, &value); });
  if (const auto incident = object.find("incident"); incident != object.end())
    s.incident = incident_of(*incident);
  else if (!s.text.empty())
    s.incident = incident_in(s.text);
  take(object, "exit_code", &s.exit_code);
  const auto ranks = object.find("ranks");
  if (ranks == object.end() || !ranks->is_array()) return s;
  for (const nlohmann::json& of_rank : *ranks) {
    if (!of_rank.is_object()) continue;
    for_each_place_field(s.ranks.emplace_back(), [&](const char* key, auto& value) { take(of_rank, key, &value); });
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
