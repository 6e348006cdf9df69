#include "rendezvous/store_protocol.h"

#include <cstdint>

#include "base/text.h"

namespace troika::rendezvous::wire {

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

std::uint32_t get_u32(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string frame(std::uint32_t request, std::uint8_t kind, std::string_view body) {
  std::string out;
  out.reserve(frame_head_bytes + body.size());
  put_u32(out, static_cast<std::uint32_t>(5 + body.size()));
  put_u32(out, request);
  out.push_back(static_cast<char>(kind));
  out.append(body);
  return out;
}

Parse parse_frame(std::string_view buffer, Frame* out, std::size_t* used) {
  if (buffer.size() < 4) return Parse::incomplete;
  const std::size_t length = get_u32(buffer.data());
  if (length < 5 || length > max_frame_bytes) return Parse::malformed;
  if (buffer.size() < 4 + length) return Parse::incomplete;
  out->request = get_u32(buffer.data() + 4);
  out->kind = static_cast<std::uint8_t>(buffer[8]);
  out->body = buffer.substr(frame_head_bytes, length - 5);
  *used = 4 + length;
  return Parse::complete;
}

void put_text(std::string& out, std::string_view text) {
  put_u32(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

bool take_text(std::string_view& from, std::string_view* text) {
  if (from.size() < 4) return false;
  const std::size_t length = get_u32(from.data());
  if (from.size() - 4 < length) return false;
  *text = from.substr(4, length);
  from.remove_prefix(4 + length);
  return true;
}

}  // namespace troika::rendezvous::wire

namespace troika::rendezvous {
using wire::Status;

const std::string* Table::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Table::Reply Table::apply(wire::Operation operation, const std::string& key, std::string_view value) {
  switch (operation) {
    case wire::Operation::set:
      return store(key, value);
    case wire::Operation::get:
    case wire::Operation::try_get: {
      const std::string* found = find(key);
      return found == nullptr ? Reply{Status::absent, "", false} : Reply{Status::ok, *found, false};
    }
    case wire::Operation::add:
      return add(key, value);
    case wire::Operation::compare_set:
      return compare_set(key, value);
    case wire::Operation::erase: {
      const auto found = values_.find(key);
      if (found == values_.end()) return {Status::absent, "", false};
      total_bytes_ -= found->first.size() + found->second.size();
      values_.erase(found);
      return {};
    }
    case wire::Operation::keys:
      return keys(key);
  }
  return {Status::refused, "unknown operation", false};
}

Table::Reply Table::store(const std::string& key, std::string_view value) {
  const std::string* old = find(key);
  const std::size_t before = old == nullptr ? 0 : key.size() + old->size();
  const std::size_t after = key.size() + value.size();
  if (total_bytes_ - before + after > max_total_bytes_) return {Status::refused, "the store is full (1 GiB)", false};
  total_bytes_ = total_bytes_ - before + after;
  values_[key] = std::string(value);
  return {Status::ok, "", true};
}

Table::Reply Table::add(const std::string& key, std::string_view amount) {
  std::int64_t sum = 0, more = 0;
  const std::string* old = find(key);
  if (old != nullptr && !base::parse_int(*old, &sum)) return {Status::refused, "the value is not a number", false};
  if (!base::parse_int(amount, &more)) return {Status::refused, "the amount is not a number", false};
  const auto total = static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(more);
  Reply reply = store(key, std::to_string(static_cast<std::int64_t>(total)));
  if (reply.status == Status::ok) reply.body = *find(key);
  return reply;
}

Table::Reply Table::compare_set(const std::string& key, std::string_view pair) {
  std::string_view expected, desired;
  if (!wire::take_text(pair, &expected) || !wire::take_text(pair, &desired))
    return {Status::refused, "malformed pair", false};
  const std::string* old = find(key);
  const std::string_view current = old == nullptr ? std::string_view() : *old;
  if (current != expected) return {Status::ok, std::string(current), false};
  Reply reply = store(key, desired);
  if (reply.status == Status::ok) reply.body = std::string(desired);
  return reply;
}

Table::Reply Table::keys(const std::string& prefix) const {
  std::string list;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.compare(0, prefix.size(), prefix) == 0;
       ++at) {
    wire::put_text(list, at->first);
    if (list.size() > wire::max_value_bytes) return {Status::refused, "too many keys for one answer", false};
  }
  return {Status::ok, list, false};
}

}  // namespace troika::rendezvous
