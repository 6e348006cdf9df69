// Settings as text: YAML, help, Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/say.h"
#include "base/text.h"
#include "config/command_line.h"
#include "config/config.h"
#include "config/fields.h"
#include "config/flag_table.h"
#include "config/presets.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

// Words that YAML readers take for something other than text.
bool is_yaml_word(const std::string& text) {
  static const std::set<std::string> words = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  return words.count(base::lower_case(text)) > 0;
}

bool is_plain(const std::string& text) {
  if (text.empty() || is_yaml_word(text)) return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0 && text.front() != '/') return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/');
  });
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 32 || c == 127) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string yaml_value(const Field& field, const Settings& settings) {
  const std::string text = get_text(field, settings);
  if (field.is_text()) return is_plain(text) ? text : quoted(text);
  if (!field.is_list()) return text;
  return "[" + base::join(base::split(text, ','), ", ") + "]";
}

std::string markdown_of(const Field& field) {
  Settings defaults;
  const Target target = field.target(defaults);
  std::string flags = fmt::format("`{}`", field.flag());
  for (const auto flag : field.flags) flags += fmt::format(" `--{}`", flag);
  std::string values = value_shown(field, target);
  std::replace(values.begin(), values.end(), '|', ' ');
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", field.name, flags, values,
                     default_shown(field, target, base::Language::english), field.help.english(),
                     also_shown(field, "`", "`", base::Language::english));
}

std::string run_presets_markdown() {
  std::string text =
      "\n## Run presets\n\nFor two devices, chosen with `--preset`. The model has width 64 x layers, heads of 128 with "
      "keys and values of their\nown, feed-forward 3 x width; `--depth` takes another number of layers and with it "
      "another width.\n\n"
      "| name | layers | hidden | micro_batch_size | seq_len | total_batch_size |\n|---|---|---|---|---|---|\n";
  for (const RunPreset& p : run_presets()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", word_of(p.preset), p.layers, 64 * p.layers,
                        p.micro_batch_size, p.seq_len, p.total_batch_size);
  }
  return text;
}

}  // namespace

template <class Wanted>
static std::string yaml_of(const Settings& settings, const Wanted& wanted) {
  std::string text;
  std::string_view section;
  for (const auto& field : fields()) {
    if (!wanted(field)) continue;
    if (field.section != section) text += fmt::format("{}:\n", section = field.section);
    text += fmt::format("  {}: {}\n", field.name, yaml_value(field, settings));
  }
  return text;
}

std::string to_yaml(const Settings& settings) {
  return yaml_of(settings, [](const Field&) { return true; });
}

std::string to_yaml(const Settings& settings, const std::vector<std::string>& keys) {
  return yaml_of(settings,
                 [&](const Field& field) { return std::find(keys.begin(), keys.end(), field.key()) != keys.end(); });
}

static std::string run_presets_help(base::Language language) {
  std::string text;
  for (const RunPreset& p : run_presets())
    text += base::say("  {}: {} layers, micro_batch_size {}, seq_len {}, total_batch_size {} tokens\n",
                      word_of(p.preset), p.layers, p.micro_batch_size, p.seq_len, p.total_batch_size)
                .in(language);
  return text;
}

static std::string spellings_help(base::Language language) {
  std::string text;
  for (const auto& row : switches()) text += fmt::format("--{}: {} {}\n", row.name, row.key, row.value);
  for (const auto& row : ignored_flags())
    text += base::say("--{}: accepted and ignored; {}\n", row.name, base::say(row.why)).in(language);
  for (const auto& row : ignored_variables())
    text += base::say("{}: ignored; {}\n", row.name, base::say(row.why)).in(language);
  return text;
}

std::string settings_help(base::Language language) {
  SettingsReading scratch;
  const FlagTable table = settings_table(scratch);
  std::string text(base::Phrase("troika train: train a model; alone, or as one rank of a launched run\n\nusage: troika train [CONFIG.yaml] [flags]\n       troika launch --nproc-per-node 3 -- train [CONFIG.yaml] [flags]\n\nSettings by precedence: command line, environment, YAML file, preset, default.\n'-' and '_' are equivalent in names. Defaults are in [ ].\n")
                       .in(language));
  for (const FlagRow& row : table.rows()) {
    if (!row.flag->section.empty()) break;  // behind the table's own flags
    text += help_row(row, language);
  }
  text += help_of_common_flags(language);
  for (const auto& [section, title] : section_titles()) {
    text += fmt::format("\n{}: {}\n", section, title.in(language));
    for (const FlagRow& row : table.rows()) {
      if (row.flag->section == section) text += help_row(row, language);
    }
  }
  text += "\n" + base::say("Model presets: {}\nRun presets:\n", base::join(preset_names(), ", ")).in(language);
  return text + run_presets_help(language) + spellings_help(language);
}

std::string settings_markdown() {
  std::string text =
      "# Settings\n\n"
      "This page is printed from the rows in `src/ground/config/settings`; a test compares the two.\n\n"
      "Highest first: command line, environment, YAML file, preset, default. A higher place replaces what it "
      "contradicts in a\n"
      "lower one. In YAML a key stands in its section, or a familiar spelling stands at top level. `-` and `_` are "
      "equal in\n"
      "names. The first argument without dashes (or `--config FILE`, or `CONFIG_FILE` in the environment) is the YAML "
      "file.\n"
      "`--print-config` prints the resolved settings as YAML that reads back.\n";
  for (const auto& [section, title] : section_titles()) {
    text += fmt::format(
        "\n## {}\n\n{}.\n\n| key | flags | values | default | meaning | also understood |\n|---|---|---|---|---|---|\n",
        section, title.english());
    for (const auto& field : fields()) {
      if (field.section == section) text += markdown_of(field);
    }
  }
  text +=
      "\n## Model presets\n\n| name | architecture | layers | hidden | heads | kv_heads | head_dim | ffn | vocab | "
      "tied "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& name : preset_names()) {
    const ModelSettings m = find_preset(name);
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, word_of(m.architecture),
                        m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn,
                        m.vocab == 0 ? "the tokenizer's" : fmt::to_string(m.vocab), m.tie_embeddings ? "yes" : "no");
  }
  text += run_presets_markdown();
  text += "\n## Accepted for familiarity\n\n| spelling | what happens |\n|---|---|\n";
  for (const auto& row : switches()) text += fmt::format("| `--{}` | sets {} to {} |\n", row.name, row.key, row.value);
  text += "| `--report-to` | tensorboard sets log.tensorboard to on; other names are ignored |\n";
  for (const auto& row : ignored_flags())
    text += fmt::format("| `--{}` | ignored: {} |\n", row.name, row.why.english());
  for (const auto& row : ignored_variables())
    text += fmt::format("| `{}` | ignored: {} |\n", row.name, row.why.english());
  return text;
}

}  // namespace troika::config
