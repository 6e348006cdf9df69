#include "config/command_line.h"

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "config/import/deepspeed.h"
#include "config/presets.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

constexpr const char* deepspeed_flag = "deepspeed";

Take file_taker(SettingsReading& reading) {
  return [&file = reading.line.file](const std::string& path, const std::string&, FlagReading* flags) {
    if (!file.empty())
      return flags->refuse(base::say("'{}' is a second configuration file besides '{}'; only one is read", path, file));
    file = path;
  };
}

// Whether a word behind a flag that takes true or false is rather meant for it than a file: `maybe` of `--bf16 maybe`.
bool is_no_file(const std::string& word) {
  return word.find_first_of("./") == std::string::npos && !base::file_exists(word) && run_preset_named(word).empty();
}

// A folder is a model, anything else a file of settings.
Take word_taker(SettingsReading& reading) {
  return [&layer = reading.line.layer, take_file = file_taker(reading)](const std::string& path,
                                                                        const std::string& shown, FlagReading* flags) {
    if (!base::directory_exists(path)) {
      if (flags->behind_truth.empty() || !is_no_file(path)) return take_file(path, shown, flags);
      return flags->refuse(base::say("unexpected argument '{}'; {} takes true or false", path, flags->behind_truth));
    }
    layer.assignments.push_back({&field_of("model.path"), path, base::verbatim(path)});
  };
}

Take reporters_taker(SettingsReading& reading) {
  return [&layer = reading.line.layer](const std::string& text, const std::string& shown, FlagReading* flags) {
    const Reporters reporters = reporters_of(text);
    if (reporters.tensorboard) layer.assignments.push_back({&field_of("log.tensorboard"), "on", base::verbatim(shown)});
    if (!reporters.others.empty())
      flags->notes.push_back(base::say("{} is ignored except for tensorboard: metrics are written to the run's folder", shown));
  };
}

void add_file_flags(FlagTable& table, SettingsReading& reading) {
  table.add("config", reading.line.file, "A settings file of Troika or LLaMA-Factory, or the name of a run preset.")
      .shown("CONFIG.yaml")
      .variables({"CONFIG_FILE"})
      .unset("none; also accepted without the flag")
      .taken_by(file_taker(reading));
  table.add(deepspeed_flag, reading.deepspeed, "DeepSpeed settings, translated to Troika's; see docs/llama-factory.md.")
      .shown("FILE.json")
      .unset("none")
      .taken_by([&files = reading.deepspeed](const std::string& path, const std::string& shown, FlagReading*) {
        files.insert(files.end(), {shown, path});
      });
  table.add("report-to", reading.reported, "tensorboard: same as --log.tensorboard on; other names are ignored.")
      .shown("NAMES")
      .unset("none")
      .taken_by(reporters_taker(reading));
  table.add("print-config", reading.line.print_config, "Print the resolved settings as YAML and exit.");
}

Take setting_taker(const Field& field, SettingsReading& reading) {
  return [&layer = reading.line.layer, &field](const std::string& text, const std::string& shown, FlagReading*) {
    layer.assignments.push_back({&field, text, base::verbatim(shown)});
  };
}

Take switch_taker(const Switch& row, SettingsReading& reading) {
  return [&layer = reading.line.layer, &row](const std::string& text, const std::string& shown, FlagReading* flags) {
    const auto on = parse_bool(text);
    if (!on) return flags->refuse(base::say("{} takes true or false", shown));
    if (*on) layer.assignments.push_back({&field_of(row.key), std::string(row.value), base::verbatim(shown)});
  };
}

// "eth0" of "=eth0,eth1", the form of NCCL_SOCKET_IFNAME.
std::string first_interface(const std::string& list) {
  const std::string first = list.substr(0, list.find(','));
  return base::begins_with(first, "=") ? first.substr(1) : first;
}

bool matches(std::string_view variable, std::string_view pattern) {
  const bool is_prefix = !pattern.empty() && pattern.back() == '*';
  return is_prefix ? base::begins_with(variable, pattern.substr(0, pattern.size() - 1)) : variable == pattern;
}

void read_variables_of(const Field& field, const Environment& environment, Layer* layer) {
  for (const auto variable : field.variables) {
    const auto found = environment.find(std::string(variable));
    if (found == environment.end() || found->second.empty()) continue;
    const base::Text origin = base::say("{} in the environment", variable);
    const bool is_interface = field.key() == "comm.interface";
    if (is_interface && found->second.front() == '^') {
      layer->notes.push_back(
          base::say("{} is ignored: it names interfaces to avoid, and --comm.interface takes one to use", origin));
      continue;
    }
    layer->assignments.push_back({&field, is_interface ? first_interface(found->second) : found->second, origin});
    return;
  }
}

void note_ignored(const Environment& environment, Layer* layer) {
  for (const auto& row : ignored_variables()) {
    std::vector<std::string> present;
    for (const auto& [name, value] : environment) {
      if (matches(name, row.name)) present.push_back(name);
    }
    if (present.empty()) continue;
    layer->notes.push_back(base::say("{} in the environment {} ignored: {}", base::join(present, ", "),
                                     base::in_english_only(present.size() > 1 ? "are" : "is"), base::say(row.why)));
  }
}

// The last of two values for one setting counts, with a note; two models are an error.
void note_repeats(Layer* layer) {
  for (auto later = layer->assignments.begin(); later != layer->assignments.end(); ++later) {
    const Field& field = *later->field;
    const auto earlier = std::find_if(std::make_reverse_iterator(later), layer->assignments.rend(),
                                      [&](const Assignment& assignment) { return assignment.field == &field; });
    if (earlier == layer->assignments.rend()) continue;
    if (canonical_text(field, earlier->value) == canonical_text(field, later->value)) continue;
    if (field.key() == "model.path") {
      layer->errors.push_back(
          base::say("'{}' is a second model besides '{}': keep one of them", later->value, earlier->value));
    } else {
      layer->notes.push_back(base::say("{0} is given twice: {1} {2}, then {3} {4}; the last one applies", field.key(),
                                       earlier->origin, earlier->value, later->origin, later->value));
    }
  }
}

}  // namespace

FlagTable settings_table(SettingsReading& reading) {
  FlagTable table("troika train");
  add_file_flags(table, reading);
  for (const Field& field : fields()) {
    const Target target = field.target(reading.defaults);
    const Takes takes = is_truth(target) ? Takes::truth : Takes::value;
    table.add_row({&field, takes, target, setting_taker(field, reading)});
  }
  for (const Switch& row : switches())
    table.add(row.name, reading.switched, base::Phrase(row.key)).taken_by(switch_taker(row, reading));
  for (const Ignored& row : ignored_flags()) table.ignore(row.name, row.why);
  table.on_word(word_taker(reading));
  return table;
}

CommandLine read_command_line(const std::vector<std::string>& arguments, const FlagTable* own,
                              const Environment& environment) {
  SettingsReading reading;
  const FlagTable table = settings_table(reading);
  FlagReading flags = own == nullptr ? read_flags({&table}, arguments) : read_flags({own, &table}, arguments);
  if (own != nullptr) read_variables(*own, environment, &flags);
  CommandLine& line = reading.line;
  line.help = flags.help;
  line.notes = std::move(flags.notes);
  for (FlagReading::Given& given : flags.given)
    if (given.key != deepspeed_flag) line.given.push_back(std::move(given));
  line.layer.errors = std::move(flags.errors);
  note_repeats(&line.layer);
  for (std::size_t i = 0; i < reading.deepspeed.size(); i += 2) {
    const FlatKey file{"deepspeed", FlatKey::Kind::text, reading.deepspeed[i + 1],
                       base::verbatim(reading.deepspeed[i])};
    for (const Assignment& taken : take_deepspeed(read_deepspeed(file, ""), &line.layer))
      line.given.push_back({taken.field->key(), {"--" + taken.field->key(), taken.value}});
  }
  return std::move(line);
}

Layer read_environment(const Environment& environment) {
  Layer layer;
  for (const auto& field : fields()) read_variables_of(field, environment, &layer);
  note_ignored(environment, &layer);
  return layer;
}

}  // namespace troika::config
