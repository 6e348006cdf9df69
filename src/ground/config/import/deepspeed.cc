#include "config/import/deepspeed.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::config {
namespace {

constexpr std::int64_t most_deepspeed_bytes = 1 << 20;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Where the file is: as written, below the YAML's folder, or of its name beside the YAML. "" when nowhere.
std::string find_file(const std::string& path, const std::string& yaml) {
  std::vector<std::string> places = {path};
  if (path.front() != '/') places.push_back(folder_of(yaml) + path);
  places.push_back(folder_of(yaml) + name_of(path));
  for (const std::string& place : places) {
    if (base::file_exists(place)) return place;
  }
  return "";
}

struct UsualName {
  std::string_view name, stage, offload;
};

constexpr UsualName usual_names[] = {
    {"ds_z0_config.json", "0", "none"},         {"ds_z1_config.json", "1", "none"},
    {"ds_z2_config.json", "2", "none"},         {"ds_z3_config.json", "3", "none"},
    {"ds_z2_offload_config.json", "2", "host"}, {"ds_z3_offload_config.json", "3", "host"},
};

Layer read_by_name(const std::string& path, const base::Text& origin) {
  Layer layer;
  for (const UsualName& usual : usual_names) {
    if (name_of(path) != usual.name) continue;
    layer.assignments.push_back({&field_of("parallel.zero"), std::string(usual.stage), origin});
    layer.assignments.push_back({&field_of("parallel.offload"), std::string(usual.offload), origin});
    layer.notes.push_back(base::say("deepspeed '{}' does not exist; its name implies parallel.zero {}, offload {}", path, usual.stage, usual.offload));
    return layer;
  }
  layer.errors.push_back(base::say("{}: deepspeed '{}' does not exist, nor does it next to this file: copy it, or set parallel.zero instead", origin, path));
  return layer;
}

// One of two values for a key would be ignored, so DeepSpeed refuses them, and so does this.
nlohmann::json parse_without_repeats(const std::string& text, const base::Text& origin) {
  base::parse_json(text, origin);  // its errors name the place
  std::vector<std::set<std::string>> open;
  const auto on_event = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::object_start) open.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      throw base::DataError(base::say("{}: {} is given twice: leave one of them out", origin, parsed.get<std::string>()));
    return true;
  };
  return nlohmann::json::parse(text, on_event);
}

const Assignment* last_of(const Layer& layer, const Field& field) {
  const auto found = std::find_if(layer.assignments.rbegin(), layer.assignments.rend(),
                                  [&](const Assignment& assignment) { return assignment.field == &field; });
  return found == layer.assignments.rend() ? nullptr : &*found;
}

// Its train_batch_size is micro-batch x gradient accumulation x ranks, without further microbatches in a round.
void make_one_microbatch_a_round(const Layer& mine, Layer* theirs) {
  const Assignment* total = last_of(*theirs, field_of("batch.global_batch_size"));
  const Field& rounds = field_of("batch.accumulation");
  if (total == nullptr || (last_of(*theirs, rounds) == nullptr && last_of(mine, rounds) == nullptr)) return;
  theirs->assignments.push_back({&field_of("batch.num_microbatches"), "1", total->origin});
}

}  // namespace

std::vector<Assignment> take_deepspeed(DeepSpeed theirs, Layer* mine) {
  const Field& precision = field_of("precision.compute");
  const bool has_precision = last_of(*mine, precision) != nullptr || last_of(theirs.layer, precision) != nullptr;
  if (!theirs.ruled_out.empty() && !has_precision)  // no half precision is left that anybody asks for
    theirs.layer.assignments.push_back({&precision, word_of(Precision::fp32), theirs.ruled_out.front().origin});
  make_one_microbatch_a_round(*mine, &theirs.layer);
  std::vector<Assignment> taken;
  const auto contradict = [&](base::Phrase text, const Assignment& own, const Assignment& other) {
    mine->errors.push_back(base::say(text, own.origin, own.field->key(), own.value, other.value, other.origin));
  };
  for (const Assignment& out : theirs.ruled_out) {
    const Assignment* own = last_of(*mine, *out.field);
    if (own != nullptr && own->value == out.value) contradict(base::Phrase("{0}: {1} is {2}, but not {3} in {4}; write \"auto\" there"), *own, out);
  }
  for (Assignment& assignment : theirs.layer.assignments) {
    const Field& field = *assignment.field;
    const Assignment* own = last_of(*mine, field);
    if (own == nullptr) {
      taken.push_back(assignment);
      mine->assignments.push_back(std::move(assignment));
    } else if (canonical_text(field, own->value) != canonical_text(field, assignment.value)) {
      contradict(base::Phrase("{0}: {1} is {2}, but {3} in {4}; write \"auto\" there"), *own, assignment);
    }
  }
  mine->notes.insert(mine->notes.end(), theirs.layer.notes.begin(), theirs.layer.notes.end());
  mine->errors.insert(mine->errors.end(), theirs.layer.errors.begin(), theirs.layer.errors.end());
  return taken;
}

DeepSpeed read_deepspeed(const FlatKey& key, const std::string& yaml) {
  const bool is_inline = key.kind == FlatKey::Kind::object;
  const std::string file = is_inline ? "" : find_file(key.text, yaml);
  if (!is_inline && file.empty()) return {read_by_name(key.text, key.origin), {}};
  const base::Text origin =
      is_inline ? base::say("{} deepspeed", key.origin) : base::say("deepspeed '{}'", file);
  if (!is_inline && base::file_size(file) > most_deepspeed_bytes)
    throw base::DataError(base::say("{} has {} bytes, but DeepSpeed settings have at most {}", origin, base::file_size(file), most_deepspeed_bytes));
  const nlohmann::json root = parse_without_repeats(is_inline ? key.text : base::read_file(file), origin);
  if (!root.is_object()) throw base::DataError(base::say("{} is not a JSON object, as DeepSpeed settings are", origin));
  return read_deepspeed_json(root, origin);
}

}  // namespace troika::config
