#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "commands/export/gguf_file.h"
#include "gguf/pre_tokenizer.h"
#include "gguf/tokenizer_document.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::commands {
namespace {

using gguf::TokenKind;
using nlohmann::json;
using Files = std::map<std::string, std::string>;

const std::string prefix = "tokenizer.ggml.";

json object_in(const Files& files, const std::string& name) {
  const auto place = files.find(name);
  json object = place == files.end() ? json::object() : base::parse_json(place->second, name);
  return object.is_object() ? object : json::object();
}

json value_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? json() : *found;
}

std::string text_of(const json& token) {
  const json text = token.is_object() ? value_at(token, "content") : token;
  return text.is_string() ? text.get<std::string>() : "";
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<TokenKind> kinds;
  std::unordered_map<std::string, std::int64_t> ids;

  void set(const std::string& token, const json& id, TokenKind kind) {
    constexpr std::int64_t most_tokens = 1 << 24;
    const std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || number >= most_tokens)
      throw base::DataError(base::say("tokenizer.json: the token '{}' has no usable id", token));
    const auto at = static_cast<std::size_t>(number);
    if (at >= tokens.size()) tokens.resize(at + 1);
    kinds.resize(tokens.size(), TokenKind::unused);
    tokens[at] = token;
    kinds[at] = kind;
    ids[token] = number;
  }
  std::int64_t id_of(const std::string& token) const {
    const auto found = ids.find(token);
    return found == ids.end() ? -1 : found->second;
  }
};

bool is_byte(const std::string& token) {
  return token.size() == 6 && token.rfind("<0x", 0) == 0 && token.back() == '>';
}

// Ids that nothing has, up to the model's, are unused.
Vocabulary vocabulary_of(const json& tokenizer, bool has_byte_tokens, std::int64_t vocab) {
  Vocabulary v;
  const json model = value_at(tokenizer, "model");
  const std::string unknown = text_of(value_at(model, "unk_token"));
  for (const auto& [token, id] : base::json_object(model, "vocab", "tokenizer.json").items())
    v.set(token, id,
          token == unknown                    ? TokenKind::unknown
          : has_byte_tokens && is_byte(token) ? TokenKind::byte
                                              : TokenKind::normal);
  const json added = value_at(tokenizer, "added_tokens");
  for (const json& token : added.is_array() ? added : json::array()) {
    const std::string content = text_of(token);
    if (content == unknown) continue;
    v.set(content, value_at(token, "id"),
          value_at(token, "special") == json(true) ? TokenKind::control : TokenKind::user_defined);
  }
  const auto known = static_cast<std::int64_t>(v.tokens.size());
  v.tokens.resize(static_cast<std::size_t>(std::max(known, vocab)));
  v.kinds.resize(v.tokens.size(), TokenKind::unused);
  for (std::size_t id = 0; id < v.tokens.size(); ++id)
    if (v.tokens[id].empty()) v.tokens[id] = "[PAD" + std::to_string(id) + "]";
  return v;
}

std::vector<std::pair<std::string, std::string>> merges_of(const json& model) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (const json& merge : base::json_array(model, "merges", "tokenizer.json")) {
    if (merge.is_array() && merge.size() == 2) {
      merges.emplace_back(text_of(merge[0]), text_of(merge[1]));
      continue;
    }
    const std::string text = text_of(merge);
    merges.emplace_back(text.substr(0, text.find(' ')), text.substr(std::min(text.size(), text.find(' ') + 1)));
  }
  return merges;
}

// SentencePiece merges the pair whose joined token has the highest score.
std::vector<float> scores_of(const Vocabulary& v, const json& model) {
  const auto merges = merges_of(model);
  std::vector<float> scores(v.tokens.size(), -static_cast<float>(merges.size() + 1));
  for (std::size_t rank = merges.size(); rank-- > 0;) {
    const std::int64_t id = v.id_of(merges[rank].first + merges[rank].second);
    if (id >= 0) scores[static_cast<std::size_t>(id)] = -static_cast<float>(rank);
  }
  return scores;
}

// `found(part)` of this part of a tokenizer.json or one in it, at any depth.
template <class Found>
bool any_part(const json& part, const Found& found) {
  if (part.is_object() && found(part)) return true;
  return part.is_structured() &&
         std::any_of(part.begin(), part.end(), [&](const json& inner) { return any_part(inner, found); });
}

bool prepends_space(const json& tokenizer) {
  const auto prepends = [](const json& part) {
    const std::string type = text_of(value_at(part, "type"));
    const std::string scheme = text_of(value_at(part, "prepend_scheme"));
    return type == "Prepend" ||
           (type == "Metaspace" && scheme != "never" && value_at(part, "add_prefix_space") != json(false)) ||
           (type == "ByteLevel" && value_at(part, "add_prefix_space") == json(true));
  };
  return any_part(value_at(tokenizer, "normalizer"), prepends) ||
         any_part(value_at(tokenizer, "pre_tokenizer"), prepends);
}

// Whether the template of a text has the token before it, or behind it.
bool adds(const json& tokenizer, const std::string& token, bool in_front) {
  return !token.empty() && any_part(value_at(tokenizer, "post_processor"), [&](const json& part) {
    const json single = value_at(part, "single");
    if (!single.is_array() || single.empty()) return false;
    const json end = in_front ? single.front() : single.back();
    return text_of(value_at(value_at(end, "SpecialToken"), "id")) == token;
  });
}

void add_byte_level(const json& tokenizer, const std::string& text, gguf::Keys* keys) {
  const tokenizer::BpeModel model = tokenizer::parse_tokenizer_json(text, "tokenizer.json");
  const auto merging = model.whole_pieces_first ? gguf::Merging::whole_pieces_first : gguf::Merging::all;
  keys->text(prefix + "model", "gpt2");
  keys->text(prefix + "pre", gguf::pre_tokenizer_of(model.patterns, "tokenizer.json", merging).names.front());
  std::vector<std::string> merges;
  for (const auto& [left, right] : merges_of(value_at(tokenizer, "model"))) merges.push_back(left + " " + right);
  keys->texts(prefix + "merges", merges);
}

// The tokens that begin, end and pad: by the tokenizer's configuration, else by the model's.
void add_special_ids(const Files& files, const json& tokenizer, const Vocabulary& v, gguf::Keys* keys) {
  const json config = object_in(files, "tokenizer_config.json"), model = object_in(files, "config.json"),
             generation = object_in(files, "generation_config.json");
  const auto add = [&](const char* name, const std::string& key) {
    std::int64_t id = v.id_of(text_of(value_at(config, (std::string(name) + "_token").c_str())));
    json of_model = value_at(model, (std::string(name) + "_token_id").c_str());
    if (of_model.is_array() && !of_model.empty()) of_model = of_model.front();
    if (id < 0 && of_model.is_number_integer()) id = of_model.get<std::int64_t>();
    if (id < 0 || id >= static_cast<std::int64_t>(v.tokens.size())) return std::string();
    keys->whole(prefix + key + "_token_id", id);
    return v.tokens[static_cast<std::size_t>(id)];
  };
  const std::string begin = add("bos", "bos"), end = add("eos", "eos");
  add("pad", "padding");
  add("unk", "unknown");
  for (const json& ends : {value_at(generation, "eos_token_id"), value_at(model, "eos_token_id")}) {
    if (!ends.is_array()) continue;
    const auto other = std::find_if(ends.begin(), ends.end(), [&](const json& id) {
      return id.is_number_integer() && id.get<std::int64_t>() >= 0 && id != json(v.id_of(end));
    });
    if (other == ends.end()) continue;
    keys->whole(prefix + "eot_token_id", other->get<std::int64_t>());
    break;
  }
  keys->truth(prefix + "add_bos_token", adds(tokenizer, begin, true));
  keys->truth(prefix + "add_eos_token", adds(tokenizer, end, false));
}

void add_chat_template(const Files& files, gguf::Keys* keys) {
  const std::string key = "tokenizer.chat_template";
  const auto file = files.find("chat_template.jinja");
  const json stated =
      file != files.end() ? json(file->second) : value_at(object_in(files, "tokenizer_config.json"), "chat_template");
  if (stated.is_string()) return keys->text(key, stated.get<std::string>());
  std::vector<std::string> named;
  for (const json& one : stated.is_array() ? stated : json::array()) {
    const std::string name = text_of(value_at(one, "name")), source = text_of(value_at(one, "template"));
    keys->text(name == "default" ? key : key + "." + name, source);
    if (name != "default") named.push_back(name);
  }
  if (!named.empty()) keys->texts("tokenizer.chat_templates", named);
}

}  // namespace

void add_tokenizer_keys(const Files& files, std::int64_t vocab, gguf::Keys* keys) {
  const auto file = files.find("tokenizer.json");
  if (file == files.end()) return;
  const json tokenizer = base::parse_json(file->second, "tokenizer.json"), model = value_at(tokenizer, "model");
  const bool sentencepiece = value_at(model, "byte_fallback") == json(true);
  if (sentencepiece) {
    keys->text(prefix + "model", "llama");
    keys->text(prefix + "pre", "default");
  } else {
    add_byte_level(tokenizer, file->second, keys);
  }
  const Vocabulary v = vocabulary_of(tokenizer, sentencepiece, vocab);
  keys->texts(prefix + "tokens", v.tokens);
  std::vector<std::int32_t> kinds;
  for (const TokenKind kind : v.kinds) kinds.push_back(static_cast<std::int32_t>(kind));
  keys->wholes(prefix + "token_type", kinds);
  if (sentencepiece) keys->numbers(prefix + "scores", scores_of(v, model));
  keys->truth(prefix + "add_space_prefix", prepends_space(tokenizer));
  add_special_ids(files, tokenizer, v, keys);
  add_chat_template(files, keys);
}

}  // namespace troika::commands
