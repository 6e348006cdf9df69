#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/error.h"

namespace troika::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class File : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "troika-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const DataError& error) {
      return error.what();
    }
    return "no DataError";
  }

  std::string folder_;
};

TEST_F(File, ReadsBackWhatWasWritten) {
  std::string content(200000, 'x');
  content[7] = '\0';
  write_file_atomic(at("a"), content);
  EXPECT_EQ(read_file(at("a")), content);
  EXPECT_EQ(file_size(at("a")), 200000);
  write_file_atomic(at("a"), "short");
  EXPECT_EQ(read_file(at("a")), "short");
  write_file_atomic(at("a"), "");
  EXPECT_EQ(read_file(at("a")), "");
}

TEST_F(File, AtomicWriteLeavesNoTemporaryBehind) {
  write_file_atomic(at("a"), "one");
  write_file_atomic(at("a"), "two");
  EXPECT_THAT(list_directory(folder_), ElementsAre("a"));
}

TEST_F(File, AFailedAtomicWriteLeavesTheOldFileAndNoTemporary) {
  make_directories(at("folder/inside"));
  EXPECT_THAT(error_of([&] { write_file_atomic(at("folder"), "text"); }), HasSubstr(at("folder")));
  EXPECT_THAT(list_directory(folder_), ElementsAre("folder"));
  EXPECT_THAT(error_of([&] { write_file_atomic(at("absent/a"), "text"); }), HasSubstr(at("absent/a")));
}

TEST_F(File, AtomicWritePassesByATemporaryThatACrashLeft) {
  std::ofstream(at("a.tmp.") + std::to_string(::getpid()) + ".0") << "half";
  write_file_atomic(at("a"), "whole");
  EXPECT_EQ(read_file(at("a")), "whole");
}

TEST_F(File, AReaderBesideManyWritersSeesOneWholeContent) {
  constexpr int writers = 4, rounds = 20;
  const std::string path = at("shared");
  const auto content = [](int writer) {
    return std::string(50000 + static_cast<std::size_t>(writer), static_cast<char>('a' + writer));
  };
  write_file_atomic(path, content(0));
  std::atomic<int> running{writers};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < rounds; ++i) write_file_atomic(path, content(writer));
      --running;
    });
  }
  int torn = 0;
  do {
    const std::string seen = read_file(path);
    torn += seen == content(seen[0] - 'a') ? 0 : 1;
  } while (running > 0);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_THAT(list_directory(folder_), ElementsAre("shared"));
}

TEST_F(File, AppendAddsAtTheEndAndCreates) {
  append_file(at("log"), "one\n");
  append_file(at("log"), "two\n");
  EXPECT_EQ(read_file(at("log")), "one\ntwo\n");
}

TEST_F(File, KnowsFilesFromFolders) {
  make_directories(at("x/y/z"));
  make_directories(at("x/y/z"));
  write_file_atomic(at("x/f"), "1");
  EXPECT_TRUE(directory_exists(at("x/y")));
  EXPECT_FALSE(directory_exists(at("x/f")));
  EXPECT_TRUE(file_exists(at("x/f")));
  EXPECT_FALSE(file_exists(at("x")));
  EXPECT_FALSE(file_exists(at("none")));
  EXPECT_FALSE(directory_exists(at("none")));
  EXPECT_THAT(error_of([&] { make_directories(at("x/f/g")); }), HasSubstr(at("x/f/g")));
}

TEST_F(File, ListsNamesByByteValueAndNothingOfAnAbsentFolder) {
  for (const char* name : {"b", "a10", "a2", "B"}) write_file_atomic(at(name), "");
  EXPECT_THAT(list_directory(folder_), ElementsAre("B", "a10", "a2", "b"));
  EXPECT_THAT(list_directory(at("absent")), IsEmpty());
  EXPECT_THAT(error_of([&] { list_directory(at("b")); }), HasSubstr(at("b")));
}

TEST_F(File, RemovesWholeTreesAndAcceptsAbsence) {
  make_directories(at("x/y"));
  write_file_atomic(at("x/y/f"), "1");
  remove_tree(at("x"));
  EXPECT_FALSE(directory_exists(at("x")));
  remove_tree(at("x"));
}

TEST_F(File, RenamesFilesAndFolders) {
  make_directories(at("step.partial"));
  write_file_atomic(at("step.partial/f"), "1");
  rename_path(at("step.partial"), at("step"));
  EXPECT_EQ(read_file(at("step/f")), "1");
  EXPECT_THAT(error_of([&] { rename_path(at("none"), at("other")); }),
              testing::AllOf(HasSubstr(at("none")), HasSubstr(at("other")), HasSubstr("No such file")));
}

TEST_F(File, ExchangesTwoFolders) {
  for (const char* name : {"old", "new"}) {
    make_directories(at(name));
    write_file_atomic(at(name) + "/f", name);
  }
  const bool done = exchange_paths(at("old"), at("new"));  // not every file system can
  EXPECT_EQ(read_file(at("old/f")), done ? "new" : "old");
  EXPECT_EQ(read_file(at("new/f")), done ? "old" : "new");
}

TEST_F(File, EveryFailureNamesThePathAndTheCause) {
  const std::string absent = at("absent");
  const std::vector<std::function<void()>> actions{[&] { read_file(absent); },
                                                   [&] { file_size(absent); },
                                                   [&] { hash_file(absent); },
                                                   [&] { MappedFile{absent}; },
                                                   [&] { append_file(absent + "/x", "1"); }};
  for (const auto& action : actions) {
    EXPECT_THAT(error_of(action), testing::AllOf(HasSubstr(absent), HasSubstr("No such file or directory")));
  }
  EXPECT_THAT(error_of([&] { read_file(folder_); }), testing::AllOf(HasSubstr(folder_), HasSubstr("directory")));
  EXPECT_THAT(error_of([&] { MappedFile{folder_}; }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([&] { hash_file(folder_); }), HasSubstr("directory"));
}

TEST_F(File, HashesAreThePublishedXxh3) {
  EXPECT_EQ(hash_bytes(""), "2d06800538d394c2");  // XXH3_64bits of no bytes, seed 0
  EXPECT_EQ(hash_bytes("a").size(), 16U);
  EXPECT_NE(hash_bytes("a"), hash_bytes("b"));
}

TEST_F(File, HashOfAFileIsThatOfItsBytesWhateverTheSize) {
  for (const std::size_t size : {0UL, 1UL, 240UL, 241UL, 1UL << 20, (1UL << 20) + 1, 3000001UL}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31 % 251);
    write_file_atomic(at("h"), content);
    EXPECT_EQ(hash_file(at("h")), hash_bytes(content)) << size;
  }
}

TEST_F(File, MapsWhatTheFileHolds) {
  write_file_atomic(at("m"), "mapped text");
  const MappedFile map(at("m"));
  EXPECT_EQ(map.text(), "mapped text");
  EXPECT_EQ(map.size(), 11U);
  EXPECT_EQ(map.data()[0], std::byte{'m'});
}

TEST_F(File, WhatAMapDropsCanBeReadAgain) {
  const std::string content(300000, 'x');
  write_file_atomic(at("m"), content);
  const MappedFile map(at("m"));
  for (const std::int64_t offset : {0, 4095, 299999}) {
    map.will_need(offset, 1);
    map.drop(offset, 300000 - offset);
    map.drop(offset, 0);
    EXPECT_EQ(map.text(), content);
  }
}

TEST_F(File, MapsAnEmptyFileAsNothing) {
  write_file_atomic(at("m"), "");
  const MappedFile map(at("m"));
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.text(), "");
}

TEST_F(File, AMapMovesAndOutlivesTheName) {
  write_file_atomic(at("one"), "first");
  write_file_atomic(at("two"), "second");
  MappedFile a(at("one"));
  MappedFile b(std::move(a));
  EXPECT_EQ(b.text(), "first");
  MappedFile c(at("two"));
  c = std::move(b);
  write_file_atomic(at("one"), "replaced");
  EXPECT_EQ(c.text(), "first");
}

}  // namespace
}  // namespace troika::base
