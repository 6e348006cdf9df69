#include "rendezvous/wire.h"

namespace troika::rendezvous::wire {
namespace {

template <typename Number>
void put(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

template <typename Number>
bool take(std::string_view& from, Number* value) {
  if (from.size() < sizeof *value) return false;
  *value = 0;
  for (std::size_t i = sizeof *value; i-- > 0;) *value = *value << 8 | static_cast<unsigned char>(from[i]);
  from.remove_prefix(sizeof *value);
  return true;
}

}  // namespace

void put_u32(std::string& out, std::uint32_t value) { put(out, value); }
void put_u64(std::string& out, std::uint64_t value) { put(out, value); }
bool take_u32(std::string_view& from, std::uint32_t* value) { return take(from, value); }
bool take_u64(std::string_view& from, std::uint64_t* value) { return take(from, value); }

void put_text(std::string& out, std::string_view text) {
  put_u32(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

bool take_text(std::string_view& from, std::string_view* text) {
  std::uint32_t length = 0;
  if (!take_u32(from, &length) || from.size() < length) return false;
  *text = from.substr(0, length);
  from.remove_prefix(length);
  return true;
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

Parse parse_frame(std::string_view buffer, std::size_t most, Frame* out, std::size_t* used) {
  std::string_view rest = buffer;
  std::uint32_t length = 0;
  if (!take_u32(rest, &length)) return Parse::incomplete;
  if (length < 5 || length - 5 > most) return Parse::malformed;
  if (rest.size() < length) return Parse::incomplete;
  take_u32(rest, &out->request);
  out->kind = static_cast<std::uint8_t>(rest[0]);
  out->body = rest.substr(1, length - 5);
  *used = 4 + length;
  return Parse::complete;
}

}  // namespace troika::rendezvous::wire
