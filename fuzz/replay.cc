// Gives a fuzz target every file of some folders once: replay_corpus TARGET FOLDER... A folder that is not there counts as
// empty; no file at all is an error.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "base/file.h"

using Target = int (*)(const std::uint8_t*, std::size_t);
extern "C" {
int replay_safetensors(const std::uint8_t*, std::size_t);
int replay_gguf(const std::uint8_t*, std::size_t);
int replay_manifests(const std::uint8_t*, std::size_t);
int replay_tokenizers(const std::uint8_t*, std::size_t);
int replay_sentencepiece(const std::uint8_t*, std::size_t);
int replay_json_lines(const std::uint8_t*, std::size_t);
int replay_store_wire(const std::uint8_t*, std::size_t);
int replay_tcp_messages(const std::uint8_t*, std::size_t);
int replay_token_shards(const std::uint8_t*, std::size_t);
int replay_settings(const std::uint8_t*, std::size_t);
int replay_model_configs(const std::uint8_t*, std::size_t);
int replay_programs(const std::uint8_t*, std::size_t);
int replay_templates(const std::uint8_t*, std::size_t);
int replay_sweeps(const std::uint8_t*, std::size_t);
int replay_http_requests(const std::uint8_t*, std::size_t);
int replay_step_columns(const std::uint8_t*, std::size_t);
int replay_serve_logs(const std::uint8_t*, std::size_t);
int replay_page_requests(const std::uint8_t*, std::size_t);
int replay_page_forms(const std::uint8_t*, std::size_t);
int replay_products(const std::uint8_t*, std::size_t);
}

int main(int count, char** arguments) {
  using namespace troika;
  const std::map<std::string, Target> targets{{"safetensors", replay_safetensors},
                                              {"gguf", replay_gguf},
                                              {"manifests", replay_manifests},
                                              {"tokenizers", replay_tokenizers},
                                              {"sentencepiece", replay_sentencepiece},
                                              {"json_lines", replay_json_lines},
                                              {"store_wire", replay_store_wire},
                                              {"tcp_messages", replay_tcp_messages},
                                              {"token_shards", replay_token_shards},
                                              {"settings", replay_settings},
                                              {"model_configs", replay_model_configs},
                                              {"programs", replay_programs},
                                              {"templates", replay_templates},
                                              {"sweeps", replay_sweeps},
                                              {"step_columns", replay_step_columns},
                                              {"serve_logs", replay_serve_logs},
                                              {"page_requests", replay_page_requests},
                                              {"page_forms", replay_page_forms},
                                              {"products", replay_products},
                                              {"http_requests", replay_http_requests}};
  const auto target = count < 3 ? targets.end() : targets.find(arguments[1]);
  if (target == targets.end()) {
    std::fputs("usage: replay_corpus TARGET FOLDER...\n", stderr);
    return 2;
  }
  int files = 0;
  for (int i = 2; i < count; ++i) {
    const std::string folder = arguments[i];
    if (!base::directory_exists(folder)) continue;
    for (const std::string& name : base::list_directory(folder)) {
      const std::string content = base::read_file(folder + "/" + name);
      std::printf("%s/%s\n", folder.c_str(), name.c_str());
      std::fflush(stdout);  // what ends the process is the last file named
      target->second(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
      ++files;
    }
  }
  std::printf("replay_corpus: %d files given to %s\n", files, target->first.c_str());
  return files > 0 ? 0 : 1;
}
