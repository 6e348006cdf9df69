#include "gguf/tokenizer_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "gguf/pre_tokenizer.h"

namespace troika::gguf {
namespace {

using nlohmann::ordered_json;
using Merges = std::vector<std::pair<std::string, std::string>>;

const std::string ggml = "tokenizer.ggml.";
constexpr const char* space_mark = "\xE2\x96\x81";  // U+2581

constexpr std::size_t most_tokens = 1 << 24;

// The lists of a file.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<TokenKind> kinds;
  std::vector<double> scores;  // may be empty
};

bool is_gemma(const Header& header) { return header.text("general.architecture").rfind("gemma", 0) == 0; }

[[noreturn]] void refuse(const Header& header, const base::Text& why) {
  throw base::DataError(
      base::say("'{}' has a tokenizer that is not read: {}; name another with --data.tokenizer or --tokenizer",
                header.origin(), why));
}

std::int64_t id_at(const Header& header, const std::string& key, std::int64_t otherwise = -1) {
  const std::int64_t id = header.whole(ggml + key + "_token_id", otherwise);
  return id >= 0 && id < header.count_of(ggml + "tokens") ? id : -1;
}

// Gemma's files have real spaces in tokens of nothing else.
std::string respelled(std::string_view token) {
  if (token.empty() || token.find_first_not_of(' ') != std::string_view::npos) return std::string(token);
  std::string marks;
  for (std::size_t i = 0; i < token.size(); ++i) marks += space_mark;
  return marks;
}

Vocabulary vocabulary_of(const Header& header) {
  Vocabulary v;
  const auto tokens = header.texts(ggml + "tokens");
  if (tokens.empty() || tokens.size() > most_tokens) refuse(header, base::say("it has {} tokens", tokens.size()));
  for (const std::string_view token : tokens)
    v.tokens.push_back(is_gemma(header) ? respelled(token) : std::string(token));
  const std::vector<double> kinds = header.numbers(ggml + "token_type");
  v.scores = header.numbers(ggml + "scores");
  if ((!kinds.empty() && kinds.size() != tokens.size()) || (!v.scores.empty() && v.scores.size() != tokens.size()))
    refuse(header,
           base::say("it has {} tokens, {} kinds of them and {} scores", tokens.size(), kinds.size(), v.scores.size()));
  v.kinds.assign(tokens.size(), TokenKind::normal);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] >= 1 && kinds[i] <= 6) v.kinds[i] = static_cast<TokenKind>(static_cast<int>(kinds[i]));
  for (const char* key : {"bos", "eos"})
    if (const std::int64_t id = id_at(header, key); kinds.empty() && id >= 0)
      v.kinds[static_cast<std::size_t>(id)] = TokenKind::control;
  return v;
}

Merges stored_merges(const Header& header) {
  Merges merges;
  for (const std::string_view merge : header.texts(ggml + "merges")) {
    const std::size_t space = merge.find(' ', 1);  // the left half may begin with one
    if (space == std::string_view::npos)
      refuse(header, base::say("the merge '{}' is not a pair", base::printable(merge, 200)));
    merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return merges;
}

// Where characters of a text begin, but for the first.
std::vector<std::size_t> inner_borders(const std::string& text) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 1; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) borders.push_back(i);
  return borders;
}

// As transformers derives them (generate_merges): the longer left half first where scores are equal.
Merges merges_of_scores(const Header& header, const Vocabulary& v) {
  if (v.scores.empty() && !is_gemma(header)) refuse(header, base::say("it has neither merges nor scores"));
  constexpr std::size_t longest = 256;
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < v.tokens.size(); ++id) ids[v.tokens[id]] = id;
  struct Found {
    double score;
    std::size_t left_characters, right_characters, token, border;
  };
  std::vector<Found> found;
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    const std::string_view token = v.tokens[id];
    if (token.size() > longest || ids.at(token) != id) continue;
    const std::vector<std::size_t> borders = inner_borders(v.tokens[id]);
    for (std::size_t i = 0; i < borders.size(); ++i) {
      if (ids.count(token.substr(0, borders[i])) == 0 || ids.count(token.substr(borders[i])) == 0) continue;
      found.push_back(
          {is_gemma(header) ? -static_cast<double>(id) : v.scores[id], i + 1, borders.size() - i, id, borders[i]});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.score, a.left_characters, a.right_characters) >
           std::tie(b.score, b.left_characters, b.right_characters);
  });
  Merges merges;
  for (const Found& one : found)
    merges.emplace_back(v.tokens[one.token].substr(0, one.border), v.tokens[one.token].substr(one.border));
  return merges;
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// Written piece by piece: as JSON values these lists would take ten times the memory.
std::string model_text(const ordered_json& options, const Vocabulary& v, const std::vector<bool>& in_vocabulary,
                       const Merges& merges) {
  std::string text = options.dump();
  text.back() = ',';
  text += "\"vocab\":{";
  const char* between = "";
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    if (!in_vocabulary[id]) continue;
    text += between + quoted(v.tokens[id]) + ":" + std::to_string(id);
    between = ",";
  }
  text += "},\"merges\":[";
  between = "";
  for (const auto& [left, right] : merges) {
    text += between;
    text += "[" + quoted(left) + "," + quoted(right) + "]";
    between = ",";
  }
  return text + "]}";
}

ordered_json added_tokens(const Vocabulary& v) {
  ordered_json added = ordered_json::array();
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    const TokenKind kind = v.kinds[id];
    if (v.tokens[id].empty() || kind == TokenKind::normal || kind == TokenKind::byte || kind == TokenKind::unused)
      continue;
    added.push_back({{"id", id},
                     {"content", v.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", kind != TokenKind::user_defined}});
  }
  return added;
}

// The text, with the tokens that begin and end it where the file adds these.
ordered_json post_processor(const Header& header, const Vocabulary& v, bool begins) {
  ordered_json single = ordered_json::array(), tokens = ordered_json::object();
  const auto add = [&](const char* key, bool wanted) {
    const std::int64_t id = id_at(header, key);
    if (!wanted || id < 0) return;
    const std::string& token = v.tokens[static_cast<std::size_t>(id)];
    single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
    tokens[token] = {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
  };
  add("bos", header.truth(ggml + "add_bos_token", begins));
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  add("eos", header.truth(ggml + "add_eos_token", false));
  ordered_json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

// What is around the model.
struct Parts {
  ordered_json normalizer, pre_tokenizer, decoder, model;
  bool begins = false;
};

ordered_json sequence(const char* key, ordered_json parts) { return {{"type", "Sequence"}, {key, std::move(parts)}}; }
ordered_json replace(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

ordered_json bpe_options() {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false}};
}

Parts byte_level_parts(const Header& header) {
  const std::string name = header.text(ggml + "pre");
  const PreTokenizer* pre = find_pre_tokenizer(name);
  if (pre == nullptr)
    refuse(header, base::say("tokenizer.ggml.pre is '{}', whose pattern is not known; these are: {}",
                             base::printable(name, 200), names_of_pre_tokenizers()));
  const ordered_json bytes = {{"type", "ByteLevel"},
                              {"add_prefix_space", header.truth(ggml + "add_space_prefix", false)},
                              {"trim_offsets", true},
                              {"use_regex", false}};
  ordered_json cuts = ordered_json::array();
  for (const char* pattern : pre->patterns)
    cuts.push_back({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  cuts.push_back(bytes);
  Parts parts;
  if (pre->composes) parts.normalizer = {{"type", "NFC"}};
  parts.pre_tokenizer = sequence("pretokenizers", cuts);
  parts.decoder = bytes;
  parts.model = bpe_options();
  parts.model["ignore_merges"] = pre->whole_pieces_first;
  parts.begins = pre->begins;
  return parts;
}

// The forms in which transformers has them: Gemma's adds no space, Phi-3's one in front of every text, others' one in
// front of the first.
Parts sentencepiece_parts(const Header& header, const Vocabulary& v) {
  Parts parts;
  ordered_json decoders = {replace(space_mark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  const bool spaced = !is_gemma(header) && header.truth(ggml + "add_space_prefix", true);
  if (is_gemma(header)) {
    parts.normalizer = replace(" ", space_mark);
    parts.pre_tokenizer = {
        {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  } else if (spaced && header.text("general.architecture") == "phi3") {
    parts.normalizer =
        sequence("normalizers", {{{"type", "Prepend"}, {"prepend", space_mark}}, replace(" ", space_mark)});
  } else {
    parts.pre_tokenizer = {{"type", "Metaspace"},
                           {"replacement", space_mark},
                           {"prepend_scheme", spaced ? "first" : "never"},
                           {"split", false}};
  }
  if (spaced) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  parts.decoder = sequence("decoders", decoders);
  parts.model = bpe_options();
  parts.model["fuse_unk"] = parts.model["byte_fallback"] = true;
  if (const std::int64_t unknown = id_at(header, "unknown", 0); unknown >= 0)
    parts.model["unk_token"] = v.tokens[static_cast<std::size_t>(unknown)];
  parts.begins = true;
  return parts;
}

}  // namespace

bool has_tokenizer(const Header& header) { return header.has(ggml + "tokens"); }

std::string tokenizer_json(const Header& header) {
  const std::string model = header.text(ggml + "model");
  if (model != "gpt2" && model != "llama")
    refuse(header, base::say("tokenizer.ggml.model is '{}'; gpt2 and llama are read", base::printable(model, 200)));
  const Vocabulary v = vocabulary_of(header);
  const bool byte_level = model == "gpt2";
  const Parts parts = byte_level ? byte_level_parts(header) : sentencepiece_parts(header, v);
  const Merges merges = header.has(ggml + "merges") || byte_level ? stored_merges(header) : merges_of_scores(header, v);
  std::vector<bool> in_vocabulary;  // marks are no text that bytes spell
  for (std::size_t id = 0; id < v.tokens.size(); ++id)
    in_vocabulary.push_back(!v.tokens[id].empty() &&
                            (!byte_level || v.kinds[id] == TokenKind::normal || v.kinds[id] == TokenKind::byte));
  ordered_json root{{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added_tokens(v)},
                    {"normalizer", parts.normalizer},
                    {"pre_tokenizer", parts.pre_tokenizer},
                    {"post_processor", post_processor(header, v, parts.begins)},
                    {"decoder", parts.decoder}};
  std::string text = root.dump();
  text.back() = ',';
  return text + "\"model\":" + model_text(parts.model, v, in_vocabulary, merges) + "}\n";
}

std::string tokenizer_config_json(const Header& header) {
  ordered_json config{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  const auto tokens = header.texts(ggml + "tokens");
  for (const auto& [name, key] :
       {std::pair{"bos_token", "bos"}, {"eos_token", "eos"}, {"pad_token", "padding"}, {"unk_token", "unknown"}})
    if (const std::int64_t id = id_at(header, key); id >= 0)
      config[name] = std::string(tokens[static_cast<std::size_t>(id)]);
  if (header.has(ggml + "add_bos_token")) config["add_bos_token"] = header.truth(ggml + "add_bos_token", false);
  const std::string key = "tokenizer.chat_template", source = header.text(key);
  const std::vector<std::string> named = header.keys_after(key + ".");
  if (named.empty() && !source.empty()) config["chat_template"] = source;
  if (named.empty()) return config.dump(2) + "\n";
  config["chat_template"] = ordered_json::array();
  if (!source.empty()) config["chat_template"].push_back({{"name", "default"}, {"template", source}});
  for (const std::string& name : named)
    config["chat_template"].push_back({{"name", name}, {"template", header.text(key + "." + name)}});
  return config.dump(2) + "\n";
}

}  // namespace troika::gguf
