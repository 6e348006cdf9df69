#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::checkpoint {
using base::DataError;
using nlohmann::json;

static const char format_name[] = "troika-checkpoint";
static constexpr std::int64_t format_version = 1;

std::string step_folder_name(std::int64_t step) { return fmt::format("step-{:08}", step); }

bool parse_step_folder_name(const std::string& name, std::int64_t* step) {
  std::int64_t value = 0;
  if (name.rfind("step-", 0) != 0 || !base::parse_int(name.substr(5), &value) || step_folder_name(value) != name)
    return false;
  *step = value;
  return true;
}

bool parse_partial_folder_name(const std::string& name, std::int64_t* step) {
  const std::string suffix = partial_suffix;
  return name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0 &&
         parse_step_folder_name(name.substr(0, name.size() - suffix.size()), step);
}

std::string manifest_to_text(const Manifest& manifest) {
  json parts = json::array();
  for (const Part& part : manifest.parts)
    parts.push_back({{"file", part.file}, {"bytes", part.bytes}, {"xxh3", part.hash}, {"host", part.host}});
  json files = json::array();
  for (const Manifest::File& file : manifest.files)
    files.push_back({{"file", file.file}, {"bytes", file.bytes}, {"xxh3", file.hash}});
  json document{{"format", format_name},
                {"version", format_version},
                {"step", manifest.facts.step},
                {"world_size", manifest.world_size},
                {"parts", parts},
                {"files", files},
                {"settings_yaml", manifest.facts.settings_yaml},
                {"model_config_json", manifest.facts.model_config_json},
                {"extra", manifest.facts.extra}};
  const std::string hash = base::hash_bytes(document.dump());
  document["manifest_xxh3"] = hash;
  return document.dump(1) + "\n";
}

// "model/NAME" or "state/NAME" with a plain NAME: a manifest must not lead out of its folder.
static bool safe_part_name(const std::string& file) {
  const auto pieces = base::split(file, '/');
  if (pieces.size() != 2 || (pieces[0] != "model" && pieces[0] != "state") || pieces[1].empty() || pieces[1][0] == '.')
    return false;
  return pieces[1].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
         std::string::npos;
}

static void check_own_hash(json document, const std::string& origin) {
  const std::string stated = base::json_string(document, "manifest_xxh3", origin);
  document.erase("manifest_xxh3");
  if (base::hash_bytes(document.dump()) != stated) throw DataError(base::say("{}: damaged, its own hash differs", origin));
}

struct Bounds {
  std::int64_t least, most;
};

// Far above all runs; what is counted in them can be added and multiplied without a care.
static constexpr Bounds step_bounds{0, std::int64_t{1} << 40}, rank_bounds{1, 1 << 20},
    byte_bounds{0, std::int64_t{1} << 50};

static std::int64_t bounded(const json& object, const std::string& key, Bounds bounds, const std::string& origin) {
  const std::int64_t value = base::json_int(object, key, origin);
  if (value < bounds.least || value > bounds.most)
    throw DataError(base::say("{}: '{}' is {}, which is outside {} to {}: the file is damaged, use another checkpoint", origin, key, value, bounds.least, bounds.most));
  return value;
}

Manifest manifest_from_text(const std::string& text, const std::string& origin) {
  const json document = base::parse_json(text, origin);
  if (base::json_string(document, "format", origin) != format_name)
    throw DataError(base::say("{}: this is not the manifest of a checkpoint", origin));
  const std::int64_t version = base::json_int(document, "version", origin);
  if (version != format_version)
    throw DataError(base::say("{}: unknown format version {} (this program reads {}); use the program that wrote it", origin, version, format_version));
  check_own_hash(document, origin);
  Manifest manifest;
  manifest.facts.step = bounded(document, "step", step_bounds, origin);
  manifest.facts.settings_yaml = base::json_string(document, "settings_yaml", origin);
  manifest.facts.model_config_json = base::json_string(document, "model_config_json", origin);
  for (const auto& item : base::json_object(document, "extra", origin).items())
    manifest.facts.extra[item.key()] = base::json_string(document["extra"], item.key(), origin);
  manifest.world_size = bounded(document, "world_size", rank_bounds, origin);
  for (const json& part : base::json_array(document, "parts", origin)) {
    const std::string file = base::json_string(part, "file", origin);
    if (!safe_part_name(file)) throw DataError(base::say("{}: '{}' is not a valid part", origin, file));
    manifest.parts.push_back({file,
                              bounded(part, "bytes", byte_bounds, origin),
                              base::json_string(part, "xxh3", origin),
                              base::printable(base::json_string(part, "host", origin), 255),
                              {}});
  }
  return manifest;
}

}  // namespace troika::checkpoint
