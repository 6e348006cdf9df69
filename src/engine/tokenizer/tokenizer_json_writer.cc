#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {
using nlohmann::ordered_json;

static ordered_json byte_level(bool prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", false}, {"use_regex", use_regex}};
}

static ordered_json metaspace(const std::string& space, const char* scheme, bool split) {
  return {{"type", "Metaspace"}, {"replacement", space}, {"prepend_scheme", scheme}, {"split", split}};
}

static ordered_json cut_json(const Cut& cut) {
  using Behavior = Cut::Behavior;
  constexpr const char* behaviors[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  constexpr const char* schemes[] = {"always", "first", "never"};
  switch (cut.kind) {
    case Cut::Kind::spaces:
      return {{"type", "WhitespaceSplit"}};
    case Cut::Kind::words:
      return {{"type", "Whitespace"}};
    case Cut::Kind::metaspace:
      return metaspace(cut.pattern, schemes[static_cast<int>(cut.prepend)], cut.behavior == Behavior::merged_with_next);
    case Cut::Kind::pattern:
    case Cut::Kind::text:
      break;
  }
  return {{"type", "Split"},
          {"pattern", ordered_json{{cut.kind == Cut::Kind::pattern ? "Regex" : "String", cut.pattern}}},
          {"behavior", behaviors[static_cast<int>(cut.behavior)]},
          {"invert", cut.matches == Cut::Matches::inverted}};
}

static ordered_json pre_tokenizer_json(const BpeModel& model) {
  const std::vector<std::string>& patterns = model.patterns;
  if (model.prefix_space) return byte_level(true, !patterns.empty());
  ordered_json parts = ordered_json::array();
  for (const Cut& cut : model.cuts) parts.push_back(cut_json(cut));
  for (const std::string& pattern : patterns) parts.push_back(cut_json({Cut::Kind::pattern, pattern}));
  if (model.alphabet == Alphabet::bytes) parts.push_back(byte_level(false, false));
  if (parts.empty()) return nullptr;
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

static ordered_json normalizer_json(const BpeModel& model) {
  using Kind = NormalizerStep::Kind;
  ordered_json parts = ordered_json::array();
  for (const auto& [kind, pattern, content] : model.normalizers) {
    const auto form = [&](const char* name) { parts.push_back({{"type", name}}); };
    const auto strip = [&](bool left) {
      parts.push_back({{"type", "Strip"}, {"strip_left", left}, {"strip_right", !left}});
    };
    const auto replace = [&](const char* key) {
      parts.push_back({{"type", "Replace"}, {"pattern", ordered_json{{key, pattern}}}, {"content", content}});
    };
    switch (kind) {
      case Kind::nfc:
        form("NFC");
        break;
      case Kind::nfd:
        form("NFD");
        break;
      case Kind::nfkc:
        form("NFKC");
        break;
      case Kind::nfkd:
        form("NFKD");
        break;
      case Kind::lowercase:
        form("Lowercase");
        break;
      case Kind::strip_left:
      case Kind::strip_right:
        strip(kind == Kind::strip_left);
        break;
      case Kind::prepend:
        parts.push_back({{"type", "Prepend"}, {"prepend", content}});
        break;
      case Kind::replace_text:
        replace("String");
        break;
      case Kind::replace_pattern:
        replace("Regex");
        break;
    }
  }
  if (parts.empty()) return nullptr;
  return parts.size() == 1 ? parts[0] : ordered_json{{"type", "Sequence"}, {"normalizers", parts}};
}

static ordered_json decoder_json(const BpeModel& model) {
  using Kind = DecoderStep::Kind;
  if (model.alphabet == Alphabet::bytes) return byte_level(false, false);
  ordered_json parts = ordered_json::array();
  for (const DecoderStep& step : model.decoders) {
    switch (step.kind) {
      case Kind::replace:
        parts.push_back(
            {{"type", "Replace"}, {"pattern", ordered_json{{"String", step.pattern}}}, {"content", step.content}});
        break;
      case Kind::byte_fallback:
        parts.push_back({{"type", "ByteFallback"}});
        break;
      case Kind::fuse:
        parts.push_back({{"type", "Fuse"}});
        break;
      case Kind::strip:
        parts.push_back({{"type", "Strip"}, {"content", step.content}, {"start", step.start}, {"stop", step.stop}});
        break;
      case Kind::metaspace:
        parts.push_back(metaspace(step.pattern, step.content.empty() ? "always" : "never", false));
        break;
    }
  }
  return {{"type", "Sequence"}, {"decoders", parts}};
}

// Those of a model whose added tokens are found without the prefix of a text are written as transformers does if there is one.
static ordered_json added_json(const BpeModel& model) {
  const auto has_prefix = [](const NormalizerStep& step) { return step.kind == NormalizerStep::Kind::prepend; };
  const bool are_raw =
      model.added_without_prefix && std::any_of(model.normalizers.begin(), model.normalizers.end(), has_prefix);
  ordered_json list = ordered_json::array();
  for (const AddedToken& token : model.added) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", token.normalized && !are_raw},
                    {"special", token.special}});
  }
  return list;
}

static std::string spelling(const BpeModel& model, std::size_t id) {
  return model.alphabet == Alphabet::bytes ? spell_bytes(model.tokens.at(id)) : model.tokens.at(id);
}

static ordered_json model_json(const BpeModel& model) {
  ordered_json vocab = ordered_json::object(), merges = ordered_json::array();
  auto& entries =
      vocab.get_ref<ordered_json::object_t&>();  // pushed directly: a lookup per insertion would be quadratic
  const std::vector<bool> outside = marked(model.tokens.size(), model.outside);
  for (std::size_t id = 0; id < model.tokens.size(); ++id)
    if (!outside[id] && !model.tokens[id].empty()) entries.push_back({spelling(model, id), id});
  for (const auto& [left, right] : model.merges) {
    const std::string first = spelling(model, static_cast<std::size_t>(left)),
                      second = spelling(model, static_cast<std::size_t>(right));
    if (model.alphabet == Alphabet::bytes)
      merges.push_back(first + " " + second);
    else
      merges.push_back({first, second});
  }
  ordered_json unknown;
  if (model.unknown >= 0) unknown = spelling(model, static_cast<std::size_t>(model.unknown));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", model.fuse_unknown},
          {"byte_fallback", model.byte_fallback},
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
  const ordered_json root = {{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens", added_json(model)},
                             {"normalizer", normalizer_json(model)},
                             {"pre_tokenizer", pre_tokenizer_json(model)},
                             {"post_processor", begin_json(model)},
                             {"decoder", decoder_json(model)},
                             {"model", model_json(model)}};
  ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                         {"clean_up_tokenization_spaces", false},
                         {"add_bos_token", !model.begin.empty()},
                         {"add_prefix_space", false}};
  if (!model.begin.empty()) config["bos_token"] = text_of_token(model, model.begin[0]);
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
