#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {
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
  const std::vector<bool> outside = marked(model.tokens.size(), model.outside);
  for (std::size_t id = 0; id < model.tokens.size(); ++id)
    if (!outside[id] && !model.tokens[id].empty()) entries.push_back({spell_bytes(model.tokens[id]), id});
  for (const auto& [left, right] : model.merges) {
    merges.push_back(spell_bytes(model.tokens.at(static_cast<std::size_t>(left))) + " " +
                     spell_bytes(model.tokens.at(static_cast<std::size_t>(right))));
  }
  ordered_json unknown;
  if (model.unknown >= 0) unknown = spell_bytes(model.tokens.at(static_cast<std::size_t>(model.unknown)));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", model.fuse_unknown},
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

std::vector<std::pair<std::string, std::string>> tokenizer_files(const BpeModel& model) {
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
  return {{"tokenizer_config.json", config.dump(2) + "\n"}, {"tokenizer.json", root.dump(2) + "\n"}};
}

void save_tokenizer(const BpeModel& model, const std::string& folder) {
  base::make_directories(folder);
  for (const auto& [name, content] : tokenizer_files(model)) base::write_file_atomic(folder + "/" + name, content);
}

}  // namespace troika::tokenizer
