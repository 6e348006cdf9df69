#include "tokenizer/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::tokenizer {

static constexpr std::size_t pieces_ahead = 64;

struct BpeTokenizer::Workspace {
  PreTokenizer::Scratch scratch;
  Merger::Scratch merging;
  ShortPieces short_pieces;
  MiddlePieces middle_pieces;
  LongPieces long_pieces;
  std::string normalized;
  Ids ids;                   // of some pieces
  std::int64_t lacking = 0;  // bytes of this text that no token spells
};

class BpeTokenizer::Lease {
 public:
  explicit Lease(const BpeTokenizer& owner) : owner_(owner) {
    const std::lock_guard<std::mutex> lock(owner_.mutex_);
    if (owner_.idle_.empty()) {
      workspace_ = std::make_unique<Workspace>();
    } else {
      workspace_ = std::move(owner_.idle_.back());
      owner_.idle_.pop_back();
    }
  }
  ~Lease() {
    const std::lock_guard<std::mutex> lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(workspace_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Workspace* get() const { return workspace_.get(); }

 private:
  const BpeTokenizer& owner_;
  std::unique_ptr<Workspace> workspace_;
};

std::string text_of_token(const BpeModel& model, std::int32_t id) {
  for (const AddedToken& token : model.added)
    if (token.id == id) return token.content;
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < model.tokens.size() ? model.tokens[index] : std::string();
}

BpeTokenizer::BpeTokenizer(BpeModel model)
    : model_(std::move(model)),
      unicode_(std::make_shared<const UnicodeTable>()),
      normalizer_(model_.normalizers, unicode_),
      cuts_(model_.cuts, unicode_),
      pretokenizer_(model_.patterns, unicode_),
      decoder_(model_.decoders) {
  take_added();
  make_tables();
  find_cuts();
}

void BpeTokenizer::take_added() {
  std::vector<AddedToken> raw, normalized, spelled;
  PieceRegex::Scratch scratch;
  for (AddedToken token : model_.added) {
    if (token.id < 0) throw base::DataError(base::say("the added token '{}' has the id {}", token.content, token.id));
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= model_.tokens.size()) model_.tokens.resize(id + 1);
    if (model_.tokens[id].empty()) {
      model_.tokens[id] = token.content;
      model_.outside.push_back(token.id);
    } else if (model_.tokens[id] != token.content) {
      shown_.emplace(token.id, token.content);
    }
    added_ids_.insert(token.id);
    if (token.normalized) {
      std::string storage;
      const Before before = model_.added_without_prefix ? Before::text : Before::nothing;
      spelled.push_back(token);
      token.content = std::string(normalizer_.normalize(token.content, before, &scratch, &storage));
      spelled.push_back(token);
      if (model_.alphabet == Alphabet::characters) decoded_names_[token.id] = token.content;
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  added_ = AddedTokens(std::move(raw), unicode_);
  normalized_added_ = AddedTokens(std::move(normalized), unicode_);
  spelled_added_ = AddedTokens(std::move(spelled), unicode_);
}

std::vector<bool> marked(std::size_t size, const std::vector<std::int32_t>& ids) {
  std::vector<bool> all(size, false);
  for (const std::int32_t id : ids) all.at(static_cast<std::size_t>(id)) = true;
  return all;
}

LackingBytes lacking_bytes_of(const BpeModel& model) {
  LackingBytes lacking;
  lacking.bytes.fill(true);
  if (model.alphabet == Alphabet::characters) {
    const auto ids = byte_tokens_of(model);
    std::transform(ids.begin(), ids.end(), lacking.bytes.begin(), [](std::int32_t id) { return id < 0; });
  } else {
    const std::vector<bool> outside = marked(model.tokens.size(), model.outside);
    for (std::size_t id = 0; id < model.tokens.size(); ++id) {
      const std::string& token = model.tokens[id];
      if (token.size() == 1 && !outside[id]) lacking.bytes[static_cast<unsigned char>(token[0])] = false;
    }
  }
  lacking.any = std::find(lacking.bytes.begin(), lacking.bytes.end(), true) != lacking.bytes.end();
  lacking.unknown = model.unknown;
  lacking.fused = model.fuse_unknown;
  return lacking;
}

std::array<std::int32_t, 256> byte_tokens_of(const BpeModel& model) {
  std::array<std::int32_t, 256> ids;
  ids.fill(-1);
  if (!model.byte_fallback) return ids;
  const std::vector<bool> outside = marked(model.tokens.size(), model.outside);
  for (std::size_t id = 0; id < model.tokens.size(); ++id) {
    const auto byte = byte_of_token(model.tokens[id]);
    if (byte && !outside[id] && model.tokens[id] == byte_token(*byte)) ids[*byte] = static_cast<std::int32_t>(id);
  }
  return ids;
}

void BpeTokenizer::make_tables() {
  lacking_ = lacking_bytes_of(model_);
  ids_ = TokenTable(model_.tokens, model_.outside);
  if (model_.alphabet == Alphabet::bytes) return make_byte_tables();
  Characters characters(model_.tokens, model_.outside, {byte_tokens_of(model_), model_.unknown, model_.fuse_unknown});
  merger_ = Merger(std::move(characters), model_.tokens, model_.merges, model_.order, ids_);
}

void BpeTokenizer::make_byte_tables() {
  CharSymbols::ByteIds byte_ids;
  for (std::size_t byte = 0; byte < 256; ++byte) byte_ids[byte] = ids_.find(std::string(1, static_cast<char>(byte)));
  if (std::count(lacking_.bytes.begin(), lacking_.bytes.end(), true) == 256)
    throw base::DataError(base::say("the vocabulary has no token for any of the 256 bytes; it is not byte-level BPE"));
  merger_ = Merger(byte_ids, lacking_, model_.tokens, model_.merges, ids_);
}

BpeTokenizer::~BpeTokenizer() = default;

BpeTokenizer::Ids BpeTokenizer::encode_allowed(std::string_view text, const AddedTokens::Allows& allows,
                                               Before before) const {
  const Lease lease(*this);
  return encode_with(text, allows, before, lease.get());
}

std::int64_t BpeTokenizer::lacking_bytes() const {
  return model_.unknown >= 0 ? 0 : std::count(lacking_.bytes.begin(), lacking_.bytes.end(), true);
}

// A normalizer may make such a byte of others.
std::int64_t BpeTokenizer::dropped_bytes(std::string_view text) const {
  const auto is_lacking = [&](char c) { return lacking_.bytes[static_cast<unsigned char>(c)]; };
  const bool by_bytes = model_.alphabet == Alphabet::bytes && normalizer_.changes_nothing();
  if (lacking_bytes() == 0 || (by_bytes && std::none_of(text.begin(), text.end(), is_lacking))) return 0;
  const Lease lease(*this);
  encode_with(text, {}, Before::nothing, lease.get());
  return lease.get()->lacking;
}

BpeTokenizer::Ids BpeTokenizer::encode_with(std::string_view text, const AddedTokens::Allows& allows, Before before,
                                            Workspace* work) const {
  work->scratch.begin_text(text.size());
  work->lacking = 0;
  Ids ids;
  ids.reserve(text.size() / 3);
  added_.split(
      text,
      [&](std::string_view section) {
        encode_section(section, allows, section.data() == text.data() ? before : Before::mark, work, &ids);
      },
      [&](std::int32_t id) { ids.push_back(id); }, allows);
  return ids;
}

// Text between the added tokens that are looked for in the raw text.
void BpeTokenizer::encode_section(std::string_view text, const AddedTokens::Allows& allows, Before before,
                                  Workspace* work, Ids* ids) const {
  text = normalizer_.normalize(text, before, &work->scratch, &work->normalized);
  normalized_added_.split(
      text,
      [&](std::string_view plain) {
        encode_plain(plain, plain.data() == text.data() ? before : Before::mark, work, ids);
      },
      [&](std::int32_t id) { ids->push_back(id); }, allows);
}

std::vector<Stretch> BpeTokenizer::control_tokens(std::string_view text) const {
  std::vector<Stretch> found;
  const auto note = [&](const AddedToken& token, std::string_view place) {
    const auto begin = static_cast<std::size_t>(place.data() - text.data());
    if (token.special) found.push_back({begin, begin + place.size()});
    return true;
  };
  const auto ignore = [](std::int32_t) {};
  added_.split(
      text,
      [&](std::string_view section) {
        spelled_added_.split(
            section, [](std::string_view) {}, ignore, note);
      },
      ignore, note);
  const auto earlier = [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; };
  std::sort(found.begin(), found.end(), earlier);
  return found;
}

BpeTokenizer::Ids BpeTokenizer::encode_with_plain(std::string_view text, const std::vector<Stretch>& plain,
                                                  Before before) const {
  const std::less<const char*> is_before;
  const auto allows = [&](const AddedToken& token, std::string_view place) {
    if (!token.special || plain.empty()) return true;
    if (is_before(place.data(), text.data()) || !is_before(place.data(), text.data() + text.size()))
      return false;  // in text that a normalizer has changed: where it comes from is not known
    const auto begin = static_cast<std::size_t>(place.data() - text.data()), end = begin + place.size();
    const auto next = std::find_if(plain.begin(), plain.end(), [&](const Stretch& one) { return one.end > begin; });
    return next == plain.end() || next->begin >= end;
  };
  return encode_allowed(text, allows, before);
}

Before BpeTokenizer::before_next(const Ids& ids) const {
  return ids.empty() ? Before::nothing : added_ids_.count(ids.back()) != 0 ? Before::mark : Before::text;
}

void BpeTokenizer::encode_plain(std::string_view text, Before before, Workspace* work, Ids* ids) const {
  std::string spaced;
  if (model_.prefix_space && before != Before::text && text.front() != ' ') {
    spaced.append(" ").append(text);
    text = spaced;
  }
  if (cuts_.changes_nothing()) return encode_cut(text, work, ids);
  cuts_.cut(text, before, &work->scratch, [&](std::string_view piece) { encode_cut(piece, work, ids); });
}

void BpeTokenizer::encode_cut(std::string_view text, Workspace* work, Ids* ids) const {
  if (model_.alphabet == Alphabet::characters && model_.patterns.empty()) return encode_characters(text, work, ids);
  const char* end = text.data() + text.size();
  pretokenizer_.split(text, &work->scratch, [&](const PieceRun& pieces) {
    if (model_.alphabet == Alphabet::bytes) return encode_pieces(pieces, end, work, ids);
    for (std::size_t i = 0; i < pieces.size(); ++i) encode_characters(pieces[i], work, ids);
  });
}

// A piece may be a whole text: what is merged and cached are its stretches.
void BpeTokenizer::encode_characters(std::string_view text, Workspace* work, Ids* ids) const {
  const std::int32_t whole = model_.whole_pieces_first ? ids_.find(text) : -1;
  if (whole >= 0) return ids->push_back(whole);
  const char* end = text.data() + text.size();
  PieceRun stretches(text.data());
  for (std::size_t at = 0; at < text.size();) {
    at = merger_.stretch_end(text, at);
    stretches.add(text.data() + at);
    if (!stretches.full() && at < text.size()) continue;
    encode_pieces(stretches, end, work, ids);
    stretches.clear();
  }
}

// A piece is at most as many ids as bytes, and what is found in a cache is written in full.
void BpeTokenizer::encode_pieces(const PieceRun& pieces, const char* readable_end, Workspace* work, Ids* ids) const {
  const auto most = static_cast<std::size_t>(pieces.end() - pieces.begin()) + LongPieces::ids_written;
  if (work->ids.size() < most) work->ids.resize(most);
  std::int32_t* written = work->ids.data();
  std::array<ShortPieces::Key, pieces_ahead> keys;
  std::array<std::size_t, pieces_ahead> places;
  for (std::size_t first = 0; first < pieces.size(); first += pieces_ahead) {
    const std::size_t count = std::min(pieces_ahead, pieces.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view piece = pieces[first + i];
      const bool is_short = piece.size() <= ShortPieces::most_bytes;
      keys[i] = is_short ? ShortPieces::key_of(piece, readable_end) : ShortPieces::key_of_none();
      places[i] = ShortPieces::place_of(keys[i]);
      work->short_pieces.prefetch(places[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t found = work->short_pieces.find(keys[i], places[i], written);
      if (found > 0) {
        written += found;
        continue;
      }
      const std::string_view piece = pieces[first + i];
      if (found == ShortPieces::unknown && piece.size() <= ShortPieces::most_bytes) {
        written = encode_new(piece, keys[i], places[i], work, written);
      } else {
        written = encode_long(piece, readable_end, work, written);
      }
    }
  }
  ids->insert(ids->end(), work->ids.data(), written);
}

// A piece for which the short ones have no place.
std::int32_t* BpeTokenizer::encode_long(std::string_view piece, const char* readable_end, Workspace* work,
                                        std::int32_t* ids) const {
  if (piece.size() > LongPieces::most_bytes) return merge(piece, work, ids).end;
  if (piece.size() > MiddlePieces::most_bytes) return encode_cached(piece, readable_end, &work->long_pieces, work, ids);
  return encode_cached(piece, readable_end, &work->middle_pieces, work, ids);
}

// A short piece not met before.
std::int32_t* BpeTokenizer::encode_new(std::string_view piece, const ShortPieces::Key& key, std::size_t place,
                                       Workspace* work, std::int32_t* ids) const {
  const Merger::Merged merged = merge(piece, work, ids);
  if (merged.lacking > 0) return merged.end;  // kept nowhere, so that it is counted each time
  const auto count = static_cast<std::size_t>(merged.end - ids);
  const bool fits = count < ShortPieces::ids_written;
  if (fits || !merged.at_once) work->short_pieces.insert(key, place, ids, count);
  if (fits || merged.at_once || count >= MiddlePieces::ids_written) return merged.end;
  const auto longer = MiddlePieces::key_of(piece, piece.data() + piece.size());
  work->middle_pieces.insert(longer, MiddlePieces::place_of(longer), ids, count);
  return merged.end;
}

template <class Cache>
std::int32_t* BpeTokenizer::encode_cached(std::string_view piece, const char* readable_end, Cache* cache,
                                          Workspace* work, std::int32_t* ids) const {
  const auto key = Cache::key_of(piece, readable_end);
  const std::size_t place = Cache::place_of(key);
  const std::int32_t found = cache->find(key, place, ids);
  if (found > 0) return ids + found;
  const Merger::Merged merged = merge(piece, work, ids);
  const auto count = static_cast<std::size_t>(merged.end - ids);
  if (!merged.at_once && merged.lacking == 0 && count < Cache::ids_written) cache->insert(key, place, ids, count);
  return merged.end;
}

Merger::Merged BpeTokenizer::merge(std::string_view piece, Workspace* work, std::int32_t* ids) const {
  const bool may_be_whole = model_.whole_pieces_first && model_.alphabet == Alphabet::bytes;
  const std::int32_t whole = may_be_whole ? ids_.find(piece) : -1;
  if (whole >= 0) {
    *ids = whole;
    return {ids + 1, false};
  }
  const Merger::Merged merged = merger_.merge(piece, &work->merging, ids);
  work->lacking += static_cast<std::int64_t>(merged.lacking);
  return merged;
}

std::string BpeTokenizer::id_to_bytes(std::int32_t id) const {
  const std::string name = name_of(id);
  if (model_.alphabet == Alphabet::bytes) return name;
  if (const auto byte = byte_of_token(name); byte && model_.byte_fallback) return {static_cast<char>(*byte)};
  TextDecoder::Growing text(decoder_, Before::text);
  const std::string certain = text.add(name);
  return certain + text.rest();
}

// As text_of_token.
std::string BpeTokenizer::name_of(std::int32_t id) const {
  if (const auto shown = shown_.find(id); shown != shown_.end()) return shown->second;
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < model_.tokens.size() ? model_.tokens[index] : std::string();
}

class BpeTokenizer::DecodedText final : public GrowingText {
 public:
  DecodedText(const BpeTokenizer& tokenizer, Before before)
      : tokenizer_(tokenizer), text_(tokenizer.decoder_, before) {}
  std::string add(std::int32_t id) override {
    const auto& names = tokenizer_.decoded_names_;
    const auto found = names.find(id);
    const std::string name = found == names.end() ? tokenizer_.name_of(id) : found->second;
    return name.empty() ? "" : text_.add(name);
  }
  std::string rest() const override { return text_.rest(); }

 private:
  const BpeTokenizer& tokenizer_;
  TextDecoder::Growing text_;
};

std::unique_ptr<GrowingText> BpeTokenizer::begin_text(Before before) const {
  if (model_.alphabet == Alphabet::bytes) return Tokenizer::begin_text(before);
  return std::make_unique<DecodedText>(*this, before);
}

static bool is_nfc(const NormalizerStep& step) { return step.kind == NormalizerStep::Kind::nfc; }

std::string BpeTokenizer::fingerprint() const {
  const auto& normalizers = model_.normalizers;
  const bool nfc_only = !normalizers.empty() && std::all_of(normalizers.begin(), normalizers.end(), is_nfc);
  std::string all = fmt::format("bpe 2 {} {:d} {:d} {:d}\n", model_.end_of_document, model_.whole_pieces_first,
                                nfc_only, model_.prefix_space);
  const auto add = [&](const std::string& bytes) { all += fmt::format("{}:{}", bytes.size(), bytes); };
  for (const std::string& pattern : model_.patterns) add(pattern);
  all += "\ntokens ";
  for (const std::string& token : model_.tokens) add(token);
  all += "\nmerges ";
  for (const auto& [left, right] : model_.merges) all += fmt::format("{} {},", left, right);
  all += "\nadded ";
  for (const AddedToken& token : model_.added) {
    add(token.content);
    all +=
        fmt::format("{} {:d}{:d}{:d}{:d},", token.id, token.normalized, token.lstrip, token.rstrip, token.single_word);
  }
  all += fmt::format("\noutside {}", fmt::join(model_.outside, " "));
  if (lacking_.any && model_.unknown >= 0) all += fmt::format("\nunknown {} {:d}", model_.unknown, model_.fuse_unknown);
  if (!nfc_only) {
    for (const NormalizerStep& step : normalizers) {
      all += fmt::format("\nnormalizer {} ", static_cast<int>(step.kind));
      add(step.pattern);
      add(step.content);
    }
  }
  for (const Cut& cut : model_.cuts) {
    all += fmt::format("\ncut {} {} {} {} ", static_cast<int>(cut.kind), static_cast<int>(cut.behavior),
                       static_cast<int>(cut.matches), static_cast<int>(cut.prepend));
    add(cut.pattern);
  }
  if (model_.alphabet == Alphabet::characters)
    all += fmt::format("\ncharacters {:d} {:d} {}", model_.byte_fallback, model_.added_without_prefix,
                       fmt::join(model_.order, " "));
  return base::hash_bytes(all);
}

// By the character behind a newline whether text may be cut before it, with a printable character on both sides.
void BpeTokenizer::find_cuts() {
  using Kind = NormalizerStep::Kind;
  const auto has = [&](auto&& test) { return std::any_of(model_.normalizers.begin(), model_.normalizers.end(), test); };
  const bool patterns_do = pretokenizer_.cuts_at_newlines();
  if (model_.prefix_space || added_.hold_newlines() || normalized_added_.hold_newlines()) return;
  if (model_.alphabet == Alphabet::bytes) {
    const bool changes_kinds = has([](const NormalizerStep& step) { return step.kind > Kind::lowercase; });
    if (patterns_do && cuts_.changes_nothing() && !changes_kinds) cuts_before_.fill(true);
    return;
  }
  if (model_.whole_pieces_first || !normalizer_.may_cut_at_newlines() || !cuts_.may_cut_at_newlines()) return;
  if (!model_.patterns.empty() && !patterns_do) return;
  const bool composes =
      has([](const NormalizerStep& step) { return step.kind == Kind::nfc || step.kind == Kind::nfkc; });
  if (composes && ids_.find("\n") >= 0) return;  // it may join a composed character
  const auto is_always = [](const Cut& cut) { return cut.prepend == Cut::Prepend::always; };
  const bool prepends = has([](const NormalizerStep& step) { return step.kind == Kind::prepend; }) ||
                        std::any_of(model_.cuts.begin(), model_.cuts.end(), is_always);
  const auto ends_with_newline = [](const AddedToken& token) {
    return token.rstrip || token.content.find('\n') != std::string::npos;
  };
  if (prepends && std::any_of(model_.added.begin(), model_.added.end(), ends_with_newline)) return;
  PieceRegex::Scratch scratch;
  std::string storage;
  for (unsigned char c = 0x21; c < 0x7F; ++c) {
    const std::string sample = std::string("a\n") + static_cast<char>(c) + "a";
    const std::string_view text = normalizer_.normalize(sample, Before::text, &scratch, &storage);
    const std::size_t newline = text.find('\n');
    const auto begins_pattern = [&](const NormalizerStep& step) {
      return !step.pattern.empty() && step.pattern[0] == c;
    };
    cuts_before_[c] =
        newline != std::string_view::npos && !has(begins_pattern) && merger_.stretch_end(text, newline) == newline + 1;
  }
}

// Behind newlines that no added token reaches across.
std::size_t BpeTokenizer::next_cut(std::string_view text, std::size_t from) const {
  if (std::count(cuts_before_.begin(), cuts_before_.end(), true) == 0) return text.size();
  for (std::size_t at = from;; ++at) {
    at = behind_newline(text, at);
    if (at == text.size()) return at;
    if (cuts_before_[static_cast<unsigned char>(text[at])] && added_.may_cut(text, at) &&
        normalized_added_.may_cut(text, at))
      return at;
  }
}

}  // namespace troika::tokenizer
