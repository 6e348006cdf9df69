#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "config/command_line.h"
#include "config/fields.h"
#include "config/huggingface/model_folder.h"
#include "config/layers.h"
#include "config/presets.h"

namespace troika::config {
namespace {

// configs/dual_gpu/balanced.py, or the word alone.
Layer preset_layer(const std::string& path, const std::string& preset) {
  Layer layer;
  layer.assignments.push_back({&field_of("train.preset"), preset, base::verbatim(path)});
  if (path != preset) layer.notes.push_back(base::say("'{}' selects --preset {} by its name; the file is not read", path, preset));
  return layer;
}

std::string ending_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.find('.') == std::string::npos ? "" : base::lower_case(name.substr(name.rfind('.') + 1));
}

bool is_one_of_endings(const std::string& ending, std::initializer_list<std::string_view> endings) {
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

bool has_data_ending(const std::string& path) {
  return is_one_of_endings(ending_of(path), {"jsonl", "ndjson", "jsonlines", "jl", "csv", "tsv", "txt", "parquet",
                                             "arrow", "gz", "bz2", "xz", "zst", "zip"});
}

// Records, in an array or line by line, or one with a key of conversations.
bool holds_records(const std::string& path, const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (text[first] != '[' && text[first] != '{')) return false;
  if (text[first] == '[') {
    const auto inside = text.find_first_not_of(" \t\r\n", first + 1);
    return inside != std::string::npos && text[inside] == '{';
  }
  const auto line = text.find('\n', first);
  const auto second = line == std::string::npos ? line : text.find_first_not_of(" \t\r\n", line);
  if (second != std::string::npos && text[second] == '{') return true;
  const auto has = [&](const char* key) { return text.find(key) != std::string::npos; };
  return ending_of(path) == "json" && (has("\"instruction\"") || has("\"messages\"") || has("\"conversations\""));
}

bool is_of_deepspeed(const std::string& path, const std::string& text) {
  const auto has = [&](const char* key) { return text.find(key) != std::string::npos; };
  return ending_of(path) == "json" && (has("\"zero_optimization\"") || has("\"train_micro_batch_size_per_gpu\""));
}

Layer refused(base::Phrase text, const std::string& path) {
  Layer layer;
  layer.errors.push_back(base::say(text, path));
  return layer;
}

Layer read_file_layer(const std::string& path) {
  const std::string preset = run_preset_named(path);
  const bool is_python = base::ends_with(path, ".py");
  if (!preset.empty() && (is_python || !base::file_exists(path))) return preset_layer(path, preset);
  if (is_python) {
    Layer layer;
    layer.errors.push_back(base::say("'{}' is a Python file, which is not executed: give a YAML file, --preset conservative, balanced or aggressive, or --model.preset with one of {}", path, base::join(preset_names(), ", ")));
    return layer;
  }
  if (const auto other = other_than_settings(path)) throw base::DataError(*other);
  std::error_code unheard;
  if (!std::filesystem::exists(path, unheard)) throw base::DataError(base::say("cannot open '{}': there is no settings file or model folder with this name", path));
  if (base::file_exists(path) && has_data_ending(path)) return refused(base::Phrase("'{0}' holds data, not settings: name it with --data.train {0}, or to evaluate on it with --data.valid {0}"), path);
  constexpr std::int64_t far_too_many_bytes = std::int64_t{16} << 20;  // read_yaml says how many are
  const bool is_regular = base::file_exists(path);
  const std::string text = is_regular ? base::read_regular_file(path, far_too_many_bytes) : base::read_file(path);
  if (holds_records(path, text)) return refused(base::Phrase("'{0}' holds data, not settings: name it with --data.train {0}, or to evaluate on it with --data.valid {0}"), path);
  if (is_of_deepspeed(path, text)) return refused(base::Phrase("'{0}' contains DeepSpeed settings: name it with --deepspeed {0}"), path);
  return read_yaml(text, path);
}

Layer read_named_file(const std::string& file, const Environment& environment) {
  if (!file.empty()) return read_file_layer(file);
  const auto found = environment.find("CONFIG_FILE");
  if (found == environment.end() || found->second.empty()) return {};
  try {
    return read_file_layer(found->second);
  } catch (base::Error& error) {
    error.add_context(base::say("while reading the file that CONFIG_FILE in the environment names"));
    throw;
  }
}

// An unreadable file is a DataError of its own, unless the command line has errors to report along with it.
Layer read_file_beside(CommandLine* command_line, const Environment& environment) {
  try {
    return read_named_file(command_line->file, environment);
  } catch (const base::DataError& error) {
    if (command_line->layer.errors.empty()) throw;
    command_line->layer.errors.push_back(base::text_of(error));
    return {};
  }
}

}  // namespace

Settings settings_from_yaml(const std::string& text, base::Origin origin) {
  const MergedSettings result = merge_layers({read_yaml(text, origin)}, Paths::left);
  if (!result.errors.empty()) throw base::ConfigError(base::lines(result.errors));
  return result.settings;
}

bool ParsedSettings::states(const std::string& key) const {
  return std::find(stated.begin(), stated.end(), key) != stated.end();
}

static ParsedSettings parse(CommandLine command_line, const Environment& environment) {
  ParsedSettings parsed;
  parsed.help = command_line.help;
  parsed.print_config = command_line.print_config;
  if (parsed.help) return parsed;
  for (const Assignment& assignment : command_line.layer.assignments) parsed.stated.push_back(assignment.field->key());
  parsed.given = std::move(command_line.given);
  Layer file = read_file_beside(&command_line, environment);
  MergedSettings result =
      merge_layers({std::move(file), read_environment(environment), std::move(command_line.layer)}, Paths::followed);
  if (!result.errors.empty()) throw base::ConfigError(base::lines(result.errors));
  parsed.settings = std::move(result.settings);
  parsed.stated_anywhere = std::move(result.stated);
  parsed.notes = std::move(result.notes);
  parsed.notes.insert(parsed.notes.end(), command_line.notes.begin(), command_line.notes.end());
  for (base::Text& note : parsed.notes)
    note = {base::printable(note.english, 4096), base::printable(note.chinese, 4096)};  // they hold values
  return parsed;
}

ParsedSettings parse_settings(const std::vector<std::string>& arguments, const Environment& environment) {
  return parse(read_command_line(arguments), environment);
}

ParsedSettings parse_settings(const std::vector<std::string>& arguments, const Environment& environment,
                              const FlagTable& own) {
  return parse(read_command_line(arguments, &own, environment), environment);
}

static bool computes_on_gpu(const ParsedSettings& parsed, int gpus) {
  const DeviceKind kind = word_or(parsed.settings.train.device, DeviceKind::numbered);
  return kind != DeviceKind::cpu && (kind != DeviceKind::automatic || gpus > 0);
}

void take_precision_of_device(ParsedSettings* parsed, int gpus) {
  if (!computes_on_gpu(*parsed, gpus) || parsed->any_place_states("precision.compute")) return;
  parsed->settings.precision.compute = Precision::bf16;
  parsed->notes.push_back(base::say("computing in bf16, because the device is a GPU and no precision is set; use --fp32 for fp32"));
}

void take_sums_of_device(ParsedSettings* parsed, int gpus) {
  if (!computes_on_gpu(*parsed, gpus) || parsed->any_place_states("parallel.reproducible")) return;
  parsed->settings.parallel.reproducible = Reproducible::layout;
  parsed->notes.push_back(base::say("results are bit-identical in the same layout, because the device is a GPU and reproducible is not set; --reproducible run makes them so in every layout"));
}

std::string agreement_yaml(const Settings& settings) {
  std::string text;
  std::string_view section;
  for (const auto& field : fields()) {
    if (field.agreement == Agreement::none) continue;
    if (field.section != section) text += fmt::format("{}:\n", section = field.section);
    text += fmt::format("  {}: {}\n", field.name, base::printable(agreement_text(field, settings), 4096));
  }
  return text;
}

std::string agreement_hash(const Settings& settings) { return base::hash_bytes(agreement_yaml(settings)); }

std::string first_difference(const std::string& yaml_a, const std::string& yaml_b) {
  const Settings a = settings_from_yaml(yaml_a, "the first settings");
  const Settings b = settings_from_yaml(yaml_b, "the second settings");
  for (const auto& field : fields()) {
    if (agreement_text(field, a) != agreement_text(field, b)) return field.key();
  }
  return "";
}

}  // namespace troika::config
