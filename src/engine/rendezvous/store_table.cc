#include "rendezvous/store_service.h"

#include <vector>

#include "base/text.h"

namespace troika::rendezvous {
using wire::Operation;
using wire::Status;

static StoreTable::Reply refused(wire::Refusal why) { return {Status::refused, std::string(1, static_cast<char>(why))}; }

// The bytes that a key takes beside its own and those of its value, in the table's map.
static constexpr std::size_t bytes_per_key = 128;

const std::string* StoreTable::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second.bytes;
}

StoreTable::Reply StoreTable::apply(Operation operation, const std::string& key, std::string_view rest) {
  switch (operation) {
    case Operation::set:
      return store(key, rest);
    case Operation::read:
      return read(key);
    case Operation::add:
      return add(key, rest);
    case Operation::compare_set:
      return compare_set(key, rest);
    case Operation::erase:
      return erase(key);
    case Operation::keys:
      return keys(key);
    case Operation::entries:
      return entries(key, rest);
    case Operation::set_and_read:
      return set_and_read(key, rest);
    case Operation::join:
    case Operation::await:
    case Operation::await_first:
    case Operation::leave_behind:
      break;
  }
  return refused(wire::Refusal::malformed);
}

StoreTable::Reply StoreTable::store(const std::string& key, std::string_view bytes) {
  const std::string* old = find(key);
  const std::size_t before = old == nullptr ? 0 : bytes_per_key + key.size() + old->size();
  const std::size_t after = bytes_per_key + key.size() + bytes.size();
  if (bytes_ - before + after > most_bytes_)
    return {Status::refused, static_cast<char>(wire::Refusal::full) + std::to_string(most_bytes_)};
  bytes_ = bytes_ - before + after;
  values_[key] = {std::string(bytes), ++version_};
  return {Status::ok, "", Reply::Key::changed};
}

StoreTable::Reply StoreTable::read(const std::string& key) const {
  const std::string* found = find(key);
  return found == nullptr ? Reply{Status::absent, ""} : Reply{Status::ok, *found};
}

StoreTable::Reply StoreTable::add(const std::string& key, std::string_view amount) {
  std::int64_t sum = 0, more = 0;
  const std::string* old = find(key);
  if ((old != nullptr && !base::parse_int(*old, &sum)) || !base::parse_int(amount, &more))
    return refused(wire::Refusal::malformed);
  const auto total = static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(more);
  Reply reply = store(key, std::to_string(static_cast<std::int64_t>(total)));
  if (reply.status == Status::ok) reply.body = *find(key);
  return reply;
}

StoreTable::Reply StoreTable::compare_set(const std::string& key, std::string_view pair) {
  std::string_view expected, desired;
  if (!wire::take_text(pair, &expected) || !wire::take_text(pair, &desired)) return refused(wire::Refusal::malformed);
  const std::string* old = find(key);
  const std::string_view current = old == nullptr ? std::string_view() : *old;
  if (current != expected) return {Status::ok, std::string(current)};
  Reply reply = store(key, desired);
  if (reply.status == Status::ok) reply.body = std::string(desired);
  return reply;
}

StoreTable::Reply StoreTable::erase(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return {Status::absent, ""};
  bytes_ -= bytes_per_key + found->first.size() + found->second.bytes.size();
  values_.erase(found);
  return {};
}

StoreTable::Reply StoreTable::keys(const std::string& prefix) const {
  std::string list;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && base::begins_with(at->first, prefix); ++at) {
    wire::put_text(list, at->first);
    if (list.size() > wire::max_answer_bytes) return refused(wire::Refusal::answer_too_long);
  }
  return {Status::ok, list};
}

StoreTable::Reply StoreTable::entries(const std::string& prefix, std::string_view since) const {
  std::uint64_t version = 0;
  if (!wire::take_u64(since, &version)) return refused(wire::Refusal::malformed);
  std::string list;
  wire::put_u64(list, version_);
  for (auto at = values_.lower_bound(prefix); at != values_.end() && base::begins_with(at->first, prefix); ++at) {
    if (at->second.version <= version) continue;
    wire::put_text(list, at->first);
    wire::put_text(list, at->second.bytes);
    if (list.size() > wire::max_answer_bytes) return refused(wire::Refusal::answer_too_long);
  }
  return {Status::ok, list};
}

StoreTable::Reply StoreTable::set_and_read(const std::string& key, std::string_view rest) {
  std::uint32_t count = 0;
  std::string_view other;
  std::vector<std::string> others;
  if (!wire::take_u32(rest, &count) || count > wire::max_keys_read) return refused(wire::Refusal::malformed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!wire::take_text(rest, &other)) return refused(wire::Refusal::malformed);
    others.emplace_back(other);
  }
  Reply reply = store(key, rest);
  if (reply.status != Status::ok) return reply;
  reply.status = Status::absent;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string* found = find(others[i]);
    if (found == nullptr) continue;
    wire::put_u32(reply.body, i);
    reply.body.append(*found);
    reply.status = Status::ok;
    break;
  }
  return reply;
}

}  // namespace troika::rendezvous
