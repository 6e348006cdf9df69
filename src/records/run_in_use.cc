#include "records/run_in_use.h"

#include <fcntl.h>
#include <unistd.h>

namespace troika::records {

bool in_use(const std::string& folder) {
  const int descriptor = ::open((folder + "/run.lock").c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const bool held = ::fcntl(descriptor, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  ::close(descriptor);
  return held;
}

}  // namespace troika::records
