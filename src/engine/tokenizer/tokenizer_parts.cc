#include "tokenizer/tokenizer_parts.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::tokenizer {
using nlohmann::json;

[[noreturn]] static void refuse(const std::string& path, const base::Text& what) {
  throw base::DataError(base::say("{}: {} is not supported; byte-level BPE is (create one with 'troika data tokenizer INPUT --out DIR')", path, what));
}

bool json_is_true(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

bool json_is_set(const json& object, const char* key) { return object.contains(key) && !object.at(key).is_null(); }

static std::string type_of(const json& object, const std::string& path) {
  return base::json_string(object, "type", path);
}

// A pattern that matches exactly `text`.
static std::string quoted(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) == 0) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

namespace {

// Reads the parts of the pre-tokenizer one by one.
class PreTokenizerReader {
 public:
  PreTokenizerReader(const std::string& path, BpeModel* result) : path_(path), result_(*result) {
    result_.patterns.clear();
  }

  void read(const json& part) {
    const std::string type = type_of(part, path_);
    if (type == "Sequence") {
      for (const json& inner : base::json_array(part, "pretokenizers", path_)) read(inner);
      return;
    }
    if (in_bytes_) refuse(path_, base::say("the pre-tokenizer '{}' after ByteLevel", type));
    if (type == "ByteLevel") {
      read_byte_level(part);
    } else if (type == "Split") {
      add(split_pattern(part));
    } else if (type == "Digits") {
      add(json_is_true(part, "individual_digits") ? "\\p{N}" : "\\p{N}+");
    } else {
      refuse(path_, base::say("the pre-tokenizer '{}'", type));
    }
  }

 private:
  void read_byte_level(const json& part) {
    in_bytes_ = true;
    result_.prefix_space = json_is_true(part, "add_prefix_space");
    if (result_.prefix_space && !result_.patterns.empty())
      refuse(path_, base::say("ByteLevel with add_prefix_space after another pre-tokenizer"));
    if (!part.contains("use_regex") || json_is_true(part, "use_regex")) add(gpt2_pattern);
  }

  // Isolated: matches and what is between them are pieces. Removed and inverted: only matches are, which is the same for a
  // pattern that matches everywhere.
  std::string split_pattern(const json& part) const {
    const json& given = base::json_object(part, "pattern", path_);
    const std::string pattern = given.contains("Regex") ? base::json_string(given, "Regex", path_)
                                                        : quoted(base::json_string(given, "String", path_));
    const std::string behavior = base::json_string(part, "behavior", path_);
    if (pattern.empty()) refuse(path_, base::say("a Split with an empty pattern"));
    if (behavior == "Isolated") return pattern;  // an inverted one has the same borders
    if (behavior == "Removed" && json_is_true(part, "invert") && known_pattern(pattern) != KnownPattern::none)
      return pattern;
    refuse(path_,
           base::say(json_is_true(part, "invert") ? base::Phrase("a Split with the behavior '{}', inverted") : base::Phrase("a Split with the behavior '{}'"), behavior));
  }

  void add(std::string pattern) {
    if (result_.patterns.size() == most_patterns)
      refuse(path_, base::say("more than {} pre-tokenizers", most_patterns));
    result_.patterns.push_back(std::move(pattern));
  }

  static constexpr std::size_t most_patterns = 64;
  const std::string& path_;
  BpeModel& result_;
  bool in_bytes_ = false;
};

}  // namespace

static bool mentions_byte_level(const json& part) {
  if (!part.is_object()) return false;
  if (part.value("type", "") == "ByteLevel") return true;
  for (const char* list : {"pretokenizers", "decoders"}) {
    const auto found = part.find(list);
    if (found != part.end() && std::any_of(found->begin(), found->end(), mentions_byte_level)) return true;
  }
  return false;
}

// Whether the normalizer is NFC; refuses all others.
static bool asks_for_nfc(const json& part, const std::string& path) {
  const std::string type = type_of(part, path);
  if (type == "NFC") return true;
  if (type != "Sequence") refuse(path, base::say("the normalizer '{}'", type));
  bool nfc = false;
  for (const json& inner : base::json_array(part, "normalizers", path)) nfc = asks_for_nfc(inner, path) || nfc;
  return nfc;
}

// Calls `check` with the type of a part, or of each part of a Sequence whose list has the name `list`.
static void for_each_type(const json& part, const char* list, const std::string& path,
                          const std::function<void(const std::string&)>& check) {
  const std::string type = type_of(part, path);
  if (type != "Sequence") return check(type);
  for (const json& inner : base::json_array(part, list, path)) for_each_type(inner, list, path, check);
}

static void check_decoder(const json& root, const std::string& path) {
  if (!root.contains("decoder") || !mentions_byte_level(root.at("decoder")))
    refuse(path, base::say("a tokenizer without the ByteLevel decoder"));
  for_each_type(root.at("decoder"), "decoders", path, [&](const std::string& type) {
    if (type != "ByteLevel" && type != "Fuse") refuse(path, base::say("the decoder '{}'", type));
  });
}

static void check_model(const json& model, const std::string& path) {
  if (model.contains("type") && type_of(model, path) != "BPE")
    refuse(path, base::say("a {} model", type_of(model, path)));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (json_is_set(model, key) && model.at(key) != "") refuse(path, base::say(base::Phrase("'{}'", "entry"), key));
  if (json_is_set(model, "dropout") && model.at("dropout") != 0.0) refuse(path, base::say("merge dropout"));
  if (json_is_true(model, "byte_fallback")) refuse(path, base::verbatim("byte_fallback"));
}

static void check_supported(const json& root, const std::string& path) {
  check_model(base::json_object(root, "model", path), path);
  if (!root.contains("pre_tokenizer") || !mentions_byte_level(root.at("pre_tokenizer")))
    refuse(path, base::say("a tokenizer without the ByteLevel pre-tokenizer"));
  check_decoder(root, path);
}

void read_tokenizer_parts(const json& root, const std::string& path, BpeModel* result) {
  check_supported(root, path);
  PreTokenizerReader(path, result).read(root.at("pre_tokenizer"));
  result->nfc = json_is_set(root, "normalizer") && asks_for_nfc(root.at("normalizer"), path);
  result->whole_pieces_first = json_is_true(root.at("model"), "ignore_merges");
}

namespace {

using Ids = std::vector<std::int32_t>;

class PostProcessorReader {
 public:
  PostProcessorReader(std::size_t vocab_size, const std::string& origin) : vocab_size_(vocab_size), origin_(origin) {}

  void read(const json& part) {
    const std::string type = base::json_string(part, "type", origin_);
    if (type == "Sequence") {
      for (const json& inner : base::json_array(part, "processors", origin_)) read(inner);
    } else if (type == "TemplateProcessing") {
      const Ids front = front_of(part);
      begin_.insert(begin_.begin(), front.begin(), front.end());
      limit(begin_);
    } else if (type != "ByteLevel" && type != "RobertaProcessing" && type != "BertProcessing") {
      refuse(base::say("the post-processor '{}' is not supported", type));
    }
  }

  Ids take() { return std::move(begin_); }

 private:
  [[noreturn]] void refuse(const base::Text& what) const {
    throw base::DataError(base::say("{}: {}", origin_, what));
  }

  void limit(const Ids& ids) const {
    if (ids.size() > most_ids) refuse(base::say("the post-processor adds more than {} ids before the text", most_ids));
  }

  Ids front_of(const json& part) const {
    Ids ids;
    for (const json& piece : base::json_array(part, "single", origin_)) {
      if (piece.is_object() && piece.contains("Sequence")) return ids;
      if (!piece.is_object() || !piece.contains("SpecialToken")) refuse(base::say("TemplateProcessing: 'single' holds an entry other than SpecialToken and Sequence"));
      const json& mark = base::json_object(piece, "SpecialToken", origin_);
      append(part, base::json_string(mark, "id", origin_), &ids);
    }
    refuse(base::say("TemplateProcessing: 'single' has no Sequence for the text"));
  }

  void append(const json& part, const std::string& name, Ids* ids) const {
    const json& marks = base::json_object(part, "special_tokens", origin_);
    for (const json& id : base::json_array(base::json_object(marks, name, origin_), "ids", origin_)) {
      // A number above INT64_MAX reads as a negative one.
      const std::int64_t value = id.is_number_integer() ? id.get<std::int64_t>() : -1;
      if (value < 0 || value >= static_cast<std::int64_t>(vocab_size_))
        refuse(base::say("TemplateProcessing: '{}' has the id {}, but ids range from 0 to {}", name, id.dump().substr(0, 40), vocab_size_ - 1));
      ids->push_back(static_cast<std::int32_t>(value));
      limit(*ids);
    }
  }

  static constexpr std::size_t most_ids = 64;
  const std::size_t vocab_size_;
  const std::string& origin_;
  Ids begin_;
};

}  // namespace

std::vector<std::int32_t> read_begin_ids(const json& post_processor, std::size_t vocab_size,
                                         const std::string& origin) {
  PostProcessorReader reader(vocab_size, origin);
  reader.read(post_processor);
  return reader.take();
}

}  // namespace troika::tokenizer
