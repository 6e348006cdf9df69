#include "host/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace troika::host {

ServiceManager::ServiceManager(std::string socket) : socket_(std::move(socket)) {
  const bool usable = !socket_.empty() && (socket_[0] == '/' || socket_[0] == '@');
  if (!usable || socket_.size() >= sizeof(sockaddr_un::sun_path)) socket_.clear();
}

void ServiceManager::tell(const std::string& assignments) const {
  if (!listens()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent =
      ::sendto(sender, assignments.data(), assignments.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&address), length);
  ::close(sender);
}

}  // namespace troika::host
