
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "tokenizer/tokenizer_parts.h"

namespace troika::tokenizer {
using nlohmann::json;

namespace {

constexpr std::size_t deepest = 256;

// Builds the JSON value of everything but the two lists.
class DocumentReader final : public nlohmann::json_sax<json> {
 public:
  DocumentReader(std::string_view text, std::string origin, TokenizerLists* lists)
      : text_(text), origin_(std::move(origin)), lists_(*lists) {}

  json take() { return std::move(root_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool given) override { return value(given); }
  bool number_integer(number_integer_t given) override { return where_ == Where::vocab ? token(given) : value(given); }
  bool number_unsigned(number_unsigned_t given) override {
    const auto id = static_cast<std::int64_t>(std::min<number_unsigned_t>(given, INT64_MAX));
    return where_ == Where::vocab ? token(id) : value(given);
  }
  bool number_float(number_float_t given, const string_t&) override { return value(given); }
  bool binary(binary_t&) override { return value(nullptr); }

  bool string(string_t& given) override {
    if (where_ == Where::merges) return merge(given);
    if (where_ != Where::pair) return value(given);
    pair_.push_back(std::move(given));
    return true;
  }

  bool key(string_t& given) override {
    key_ = std::move(given);
    return true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::rest && in_model() && key_ == "vocab") return enter(Where::vocab, json::object());
    return open(json::object());
  }
  bool end_object() override { return close(); }

  bool start_array(std::size_t) override {
    if (where_ == Where::rest && in_model() && key_ == "merges") return enter(Where::merges, json::array());
    if (where_ != Where::merges) return open(json::array());
    where_ = Where::pair;
    pair_.clear();
    return true;
  }
  bool end_array() override {
    if (where_ != Where::pair) return close();
    if (pair_.size() != 2) refuse_merge(base::say("an array of {} strings", pair_.size()));
    lists_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
    where_ = Where::merges;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    if (error.id == 406) throw base::DataError(base::say("{}: a number is too large for a double", origin_));
    throw base::json_fault(text_, position, origin_);
  }

 private:
  enum class Where { rest, vocab, merges, pair };

  bool in_model() const { return open_.size() == 2 && open_[0] == &root_ && model_key_ == "model"; }

  json* place(json&& given) {
    if (open_.empty()) return &(root_ = std::move(given));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(given));
    return &((*open_.back())[key_] = std::move(given));
  }

  bool value(json given) {
    if (where_ == Where::vocab) return token(-1);
    if (where_ != Where::rest) refuse_merge(base::verbatim(given.dump()));
    place(std::move(given));
    return true;
  }

  bool token(std::int64_t id) {
    lists_.vocab.emplace_back(std::move(key_), id);
    return true;
  }

  bool merge(const std::string& text) {
    const std::size_t space = text.find(' ');
    if (space == std::string::npos) refuse_merge(base::say("'{}'", text));
    lists_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    return true;
  }

  [[noreturn]] void refuse_merge(const base::Text& what) const {
    throw base::DataError(base::say("{}: the merge {} ({}) is not a pair", origin_, lists_.merges.size(), what));
  }

  bool open(json&& empty) {
    if (where_ == Where::vocab) throw base::DataError(base::say("{}: the token '{}' has no usable id", origin_, key_));
    if (where_ != Where::rest) refuse_merge(base::say("a nested value"));
    if (open_.size() >= deepest)
      throw base::DataError(base::say("{}: JSON is nested deeper than {} levels", origin_, deepest));
    if (open_.size() == 1) model_key_ = key_;
    open_.push_back(place(std::move(empty)));
    return true;
  }

  // The list given last counts, as with any repeated key.
  bool enter(Where where, json&& empty) {
    if (where == Where::vocab) lists_.vocab.clear();
    if (where == Where::merges) lists_.merges.clear();
    place(std::move(empty));
    where_ = where;
    return true;
  }

  bool close() {
    if (where_ == Where::rest) {
      open_.pop_back();
    } else {
      where_ = Where::rest;
    }
    return true;
  }

  const std::string_view text_;
  const std::string origin_;
  TokenizerLists& lists_;
  json root_;
  std::vector<json*> open_;  // the values that are not closed yet; each stays in place while it is
  std::string key_, model_key_;
  Where where_ = Where::rest;
  std::vector<std::string> pair_;
};

}  // namespace

json read_tokenizer_document(std::string_view text, const std::string& origin, TokenizerLists* lists) {
  DocumentReader reader(text, origin, lists);
  json::sax_parse(text.data(), text.data() + text.size(), &reader);
  return reader.take();
}

}  // namespace troika::tokenizer
