#include "data/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "data/word_cache.h"

namespace troika::data {

static std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

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
  std::vector<std::string_view> pieces;
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

BpeTokenizer::BpeTokenizer(BpeModel model)
    : model_(std::move(model)), pretokenizer_(model_.patterns), added_(model_.added) {
  for (const AddedToken& token : model_.added) {
    if (token.id < 0) throw base::DataError(fmt::format("the added token '{}' has the id {}", token.content, token.id));
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= model_.tokens.size()) model_.tokens.resize(id + 1);
    if (model_.tokens[id].empty()) model_.tokens[id] = token.content;
  }
  for (std::size_t id = 0; id < model_.tokens.size(); ++id) {
    if (!model_.tokens[id].empty()) ids_.emplace(model_.tokens[id], static_cast<std::int32_t>(id));
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids_.find(std::string(1, static_cast<char>(byte)));
    if (found == ids_.end()) {
      throw base::DataError(
          fmt::format("the vocabulary has no token for the byte 0x{:02x}; it is not byte-level BPE", byte));
    }
    byte_ids_[static_cast<std::size_t>(byte)] = found->second;
  }
  for (std::size_t rank = 0; rank < model_.merges.size(); ++rank) {
    const auto [left, right] = model_.merges[rank];
    const auto result = ids_.find(id_to_bytes(left) + id_to_bytes(right));
    if (result == ids_.end())
      throw base::DataError(fmt::format("the result of merge {} is not in the vocabulary", rank));
    merges_.emplace(pair_key(left, right), Merge{static_cast<std::int32_t>(rank), result->second});
  }
}

BpeTokenizer::~BpeTokenizer() = default;

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  const Lease lease(*this);
  std::vector<std::int32_t> ids;
  ids.reserve(text.size() / 3);
  added_.split(
      text, [&](std::string_view plain) { encode_plain(plain, lease.get(), &ids); },
      [&](std::int32_t id) { ids.push_back(id); });
  return ids;
}

void BpeTokenizer::encode_plain(std::string_view text, Workspace* work, std::vector<std::int32_t>* ids) const {
  work->pieces.clear();
  pretokenizer_.split(text, &work->scratch, &work->pieces);
  for (const std::string_view piece : work->pieces) encode_piece(piece, work, ids);
}

void BpeTokenizer::encode_piece(std::string_view piece, Workspace* work, std::vector<std::int32_t>* ids) const {
  if (piece.size() == 1) return ids->push_back(byte_ids_[static_cast<unsigned char>(piece[0])]);
  if (work->cache.find(piece, ids)) return;
  const std::size_t before = ids->size();
  const auto whole = model_.whole_pieces_first ? ids_.find(piece) : ids_.end();
  if (whole != ids_.end()) {
    ids->push_back(whole->second);
  } else {
    merge_piece(piece, work, ids);
  }
  work->cache.insert(piece, ids->data() + before, ids->size() - before);
}

const BpeTokenizer::Merge* BpeTokenizer::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// Merges the pair of lowest rank, the leftmost of equals, until no pair has a rank: O(n log n) for n bytes.
void BpeTokenizer::merge_piece(std::string_view piece, Workspace* work, std::vector<std::int32_t>* ids) const {
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
    const Merge* merge = find_merge(left, right);
    if (merge == nullptr) return;
    queue.push_back({merge->rank, position, left, right, merge->result});
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
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < model_.tokens.size() ? model_.tokens[index] : std::string();
}

std::string BpeTokenizer::fingerprint() const {
  std::string all = fmt::format("bpe 1 {} {}\n", model_.end_of_document, model_.whole_pieces_first ? 1 : 0);
  const auto add = [&](const std::string& bytes) { all += fmt::format("{}:{}", bytes.size(), bytes); };
  for (const std::string& pattern : model_.patterns) add(pattern);
  all += "\ntokens ";
  for (const std::string& token : model_.tokens) add(token);
  all += "\nmerges ";
  for (const auto& [left, right] : model_.merges) all += fmt::format("{} {},", left, right);
  all += "\nadded ";
  for (const AddedToken& token : model_.added) {
    add(token.content);
    all += fmt::format("{} {},", token.id, token.normalized ? 1 : 0);
  }
  return base::hash_bytes(all);
}

std::size_t BpeTokenizer::next_cut(std::string_view text, std::size_t from) const {
  return added_.hold_newlines() ? text.size() : pretokenizer_.next_cut(text, from);
}

}  // namespace troika::data
