#include "tokenizer/tokenizer_parts.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::tokenizer {
using nlohmann::json;

[[noreturn]] static void refuse(const std::string& path, const base::Text& what) {
  throw base::DataError(
      base::say("{}: {} is not supported; BPE is, of bytes and of SentencePiece's kind (create one with 'troika data "
                "tokenizer INPUT --out DIR')",
                path, what));
}

bool json_is_true(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

bool json_is_set(const json& object, const char* key) { return object.contains(key) && !object.at(key).is_null(); }

static std::string type_of(const json& object, const std::string& path) {
  return base::json_string(object, "type", path);
}

static constexpr std::size_t most_parts = 64;  // of a Sequence

// Of a Metaspace. Older files have add_prefix_space.
static Cut::Prepend prepend_scheme(const json& part, const std::string& path) {
  using Prepend = Cut::Prepend;
  if (!json_is_set(part, "prepend_scheme")) {
    const bool prepends = !json_is_set(part, "add_prefix_space") || json_is_true(part, "add_prefix_space");
    return prepends ? Prepend::always : Prepend::never;
  }
  const std::string scheme = base::json_string(part, "prepend_scheme", path);
  constexpr std::pair<const char*, Prepend> schemes[] = {
      {"always", Prepend::always}, {"first", Prepend::first}, {"never", Prepend::never}};
  for (const auto& [name, prepend] : schemes)
    if (scheme == name) return prepend;
  refuse(path, base::say("a Metaspace with the prepend_scheme '{}'", scheme));
}

// A pattern that matches exactly `text`.
static std::string pattern_of_text(const std::string& text) {
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
      read_split(part);
    } else if (type == "Digits") {
      add({Cut::Kind::pattern, json_is_true(part, "individual_digits") ? "\\p{N}" : "\\p{N}+"});
    } else if (type == "Punctuation") {
      const std::string behavior =
          json_is_set(part, "behavior") ? base::json_string(part, "behavior", path_) : "Isolated";
      add({Cut::Kind::pattern, "[!-/:-@\\[-`{-~\\p{P}]", behavior_of(behavior)});
    } else if (type == "Whitespace") {
      add({Cut::Kind::words, "", Cut::Behavior::removed, Cut::Matches::inverted});
    } else if (type == "WhitespaceSplit") {
      add({Cut::Kind::spaces, "", Cut::Behavior::removed});
    } else if (type == "Metaspace" && result_.alphabet == Alphabet::characters) {
      read_metaspace(part);
    } else {
      refuse(path_, base::say("the pre-tokenizer '{}'", type));
    }
  }

  // The last ones that only cut go to `patterns`.
  void finish() {
    const auto only_cuts = [](const Cut& cut) {
      return cut.kind == Cut::Kind::pattern && cut.behavior == Cut::Behavior::isolated;
    };
    auto& cuts = result_.cuts;
    const auto first = std::find_if_not(cuts.rbegin(), cuts.rend(), only_cuts).base();
    std::transform(first, cuts.end(), std::back_inserter(result_.patterns), [](const Cut& cut) { return cut.pattern; });
    cuts.erase(first, cuts.end());
  }

 private:
  void read_byte_level(const json& part) {
    in_bytes_ = true;
    result_.prefix_space = json_is_true(part, "add_prefix_space");
    if (result_.prefix_space && !result_.cuts.empty())
      refuse(path_, base::say("ByteLevel with add_prefix_space after another pre-tokenizer"));
    if (!part.contains("use_regex") || json_is_true(part, "use_regex")) add({Cut::Kind::pattern, gpt2_pattern});
  }

  Cut::Behavior behavior_of(const std::string& name) const {
    using Behavior = Cut::Behavior;
    constexpr std::pair<const char*, Behavior> behaviors[] = {{"Isolated", Behavior::isolated},
                                                              {"Removed", Behavior::removed},
                                                              {"MergedWithPrevious", Behavior::merged_with_previous},
                                                              {"MergedWithNext", Behavior::merged_with_next},
                                                              {"Contiguous", Behavior::contiguous}};
    for (const auto& [known, behavior] : behaviors)
      if (name == known) return behavior;
    refuse(path_, base::say("a Split with the behavior '{}'", name));
  }

  // Removed and inverted: only matches are pieces, which are all of the text for a pattern that matches everywhere.
  void read_split(const json& part) {
    const json& given = base::json_object(part, "pattern", path_);
    Cut cut;
    cut.kind = given.contains("Regex") ? Cut::Kind::pattern : Cut::Kind::text;
    cut.pattern = base::json_string(given, cut.kind == Cut::Kind::pattern ? "Regex" : "String", path_);
    cut.behavior = behavior_of(base::json_string(part, "behavior", path_));
    if (json_is_true(part, "invert")) cut.matches = Cut::Matches::inverted;
    if (cut.pattern.empty()) refuse(path_, base::say("a Split with an empty pattern"));
    const bool everywhere = cut.kind == Cut::Kind::pattern && known_pattern(cut.pattern) != KnownPattern::none;
    const bool only_matches = cut.behavior == Cut::Behavior::removed && cut.matches == Cut::Matches::inverted;
    if (everywhere && only_matches) cut.behavior = Cut::Behavior::isolated;
    if (cut.behavior == Cut::Behavior::isolated && cut.kind == Cut::Kind::text)
      cut.pattern = pattern_of_text(cut.pattern);
    if (cut.behavior == Cut::Behavior::isolated)
      cut = {Cut::Kind::pattern, cut.pattern};  // inverted has the same borders
    add(std::move(cut));
  }

  // Older files have add_prefix_space in place of prepend_scheme, and always split.
  void read_metaspace(const json& part) {
    Cut cut{Cut::Kind::metaspace, base::json_string(part, "replacement", path_)};
    cut.prepend = prepend_scheme(part, path_);
    if (!part.contains("split") || json_is_true(part, "split")) cut.behavior = Cut::Behavior::merged_with_next;
    if (cut.pattern.empty()) refuse(path_, base::say("a Metaspace with an empty replacement"));
    add(std::move(cut));
  }

  void add(Cut cut) {
    if (result_.cuts.size() == most_parts) refuse(path_, base::say("more than {} pre-tokenizers", most_parts));
    result_.cuts.push_back(std::move(cut));
  }

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

namespace {

// The steps of a normalizer, or of each of a Sequence.
class NormalizerReader {
 public:
  NormalizerReader(const std::string& path, std::vector<NormalizerStep>* steps) : path_(path), steps_(*steps) {}

  void read(const json& part) {
    using Kind = NormalizerStep::Kind;
    const std::string type = type_of(part, path_);
    if (type == "Sequence") {
      for (const json& inner : base::json_array(part, "normalizers", path_)) read(inner);
    } else if (type == "Strip") {
      for (const auto& [key, kind] : {std::pair("strip_left", Kind::strip_left), {"strip_right", Kind::strip_right}})
        if (json_is_true(part, key)) append({kind});
    } else if (type == "Prepend") {
      append({Kind::prepend, "", base::json_string(part, "prepend", path_)});
    } else if (type == "Replace") {
      read_replace(part);
    } else {
      constexpr std::pair<const char*, Kind> others[] = {{"NFC", Kind::nfc},
                                                         {"NFD", Kind::nfd},
                                                         {"NFKC", Kind::nfkc},
                                                         {"NFKD", Kind::nfkd},
                                                         {"Lowercase", Kind::lowercase}};
      const auto found =
          std::find_if(std::begin(others), std::end(others), [&](const auto& one) { return type == one.first; });
      if (found == std::end(others)) refuse(path_, base::say("the normalizer '{}'", type));
      append({found->second});
    }
  }

 private:
  void read_replace(const json& part) {
    const json& given = base::json_object(part, "pattern", path_);
    const bool is_regex = given.contains("Regex");
    NormalizerStep step{is_regex ? NormalizerStep::Kind::replace_pattern : NormalizerStep::Kind::replace_text,
                        base::json_string(given, is_regex ? "Regex" : "String", path_),
                        base::json_string(part, "content", path_)};
    if (!step.pattern.empty()) append(std::move(step));
  }

  void append(NormalizerStep step) {
    if (steps_.size() == most_parts) refuse(path_, base::say("more than {} normalizers", most_parts));
    steps_.push_back(std::move(step));
  }

  const std::string& path_;
  std::vector<NormalizerStep>& steps_;
};

// The steps of a decoder, or of each of a Sequence.
class DecoderReader {
 public:
  DecoderReader(const std::string& path, std::vector<DecoderStep>* steps) : path_(path), steps_(*steps) {}

  void read(const json& part) {
    using Kind = DecoderStep::Kind;
    const std::string type = type_of(part, path_);
    if (type == "Sequence") {
      for (const json& inner : base::json_array(part, "decoders", path_)) read(inner);
    } else if (type == "Replace") {
      const json& given = base::json_object(part, "pattern", path_);
      if (!given.contains("String")) refuse(path_, base::say("the decoder '{}' with a regular expression", type));
      const std::string pattern = base::json_string(given, "String", path_);
      if (!pattern.empty()) append({Kind::replace, pattern, base::json_string(part, "content", path_)});
    } else if (type == "Strip") {
      const std::string content = base::json_string(part, "content", path_);
      if (content.empty() || valid_character_bytes(content, 0) != content.size())
        refuse(path_, base::say("the decoder '{}' of other than one character", type));
      append({Kind::strip, "", content, count(part, "start"), count(part, "stop")});
    } else if (type == "Metaspace") {
      const std::string space = base::json_string(part, "replacement", path_);
      if (space.empty()) refuse(path_, base::say("a Metaspace with an empty replacement"));
      append({Kind::metaspace, space, prepend_scheme(part, path_) == Cut::Prepend::never ? " " : ""});
    } else if (type == "ByteFallback" || type == "Fuse") {
      append({type == "Fuse" ? Kind::fuse : Kind::byte_fallback});
    } else {
      refuse(path_, base::say("the decoder '{}'", type));
    }
  }

 private:
  std::size_t count(const json& part, const char* key) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(base::json_int(part, key, path_), 0, 1 << 20));
  }

  void append(DecoderStep step) {
    if (steps_.size() == most_parts) refuse(path_, base::say("more than {} decoders", most_parts));
    steps_.push_back(std::move(step));
  }

  const std::string& path_;
  std::vector<DecoderStep>& steps_;
};

}  // namespace

// Calls `check` with the type of a part, or of each part of a Sequence whose list has the name `list`.
static void for_each_type(const json& part, const char* list, const std::string& path,
                          const std::function<void(const std::string&)>& check) {
  const std::string type = type_of(part, path);
  if (type != "Sequence") return check(type);
  for (const json& inner : base::json_array(part, list, path)) for_each_type(inner, list, path, check);
}

static void check_byte_decoder(const json& decoder, const std::string& path) {
  for_each_type(decoder, "decoders", path, [&](const std::string& type) {
    if (type != "ByteLevel" && type != "Fuse") refuse(path, base::say("the decoder '{}'", type));
  });
}

static void check_model(const json& model, const std::string& path) {
  if (model.contains("type") && type_of(model, path) != "BPE")
    refuse(path, base::say("a {} model", type_of(model, path)));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (json_is_set(model, key) && model.at(key) != "") refuse(path, base::say(base::Phrase("'{}'", "entry"), key));
  if (json_is_set(model, "dropout") && model.at("dropout") != 0.0) refuse(path, base::say("merge dropout"));
}

// A null part is none.
static const json& part_of(const json& root, const char* key) {
  static const json none;
  return json_is_set(root, key) ? root.at(key) : none;
}

void read_tokenizer_parts(const json& root, const std::string& path, BpeModel* result) {
  const json& model = base::json_object(root, "model", path);
  check_model(model, path);
  const json &pre_tokenizer = part_of(root, "pre_tokenizer"), &decoder = part_of(root, "decoder");
  const bool cuts_bytes = mentions_byte_level(pre_tokenizer), gives_bytes = mentions_byte_level(decoder);
  if (gives_bytes && !cuts_bytes) refuse(path, base::say("a tokenizer without the ByteLevel pre-tokenizer"));
  if (cuts_bytes && !gives_bytes) refuse(path, base::say("a tokenizer without the ByteLevel decoder"));
  if (decoder.is_null()) refuse(path, base::say("a tokenizer without a decoder"));
  result->alphabet = cuts_bytes ? Alphabet::bytes : Alphabet::characters;
  result->byte_fallback = json_is_true(model, "byte_fallback");
  result->whole_pieces_first = json_is_true(model, "ignore_merges");
  PreTokenizerReader reader(path, result);
  if (!pre_tokenizer.is_null()) reader.read(pre_tokenizer);
  reader.finish();
  if (json_is_set(root, "normalizer")) NormalizerReader(path, &result->normalizers).read(root.at("normalizer"));
  if (cuts_bytes)
    check_byte_decoder(decoder, path);
  else
    DecoderReader(path, &result->decoders).read(decoder);
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
