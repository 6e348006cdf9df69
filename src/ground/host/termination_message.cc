#include "host/termination_message.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace troika::host {

// Up to the end of the last whole character.
static std::string first_bytes(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = 0;
  for (std::size_t next = 0; next <= most;
       next += std::max<std::size_t>(1, base::utf8_character_bytes(std::string_view(text).substr(next))))
    end = next;
  return text.substr(0, end);
}

void leave_termination_message(const std::string& text, const std::string& path) {
  constexpr std::size_t shown_bytes = 4096;
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && ::ftruncate(file, 0) == 0) {
    const std::string message = first_bytes(text, shown_bytes);
    [[maybe_unused]] const ssize_t written = ::write(file, message.data(), message.size());
  }
  ::close(file);
}

}  // namespace troika::host
