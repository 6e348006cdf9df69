#include "data/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/byte_alphabet.h"
#include "data/post_processor.h"
#include "data/tokenizer_document.h"

namespace troika::data {
using nlohmann::json;

static constexpr std::int64_t largest_vocabulary = 1 << 24;

[[noreturn]] static void refuse(const std::string& path, const std::string& what) {
  throw base::DataError(fmt::format(
      "{}: {} is not supported; byte-level BPE is (make one by 'troika data tokenizer INPUT --out DIR')", path, what));
}

static bool is_true(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

static bool is_set(const json& object, const char* key) { return object.contains(key) && !object.at(key).is_null(); }

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

// What the pre-tokenizer asks for, part by part.
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
    if (in_bytes_) refuse(path_, fmt::format("the pre-tokenizer '{}' behind ByteLevel", type));
    if (type == "ByteLevel") {
      read_byte_level(part);
    } else if (type == "Split") {
      add(split_pattern(part));
    } else if (type == "Digits") {
      add(is_true(part, "individual_digits") ? "\\p{N}" : "\\p{N}+");
    } else {
      refuse(path_, fmt::format("the pre-tokenizer '{}'", type));
    }
  }

 private:
  void read_byte_level(const json& part) {
    in_bytes_ = true;
    result_.prefix_space = is_true(part, "add_prefix_space");
    if (result_.prefix_space && !result_.patterns.empty()) {
      refuse(path_, "ByteLevel with add_prefix_space behind another pre-tokenizer");
    }
    if (!part.contains("use_regex") || is_true(part, "use_regex")) add(gpt2_pattern);
  }

  // Isolated: matches and what is between them are pieces. Removed and inverted: only matches are, which is the same for a
  // pattern that matches everywhere.
  std::string split_pattern(const json& part) const {
    const json& given = base::json_object(part, "pattern", path_);
    const std::string pattern = given.contains("Regex") ? base::json_string(given, "Regex", path_)
                                                        : quoted(base::json_string(given, "String", path_));
    const std::string behavior = base::json_string(part, "behavior", path_);
    if (pattern.empty()) refuse(path_, "a Split by nothing");
    if (behavior == "Isolated") return pattern;  // an inverted one has the same borders
    if (behavior == "Removed" && is_true(part, "invert") && known_pattern(pattern) != KnownPattern::none)
      return pattern;
    refuse(path_,
           fmt::format("a Split with the behavior '{}'{}", behavior, is_true(part, "invert") ? ", inverted" : ""));
  }

  void add(std::string pattern) {
    if (result_.patterns.size() == most_patterns)
      refuse(path_, fmt::format("more than {} pre-tokenizers", most_patterns));
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
  if (type != "Sequence") refuse(path, fmt::format("the normalizer '{}'", type));
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
  if (!root.contains("decoder") || !mentions_byte_level(root.at("decoder"))) {
    refuse(path, "a tokenizer without the ByteLevel decoder");
  }
  for_each_type(root.at("decoder"), "decoders", path, [&](const std::string& type) {
    if (type != "ByteLevel" && type != "Fuse") refuse(path, fmt::format("the decoder '{}'", type));
  });
}

static void check_model(const json& model, const std::string& path) {
  if (model.contains("type") && type_of(model, path) != "BPE")
    refuse(path, fmt::format("a {} model", type_of(model, path)));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (is_set(model, key) && model.at(key) != "") refuse(path, fmt::format("'{}'", key));
  }
  if (is_set(model, "dropout") && model.at("dropout") != 0.0) refuse(path, "dropout of merges");
  if (is_true(model, "byte_fallback")) refuse(path, "byte_fallback");
}

static void check_supported(const json& root, const std::string& path) {
  check_model(base::json_object(root, "model", path), path);
  if (!root.contains("pre_tokenizer") || !mentions_byte_level(root.at("pre_tokenizer"))) {
    refuse(path, "a tokenizer without the ByteLevel pre-tokenizer");
  }
  check_decoder(root, path);
}

namespace {

// The vocabulary while it is filled: bytes by id, and which ids are taken.
class Vocabulary {
 public:
  Vocabulary(const std::string& path, std::size_t entries, BpeModel* result)
      : path_(path), most_ids_(static_cast<std::int64_t>(4 * entries + (1 << 16))), result_(*result) {}

  // Ids may leave gaps, but a file of few tokens must not ask for the memory of many.
  std::size_t index_of(const std::string& name, std::int64_t id) {
    if (id < 0 || id >= most_ids_ || id >= largest_vocabulary || name.empty()) {
      throw base::DataError(fmt::format("{}: the token '{}' has no usable id", path_, name));
    }
    const auto index = static_cast<std::size_t>(id);
    if (index >= result_.tokens.size()) result_.tokens.resize(index + 1);
    return index;
  }

  void add(const std::string& spelling, std::int64_t id) {
    std::string& token = result_.tokens[index_of(spelling, id)];
    if (!token.empty()) throw base::DataError(fmt::format("{}: two tokens have the id {}", path_, id));
    const std::optional<std::string> bytes = alphabet_.bytes_of(spelling);
    token = bytes.value_or(spelling);
    if (!bytes) result_.outside.push_back(static_cast<std::int32_t>(id));
  }

  // A mark that the vocabulary spells too keeps the vocabulary's bytes: text is merged by those.
  void add_mark(const std::string& content, std::int64_t id) {
    std::string& token = result_.tokens[index_of(content, id)];
    const bool is_new = token.empty();
    const bool same_mark = marks_.emplace(id, content).first->second == content;
    if (!same_mark || (!is_new && token != content && token != alphabet_.bytes_of(content))) {
      throw base::DataError(fmt::format("{}: the added token '{}' has the id {} of another token", path_, content, id));
    }
    if (!is_new) return;
    token = content;
    result_.outside.push_back(static_cast<std::int32_t>(id));
  }

  const ByteAlphabet& alphabet() const { return alphabet_; }

 private:
  const std::string& path_;
  const std::int64_t most_ids_;
  BpeModel& result_;
  std::unordered_map<std::int64_t, std::string> marks_;
  const ByteAlphabet alphabet_;
};

}  // namespace

static void read_merges(const TokenizerLists& lists, const std::string& path, const ByteAlphabet& alphabet,
                        BpeModel* result) {
  const TokenTable ids(result->tokens, result->outside);
  const auto id_of_spelling = [&](const std::string& spelling) {
    const std::optional<std::string> bytes = alphabet.bytes_of(spelling);
    return bytes ? ids.find(*bytes) : -1;
  };
  result->merges.reserve(lists.merges.size());
  for (const auto& [left, right] : lists.merges) {
    const std::int32_t a = id_of_spelling(left), b = id_of_spelling(right);
    if (a < 0 || b < 0) {
      throw base::DataError(
          fmt::format("{}: the merge '{} {}' names a token that is not in the vocabulary", path, left, right));
    }
    result->merges.emplace_back(a, b);
  }
}

// An added token that the vocabulary has too has the same id in both.
static void check_ids(const TokenizerLists& lists, const std::unordered_map<std::string, std::int64_t>& added,
                      const std::string& path) {
  if (added.empty()) return;
  for (const auto& [spelling, id] : lists.vocab) {
    const auto found = added.find(spelling);
    if (found == added.end() || found->second == id) continue;
    throw base::DataError(fmt::format("{}: the added token '{}' has the id {}, but {} in the vocabulary", path,
                                      spelling, found->second, id));
  }
}

static AddedToken added_token(const json& item, const std::string& path) {
  AddedToken token;
  token.content = base::json_string(item, "content", path);
  token.special = is_true(item, "special");
  token.normalized = item.contains("normalized") ? is_true(item, "normalized") : !token.special;
  token.lstrip = is_true(item, "lstrip");
  token.rstrip = is_true(item, "rstrip");
  token.single_word = is_true(item, "single_word");
  return token;
}

static void read_added(const json& root, const TokenizerLists& lists, const std::string& path, Vocabulary* vocabulary,
                       BpeModel* result) {
  if (!is_set(root, "added_tokens")) return;
  std::unordered_map<std::string, std::int64_t> known;
  for (const json& item : base::json_array(root, "added_tokens", path)) {
    AddedToken token = added_token(item, path);
    const std::int64_t id = base::json_int(item, "id", path);
    const auto [before, is_new] = known.emplace(token.content, id);
    if (before->second != id) {
      throw base::DataError(
          fmt::format("{}: the added token '{}' has two ids, {} and {}", path, token.content, before->second, id));
    }
    vocabulary->add_mark(token.content, id);
    token.id = static_cast<std::int32_t>(id);
    if (is_new) result->added.push_back(std::move(token));
  }
  check_ids(lists, known, path);
}

// The eos_token of the tokenizer_config.json beside the file, "" when there is none.
static std::string configured_end(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string config = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + "tokenizer_config.json";
  if (!base::file_exists(config)) return "";
  const json root = base::parse_json(base::read_file(config), config);
  if (!root.is_object() || !is_set(root, "eos_token")) return "";
  const json& end = root.at("eos_token");
  return end.is_object() ? base::json_string(end, "content", config) : base::json_string(root, "eos_token", config);
}

static std::int32_t id_of(const BpeModel& model, const std::string& bytes) {
  for (const AddedToken& token : model.added) {
    if (token.content == bytes) return token.id;
  }
  const auto found = std::find(model.tokens.begin(), model.tokens.end(), bytes);
  return found == model.tokens.end() || bytes.empty() ? -1 : static_cast<std::int32_t>(found - model.tokens.begin());
}

static BpeModel model_of(const json& root, const TokenizerLists& lists, const std::string& path) {
  check_supported(root, path);
  BpeModel result;
  PreTokenizerReader(path, &result).read(root.at("pre_tokenizer"));
  result.nfc = is_set(root, "normalizer") && asks_for_nfc(root.at("normalizer"), path);
  const std::size_t marks = is_set(root, "added_tokens") ? root.at("added_tokens").size() : 0;
  Vocabulary vocabulary(path, lists.vocab.size() + marks, &result);
  for (const auto& [spelling, id] : lists.vocab) vocabulary.add(spelling, id);
  read_merges(lists, path, vocabulary.alphabet(), &result);
  read_added(root, lists, path, &vocabulary, &result);
  if (is_set(root, "post_processor")) {
    result.begin = read_begin_ids(root.at("post_processor"), result.tokens.size(), path);
  }
  result.whole_pieces_first = is_true(root.at("model"), "ignore_merges");
  result.end_of_document = id_of(result, "<|endoftext|>");
  return result;
}

BpeModel parse_tokenizer_json(std::string_view text, const std::string& origin) {
  TokenizerLists lists;
  const json root = read_tokenizer_document(text, origin, &lists);
  try {
    return model_of(root, lists, origin);
  } catch (const json::exception& error) {  // a member of another type than the format has
    throw base::DataError(fmt::format("{}: not a tokenizer.json as Hugging Face writes it: {}", origin, error.what()));
  }
}

BpeModel load_tokenizer_json(const std::string& path) {
  BpeModel model = parse_tokenizer_json(base::read_file(path), path);
  if (model.end_of_document < 0) model.end_of_document = id_of(model, configured_end(path));
  return model;
}

using nlohmann::ordered_json;

static ordered_json byte_level(bool prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", false}, {"use_regex", use_regex}};
}

static ordered_json pre_tokenizer_json(const BpeModel& model) {
  const std::vector<std::string>& patterns = model.patterns;
  if (model.prefix_space) return byte_level(true, !patterns.empty());
  ordered_json parts = ordered_json::array();
  for (const std::string& pattern : patterns) {
    parts.push_back({{"type", "Split"},
                     {"pattern", ordered_json{{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  parts.push_back(byte_level(false, false));
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

static ordered_json added_json(const std::vector<AddedToken>& tokens) {
  ordered_json list = ordered_json::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  }
  return list;
}

static ordered_json model_json(const BpeModel& model) {
  ordered_json vocab = ordered_json::object(), merges = ordered_json::array();
  auto& entries =
      vocab.get_ref<ordered_json::object_t&>();  // pushed directly: a lookup per insertion would be quadratic
  std::vector<bool> outside(model.tokens.size(), false);
  for (const std::int32_t id : model.outside) outside.at(static_cast<std::size_t>(id)) = true;
  for (std::size_t id = 0; id < model.tokens.size(); ++id) {
    if (!outside[id] && !model.tokens[id].empty()) entries.push_back({spell_bytes(model.tokens[id]), id});
  }
  for (const auto& [left, right] : model.merges) {
    merges.push_back(spell_bytes(model.tokens.at(static_cast<std::size_t>(left))) + " " +
                     spell_bytes(model.tokens.at(static_cast<std::size_t>(right))));
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", model.whole_pieces_first},
          {"vocab", vocab},
          {"merges", merges}};
}

// The post-processor that puts model.begin in front of a text.
static ordered_json begin_json(const BpeModel& model) {
  if (model.begin.empty()) return nullptr;
  ordered_json single = ordered_json::array(), marks = ordered_json::object();
  for (const std::int32_t id : model.begin) {
    const std::string name = text_of_token(model, id);
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    marks[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  }
  ordered_json pair = single;
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  pair.push_back(single.back());
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", marks}};
}

void save_tokenizer(const BpeModel& model, const std::string& folder) {
  const ordered_json normalizer = model.nfc ? ordered_json{{"type", "NFC"}} : ordered_json();
  const ordered_json root = {{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens", added_json(model.added)},
                             {"normalizer", normalizer},
                             {"pre_tokenizer", pre_tokenizer_json(model)},
                             {"post_processor", begin_json(model)},
                             {"decoder", byte_level(false, false)},
                             {"model", model_json(model)}};
  ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                         {"clean_up_tokenization_spaces", false},
                         {"add_bos_token", false},
                         {"add_prefix_space", false}};
  if (model.end_of_document >= 0) {
    const std::string end = text_of_token(model, model.end_of_document);
    config["eos_token"] = end;
    config["pad_token"] = end;
  }
  base::make_directories(folder);
  base::write_file_atomic(folder + "/tokenizer_config.json", config.dump(2) + "\n");
  base::write_file_atomic(folder + "/tokenizer.json", root.dump(2) + "\n");
}

}  // namespace troika::data
