// Where a server keeps the address that lets people in, so that `troika serve --url` can print it again.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::serve {

// $XDG_RUNTIME_DIR/troika, else .troika in the home folder, else troika-UID in the folder for temporary files. Only for this user: ConfigError
// where others could write or read there.
std::string token_folder(const config::Environment& environment);

// A file serve-PORT of this server, only for this user's eyes, which goes with it.
class TokenFile {
 public:
  TokenFile(const std::string& folder, int port, const std::string& url);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

 private:
  std::string path_;
};

// Of servers that still run, by port.
std::vector<std::string> kept_urls(const std::string& folder);

}  // namespace troika::serve
