#include "commands/completion/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "commands/cli.h"
#include "config/command_line.h"
#include "config/flag_table.h"
#include "serve/form.h"

namespace troika::commands {
namespace {

using config::FlagRow;
using config::FlagTable;
using config::Takes;

bool begins(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

void offer(Candidates* to, std::string_view typed, std::string word, std::string_view help) {
  if (begins(word, typed)) to->words.push_back({std::move(word), std::string(help)});
}

const Verb* verb_among(const std::vector<Verb>& among, std::string_view name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Verb& verb) { return verb.name == name; });
  return found == among.end() ? nullptr : &*found;
}

// ---- values

// The paths that fit the placeholder of a value or a word in the help: FILE, DIR, RUN.
Paths paths_shown_as(std::string_view shown) {
  const auto has = [&](std::string_view part) { return shown.find(part) != std::string_view::npos; };
  if (begins(shown, "CONFIG")) return Paths::settings_files;
  if (has("DIR") || has("FOLDER") || begins(shown, "RUN") || shown == "TO") return Paths::folders;
  if (has("FILE") || begins(shown, "PATH") || has("INPUT") || shown == "FROM") return Paths::files;
  return Paths::none;
}

Paths paths_of_setting(const std::string& key) {
  if (key == "train.out") return Paths::folders;
  switch (serve::path_kind_of(key)) {
    case serve::PathKind::input:
    case serve::PathKind::input_list:
      return Paths::files;
    case serve::PathKind::output:
      return Paths::folders;
    case serve::PathKind::none:
      break;
  }
  return Paths::none;
}

bool takes_text(const FlagRow& row) {
  return (config::is_text(row.target) && !std::holds_alternative<config::WordTarget>(row.target)) ||
         std::holds_alternative<std::optional<std::string>*>(row.target) ||
         std::holds_alternative<std::vector<std::string>*>(row.target);
}

// All of a whole number's values, where they are few.
std::vector<std::string> few_numbers(const FlagRow& row) {
  constexpr double most = 8;
  const config::Flag& flag = *row.flag;
  const bool whole = std::holds_alternative<std::int64_t*>(row.target) ||
                     std::holds_alternative<std::optional<std::int64_t>*>(row.target);
  std::vector<std::string> numbers;
  if (!whole || flag.min >= flag.max || flag.max - flag.min >= most) return numbers;
  for (auto value = static_cast<std::int64_t>(flag.min); value <= static_cast<std::int64_t>(flag.max); ++value)
    numbers.push_back(std::to_string(value));
  return numbers;
}

std::vector<std::string> words_of_value(const FlagRow& row) {
  if (row.flag->offered != nullptr) return row.flag->offered();
  if (config::is_truth(row.target)) return {"true", "false"};
  if (row.flag->words.empty()) return few_numbers(row);
  return {row.flag->words.begin(), row.flag->words.end()};
}

// `before`: the text before the value in the same word, "--name=".
void offer_value(Candidates* to, const FlagRow& row, std::string_view typed, const std::string& before) {
  if (row.takes == Takes::nothing || row.takes == Takes::any_word || row.takes == Takes::dropped) return;
  for (const std::string& word : words_of_value(row)) offer(to, before + std::string(typed), before + word, "");
  const config::Flag& flag = *row.flag;
  if (!takes_text(row)) return;
  to->paths =
      flag.section.empty() ? paths_shown_as(flag.shown.empty() ? flag.name : flag.shown) : paths_of_setting(flag.key());
}

// ---- one verb

void offer_common_flags(Candidates* to, std::string_view typed, base::Language language) {
  offer(to, typed, "--help", config::common_flags()[0].help.in(language));
  offer(to, typed, "--lang", config::common_flags()[1].help.in(language));
}

class FlagsAt {
 public:
  FlagsAt(const Verb& verb, base::Language language)
      : language_(language), own_(verb.flags()), settings_(settings_table(scratch_)) {
    tables_.push_back(&own_);
    if (own_.takes_settings()) tables_.push_back(&settings_);
  }

  // `words`: those behind the verb and its part.
  Candidates candidates(const Words& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (begins_rest(words[i]))
        return rest({words.begin() + static_cast<long>(i) + (words[i] == "--" ? 1 : 0), words.end()});
      pass(words[i]);
    }
    return last(words.back());
  }

 private:
  const FlagRow* find(std::string_view name) const {
    for (const FlagTable* table : tables_)
      if (const FlagRow* row = table->find(config::normalised(name))) return row;
    return nullptr;
  }

  bool is_value(const std::string& word) const {
    if (awaiting_ == nullptr) return false;
    if (awaiting_->takes == Takes::any_word) return true;
    if (awaiting_->takes == Takes::truth) return config::parse_bool(word).has_value();
    return !begins(word, "--");
  }

  bool begins_rest(const std::string& word) const {
    return own_.rest() != nullptr && !is_value(word) && (word == "--" || !begins(word, "-"));
  }

  void pass(const std::string& word) {
    const bool was_value = is_value(word);
    awaiting_ = nullptr;
    if (was_value) return;
    if (flags_ended_ || !begins(word, "-")) {
      ++words_passed_;
    } else if (word == "--") {
      flags_ended_ = true;
    } else if (begins(word, "--") && word.find('=') == std::string::npos) {
      const FlagRow* row = find(word.substr(2));
      if (row != nullptr && row->takes != Takes::nothing) awaiting_ = row;
    }
  }

  Candidates last(const std::string& typed) const {
    Candidates found;
    const bool awaits_value = awaiting_ != nullptr && awaiting_->takes != Takes::truth;
    if (awaits_value && !(awaiting_->takes == Takes::value && begins(typed, "--"))) {
      offer_value(&found, *awaiting_, typed, "");
    } else if (!flags_ended_ && begins(typed, "--") && typed.find('=') != std::string::npos) {
      const std::size_t value = typed.find('=') + 1;
      if (const FlagRow* row = find(typed.substr(2, value - 3)))
        offer_value(&found, *row, typed.substr(value), typed.substr(0, value));
    } else if (!flags_ended_ && begins(typed, "-")) {
      offer_flags(&found, typed);
    } else {
      if (awaiting_ != nullptr) offer_value(&found, *awaiting_, typed, "");  // true or false may follow there
      offer_words(&found, typed);
    }
    return found;
  }

  void offer_flags(Candidates* found, const std::string& typed) const {
    for (const bool familiar : {false, true}) {
      for (const FlagTable* table : tables_) {
        for (const FlagRow& row : table->rows()) {
          if (row.takes == Takes::dropped) continue;
          const config::Flag& flag = *row.flag;
          for (const std::string_view name : familiar ? flag.familiar : flag.flags)
            offer_flag(found, typed, fmt::format("--{}", name), flag.help.in(language_));
          if (!familiar) offer_flag(found, typed, flag.flag(), flag.help.in(language_));
        }
      }
      if (!familiar) offer_common_flags(found, typed, language_);
      if (!found->words.empty()) return;
    }
  }

  // With the user's dashes or underscores.
  static void offer_flag(Candidates* found, const std::string& typed, const std::string& name, std::string_view help) {
    std::string spelled = "--" + config::normalised(name.substr(2));
    if (typed.find('_') != std::string::npos) std::replace(spelled.begin() + 2, spelled.end(), '-', '_');
    offer(found, typed, spelled, help);
  }

  void offer_words(Candidates* found, const std::string& typed) const {
    if (own_.rest() != nullptr) {
      *found = rest({typed});
    } else if (!own_.words().empty()) {
      const auto& rows = own_.words();
      const std::size_t at = std::min(words_passed_, rows.size() - 1);
      if (words_passed_ < rows.size() || is_list(rows[at].target)) offer_value(found, rows[at], typed, "");
    } else if (own_.takes_settings() && words_passed_ == 0) {
      found->paths = Paths::settings_files;
    }
  }

  // Candidates for the command that each rank of a launch runs.
  Candidates rest(const Words& words) const {
    static constexpr std::array<std::string_view, 5> of_ranks = {"train", "eval", "bench", "probe", "doctor"};
    if (words.size() > 1) return candidates_for(words, language_);
    Candidates found;
    for (const std::string_view name : of_ranks)
      offer(&found, words.front(), std::string(name), verb_among(verbs(), name)->line.in(language_));
    return found;
  }

  base::Language language_;
  config::SettingsReading scratch_;
  const FlagTable own_, settings_;
  std::vector<const FlagTable*> tables_;
  const FlagRow* awaiting_ = nullptr;  // the flag before, whose value may come next
  std::size_t words_passed_ = 0;
  bool flags_ended_ = false;
};

Candidates of_list(const std::vector<Verb>& among, const std::string& typed, base::Language language) {
  Candidates found;
  for (const Verb& verb : among) offer(&found, typed, std::string(verb.name), verb.line.in(language));
  if (begins(typed, "-")) offer_common_flags(&found, typed, language);
  return found;
}

// The words up to the last one without --lang, and the last one.
Words words_beside_language(const Words& words) {
  if (words.empty()) return {""};
  Words others = without_language({words.begin(), words.end() - 1});
  others.push_back(words.back());
  return others;
}

// Values of --lang, where the last word is one.
Candidates of_language(const Words& words) {
  constexpr std::string_view flag = "--lang", assigned = "--lang=";
  Candidates found;
  const bool inline_value = begins(words.back(), assigned);
  if (!inline_value && (words.size() < 2 || words[words.size() - 2] != flag)) return found;
  for (const std::string_view word : {"en", "zh", "auto"})
    offer(&found, words.back(), std::string(inline_value ? assigned : "").append(word), "");
  return found;
}

}  // namespace

Candidates candidates_for(const Words& given, base::Language language) {
  const Words words = words_beside_language(given);
  if (Candidates found = of_language(words); !found.words.empty()) return found;
  if (words.size() < 2) {
    Candidates found = of_list(verbs(), words.front(), language);
    if (begins(words.front(), "-"))
      offer(&found, words.front(), "--version", base::Phrase("Print the version and exit.").in(language));
    return found;
  }
  const Verb* verb = verb_among(verbs(), words.front());
  std::size_t behind = 1;
  if (verb != nullptr && !verb->parts.empty()) {
    if (words.size() == 2) return of_list(verb->parts, words.back(), language);
    verb = verb_among(verb->parts, words[1]);
    behind = 2;
  }
  if (verb == nullptr) return {};
  return FlagsAt(*verb, language).candidates({words.begin() + static_cast<long>(behind), words.end()});
}

}  // namespace troika::commands
