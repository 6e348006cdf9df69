#include "http/request_parser.h"

#include <algorithm>

#include "base/text.h"

namespace troika::http {
namespace {

bool is_token_character(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }
bool is_visible(char c) { return c > 0x20 && c < 0x7f; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool lists(std::string_view list, std::string_view word) {
  for (const std::string& part : base::split(list, ','))
    if (base::lower_case(without_blanks(part)) == word) return true;
  return false;
}

// Up to the next space, which is taken too; the rest where there is none.
std::string_view next_word(std::string_view* line) {
  const std::size_t space = line->find(' ');
  const std::string_view word = line->substr(0, space);
  line->remove_prefix(space == std::string_view::npos ? line->size() : space + 1);
  return word;
}

}  // namespace

bool RequestParser::refuse(int status, const char* why) {
  state_ = State::refused;
  refused_with_ = status;
  why_refused_ = why;
  head_.clear();
  return false;
}

std::size_t RequestParser::take(std::string_view bytes) {
  std::size_t used = 0;
  if (state_ == State::head) used = take_head(bytes);
  if (state_ != State::body) return used;
  const std::string_view rest = bytes.substr(used);
  const std::size_t count = std::min(rest.size(), body_bytes_ - request_.body.size());
  request_.body.append(rest.substr(0, count));
  if (request_.body.size() == body_bytes_) state_ = State::complete;
  return used + count;
}

// Byte by byte, so that what is no request is refused at its first wrong byte, whatever the pieces are.
std::size_t RequestParser::take_head(std::string_view bytes) {
  constexpr std::string_view end = "\r\n\r\n";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i], before = head_.empty() ? '\0' : head_.back();
    if ((c == '\n') != (before == '\r')) return refuse(400, "a line must end in CR LF"), i;
    if (is_control(c) && c != '\r' && c != '\n') return refuse(400, "a control character stands in the head"), i;
    if (head_.size() == limits_.head_bytes) return refuse(431, "request line and headers are too long"), i;
    head_ += c;
    if (c == '\n' && head_.size() == 2) return refuse(400, "the request line is empty"), i;
    if (c == '\n' && base::ends_with(head_, end)) {
      read_head();
      return i + 1;
    }
  }
  return bytes.size();
}

void RequestParser::read_head() {
  const std::string head = std::move(head_);
  head_.clear();
  std::string_view rest = head;
  rest.remove_suffix(2);  // the empty line
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    if (!(first ? read_request_line(line) : read_header(line))) return;
  }
  if (!settle_host() || !settle_body()) return;
  const std::string_view connection = request_.header("connection");
  if (is_1_0_ || lists(connection, "close")) afterwards_ = Afterwards::close;
  state_ = body_bytes_ == 0 ? State::complete : State::body;
}

bool RequestParser::read_request_line(std::string_view line) {
  const std::string_view method = next_word(&line), target = next_word(&line), version = line;
  if (!is_token(method)) return refuse(400, "the method is no word");
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/")
    return refuse(400, "the request line names no version of HTTP");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refuse(505, "HTTP/1.1 and 1.0 are spoken here");
  is_1_0_ = version == "HTTP/1.0";
  if (method != "GET" && method != "POST") return refuse(405, "GET and POST are known here");
  request_.method = method == "GET" ? Method::get : Method::post;
  const bool is_path = !target.empty() && target.front() == '/' && target.find('#') == std::string_view::npos;
  if (!is_path || !std::all_of(target.begin(), target.end(), is_visible))
    return refuse(400, "the target must be a path of visible ASCII");
  const std::size_t question = target.find('?');
  request_.path = target.substr(0, question);
  if (question != std::string_view::npos) request_.query = target.substr(question + 1);
  return true;
}

bool RequestParser::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return refuse(400, "a header must be a name, a colon and a value");
  if (request_.headers.size() == limits_.headers) return refuse(431, "there are too many headers");
  request_.headers.push_back({base::lower_case(line.substr(0, colon)), std::string(without_blanks(line.substr(colon + 1)))});
  return true;
}

bool RequestParser::settle_host() {
  constexpr std::string_view wanted = "host";
  const auto hosts = std::count_if(request_.headers.begin(), request_.headers.end(),
                                   [&](const Header& header) { return header.name == wanted; });
  if (hosts > 1 || (hosts == 0 && !is_1_0_)) return refuse(400, "there must be one Host");
  return true;
}

bool RequestParser::settle_body() {
  bool stated = false;
  for (const Header& header : request_.headers) {
    if (header.name == "transfer-encoding")
      return refuse(501, "transfer codings are not known here; send Content-Length");
    if (header.name == "expect") return refuse(417, "nothing is to be expected here; send the body");
    if (header.name != "content-length") continue;
    if (stated) return refuse(400, "there must be one Content-Length");
    stated = true;
    const bool digits = !header.value.empty() && header.value.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return refuse(400, "Content-Length must be a number");
    std::int64_t bytes = 0;
    if (!base::parse_int(header.value, &bytes) || bytes > static_cast<std::int64_t>(limits_.body_bytes))
      return refuse(413, "the body is too long");
    body_bytes_ = static_cast<std::size_t>(bytes);
  }
  return true;
}

}  // namespace troika::http
