#include "data/tokenized_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/file_texts.h"
#include "base/json_fault.h"
#include "base/say.h"
#include "data/json_records.h"
#include "data/loader.h"
#include "data/samples.h"
#include "data/texts.h"

namespace troika::data {
namespace {

using base::DataError;
using nlohmann::json;

// The numbers of two arrays of the outermost object, without building anything else of the line.
class LineReader final : public json::json_sax_t {
 public:
  LineReader(std::string_view text, base::Origin origin) : text_(text), origin_(origin) {}

  std::vector<std::int64_t> ids, labels;
  bool has_ids = false, has_labels = false;

  bool start_object(std::size_t) override { return open(Container::object); }
  bool start_array(std::size_t) override { return open(Container::array); }
  bool end_object() override { return close(); }
  bool end_array() override {
    if (depth_ == 2) filled_ = nullptr;
    return close();
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    wanted_ = nullptr;
    if (name == "input_ids") choose(&ids, &has_ids, "input_ids");
    if (name == "labels") choose(&labels, &has_labels, "labels");
    return true;
  }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, INT64_MAX)));
  }
  bool null() override { return other(data_texts.null_value); }
  bool boolean(bool) override { return other(data_texts.truth_value); }
  bool number_float(number_float_t, const string_t& text) override { return other_number(text.substr(0, 40)); }
  bool string(string_t&) override { return other(data_texts.a_string); }
  bool binary(binary_t&) override { return other(data_texts.bytes); }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    throw base::json_fault(text_, byte, origin_);
  }

 private:
  enum class Container { object, array };

  bool open(Container container) {
    if (depth_ == 0 && container == Container::array) other(data_texts.an_array);
    if (filled_ != nullptr) other(container == Container::object ? data_texts.an_object : data_texts.an_array);
    if (depth_ == 1 && wanted_ != nullptr) {
      if (container == Container::object) other(data_texts.an_object);
      filled_ = wanted_;
    }
    if (++depth_ > 256) throw DataError(base::say(base::file_texts.deep, origin_));
    return true;
  }

  bool close() {
    if (--depth_ == 1) wanted_ = nullptr;
    return true;
  }

  void choose(std::vector<std::int64_t>* numbers, bool* has, const char* name) {
    if (*has) throw DataError(base::say(data_texts.twice, origin_, name));
    *has = true;
    name_ = name;
    wanted_ = numbers;
  }

  bool number(std::int64_t value) {
    if (filled_ == nullptr) return depth_ == 1 && wanted_ == nullptr ? true : other_number(std::to_string(value));
    filled_->push_back(value);
    return true;
  }

  // A value that is no number of the two arrays.
  bool other(const base::Bilingual& what) { return other(base::say(what)); }
  bool other_number(const std::string& number) { return other(base::say(data_texts.number, number)); }
  bool other(const base::Text& what) {
    if (depth_ == 0) throw DataError(base::say(data_texts.line_object, origin_, what));
    if (filled_ != nullptr) throw DataError(base::say(data_texts.only_ids, origin_, name_, what));
    if (depth_ == 1 && wanted_ != nullptr) throw DataError(base::say(data_texts.array_of_ids, origin_, name_, what));
    return true;
  }

  const std::string_view text_;
  const base::Origin origin_;
  int depth_ = 0;
  const char* name_ = "";
  std::vector<std::int64_t>*wanted_ = nullptr, *filled_ = nullptr;
};

std::int32_t checked_id(std::int64_t id, std::int64_t vocab, const char* name, std::size_t place, base::Origin origin) {
  if (id >= 0 && id < vocab) return static_cast<std::int32_t>(id);
  throw DataError(base::say(data_texts.id_range, origin, name, place, id, vocab - 1,
                            name[0] == 'l' ? base::say(data_texts.or_no_loss) : base::Text{}));
}

std::vector<std::int32_t> checked_ids(const LineReader& line, std::int64_t vocab, base::Origin origin) {
  std::vector<std::int32_t> ids;
  ids.reserve(line.ids.size());
  for (std::size_t i = 0; i < line.ids.size(); ++i)
    ids.push_back(checked_id(line.ids[i], vocab, "input_ids", i, origin));
  return ids;
}

std::vector<std::int32_t> checked_labels(const LineReader& line, std::int64_t vocab, base::Origin origin) {
  std::vector<std::int32_t> labels;
  labels.reserve(line.labels.size());
  for (std::size_t i = 0; i < line.labels.size(); ++i) {
    labels.push_back(line.labels[i] == ignore_index ? ignore_index
                                                    : checked_id(line.labels[i], vocab, "labels", i, origin));
  }
  return labels;
}

std::size_t line_end(std::string_view text, std::size_t begin) { return std::min(text.find('\n', begin), text.size()); }

}  // namespace

TokenizedLine parse_tokenized_line(std::string_view line, std::int64_t vocab, base::Origin origin) {
  LineReader reader(line, origin);
  json::sax_parse(line.begin(), line.end(), &reader);
  if (!reader.has_ids) throw DataError(base::say(base::file_texts.missing, origin, "input_ids"));
  if (reader.has_labels && reader.labels.size() != reader.ids.size()) {
    throw DataError(base::say(data_texts.labels, origin, reader.labels.size(), reader.ids.size()));
  }
  return {checked_ids(reader, vocab, origin), checked_labels(reader, vocab, origin)};
}

TokenizedLines::TokenizedLines(const std::string& path, std::int64_t vocab, const std::string& scratch)
    : path_(path), vocab_(vocab), file_(path, scratch) {
  file_.while_reading([&] { find_lines(); });
}

void TokenizedLines::find_lines() {
  const std::string_view text = file_.text();
  std::int64_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); begin = line_end(text, begin) + 1, ++number) {
    const std::string_view line = text.substr(begin, line_end(text, begin) - begin);
    if (is_blank(line)) continue;
    const base::Text origin = base::say(data_texts.line, number, path_);
    refuse_large_record(line.size(), origin);
    refuse_split_object(line, origin);
    const TokenizedLine parsed = parse_tokenized_line(line, vocab_, origin);
    if (!parsed.ids.empty()) lines_.push_back({begin, static_cast<std::int64_t>(parsed.ids.size())});
  }
  fingerprint_ = base::hash_bytes("tokenized " + base::hash_bytes(text));
}

const TokenizedLines::Line& TokenizedLines::line(std::int64_t sequence) const {
  if (sequence >= 0 && sequence < count()) return lines_[static_cast<std::size_t>(sequence)];
  throw base::BugError(fmt::format("sequence {} asked of {} in '{}'", sequence, count(), path_));
}

// The caller's room is for as many as there were.
void TokenizedLines::refuse_other_length(std::int64_t sequence, const TokenizedLine& parsed) const {
  if (static_cast<std::int64_t>(parsed.ids.size()) == length(sequence)) return;
  throw base::DataError(base::say(data_texts.file_changed, sequence, path_, parsed.ids.size(), length(sequence)));
}

std::int64_t TokenizedLines::length(std::int64_t sequence) const { return line(sequence).ids; }

void TokenizedLines::read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const {
  const std::string_view text = file_.text();
  const std::size_t begin = line(sequence).begin;
  TokenizedLine parsed;
  file_.while_reading([&] {
    parsed = parse_tokenized_line(text.substr(begin, line_end(text, begin) - begin), vocab_,
                                  fmt::format("sequence {} of '{}'", sequence, path_));
    refuse_other_length(sequence, parsed);
  });
  const auto& said = parsed.labels.empty() ? parsed.ids : parsed.labels;
  std::copy(parsed.ids.begin(), parsed.ids.end(), ids);
  std::copy(said.begin(), said.end(), labels);
}

}  // namespace troika::data
