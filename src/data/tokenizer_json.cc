#include "data/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/byte_alphabet.h"

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

static void add_patterns(const json& part, const std::string& path, std::vector<std::string>* patterns) {
  const std::string type = type_of(part, path);
  if (type == "Sequence") {
    for (const json& inner : base::json_array(part, "pretokenizers", path)) add_patterns(inner, path, patterns);
  } else if (type == "ByteLevel") {
    if (is_true(part, "add_prefix_space")) refuse(path, "ByteLevel with add_prefix_space");
    if (!part.contains("use_regex") || is_true(part, "use_regex")) patterns->push_back(gpt2_pattern);
  } else if (type == "Split") {
    const json& pattern = base::json_object(part, "pattern", path);
    if (!pattern.contains("Regex")) refuse(path, "a Split by a plain string");
    if (base::json_string(part, "behavior", path) != "Isolated" || is_true(part, "invert")) {
      refuse(path, "a Split that is inverted or not 'Isolated'");
    }
    patterns->push_back(base::json_string(pattern, "Regex", path));
  } else {
    refuse(path, fmt::format("the pre-tokenizer '{}'", type));
  }
}

static bool mentions_byte_level(const json& part) {
  if (!part.is_object()) return false;
  if (part.value("type", "") == "ByteLevel") return true;
  for (const char* list : {"pretokenizers", "decoders"}) {
    const auto found = part.find(list);
    if (found != part.end() && std::any_of(found->begin(), found->end(), mentions_byte_level)) return true;
  }
  return false;
}

static void check_supported(const json& root, const std::string& path) {
  const json& model = base::json_object(root, "model", path);
  if (model.contains("type") && type_of(model, path) != "BPE")
    refuse(path, fmt::format("a {} model", type_of(model, path)));
  if (is_set(root, "normalizer"))
    refuse(path, fmt::format("the normalizer '{}'", type_of(root.at("normalizer"), path)));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (is_set(model, key) && model.at(key) != "") refuse(path, fmt::format("'{}'", key));
  }
  if (is_set(model, "dropout") && model.at("dropout") != 0.0) refuse(path, "dropout of merges");
  if (is_true(model, "byte_fallback")) refuse(path, "byte_fallback");
  if (!root.contains("pre_tokenizer") || !mentions_byte_level(root.at("pre_tokenizer"))) {
    refuse(path, "a tokenizer without the ByteLevel pre-tokenizer");
  }
  if (!root.contains("decoder") || !mentions_byte_level(root.at("decoder"))) {
    refuse(path, "a tokenizer without the ByteLevel decoder");
  }
}

using Ids = std::unordered_map<std::string, std::int32_t>;  // by spelling

static Ids read_vocabulary(const json& model, const std::string& path, std::vector<std::string>* tokens) {
  Ids ids;
  for (const auto& [spelling, value] : base::json_object(model, "vocab", path).items()) {
    const std::int64_t id = value.is_number_integer() ? value.get<std::int64_t>() : -1;
    if (id < 0 || id >= largest_vocabulary || spelling.empty()) {
      throw base::DataError(fmt::format("{}: the token '{}' has no usable id", path, spelling));
    }
    const auto index = static_cast<std::size_t>(id);
    if (index >= tokens->size()) tokens->resize(index + 1);
    if (!(*tokens)[index].empty()) throw base::DataError(fmt::format("{}: two tokens have the id {}", path, id));
    (*tokens)[index] = bytes_of_spelling(spelling).value_or(spelling);
    ids.emplace(spelling, static_cast<std::int32_t>(id));
  }
  return ids;
}

static std::pair<std::string, std::string> merge_spelling(const json& merge, const std::string& path) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const std::size_t space = text.find(' ');
  if (space == std::string::npos)
    throw base::DataError(fmt::format("{}: the merge {} is not a pair", path, merge.dump()));
  return {text.substr(0, space), text.substr(space + 1)};
}

static void read_merges(const json& model, const std::string& path, const Ids& ids, BpeModel* result) {
  for (const json& merge : base::json_array(model, "merges", path)) {
    const auto [left, right] = merge_spelling(merge, path);
    const auto a = ids.find(left), b = ids.find(right);
    if (a == ids.end() || b == ids.end()) {
      throw base::DataError(
          fmt::format("{}: the merge '{} {}' names a token that is not in the vocabulary", path, left, right));
    }
    result->merges.emplace_back(a->second, b->second);
  }
}

static void read_added(const json& root, const std::string& path, BpeModel* result) {
  if (!is_set(root, "added_tokens")) return;
  for (const json& item : base::json_array(root, "added_tokens", path)) {
    AddedToken token;
    token.content = base::json_string(item, "content", path);
    const std::int64_t id = base::json_int(item, "id", path);
    for (const char* key : {"lstrip", "rstrip", "single_word"}) {
      if (is_true(item, key)) refuse(path, fmt::format("'{}' of the added token '{}'", key, token.content));
    }
    if (id < 0 || id >= largest_vocabulary || token.content.empty()) {
      throw base::DataError(fmt::format("{}: the added token '{}' has no usable id ({})", path, token.content, id));
    }
    token.id = static_cast<std::int32_t>(id);
    token.special = is_true(item, "special");
    token.normalized = is_true(item, "normalized");
    if (static_cast<std::size_t>(id) >= result->tokens.size()) result->tokens.resize(static_cast<std::size_t>(id) + 1);
    result->tokens[static_cast<std::size_t>(id)] = token.content;
    result->added.push_back(token);
  }
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

static std::int32_t find_document_end(const BpeModel& model, const std::string& path) {
  for (const std::string& wanted : {std::string("<|endoftext|>"), configured_end(path)}) {
    const auto found = std::find(model.tokens.begin(), model.tokens.end(), wanted);
    if (!wanted.empty() && found != model.tokens.end()) return static_cast<std::int32_t>(found - model.tokens.begin());
  }
  return -1;
}

static BpeModel model_of(const json& root, const std::string& path) {
  check_supported(root, path);
  BpeModel result;
  const json& model = root.at("model");
  result.patterns.clear();
  add_patterns(root.at("pre_tokenizer"), path, &result.patterns);
  const Ids ids = read_vocabulary(model, path, &result.tokens);
  read_merges(model, path, ids, &result);
  read_added(root, path, &result);
  result.whole_pieces_first = is_true(model, "ignore_merges");
  result.end_of_document = find_document_end(result, path);
  return result;
}

BpeModel load_tokenizer_json(const std::string& path) {
  const json root = base::parse_json(base::read_file(path), path);
  try {
    return model_of(root, path);
  } catch (const json::exception& error) {  // a member of another type than the format has
    throw base::DataError(fmt::format("{}: not a tokenizer.json as Hugging Face writes it: {}", path, error.what()));
  }
}

using nlohmann::ordered_json;

static ordered_json byte_level() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
}

static ordered_json pre_tokenizer_json(const std::vector<std::string>& patterns) {
  ordered_json parts = ordered_json::array();
  for (const std::string& pattern : patterns) {
    parts.push_back({{"type", "Split"},
                     {"pattern", ordered_json{{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  parts.push_back(byte_level());
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

static ordered_json added_json(const std::vector<AddedToken>& tokens) {
  ordered_json list = ordered_json::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  }
  return list;
}

static ordered_json model_json(const BpeModel& model) {
  ordered_json vocab = ordered_json::object(), merges = ordered_json::array();
  auto& entries =
      vocab.get_ref<ordered_json::object_t&>();  // pushed directly: a lookup per insertion would be quadratic
  for (std::size_t id = 0; id < model.tokens.size(); ++id) {
    const bool added = std::any_of(model.added.begin(), model.added.end(),
                                   [&](const AddedToken& token) { return token.id == static_cast<std::int32_t>(id); });
    if (!added && !model.tokens[id].empty()) entries.push_back({spell_bytes(model.tokens[id]), id});
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

void save_tokenizer(const BpeModel& model, const std::string& folder) {
  const ordered_json root = {{"version", "1.0"},          {"truncation", nullptr},
                             {"padding", nullptr},        {"added_tokens", added_json(model.added)},
                             {"normalizer", nullptr},     {"pre_tokenizer", pre_tokenizer_json(model.patterns)},
                             {"post_processor", nullptr}, {"decoder", byte_level()},
                             {"model", model_json(model)}};
  ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                         {"clean_up_tokenization_spaces", false},
                         {"add_bos_token", false},
                         {"add_prefix_space", false}};
  if (model.end_of_document >= 0) {
    const std::string& end = model.tokens.at(static_cast<std::size_t>(model.end_of_document));
    config["eos_token"] = end;
    config["pad_token"] = end;
  }
  base::make_directories(folder);
  base::write_file_atomic(folder + "/tokenizer_config.json", config.dump(2) + "\n");
  base::write_file_atomic(folder + "/tokenizer.json", root.dump(2) + "\n");
}

}  // namespace troika::data
