#include "tokenizer/sentencepiece.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "tokenizer/characters.h"
#include "tokenizer/tokenizer_parts.h"

namespace troika::tokenizer {
namespace {

using nlohmann::json;
using PieceType = SentencePieceModel::Piece::Type;

constexpr const char* spelled_space = "\u2581";
constexpr std::size_t most_pieces = std::size_t{1} << 22, longest_piece = 4096, longest_normal_piece = 512;

[[noreturn]] void refuse_model(const std::string& origin, const base::Text& what) {
  throw base::DataError(
      base::say("{}: {} is not supported; make a tokenizer.json of it with transformers "
                "(AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)) and use that if it is BPE",
                origin, what));
}

void check_sentencepiece(const SentencePieceModel& model, const std::string& origin) {
  if (model.kind == SentencePieceModel::Kind::unigram) refuse_model(origin, base::say("a {} model", "Unigram"));
  if (model.kind != SentencePieceModel::Kind::bpe)
    refuse_model(origin, base::say("a {} model", "SentencePiece WORD or CHAR"));
  if (!model.character_map.empty())
    refuse_model(origin,
                 base::say("a SentencePiece model with a map of characters (normalization other than identity)"));
  if (model.whitespace_as_suffix) refuse_model(origin, base::verbatim("treat_whitespace_as_suffix"));
  if (!model.escape_spaces) refuse_model(origin, base::verbatim("escape_whitespaces: false"));
  if (model.pieces.size() > most_pieces) refuse_model(origin, base::say("a model of more than {} pieces", most_pieces));
  for (const auto& piece : model.pieces)
    if (piece.type == PieceType::normal && piece.text.size() > longest_normal_piece)
      refuse_model(origin, base::say("a model with a piece of more than {} bytes", longest_normal_piece));
  for (const auto& piece : model.pieces)
    if (piece.text.empty() || piece.text.size() > longest_piece || !base::is_utf8(piece.text))
      throw base::DataError(base::say("{}: not a model of SentencePiece, or damaged: copy the file again", origin));
}

// Spaces as SentencePiece treats them.
std::vector<NormalizerStep> normalizers_of(const SentencePieceModel& model) {
  using Step = NormalizerStep::Kind;
  std::vector<NormalizerStep> steps;
  if (model.remove_extra_spaces)
    steps = {{Step::replace_pattern, "\\A +", ""},
             {Step::replace_pattern, std::string("(?: |") + spelled_space + ")+\\z", ""},
             {Step::replace_pattern, " {2,}", " "}};
  if (model.dummy_prefix) steps.push_back({Step::prepend, "", spelled_space});
  steps.push_back({Step::replace_text, " ", spelled_space});
  return steps;
}

std::vector<DecoderStep> decoders_of(const SentencePieceModel& model) {
  using Step = DecoderStep::Kind;
  std::vector<DecoderStep> steps{{Step::replace, spelled_space, " "}, {Step::byte_fallback}, {Step::fuse}};
  if (model.dummy_prefix) steps.push_back({Step::strip, "", " ", 1, 0});
  return steps;
}

struct Merge {
  float score;
  std::int32_t result, left, right;
  std::size_t left_bytes;
};

// All ways to join two normal pieces to a third, in the order in which tokenizers merges them: by falling score, then id.
void add_merges(const SentencePieceModel& model, const std::string& origin, BpeModel* result) {
  std::vector<std::int32_t> others;
  for (std::size_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].type != PieceType::normal && model.pieces[id].type != PieceType::unused)
      others.push_back(static_cast<std::int32_t>(id));
  const TokenTable ids(result->tokens, others);
  std::vector<Merge> merges;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, score, type] = model.pieces[id];
    if (type != PieceType::normal && type != PieceType::unused) continue;
    for (std::size_t cut = valid_character_bytes(text, 0); cut < text.size(); cut += valid_character_bytes(text, cut)) {
      const std::int32_t left = ids.find(std::string_view(text).substr(0, cut)),
                         right = ids.find(std::string_view(text).substr(cut));
      if (left < 0 || right < 0) continue;
      if (type == PieceType::unused)
        refuse_model(origin, base::say("the unused piece '{}', which other pieces make up,", text));
      merges.push_back({score, static_cast<std::int32_t>(id), left, right, cut});
    }
  }
  const auto first = [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, a.result, b.left_bytes) < std::tuple(-b.score, b.result, a.left_bytes);
  };
  std::sort(merges.begin(), merges.end(), first);
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const bool is_tied = i > 0 && merges[i].score == merges[i - 1].score;
    result->order.push_back(is_tied ? result->order.back() : static_cast<std::int32_t>(i));
    result->merges.emplace_back(merges[i].left, merges[i].right);
  }
}

void check_unique(const BpeModel& result, const std::string& origin) {
  const TokenTable ids(result.tokens, {});
  for (std::size_t id = 0; id < result.tokens.size(); ++id)
    if (ids.find(result.tokens[id]) != static_cast<std::int32_t>(id))
      throw base::DataError(base::say("{}: the pieces {} and {} are both '{}'", origin, ids.find(result.tokens[id]), id,
                                      result.tokens[id]));
}

}  // namespace

BpeModel bpe_of_sentencepiece(const SentencePieceModel& model, const std::string& origin) {
  check_sentencepiece(model, origin);
  BpeModel result;
  result.alphabet = Alphabet::characters;
  result.patterns.clear();
  result.normalizers = normalizers_of(model);
  result.decoders = decoders_of(model);
  result.byte_fallback = model.byte_fallback;
  result.fuse_unknown = true;
  result.added_without_prefix = true;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, score, type] = model.pieces[id];
    const auto number = static_cast<std::int32_t>(id);
    result.tokens.push_back(text);
    if (type == PieceType::unknown) result.unknown = number;
    const bool is_mark = type == PieceType::unknown || type == PieceType::control;
    if (is_mark || type == PieceType::user_defined) result.added.push_back({number, text, is_mark, !is_mark});
  }
  check_unique(result, origin);
  add_merges(model, origin, &result);
  const auto has = [&](std::int32_t id) { return id >= 0 && static_cast<std::size_t>(id) < result.tokens.size(); };
  if (has(model.bos)) result.begin = {model.bos};
  if (has(model.eos)) result.end_of_document = model.eos;
  return result;
}

namespace {

// What the files beside a model say of its added tokens.
class FilesBeside {
 public:
  FilesBeside(const std::string& path, BpeModel* model) : path_(path), model_(*model) {
    for (const AddedToken& token : model_.added) known_.emplace(token.content, token);
  }

  void read() {
    std::string origin;
    const json more = json_beside(path_, "added_tokens.json", &origin);
    for (const auto& [content, id] : more.items())
      add({0, content, false, false}, base::json_int(more, content, origin), origin);
    const json map = json_beside(path_, "special_tokens_map.json", &origin);
    const json config = json_beside(path_, "tokenizer_config.json", &config_origin_);
    read_decoder(config);
    mark_special(map, origin);
    mark_special(config, config_origin_);
    model_.added.clear();
    for (const auto& [content, token] : known_) model_.added.push_back(token);
    std::sort(model_.added.begin(), model_.added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    read_roles(config);
  }

 private:
  // {"32000": {"content": ..., "special": ...}}
  void read_decoder(const json& config) {
    if (!json_is_set(config, "added_tokens_decoder")) return;
    const json& tokens = base::json_object(config, "added_tokens_decoder", config_origin_);
    for (const auto& [key, token] : tokens.items()) {
      std::int64_t id = -1;
      if (!token.is_object() || !base::parse_int(key, &id))
        throw base::DataError(
            base::say("{}: added_tokens_decoder has '{}', which is not the id of a token", config_origin_, key));
      add(added_token(token, config_origin_), id, config_origin_);
    }
  }

  // A token of the model keeps its place; others are new ids behind the pieces, or replace a piece that is nothing else.
  void add(AddedToken token, std::int64_t id, const std::string& origin) {
    const auto pieces = static_cast<std::int64_t>(model_.tokens.size());
    const bool fits = id >= 0 && id < pieces + most_new && !token.content.empty();
    const bool is_new = fits && (id >= pieces || model_.tokens[static_cast<std::size_t>(id)].empty());
    if (!fits || (!is_new && model_.tokens[static_cast<std::size_t>(id)] != token.content))
      throw base::DataError(
          base::say("{}: the added token '{}' has the id {} of another token", origin, token.content, id));
    if (is_new) {
      model_.tokens.resize(std::max(model_.tokens.size(), static_cast<std::size_t>(id) + 1));
      model_.tokens[static_cast<std::size_t>(id)] = token.content;
      model_.outside.push_back(static_cast<std::int32_t>(id));
    }
    token.id = static_cast<std::int32_t>(id);
    const auto [known, is_unknown] = known_.emplace(token.content, token);
    if (is_unknown) return;
    token.special = token.special || known->second.special;
    token.normalized = token.normalized || known->second.normalized;
    known->second = token;
  }

  void mark_special(const json& object, const std::string& origin) {
    for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"})
      mark(token_at(object, key, origin));
    const json more = object.value("additional_special_tokens", json::array());
    for (const json& token : more.is_array() ? more : json::array())
      if (token.is_string() || token.is_object()) mark(token_at(json::object({{"token", token}}), "token", origin));
  }

  // One that is a piece, too.
  void mark(const std::string& content) {
    if (content.empty()) return;
    if (const auto known = known_.find(content); known != known_.end()) {
      known->second.special = true;
      return;
    }
    const std::int32_t id = id_of_token(model_, content);
    if (id >= 0) known_[content] = {id, content, true, false};
  }

  void read_roles(const json& config) {
    const std::int32_t bos = id_of_token(model_, token_at(config, "bos_token", config_origin_)),
                       eos = id_of_token(model_, token_at(config, "eos_token", config_origin_));
    if (bos >= 0) model_.begin = {bos};
    if (eos >= 0) model_.end_of_document = eos;
    if (config.value("add_bos_token", json()) == false) model_.begin.clear();
    if (config.value("legacy", json()) == false) begin_texts_only();
  }

  // As transformers with "legacy": false: the spelled_space in front comes before a whole text, unless it begins with one.
  void begin_texts_only() {
    auto& steps = model_.normalizers;
    const auto is_prefix = [](const NormalizerStep& step) { return step.kind == NormalizerStep::Kind::prepend; };
    const auto prefix = std::find_if(steps.begin(), steps.end(), is_prefix);
    if (prefix == steps.end()) return;
    steps.erase(prefix, steps.end());
    model_.cuts = {
        {Cut::Kind::metaspace, spelled_space, Cut::Behavior::isolated, Cut::Matches::as_found, Cut::Prepend::first}};
  }

  static constexpr std::int64_t most_new = 1 << 16;
  const std::string& path_;
  std::string config_origin_;
  BpeModel& model_;
  std::map<std::string, AddedToken> known_;
};

}  // namespace

BpeModel load_sentencepiece(const std::string& path) {
  const std::string bytes = read_tokenizer_file(path);
  BpeModel model = bpe_of_sentencepiece(parse_sentencepiece_model(bytes, path), path);
  try {
    FilesBeside(path, &model).read();
  } catch (const json::exception& error) {  // a value of another type than the format has
    throw base::DataError(base::say("{}: not a tokenizer as transformers writes it: {}", path, error.what()));
  }
  return model;
}

}  // namespace troika::tokenizer
