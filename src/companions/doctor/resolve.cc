#include "doctor/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace troika::doctor {
namespace {

std::vector<std::string> resolve_now(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  std::vector<std::string> addresses;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &first) != 0) return addresses;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, &::freeaddrinfo);
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) addresses.emplace_back(text);
  }
  return addresses;
}

}  // namespace

std::optional<std::vector<std::string>> resolve_within(const std::string& name, double seconds) {
  const auto promise = std::make_shared<std::promise<std::vector<std::string>>>();
  std::future<std::vector<std::string>> answer = promise->get_future();
  std::thread([promise, name] { promise->set_value(resolve_now(name)); }).detach();
  if (answer.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace troika::doctor
