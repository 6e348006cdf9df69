// Whether two paths name one file, so that writing would overwrite what is being read.
#pragma once

#include <sys/stat.h>

#include <string>

namespace troika::base {

// Both name one regular file, be it by another path, a link or a hard link. False where one of them is absent.
inline bool same_regular_file(const std::string& a, const std::string& b) {
  struct stat one {}, other {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && S_ISREG(one.st_mode) &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace troika::base
