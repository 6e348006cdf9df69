#include "tokenizer/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "gguf/model_files.h"
#include "tokenizer/characters.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {
using nlohmann::json;

static constexpr std::int64_t largest_vocabulary = 1 << 24, most_file_bytes = std::int64_t{256} << 20;
static constexpr std::size_t most_added_bytes = std::size_t{4} << 20;

namespace {

// The vocabulary while it is filled: tokens by id, and which ids are taken.
class Vocabulary {
 public:
  Vocabulary(const std::string& path, std::size_t entries, BpeModel* result)
      : path_(path), most_ids_(static_cast<std::int64_t>(4 * entries + (1 << 16))), result_(*result) {}

  // Ids may leave gaps, but a file of few tokens must not ask for the memory of many.
  std::size_t index_of(const std::string& name, std::int64_t id) {
    if (id < 0 || id >= most_ids_ || id >= largest_vocabulary || name.empty())
      throw base::DataError(base::say("{}: the token '{}' has no usable id", path_, name));
    const auto index = static_cast<std::size_t>(id);
    if (index >= result_.tokens.size()) result_.tokens.resize(index + 1);
    return index;
  }

  void add(const std::string& spelling, std::int64_t id) {
    std::string& token = result_.tokens[index_of(spelling, id)];
    if (!token.empty()) throw base::DataError(base::say("{}: two tokens have the id {}", path_, id));
    const std::optional<std::string> known = token_of(spelling);
    token = known.value_or(spelling);
    if (!known) result_.outside.push_back(static_cast<std::int32_t>(id));
  }

  // The token that a spelling in the file means; nothing if no text can become it.
  std::optional<std::string> token_of(const std::string& spelling) const {
    return result_.alphabet == Alphabet::bytes ? alphabet_.bytes_of(spelling) : spelling;
  }

  // A mark that the vocabulary spells too keeps the vocabulary's bytes: text is merged by those.
  void add_mark(const std::string& content, std::int64_t id) {
    std::string& token = result_.tokens[index_of(content, id)];
    const bool is_new = token.empty();
    const bool same_mark = marks_.emplace(id, content).first->second == content;
    if (!same_mark || (!is_new && token != content && token != token_of(content)))
      throw base::DataError(base::say("{}: the added token '{}' has the id {} of another token", path_, content, id));
    if (!is_new) return;
    token = content;
    result_.outside.push_back(static_cast<std::int32_t>(id));
  }

 private:
  const std::string& path_;
  const std::int64_t most_ids_;
  BpeModel& result_;
  std::unordered_map<std::int64_t, std::string> marks_;
  const ByteAlphabet alphabet_;
};

}  // namespace

static void read_merges(const TokenizerLists& lists, const std::string& path, const Vocabulary& vocabulary,
                        BpeModel* result) {
  const TokenTable ids(result->tokens, result->outside);
  const auto id_of_spelling = [&](const std::string& spelling) {
    if (result->alphabet == Alphabet::characters) return ids.find(spelling);
    const std::optional<std::string> bytes = vocabulary.token_of(spelling);
    return bytes ? ids.find(*bytes) : -1;
  };
  result->merges.reserve(lists.merges.size());
  for (const auto& [left, right] : lists.merges) {
    const std::int32_t a = id_of_spelling(left), b = id_of_spelling(right);
    if (a < 0 || b < 0)
      throw base::DataError(base::say("{}: the merge '{} {}' names a token that is not in the vocabulary", path, left, right));
    result->merges.emplace_back(a, b);
  }
}

// The value at a key that should hold a list.
static base::Text kind_at(const json& model, const char* key) {
  return model.contains(key) ? base::verbatim(model.at(key).dump().substr(0, 40))
                             : base::say("missing");
}

static void check_lists(const json& model, const std::string& path) {
  if (!model.value("vocab", json()).is_object())
    throw base::DataError(base::say("{}: the model has no vocabulary ('vocab' is {}); copy or make the file again", path, kind_at(model, "vocab")));
  if (!model.value("merges", json()).is_array())
    throw base::DataError(base::say("{}: the model has no list of merges ('merges' is {}), so text would be split into single bytes: the file is incomplete; copy or create it again", path, kind_at(model, "merges")));
}

// A vocabulary that has what only merges make comes with some.
static void check_merges(const TokenizerLists& lists, const BpeModel& result, const std::string& path) {
  if (!lists.merges.empty() || result.whole_pieces_first) return;
  std::vector<bool> unmerged = marked(result.tokens.size(), result.outside);
  for (const AddedToken& token : result.added) unmerged.at(static_cast<std::size_t>(token.id)) = true;
  const auto is_merged = [&](const std::string& token) {
    if (result.alphabet == Alphabet::bytes) return token.size() > 1;
    return !token.empty() && valid_character_bytes(token, 0) < token.size() && !byte_of_token(token);
  };
  std::int64_t merged = 0;
  for (std::size_t id = 0; id < result.tokens.size(); ++id)
    merged += is_merged(result.tokens[id]) && !unmerged[id] && static_cast<std::int32_t>(id) != result.unknown;
  if (merged > 0)
    throw base::DataError(
        base::say("{}: the model has no list of merges ('merges' is {}), so text would be split into single bytes: the file is incomplete; copy or create it again", path, base::say("empty, but {} tokens have several bytes", merged)));
}

// The token for bytes that the vocabulary does not spell, where the file names one.
static void read_unknown(const json& root, const TokenizerLists& lists, const std::string& path, BpeModel* result) {
  const json& model = root.at("model");
  if (result->alphabet == Alphabet::bytes && std::exchange(result->byte_fallback, false) &&
      lacking_bytes_of(*result).any)
    throw base::DataError(
        base::say("{}: byte_fallback together with ByteLevel is not supported, as some of the 256 bytes have no token: "
                  "set byte_fallback to false, which drops them",
                  path));
  if (!json_is_set(model, "unk_token")) return;
  const std::string name = base::json_string(model, "unk_token", path);
  for (const auto& [spelling, id] : lists.vocab)
    if (spelling == name) result->unknown = static_cast<std::int32_t>(id);
  result->fuse_unknown = json_is_true(model, "fuse_unk");
  const LackingBytes lacking = lacking_bytes_of(*result);
  if (result->unknown >= 0 || !lacking.any) return;
  throw base::DataError(base::say("{}: the model's unk_token is '{}', which is not in its vocabulary, and {} of the 256 bytes need it: set it to null, which drops them, or to a token of the vocabulary", path, name,
                                  std::count(lacking.bytes.begin(), lacking.bytes.end(), true)));
}

// An added token that the vocabulary has too has the same id in both.
static void check_ids(const TokenizerLists& lists, const std::unordered_map<std::string, std::int64_t>& added,
                      const std::string& path) {
  if (added.empty()) return;
  for (const auto& [spelling, id] : lists.vocab) {
    const auto found = added.find(spelling);
    if (found == added.end() || found->second == id) continue;
    throw base::DataError(base::say("{}: the added token '{}' has the id {}, but {} in the vocabulary", path, spelling, found->second, id));
  }
}

AddedToken added_token(const json& item, const std::string& path) {
  AddedToken token;
  token.content = base::json_string(item, "content", path);
  token.special = json_is_true(item, "special");
  token.normalized = item.contains("normalized") ? json_is_true(item, "normalized") : !token.special;
  token.lstrip = json_is_true(item, "lstrip");
  token.rstrip = json_is_true(item, "rstrip");
  token.single_word = json_is_true(item, "single_word");
  return token;
}

static void read_added(const json& root, const TokenizerLists& lists, const std::string& path, Vocabulary* vocabulary,
                       BpeModel* result) {
  if (!json_is_set(root, "added_tokens")) return;
  std::unordered_map<std::string, std::int64_t> known;
  std::size_t bytes = 0;
  for (const json& item : base::json_array(root, "added_tokens", path)) {
    AddedToken token = added_token(item, path);
    if ((bytes += token.content.size()) > most_added_bytes)
      throw base::DataError(
          base::say("{}: the added tokens total more than {} bytes, up to '{}...'", path, most_added_bytes, token.content.substr(0, 40)));
    const std::int64_t id = base::json_int(item, "id", path);
    const auto [before, is_new] = known.emplace(token.content, id);
    if (before->second != id)
      throw base::DataError(base::say("{}: the added token '{}' has two ids, {} and {}", path, token.content, before->second, id));
    vocabulary->add_mark(token.content, id);
    token.id = static_cast<std::int32_t>(id);
    if (is_new) result->added.push_back(std::move(token));
  }
  check_ids(lists, known, path);
}

std::string read_tokenizer_file(const std::string& path) {
  if (const std::int64_t bytes = gguf::file_size(path); bytes > most_file_bytes)
    throw base::DataError(base::say("'{}' has {} bytes; a tokenizer file has at most {}: is it the right one?", path, bytes, most_file_bytes));
  return gguf::read_file(path);
}

json json_beside(const std::string& path, const std::string& name, std::string* origin) {
  const std::size_t slash = path.rfind('/');
  *origin = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + name;
  json root;
  if (gguf::file_exists(*origin)) root = base::parse_json(read_tokenizer_file(*origin), *origin);
  return root.is_object() ? root : json::object();
}

std::string token_at(const json& object, const char* key, const std::string& origin) {
  if (!json_is_set(object, key)) return "";
  const json& token = object.at(key);
  return token.is_object() ? base::json_string(token, "content", origin) : base::json_string(object, key, origin);
}

std::int32_t id_of_token(const BpeModel& model, const std::string& token) {
  for (const AddedToken& added : model.added)
    if (added.content == token) return added.id;
  const auto found = std::find(model.tokens.begin(), model.tokens.end(), token);
  return found == model.tokens.end() || token.empty() ? -1 : static_cast<std::int32_t>(found - model.tokens.begin());
}

static BpeModel model_of(const json& root, const TokenizerLists& lists, const std::string& path) {
  BpeModel result;
  read_tokenizer_parts(root, path, &result);
  check_lists(root.at("model"), path);
  const std::size_t marks = json_is_set(root, "added_tokens") ? root.at("added_tokens").size() : 0;
  Vocabulary vocabulary(path, lists.vocab.size() + marks, &result);
  for (const auto& [spelling, id] : lists.vocab) vocabulary.add(spelling, id);
  read_merges(lists, path, vocabulary, &result);
  read_added(root, lists, path, &vocabulary, &result);
  read_unknown(root, lists, path, &result);
  check_merges(lists, result, path);
  if (json_is_set(root, "post_processor"))
    result.begin = read_begin_ids(root.at("post_processor"), result.tokens.size(), path);
  result.end_of_document = id_of_token(result, "<|endoftext|>");
  return result;
}

BpeModel parse_tokenizer_json(std::string_view text, const std::string& origin) {
  TokenizerLists lists;
  const json root = read_tokenizer_document(text, origin, &lists);
  try {
    return model_of(root, lists, origin);
  } catch (const json::exception& error) {  // a value of another type than the format has
    throw base::DataError(base::say("{}: not a tokenizer.json as Hugging Face writes it: {}", origin, error.what()));
  }
}

BpeModel load_tokenizer_json(const std::string& path) {
  BpeModel model = parse_tokenizer_json(read_tokenizer_file(path), path);
  if (model.end_of_document >= 0) return model;
  std::string origin;
  const json config = json_beside(path, "tokenizer_config.json", &origin);
  model.end_of_document = id_of_token(model, token_at(config, "eos_token", origin));
  return model;
}

}  // namespace troika::tokenizer
