#include "records/run_state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json_members.h"
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

// Every member with its name in the file, for writing and for reading, but state, incident and ranks.
template <class Of, class Visit>
void for_each_member_of_state(Of& s, const Visit& visit) {
  base::each_member(visit, "since", s.since, "began", s.began, "launch", s.launch, "attempt", s.attempt, "slurm_job",
                    s.slurm_job, "folder", s.folder, "model", s.model, "model_zh", s.model_zh, "parameters", s.parameters, "layout", s.layout,
                    "layout_zh", s.layout_zh,
                    "dp", s.dp, "pp", s.pp, "tp", s.tp, "cp", s.cp, "zero", s.zero, "schedule", s.schedule,
                    "precision", s.precision, "device", s.device, "steps", s.steps, "first_step", s.first_step,
                    "tokens_per_step", s.tokens_per_step, "flops_per_step", s.flops_per_step, "sample_seconds",
                    s.sample_seconds, "predicted_seconds", s.predicted_seconds, "text", s.text, "exit_code", s.exit_code);
}

template <class Of, class Visit>
void for_each_member_of_rank(Of& r, const Visit& visit) {
  base::each_member(visit, "rank", r.rank, "host", r.host, "pid", r.pid, "dp", r.dp, "pp", r.pp, "tp", r.tp, "cp",
                    r.cp);
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
  for_each_member_of_state(s, [&](const char* name, const auto& value) { json[name] = value; });
  if (s.lengths) json["lengths"] = to_json_object(*s.lengths);
  if (s.incident) json["incident"] = to_json_object(*s.incident);
  json["ranks"] = nlohmann::ordered_json::array();
  for (const RankPlace& r : s.ranks) {
    nlohmann::ordered_json& of_rank = json["ranks"].emplace_back();
    for_each_member_of_rank(r, [&](const char* name, const auto& value) { of_rank[name] = value; });
  }
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<RunState> parse_run_state(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  RunState s;
  std::string word;
  base::take_member(object, "state", &word);
  const auto life = std::find_if(lives.begin(), lives.end(), [&](const auto& row) { return row.second == word; });
  if (life == lives.end()) return std::nullopt;
  s.life = life->first;
  for_each_member_of_state(s, [&](const char* name, auto& value) { base::take_member(object, name, &value); });
  if (const auto lengths = object.find("lengths"); lengths != object.end()) s.lengths = sample_lengths_of(*lengths);
  if (const auto incident = object.find("incident"); incident != object.end())
    s.incident = incident_of(*incident);
  else if (!s.text.empty())
    s.incident = incident_in(s.text);
  if (const auto ranks = object.find("ranks"); ranks != object.end() && ranks->is_array()) {
    for (const nlohmann::json& of_rank : *ranks) {
      if (!of_rank.is_object()) continue;
      RankPlace& r = s.ranks.emplace_back();
      for_each_member_of_rank(r, [&](const char* name, auto& value) { base::take_member(of_rank, name, &value); });
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
