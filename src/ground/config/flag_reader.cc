// Reading a command line with tables of flags.

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "config/flag_table.h"

namespace troika::config {
namespace {

constexpr const char* hidden = "...";

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

class FlagReader {
 public:
  FlagReader(const std::vector<const FlagTable*>& tables, const std::vector<std::string>& words)
      : tables_(tables), words_(words), clean_(words) {}

  // The words without what was dropped; after read().
  std::vector<std::string>& clean() { return clean_; }

  FlagReading read() {
    while (next_ < words_.size()) {
      const std::size_t begin = next_;
      key_.reset();
      read_next();
      if (key_) reading_.given.push_back({*key_, {&clean_[begin], &clean_[begin] + (next_ - begin)}});
    }
    for (const FlagTable* table : tables_) require(*table);
    return std::move(reading_);
  }

 private:
  void read_next() {
    const std::string& word = words_[next_++];
    if (!flags_ended_ && word == "--") {
      if (!take_rest(next_)) flags_ended_ = true;
    } else if (flags_ended_ || !base::begins_with(word, "-") || word == "-") {
      if (!take_rest(next_ - 1)) take_word(word);
    } else if (word == "-h") {
      reading_.help = true;
    } else if (base::begins_with(word, "--")) {
      read_flag(word);
    } else {
      reading_.refuse(base::say("unknown flag {}: flags begin with two dashes", word.substr(0, 2)));
      has_inline_ = false;
      skip_value();
    }
  }

  const FlagRow* find(std::string_view name) const {
    for (const FlagTable* table : tables_) {
      if (const FlagRow* row = table->find(name)) return row;
    }
    return nullptr;
  }

  bool is_known_flag(const std::string& word) const {
    if (!base::begins_with(word, "--") || word == "--") return word == "--" || word == "-h";
    const std::string name = word.substr(2, word.find('=') - 2);
    return normalised(name) == "help" || find(name) != nullptr;
  }

  void read_flag(const std::string& word) {
    const auto equals = word.find('=');
    shown_ = word.substr(0, equals);
    has_inline_ = equals != std::string::npos;
    inline_ = has_inline_ ? word.substr(equals + 1) : "";
    const std::string name = normalised(shown_.substr(2));
    if (name == "help") {
      reading_.help = true;
    } else if (const FlagRow* row = find(name)) {
      take_flag(*row);
    } else {
      refuse_unknown(name);
      skip_value();
    }
  }

  void take_flag(const FlagRow& row) {
    key_ = row.flag->key();
    if (row.takes == Takes::dropped) {
      reading_.notes.push_back(base::say("{} is ignored: {}", shown_, base::say(row.flag->help)));
      if (has_inline_)
        clean_[next_ - 1].replace(clean_[next_ - 1].find('=') + 1, std::string::npos, hidden);
      else if (next_ < words_.size() && !is_known_flag(words_[next_]))
        clean_[next_++] = hidden;
      return;
    }
    const auto text = text_of(row);
    if (!text) return reading_.refuse(base::say("{} needs a value", shown_));
    reading_.stated.push_back(row.flag->key());
    if (!is_second(row, *text)) row.take(*text, shown_, &reading_);
  }

  // The text of the flag at hand; nothing where it is missing.
  std::optional<std::string> text_of(const FlagRow& row) {
    if (has_inline_) return inline_;
    const bool is_there = next_ < words_.size();
    switch (row.takes) {
      case Takes::nothing:
        return "true";
      case Takes::truth:
        truth_ = shown_;
        return is_there && says_truth(words_[next_]) ? words_[next_++] : "true";
      case Takes::value:
        if (!is_there || base::begins_with(words_[next_], "--")) return std::nullopt;
        return words_[next_++];
      default:
        if (!is_there) return std::nullopt;
        return words_[next_++];
    }
  }

  // A folder of one letter is rather a model than `t` or `n`.
  static bool says_truth(const std::string& word) {
    const bool is_letter = word.size() == 1 && word != "0" && word != "1";
    return parse_bool(word).has_value() && !(is_letter && base::directory_exists(word));
  }

  // A verb's own flag has one value; of a setting the last one counts, with a note (command_line.h).
  bool is_second(const FlagRow& row, const std::string& text) {
    if (!row.flag->section.empty() || is_list(row.target) || row.takes == Takes::truth || row.takes == Takes::nothing)
      return false;
    const auto [first, is_new] = own_.emplace(row.flag, std::pair{shown_, text});
    if (is_new || first->second.second == text) return false;
    reading_.refuse(base::say("{} {} and {} {} contradict each other: keep one of them", first->second.first,
                              first->second.second, shown_, text));
    return true;
  }

  void refuse_unknown(const std::string& name) {
    reading_.unknown.push_back(shown_);
    const std::string near = nearest_flag(name);
    base::Text text = near.empty() ? base::say("unknown flag {}; --help lists all", shown_)
                                   : base::say("unknown flag {}; did you mean {}?", shown_, near);
    for (const FlagTable* table : tables_) {
      if (table->hint().empty()) continue;
      text.english += (near.empty() ? ". " : " ") + std::string(table->hint().in(base::Language::english));
      text.chinese += (near.empty() ? "。" : "") + std::string(table->hint().in(base::Language::chinese));
    }
    reading_.refuse(std::move(text));
  }

  // --data, --data.path: the setting of the section with the nearest name, else its first; "": there is no such section.
  std::string nearest_of_section(const std::string& name) const {
    const std::size_t dot = std::min(name.find('.'), name.size());
    std::map<std::string, std::string> settings;
    std::vector<std::string> names;
    for (const FlagTable* table : tables_) {
      for (const FlagRow& row : table->rows()) {
        if (row.flag->section.empty() || row.flag->section != name.substr(0, dot)) continue;
        names.push_back(normalised(row.flag->name));
        settings.emplace(names.back(), row.flag->flag());
      }
    }
    if (names.empty()) return "";
    const std::string near = base::nearest(name.substr(std::min(dot + 1, name.size())), names);
    return settings.at(near.empty() ? names.front() : near);
  }

  std::string nearest_flag(const std::string& name) const {
    std::vector<std::string> names{"help"};
    std::map<std::string, std::string> settings;  // by their names without a section, which are no flags
    for (const FlagTable* table : tables_) {
      for (const auto* rows : {&table->rows(), &table->words()}) {
        for (const FlagRow& row : *rows) {
          const Flag& flag = *row.flag;
          if (row.takes == Takes::dropped) continue;
          if (!flag.section.empty() && normalised(flag.name) == name) return flag.flag();  // --layers: --model.layers
          if (rows == &table->rows()) names.push_back(flag.flag().substr(2));
          names.insert(names.end(), flag.flags.begin(), flag.flags.end());
          names.insert(names.end(), flag.familiar.begin(), flag.familiar.end());
          if (!flag.section.empty()) settings.emplace(normalised(flag.name), flag.flag());
        }
      }
    }
    for (const auto& setting : settings) {
      if (std::find(names.begin(), names.end(), setting.first) == names.end()) names.push_back(setting.first);
    }
    if (const std::string near = nearest_of_section(name); !near.empty()) return near;
    const std::string near = base::nearest(name, names);
    if (near.empty()) return "";
    const auto found = settings.find(near);
    return found == settings.end() || is_known_flag("--" + near) ? "--" + near : found->second;
  }

  // The word behind an unknown flag may be its value or, where a table takes the rest and no "--" says where that begins,
  // its beginning: then nothing more can be told.
  void skip_value() {
    if (has_inline_) return;
    const bool rest_is_marked = std::find(words_.begin(), words_.end(), "--") != words_.end();
    for (const FlagTable* table : tables_)
      if (table->rest() != nullptr && !rest_is_marked) next_ = words_.size();
    if (next_ == words_.size()) return;
    if (!base::begins_with(words_[next_], "--") && words_[next_] != "-h") ++next_;
  }

  // Whether a table takes all from word `from` on.
  bool take_rest(std::size_t from) {
    for (const FlagTable* table : tables_) {
      if (table->rest() == nullptr) continue;
      for (next_ = from; next_ < words_.size(); ++next_) table->rest()->take(words_[next_], "", &reading_);
      return true;
    }
    return false;
  }

  void take_word(const std::string& word) {
    const std::size_t equals = flags_ended_ ? std::string::npos : word.find('=');
    const bool is_assignment = equals != std::string::npos && is_known_flag("--" + word);
    for (const FlagTable* table : tables_) {
      if (!table->words().empty()) return take_word_of(*table, word);
      if (!table->on_word()) continue;
      if (is_assignment) return read_flag("--" + word);
      if (equals != std::string::npos && is_name(word.substr(0, equals)) && !base::file_exists(word) &&
          !base::directory_exists(word)) {
        shown_ = "--" + word.substr(0, equals);  // what is behind it may be a secret
        return refuse_unknown(normalised(word.substr(0, equals)));
      }
      key_ = "";
      reading_.behind_truth = is_behind_truth() ? truth_ : "";
      return table->on_word()(word, word, &reading_);
    }
    refuse_word(word);
  }

  void take_word_of(const FlagTable& table, const std::string& word) {
    for (const FlagRow& row : table.words()) {
      if (reading_.states(row.flag->key()) && !is_list(row.target)) continue;
      key_ = row.flag->key();
      reading_.stated.push_back(*key_);
      return row.take(word, std::string(row.flag->name), &reading_);
    }
    refuse_word(word);
  }

  bool is_behind_truth() const { return !truth_.empty() && next_ >= 2 && words_[next_ - 2] == truth_; }

  void refuse_word(const std::string& word) {
    reading_.refuse(is_behind_truth() ? base::say("unexpected argument '{}'; {} takes true or false", word, truth_)
                                      : base::say("unexpected argument '{}'; --help lists the arguments", word));
  }

  void require(const FlagTable& table) {
    for (const auto* rows : {&table.words(), &table.rows()}) {
      for (const FlagRow& row : *rows) {
        if (!row.flag->is_required || reading_.states(row.flag->key())) continue;
        const std::string name = rows == &table.words() ? std::string(row.flag->name) : row.flag->flag();
        reading_.refuse(base::say("{0} needs {1}; see {0} --help", table.command(), name));
      }
    }
  }

  const std::vector<const FlagTable*>& tables_;
  const std::vector<std::string>& words_;
  std::vector<std::string> clean_;
  std::size_t next_ = 0;
  bool flags_ended_ = false;
  std::optional<std::string> key_;  // of what is being read, once it is known
  std::string truth_;               // the last flag that takes true or false, as typed
  std::string shown_;               // the flag at hand as typed, without its value
  std::string inline_;              // the text behind '='
  bool has_inline_ = false;
  std::map<const Flag*, std::pair<std::string, std::string>>
      own_;  // as typed and the value, of flags without a section
  FlagReading reading_;
};

}  // namespace

FlagReading read_flags(const std::vector<const FlagTable*>& tables, const std::vector<std::string>& words) {
  return FlagReader(tables, words).read();
}

std::vector<std::string> without_hidden_values(const std::vector<const FlagTable*>& tables,
                                               std::vector<std::string> words) {
  FlagReader reader(tables, words);
  reader.read();
  return std::move(reader.clean());
}

}  // namespace troika::config
