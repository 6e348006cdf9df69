#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "commands/bench/bench.h"

namespace troika::commands {
namespace {

// The words behind "troika bench roofline" on lines of the page, which its tables follow.
std::vector<Words> commands_of(const std::string& page) {
  const std::string program = "build/release/troika bench roofline ";
  std::vector<Words> commands;
  for (const std::string& line : base::split(page, '\n')) {
    if (line.rfind(program, 0) == 0) commands.push_back(base::split(line.substr(program.size()), ' '));
  }
  return commands;
}

TEST(RooflinePage, HasWhatTheCommandsOnItPrint) {
  const std::string page = base::read_file(TROIKA_SOURCE_DIR "/docs/gpu.md");
  const std::vector<Words> commands = commands_of(page);
  EXPECT_EQ(commands.size(), 3u);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Words words = commands[i];
    words.insert(words.begin(), {"bench", "roofline"});
    const std::string text = roofline_report(call_of(words));
    if (page.find(text) != std::string::npos) continue;
    const std::string path = fmt::format("{}/roofline-{}.md", TROIKA_BINARY_DIR, i);
    base::write_file_atomic(path, text);
    ADD_FAILURE() << "docs/gpu.md has another table than `" << base::join(words, " ") << "` prints: " << path;
  }
}

}  // namespace
}  // namespace troika::commands
