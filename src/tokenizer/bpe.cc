#include "tokenizer/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "tokenizer/bpe_tables.h"

namespace troika::tokenizer {

static constexpr std::size_t longest_short = 32;  // bytes of a piece

struct BpeTokenizer::Workspace {
  struct Symbol {
    std::int32_t id;  // -1: merged into its left neighbour
    std::int32_t previous, next;
  };
  struct Candidate {
    std::int32_t rank, position, left, right, result;
    bool operator<(
        const Candidate& other) const {  // std::priority_queue gives the greatest: lowest rank, then leftmost
      return std::tie(rank, position) > std::tie(other.rank, other.position);
    }
  };
  PreTokenizer::Scratch scratch;
  WordCache cache;
  std::string composed;  // text in NFC
  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;  // a heap
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
  for (const AddedToken& token : model.added) {
    if (token.id == id) return token.content;
  }
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < model.tokens.size() ? model.tokens[index] : std::string();
}

BpeTokenizer::BpeTokenizer(BpeModel model)
    : model_(std::move(model)),
      unicode_(std::make_shared<const UnicodeTable>()),
      nfc_(unicode_),
      pretokenizer_(model_.patterns, unicode_),
      merges_(model_.merges.size()) {
  take_added();
  make_tables();
}

void BpeTokenizer::take_added() {
  std::vector<AddedToken> raw, normalized;
  for (AddedToken token : model_.added) {
    if (token.id < 0) throw base::DataError(fmt::format("the added token '{}' has the id {}", token.content, token.id));
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= model_.tokens.size()) model_.tokens.resize(id + 1);
    if (model_.tokens[id].empty()) {
      model_.tokens[id] = token.content;
      model_.outside.push_back(token.id);
    } else if (model_.tokens[id] != token.content) {
      shown_.emplace(token.id, token.content);
    }
    std::string composed;
    if (model_.nfc && token.normalized) token.content = std::string(nfc_.normalize(token.content, &composed));
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  added_ = AddedTokens(std::move(raw), unicode_);
  normalized_added_ = AddedTokens(std::move(normalized), unicode_);
}

void BpeTokenizer::make_tables() {
  ids_ = TokenTable(model_.tokens, model_.outside);
  for (int byte = 0; byte < 256; ++byte) {
    const std::int32_t id = ids_.find(std::string(1, static_cast<char>(byte)));
    if (id < 0) {
      throw base::DataError(
          fmt::format("the vocabulary has no token for the byte 0x{:02x}; it is not byte-level BPE", byte));
    }
    byte_ids_[static_cast<std::size_t>(byte)] = id;
  }
  const auto bytes_of = [&](std::int32_t id) {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < model_.tokens.size() ? model_.tokens[index] : std::string();
  };
  for (std::size_t rank = 0; rank < model_.merges.size(); ++rank) {
    const auto [left, right] = model_.merges[rank];
    const std::int32_t result = ids_.find(bytes_of(left) + bytes_of(right));
    if (result < 0) throw base::DataError(fmt::format("the result of merge {} is not in the vocabulary", rank));
    merges_.set(left, right, {static_cast<std::int32_t>(rank), result});
  }
  byte_merges_.resize(256 * 256);
  for (std::size_t pair = 0; pair < byte_merges_.size(); ++pair) {
    byte_merges_[pair] = merges_.find(byte_ids_[pair >> 8], byte_ids_[pair & 255]);
  }
}

BpeTokenizer::~BpeTokenizer() = default;

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  const Lease lease(*this);
  Ids ids;
  ids.reserve(text.size() / 3);
  added_.split(
      text, [&](std::string_view section) { encode_section(section, lease.get(), &ids); },
      [&](std::int32_t id) { ids.push_back(id); });
  return ids;
}

// Text between added tokens that are looked for as it stands.
void BpeTokenizer::encode_section(std::string_view text, Workspace* work, Ids* ids) const {
  if (model_.nfc) text = nfc_.normalize(text, &work->composed);
  normalized_added_.split(
      text, [&](std::string_view plain) { encode_plain(plain, work, ids); },
      [&](std::int32_t id) { ids->push_back(id); });
}

void BpeTokenizer::encode_plain(std::string_view text, Workspace* work, Ids* ids) const {
  std::string spaced;
  if (model_.prefix_space && text.front() != ' ') {
    spaced.append(" ").append(text);
    text = spaced;
  }
  pretokenizer_.split(text, &work->scratch, [&](const PreTokenizer::Pieces& pieces) {
    for (const std::string_view piece : pieces) encode_piece(piece, work, ids);
  });
}

void BpeTokenizer::encode_piece(std::string_view piece, Workspace* work, Ids* ids) const {
  if (piece.size() == 1) return ids->push_back(byte_ids_[static_cast<unsigned char>(piece[0])]);
  if (work->cache.find(piece, ids)) return;
  const std::size_t before = ids->size();
  const std::int32_t whole = model_.whole_pieces_first ? ids_.find(piece) : -1;
  if (whole >= 0) {
    ids->push_back(whole);
  } else if (piece.size() <= longest_short) {
    merge_short(piece, ids);
  } else {
    merge_long(piece, work, ids);
  }
  work->cache.insert(piece, ids->data() + before, ids->size() - before);
}

// Merges the pair of lowest rank, the leftmost of equals, until no pair has a rank. In a short piece looking at all pairs
// each time costs less than a heap.
void BpeTokenizer::merge_short(std::string_view piece, Ids* ids) const {
  std::array<std::int32_t, longest_short> symbols;
  std::array<Merge, longest_short> next;  // of each symbol with its right neighbour
  std::size_t count = piece.size();
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(piece[i]); };
  for (std::size_t i = 0; i < count; ++i) symbols[i] = byte_ids_[byte(i)];
  for (std::size_t i = 0; i + 1 < count; ++i) next[i] = byte_merges_[std::size_t{byte(i)} << 8 | byte(i + 1)];
  for (;;) {
    std::size_t best = count;
    std::uint32_t lowest = UINT32_MAX;  // as unsigned, no merge is the highest
    for (std::size_t i = 0; i + 1 < count; ++i) {
      const auto rank = static_cast<std::uint32_t>(next[i].rank);
      if (rank < lowest) lowest = rank, best = i;
    }
    if (best == count) break;
    symbols[best] = next[best].result;
    std::copy(symbols.begin() + best + 2, symbols.begin() + count, symbols.begin() + best + 1);
    std::copy(next.begin() + best + 1, next.begin() + count - 1, next.begin() + best);
    --count;
    if (best > 0) next[best - 1] = merges_.find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) next[best] = merges_.find(symbols[best], symbols[best + 1]);
  }
  ids->insert(ids->end(), symbols.begin(), symbols.begin() + count);
}

// The same in O(n log n) for n bytes.
void BpeTokenizer::merge_long(std::string_view piece, Workspace* work, Ids* ids) const {
  auto& symbols = work->symbols;
  const auto count = static_cast<std::int32_t>(piece.size());
  symbols.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
    symbols.push_back({byte_ids_[byte], i - 1, i + 1 < count ? i + 1 : -1});
  }
  const auto at = [&](std::int32_t i) -> Workspace::Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  auto& queue = work->queue;
  queue.clear();
  const auto offer = [&](std::int32_t position) {
    if (position < 0 || at(position).next < 0) return;
    const std::int32_t left = at(position).id, right = at(at(position).next).id;
    const Merge merge = merges_.find(left, right);
    if (merge.rank < 0) return;
    queue.push_back({merge.rank, position, left, right, merge.result});
    std::push_heap(queue.begin(), queue.end());
  };
  for (std::int32_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const Workspace::Candidate best = queue.front();
    std::pop_heap(queue.begin(), queue.end());
    queue.pop_back();
    auto& left = at(best.position);
    if (left.id != best.left || left.next < 0 || at(left.next).id != best.right) continue;  // one of the two is gone
    auto& right = at(left.next);
    left.id = best.result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = best.position;
    offer(left.previous);
    offer(best.position);
  }
  for (std::int32_t i = 0; i >= 0; i = at(i).next) ids->push_back(at(i).id);
}

std::string BpeTokenizer::id_to_bytes(std::int32_t id) const {
  if (const auto shown = shown_.find(id); shown != shown_.end()) return shown->second;
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < model_.tokens.size() ? model_.tokens[index] : std::string();
}

std::string BpeTokenizer::fingerprint() const {
  std::string all = fmt::format("bpe 2 {} {:d} {:d} {:d}\n", model_.end_of_document, model_.whole_pieces_first,
                                model_.nfc, model_.prefix_space);
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
  return base::hash_bytes(all);
}

// Behind the newlines that the pre-tokenizer knows: no added token reaches across, and NFC does not look across either.
std::size_t BpeTokenizer::next_cut(std::string_view text, std::size_t from) const {
  if (model_.prefix_space || added_.hold_newlines() || normalized_added_.hold_newlines()) return text.size();
  for (std::size_t at = from;;) {
    at = pretokenizer_.next_cut(text, at);
    if (at == text.size() || (added_.may_cut(text, at) && normalized_added_.may_cut(text, at))) return at;
    ++at;
  }
}

}  // namespace troika::tokenizer
