// HTTP requests and responses.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/later.h"
#include "http/stream.h"

namespace troika::http {

enum class Method { get, post };

struct Header {
  std::string name, value;
};

// Within the limits of request_parser.h. Bytes are those of the client: nothing is decoded.
struct Request {
  Method method = Method::get;
  std::string path;             // begins with '/'; visible ASCII
  std::string query;            // behind the first '?'; visible ASCII
  std::vector<Header> headers;  // names in lower case, in order; values are bytes without control characters but tabs
  std::string body;

  // The value of the first header of that name (in lower case), or "".
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::vector<Header> headers{};  // besides content-length and connection
  std::string body{};
  std::shared_ptr<Stream> stream{};  // what follows the body, until it is finished; null: nothing
  std::shared_ptr<Later> later{};    // gives the answer, and nothing else here counts; null: this is the answer
};

Response plain_text(int status, std::string text);
Response refusal_text(int status, std::string text);  // of the server itself; no browser takes it for a page
std::string_view reason_of(int status);               // "Not Found"; "" for one that is not used here

// Status line and headers. keep: whether the connection takes another request; a response with a stream ends with it.
enum class Afterwards { keep, close };
std::string head_of(const Response& response, Afterwards afterwards);

}  // namespace troika::http
