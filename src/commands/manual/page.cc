#include "commands/manual/manual.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/version.h"
#include "config/command_line.h"
#include "config/fields.h"
#include "config/flag_table.h"
#include "config/presets.h"
#include "config/spellings.h"

namespace troika::commands {
namespace {

constexpr auto english = base::Language::english;  // manual pages are in it

using config::Flag;
using config::FlagRow;
using config::FlagTable;

const Verb* verb_of(const std::string& page) {
  const auto& all = verbs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Verb& verb) { return verb.name == page; });
  return found == all.end() ? nullptr : &*found;
}

std::string title_of(const std::string& page) { return page == "troika" ? page : "troika-" + page; }

// "train" of "troika-train.1".
std::string page_named(const std::string& name) {
  std::string page = name;
  if (page.size() > 2 && page.substr(page.size() - 2) == ".1") page.resize(page.size() - 2);
  if (page.rfind("troika-", 0) == 0) page = page.substr(7);
  const std::vector<std::string> pages = manual_pages();
  if (std::find(pages.begin(), pages.end(), page) != pages.end()) return page;
  const std::string near = base::nearest(page, pages);
  throw base::ConfigError(near.empty() ? base::say("unknown page '{}'; each verb has one: troika help", name)
                                       : base::say("unknown page '{}'; did you mean '{}'?", name, near));
}

std::string as_sentence(base::Phrase phrase) {
  std::string text(phrase.english());
  if (!text.empty() && text.back() != '.' && text.back() != '?' && text.back() != '!') text += '.';
  return text;
}

// Without the example that some end with.
base::Phrase without_example(base::Phrase line) {
  return base::Phrase(line.english().substr(0, line.english().find(": troika ")));
}

// ---- rows of tables

std::string tag_of(const FlagRow& row) {
  const Flag& flag = *row.flag;
  std::vector<std::string> names;
  for (const std::string_view name : flag.flags) names.push_back(roff_bold(fmt::format("--{}", name)));
  names.push_back(roff_bold(flag.flag()));
  std::string tag = base::join(names, ", ");
  if (row.takes != config::Takes::nothing) tag += " " + roff_italic(config::value_shown(flag, row.target));
  return tag;
}

// Behind a row's own sentence: names that may stand there, the default, other spellings.
std::string facts_behind(const FlagRow& row) {
  const Flag& flag = *row.flag;
  std::string text;
  if (flag.offered != nullptr) text += " Known: " + roff_text(base::join(flag.offered(), ", ")) + ".";
  const std::string value = row.takes == config::Takes::nothing ? "" : config::default_shown(flag, row.target, english);
  if (flag.is_required) {
    text += " Required.";
  } else if (!value.empty()) {
    text += " Default: " + roff_prose(value) + ".";
  }
  const std::string others = config::also_shown(flag, "", "", english);
  return others.empty() ? text : text + " Also: " + roff_text(others) + ".";
}

void add_row(RoffPage& page, const FlagRow& row) {
  page.item(tag_of(row), roff_prose(as_sentence(row.flag->help)) + facts_behind(row));
}

void add_word(RoffPage& page, const FlagRow& row) {
  page.item(roff_italic(row.flag->name), roff_prose(as_sentence(row.flag->help)) + facts_behind(row));
}

void add_common_rows(RoffPage& page) {
  for (const config::CommonFlag& row : config::common_flags())
    page.item(roff_bold(row.names) + (row.value.empty() ? "" : " " + roff_italic(row.value)),
              roff_prose(row.help.english()));
}

void add_ignored(RoffPage& page, const FlagTable& table) {
  for (const FlagRow& row : table.rows()) {
    if (row.takes == config::Takes::dropped)
      page.item(roff_bold(row.flag->flag()), roff_prose("Accepted and ignored: " + as_sentence(row.flag->help)));
  }
}

void add_rows(RoffPage& page, const FlagTable& table) {
  for (const FlagRow& row : table.words()) add_word(page, row);
  if (table.rest() != nullptr) add_word(page, *table.rest());
  for (const FlagRow& row : table.rows()) {
    if (row.takes != config::Takes::dropped) add_row(page, row);
  }
  config::Settings defaults;
  for (const std::string_view key : table.explained()) {
    const config::Field& field = config::field_of(key);
    add_row(page, {&field, config::Takes::value, field.target(defaults), nullptr});
  }
  add_common_rows(page);
  add_ignored(page, table);
}

// ---- settings

void add_presets(RoffPage& page) {
  page.subsection("Model presets");
  page.paragraph("Values of " + roff_bold("--model.preset") + ": " +
                 roff_text(base::join(config::preset_names(), ", ")) + ".");
  page.subsection("Run presets");
  page.paragraph("Values of " + roff_bold("--preset") + ".");
  for (const config::RunPreset& p : config::run_presets()) {
    page.item(roff_bold(word_of(p.preset)),
              roff_text(fmt::format("{} layers, micro_batch_size {}, seq_len {}, total_batch_size {} tokens.", p.layers,
                                    p.micro_batch_size, p.seq_len, p.total_batch_size)));
  }
}

void add_familiar(RoffPage& page) {
  page.subsection("Accepted for familiarity");
  for (const auto& row : config::switches())
    page.item(roff_bold(fmt::format("--{}", row.name)), roff_text(fmt::format("Sets {} to {}.", row.key, row.value)));
  for (const auto& row : config::ignored_flags())
    page.item(roff_bold(fmt::format("--{}", row.name)), roff_text("Ignored: " + as_sentence(row.why)));
}

void add_settings(RoffPage& page) {
  config::SettingsReading scratch;
  const FlagTable table = config::settings_table(scratch);
  page.paragraph(
      "Settings, highest first: command line, environment, YAML file, preset, default. In YAML a key belongs in its section: " +
      roff_bold("train.steps") + " as " + roff_bold("steps") + " below " + roff_bold("train") + ".");
  for (const FlagRow& row : table.rows()) {
    if (!row.flag->section.empty()) break;  // behind the table's own flags
    add_row(page, row);
  }
  add_common_rows(page);
  for (const auto& [section, title] : config::section_titles()) {
    page.subsection(fmt::format("Section {}", section));
    page.paragraph(roff_text(as_sentence(title)));
    for (const FlagRow& row : table.rows()) {
      if (row.flag->section == section) add_row(page, row);
    }
  }
  add_presets(page);
  add_familiar(page);
}

// ---- sections

// A line that its writer broke before it was full stays a line; others are filled.
void add_paragraph(RoffPage& page, base::Phrase text) {
  bool first = true, broken = false;
  for (const std::string& line : base::split(text.english(), '\n')) {
    if (broken) page.break_line();
    if (first) {
      page.paragraph(roff_prose(line));
    } else {
      page.filled(roff_prose(line));
    }
    first = false;
    broken = line.size() < 80;
  }
}

void add_synopsis(RoffPage& page, const FlagTable& table) {
  for (const config::Literal& usage : table.usages()) {
    const std::string line = roff_bold(table.command()) + (usage.empty() ? "" : " " + roff_text(usage.english()));
    if (&usage == &table.usages().front()) {
      page.paragraph(line);
    } else {
      page.break_line();
      page.filled(line);
    }
  }
}

std::vector<FlagTable> tables_of(const Verb& verb) {
  std::vector<FlagTable> tables;
  if (verb.parts.empty()) tables.push_back(verb.flags());
  for (const Verb& part : verb.parts) tables.push_back(part.flags());
  return tables;
}

void add_description(RoffPage& page, const Verb& verb, const std::vector<FlagTable>& tables) {
  page.section("DESCRIPTION");
  std::string line = as_sentence(without_example(verb.line));
  line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
  page.paragraph(roff_prose(line));
  for (const Verb& part : verb.parts) page.item(roff_bold(part.name), roff_prose(as_sentence(part.line)));
  if (verb.parts.empty()) {
    for (const config::Literal& paragraph : tables.front().paragraphs()) add_paragraph(page, paragraph);
  }
}

bool takes_all_settings(const Verb& verb) { return verb.name == "train"; }

void add_options(RoffPage& page, const Verb& verb, const std::vector<FlagTable>& tables) {
  page.section("OPTIONS");
  page.paragraph(roff_text("'-' and '_' are equal in names; ") + roff_bold("--name value") + " and " +
                 roff_bold("--name=value") + " mean the same.");
  if (takes_all_settings(verb)) return add_settings(page);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!verb.parts.empty()) {
      page.subsection(fmt::format("Of {}", verb.parts[i].name));
      for (const config::Literal& paragraph : tables[i].paragraphs()) add_paragraph(page, paragraph);
    }
    add_rows(page, tables[i]);
    if (tables[i].takes_settings())
      page.paragraph("Every setting of " + roff_bold("troika-train") + "(1) may stand here too.");
  }
}

void add_notes(RoffPage& page, std::string_view title, const std::vector<Note>& notes) {
  if (notes.empty()) return;
  page.section(title);
  for (const Note& note : notes) page.item(roff_bold(note.what), roff_prose(note.text));
}

void add_variables_of(RoffPage& page, const FlagTable& table) {
  for (const FlagRow& row : table.rows()) {
    for (const std::string_view variable : row.flag->variables)
      page.item(roff_bold(variable), "Stands for " + roff_bold(row.flag->flag()) + " where that is not given.");
  }
}

void add_environment(RoffPage& page, const Verb& verb, const std::vector<FlagTable>& tables, const PageNotes& notes) {
  RoffPage rows;
  const bool settings = takes_all_settings(verb);
  config::SettingsReading scratch;
  if (settings) add_variables_of(rows, config::settings_table(scratch));
  for (const FlagTable& table : tables) add_variables_of(rows, table);
  for (const Note& note : notes.variables) rows.item(roff_bold(note.what), roff_prose(note.text));
  const bool takes_them = !settings && std::any_of(tables.begin(), tables.end(),
                                                   [](const FlagTable& table) { return table.takes_settings(); });
  if (settings) {
    for (const auto& row : config::ignored_variables())
      rows.item(roff_bold(row.name), roff_text("Ignored: " + as_sentence(row.why)));
  }
  if (rows.text().empty() && !takes_them) return;
  page.section("ENVIRONMENT");
  if (takes_them) page.paragraph("The variables of " + roff_bold("troika-train") + "(1) count for its settings.");
  page.append(rows);
}

void add_exit_status(RoffPage& page) {
  page.section("EXIT STATUS");
  for (const ExitCode& row : exit_codes())
    page.item(roff_bold(std::to_string(row.code)), roff_text(row.explanation.english()));
}

void add_examples(RoffPage& page, const PageNotes& notes) {
  page.section("EXAMPLES");
  for (const Note& example : notes.examples) {
    page.paragraph(roff_prose(example.text));
    page.lines(roff_bold(example.what));
  }
}

void add_see_also(RoffPage& page, const std::string& name, const PageNotes& notes) {
  page.section("SEE ALSO");
  std::vector<std::string> others;
  if (name != "troika") others.push_back(roff_bold("troika") + "(1)");
  for (const std::string_view verb : notes.related) others.push_back(roff_bold(fmt::format("troika-{}", verb)) + "(1)");
  if (name == "troika") {
    for (const Verb& verb : verbs()) others.push_back(roff_bold(fmt::format("troika-{}", verb.name)) + "(1)");
  }
  std::sort(others.begin(), others.end());
  page.paragraph(base::join(others, ", "));
  page.paragraph("The guides are in " + roff_text("share/doc/troika/docs") + " of an installation, and in " +
                 roff_text("docs") + " of a clone.");
}

RoffPage begun_page(const std::string& name, std::string_view line) {
  RoffPage page;
  page.head(title_of(name), base::release_date, fmt::format("troika {}", base::version));
  page.section("NAME");
  page.paragraph(roff_text(title_of(name)) + " \\- " + roff_text(line));
  page.section("SYNOPSIS");
  return page;
}

std::string page_of_verb(const std::string& name, const Verb& verb) {
  const std::vector<FlagTable> tables = tables_of(verb);
  const PageNotes& notes = notes_of(name);
  RoffPage page = begun_page(name, without_example(verb.line).english());
  for (const FlagTable& table : tables) add_synopsis(page, table);
  add_description(page, verb, tables);
  add_options(page, verb, tables);
  add_notes(page, "FILES", notes.files);
  add_environment(page, verb, tables, notes);
  add_exit_status(page);
  add_examples(page, notes);
  add_see_also(page, name, notes);
  return page.text();
}

std::string page_of_program() {
  const PageNotes& notes = notes_of("troika");
  RoffPage page = begun_page("troika", "trains language models on the machines you have");
  page.paragraph(roff_bold("troika") + " " + roff_italic("VERB") + " [arguments]");
  page.break_line();
  page.filled(roff_bold("troika help") + " [" + roff_italic("VERB") + "]");
  page.section("DESCRIPTION");
  page.paragraph(
      "Troika trains decoder language models in several processes on one machine or on many: data, tensor, context and "
      "pipeline parallelism, ZeRO, and any combination of them. The layout does not change the result.");
  page.section("COMMANDS");
  for (const Verb& verb : verbs())
    page.item(roff_bold(fmt::format("troika {}", verb.name)), roff_prose(as_sentence(without_example(verb.line))));
  page.section("OPTIONS");
  add_common_rows(page);
  page.item(roff_bold("--version"), "Print the version and exit.");
  add_notes(page, "FILES", notes.files);
  add_notes(page, "ENVIRONMENT", notes.variables);
  add_exit_status(page);
  add_examples(page, notes);
  add_see_also(page, "troika", notes);
  return page.text();
}

}  // namespace

std::vector<std::string> manual_pages() {
  std::vector<std::string> names{"troika"};
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return names;
}

std::string manual_page(const std::string& name) {
  const std::string page = page_named(name);
  const Verb* verb = verb_of(page);
  return verb == nullptr ? page_of_program() : page_of_verb(page, *verb);
}

std::string manual_file(const std::string& page) { return title_of(page) + ".1"; }

}  // namespace troika::commands
