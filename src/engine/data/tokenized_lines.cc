#include "data/tokenized_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/json_records.h"
#include "data/record_format.h"
#include "data/samples.h"

namespace troika::data {
namespace {

using base::DataError;
using nlohmann::json;

// An array of the outermost object.
struct Column {
  enum class Kind { ids, labels, attention, loss };
  const char* name;
  Kind kind;
  bool given = false;
  std::vector<std::int64_t> values = {};

  bool is_mask() const { return kind == Column::Kind::attention || kind == Column::Kind::loss; }
};

bool ends_as_mask(const std::string& name) {
  return (base::ends_with(name, "mask") || base::ends_with(name, "masks")) && name != "special_tokens_mask";
}

// The numbers of those arrays, and marks of the record, without building anything else of the line.
class LineReader final : public json::json_sax_t {
 public:
  LineReader(std::string_view text, base::Origin origin) : text_(text), origin_(origin) {}

  std::array<Column, 8> columns = {{{"input_ids", Column::Kind::ids},
                                    {"labels", Column::Kind::labels},
                                    {"attention_mask", Column::Kind::attention},
                                    {"loss_mask", Column::Kind::loss},
                                    {"assistant_masks", Column::Kind::loss},
                                    {"assistant_mask", Column::Kind::loss},
                                    {"completion_mask", Column::Kind::loss},
                                    {"response_mask", Column::Kind::loss}}};
  nlohmann::ordered_json marks = nlohmann::ordered_json::object();

  const Column& ids() const { return columns[0]; }
  const Column& labels() const { return columns[1]; }

  bool start_object(std::size_t) override { return open(Container::object); }
  bool start_array(std::size_t) override { return open(Container::array); }
  bool end_object() override { return close(); }
  bool end_array() override {
    if (depth_ == 2) filled_ = nullptr;
    return close();
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    name_ = name;
    wanted_ = nullptr;
    for (Column& column : columns)
      if (name == column.name) choose(&column);
    return true;
  }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, INT64_MAX)));
  }
  bool null() override {
    const bool absent = depth_ == 1 && wanted_ != nullptr && wanted_->is_mask();
    if (absent) wanted_->given = false;
    return absent || other(base::Phrase("null"));
  }
  bool boolean(bool value) override {
    if (filled_ != nullptr && filled_->is_mask()) return number(value ? 1 : 0);
    return take_mark(value) || other(base::Phrase("a boolean"));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return take_mark(value) || other_number(text.substr(0, 40));
  }
  bool string(string_t& text) override { return take_mark(text) || other(base::Phrase("a string")); }
  bool binary(binary_t&) override { return other(base::Phrase("binary data")); }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    throw base::json_fault(text_, byte, origin_);
  }

 private:
  enum class Container { object, array };

  bool open(Container container) {
    if (depth_ == 0 && container == Container::array) other(base::Phrase("an array"));
    if (filled_ != nullptr) other(container == Container::object ? base::Phrase("an object") : base::Phrase("an array"));
    if (depth_ == 1 && wanted_ != nullptr) {
      if (container == Container::object) other(base::Phrase("an object"));
      filled_ = wanted_;
    } else if (depth_ == 1 && container == Container::array && ends_as_mask(name_)) {
      throw DataError(base::say("{}: unknown mask '{}': known are attention_mask, and for the loss labels, loss_mask, assistant_masks, completion_mask and response_mask; rename or remove it", origin_, name_));
    }
    if (++depth_ > 256) throw DataError(base::say("{}: JSON is nested deeper than 256 levels", origin_));
    return true;
  }

  bool close() {
    if (--depth_ == 1) wanted_ = nullptr;
    return true;
  }

  void choose(Column* column) {
    if (column->given) throw DataError(base::say("{}: '{}' is listed twice", origin_, column->name));
    column->given = true;
    wanted_ = column;
  }

  // Whether it is the value of a mark.
  template <class Value>
  bool take_mark(const Value& value) {
    if (depth_ != 1 || filled_ != nullptr || !is_loss_mark(name_, MarkOf::record)) return false;
    if (wanted_ != nullptr) wanted_->given = false;
    marks[name_] = value;
    return true;
  }

  bool number(std::int64_t value) {
    if (take_mark(value)) return true;
    if (filled_ == nullptr) return depth_ == 1 && wanted_ == nullptr ? true : other_number(std::to_string(value));
    filled_->values.push_back(value);
    return true;
  }

  // A value that is no number of the arrays.
  bool other(base::Phrase what) { return other(base::say(what)); }
  bool other_number(const std::string& number) { return other(base::say(base::Phrase("{}", "number"), number)); }
  bool other(const base::Text& what) {
    if (depth_ == 0) throw DataError(base::say("{}: a line must be an object with 'input_ids', not {}", origin_, what));
    const Column* column = filled_ != nullptr ? filled_ : depth_ == 1 ? wanted_ : nullptr;
    if (column == nullptr) return true;
    if (column->is_mask()) throw DataError(base::say("{}: the mask '{}' holds {}, but must be an array of 0 and 1", origin_, column->name, what));
    throw DataError(
        base::say(filled_ != nullptr ? base::Phrase("{}: '{}' must contain only ids, not {}") : base::Phrase("{}: '{}' must be an array of ids, not {}"), origin_, column->name, what));
  }

  const std::string_view text_;
  const base::Origin origin_;
  int depth_ = 0;
  std::string name_;  // of the last key of the outermost object
  Column *wanted_ = nullptr, *filled_ = nullptr;
};

std::int32_t checked_id(std::int64_t id, std::int64_t vocab, const char* name, std::size_t place, base::Origin origin) {
  if (id >= 0 && id < vocab) return static_cast<std::int32_t>(id);
  throw DataError(base::say("{}: {} [{}] is {}, but ids must be from 0 to {}{}", origin, name, place, id, vocab - 1,
                            name[0] == 'l' ? base::say(", or -100 for no loss") : base::Text{}));
}

// A line whose arrays are all there, while it becomes a TokenizedLine.
class MaskedLine {
 public:
  MaskedLine(const LineReader& reader, std::int64_t vocab, base::Origin origin)
      : reader_(reader), vocab_(vocab), origin_(origin), count_(reader.ids().values.size()), end_(count_) {}

  TokenizedLine parsed() {
    check_lengths();
    TokenizedLine line;
    for (std::size_t i = 0; i < count_; ++i)
      line.ids.push_back(checked_id(reader_.ids().values[i], vocab_, "input_ids", i, origin_));
    for (const Column& column : reader_.columns) {
      if (!column.given || !column.is_mask()) continue;
      line.has_masks = true;
      if (column.kind == Column::Kind::attention) find_padding(column);
    }
    const LossMark mark = find_loss_mark(reader_.marks, MarkOf::record, "", origin_);
    has_loss_.assign(count_, mark.says != LossMark::Says::do_not_learn);
    line.has_masks = line.has_masks || mark.says == LossMark::Says::do_not_learn;
    for (const Column& column : reader_.columns)
      if (column.given && column.kind == Column::Kind::loss) take_mask(column);
    if (reader_.labels().given || line.has_masks) line.labels = labels(line.ids);
    cut(&line.ids);
    cut(&line.labels);
    return line;
  }

 private:
  void check_lengths() const {
    for (const Column& column : reader_.columns) {
      const std::size_t values = column.values.size();
      if (!column.given || values == count_) continue;
      if (column.kind == Column::Kind::labels) throw DataError(base::say("{}: {} labels for {} input_ids; each id needs one label", origin_, values, count_));
      throw DataError(base::say("{0}: {1} values of '{2}' for {3} input_ids; each id needs one", origin_, values, column.name, count_));
    }
  }

  bool is_on(const Column& mask, std::size_t i) const {
    const std::int64_t value = mask.values[i];
    if (value != 0 && value != 1)
      throw DataError(base::say("{}: {} [{}] is {}, but must be 0 or 1", origin_, mask.name, i, value));
    return value == 1;
  }

  void find_padding(const Column& mask) {
    while (begin_ < end_ && !is_on(mask, begin_)) ++begin_;
    while (end_ > begin_ && !is_on(mask, end_ - 1)) --end_;
    for (std::size_t i = begin_; i < end_; ++i)
      if (!is_on(mask, i)) throw DataError(base::say("{}: attention_mask [{}] is 0 between attended ids, but only padding at the ends can be masked", origin_, i));
  }

  bool is_padding(std::size_t i) const { return i < begin_ || i >= end_; }

  void take_mask(const Column& mask) {
    for (std::size_t i = 0; i < count_; ++i) {
      const bool on = is_on(mask, i);
      if (on && is_padding(i)) throw DataError(base::say("{}: {} [{}] is 1 where attention_mask is 0: write 0 there", origin_, mask.name, i));
      if (!on && has_loss_[i]) masked_by_ = mask.name;
      has_loss_[i] = has_loss_[i] && on;
    }
  }

  std::vector<std::int32_t> labels(const std::vector<std::int32_t>& ids) const {
    const Column& given = reader_.labels();
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool none = given.given && given.values[i] == ignore_index;
      const std::int32_t label = none          ? ignore_index
                                 : given.given ? checked_id(given.values[i], vocab_, "labels", i, origin_)
                                               : ids[i];
      if (given.given && !none && is_padding(i)) refuse_label(i, label, "attention_mask");
      if (given.given && !none && !has_loss_[i] && masked_by_ != nullptr) refuse_label(i, label, masked_by_);
      labels.push_back(has_loss_[i] && !is_padding(i) ? label : ignore_index);
    }
    return labels;
  }

  [[noreturn]] void refuse_label(std::size_t i, std::int32_t label, const char* mask) const {
    throw DataError(base::say("{}: labels [{}] is {} where {} is 0: write -100 there", origin_, i, label, mask));
  }

  void cut(std::vector<std::int32_t>* values) const {
    if (values->empty()) return;
    values->erase(values->begin() + static_cast<std::ptrdiff_t>(end_), values->end());
    values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(begin_));
  }

  const LineReader& reader_;
  const std::int64_t vocab_;
  const base::Origin origin_;
  const std::size_t count_;
  std::size_t begin_ = 0, end_;  // of what is no padding
  std::vector<bool> has_loss_;
  const char* masked_by_ = nullptr;  // the last mask that took loss off an id
};

std::size_t line_end(std::string_view text, std::size_t begin) { return std::min(text.find('\n', begin), text.size()); }

}  // namespace

TokenizedLine parse_tokenized_line(std::string_view line, std::int64_t vocab, base::Origin origin) {
  LineReader reader(line, origin);
  json::sax_parse(line.begin(), line.end(), &reader);
  if (!reader.ids().given) throw DataError(base::say("{}: '{}' is missing", origin, "input_ids"));
  return MaskedLine(reader, vocab, origin).parsed();
}

TokenizedLines::TokenizedLines(const std::string& path, std::int64_t vocab, const std::string& scratch)
    : path_(path), vocab_(vocab), file_(path, scratch) {
  file_.while_reading([&] { find_lines(); });
}

void TokenizedLines::find_lines() {
  const std::string_view text = file_.text();
  std::int64_t number = 1;
  bool has_masks = false;
  for (std::size_t begin = 0; begin < text.size(); begin = line_end(text, begin) + 1, ++number) {
    const std::string_view line = text.substr(begin, line_end(text, begin) - begin);
    if (is_blank(line)) continue;
    const base::Text origin = base::say("line {0} of '{1}'", number, path_);
    refuse_large_record(line.size(), origin);
    refuse_split_object(line, origin);
    const TokenizedLine parsed = parse_tokenized_line(line, vocab_, origin);
    has_masks = has_masks || parsed.has_masks;
    if (!parsed.ids.empty()) lines_.push_back({begin, static_cast<std::int64_t>(parsed.ids.size())});
  }
  fingerprint_ = base::hash_bytes((has_masks ? "masked " : "tokenized ") + base::hash_bytes(text));
}

base::Text TokenizedLines::origin(std::int64_t sequence) const {
  const std::string_view before = file_.text().substr(0, line(sequence).begin);
  std::int64_t number = 1;
  file_.while_reading([&] { number += std::count(before.begin(), before.end(), '\n'); });
  return base::say("line {0} of '{1}'", number, path_);
}

const TokenizedLines::Line& TokenizedLines::line(std::int64_t sequence) const {
  if (sequence >= 0 && sequence < count()) return lines_[static_cast<std::size_t>(sequence)];
  throw base::BugError(fmt::format("sequence {} asked of {} in '{}'", sequence, count(), path_));
}

// The caller's room is for as many as there were.
void TokenizedLines::refuse_other_length(std::int64_t sequence, const TokenizedLine& parsed) const {
  if (static_cast<std::int64_t>(parsed.ids.size()) == length(sequence)) return;
  throw base::DataError(base::say("sequence {0} of '{1}' has {2} ids, but had {3} when the run began: the file has changed", sequence, path_, parsed.ids.size(), length(sequence)));
}

std::int64_t TokenizedLines::length(std::int64_t sequence) const { return line(sequence).ids; }

void TokenizedLines::read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const {
  const std::string_view text = file_.text();
  const std::size_t begin = line(sequence).begin;
  TokenizedLine parsed;
  file_.while_reading([&] {
    const base::Text origin = base::say("sequence {0} of '{1}'", sequence, path_);
    parsed = parse_tokenized_line(text.substr(begin, line_end(text, begin) - begin), vocab_, origin);
    refuse_other_length(sequence, parsed);
  });
  const auto& said = parsed.labels.empty() ? parsed.ids : parsed.labels;
  std::copy(parsed.ids.begin(), parsed.ids.end(), ids);
  std::copy(said.begin(), said.end(), labels);
}

}  // namespace troika::data
