#include "base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"

namespace troika::base {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(Descriptor, IsClosedOnceByItsLastOwner) {
  int number = -1;
  {
    Descriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.number();
    Descriptor second(std::move(first)), third;
    EXPECT_FALSE(first);
    third = std::move(second);
    EXPECT_EQ(third.number(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
  EXPECT_FALSE(Descriptor());
}

TEST(Descriptor, ThatIsReleasedStaysOpen) {
  int number = -1;
  {
    Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = file.release();
  }
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(Pipe, IsReadToItsEndOrNotAtAll) {
  Pipe pipe = make_pipe();
  ASSERT_EQ(::write(pipe.writes.number(), "words", 5), 5);
  const double began = monotonic_seconds();
  EXPECT_FALSE(read_to_end(pipe.reads, 0.05, 100).has_value());  // its end has not come
  EXPECT_GE(monotonic_seconds() - began, 0.05);
  pipe.writes.close();
  EXPECT_EQ(read_to_end(pipe.reads, 5, 100), "");

  Pipe full = make_pipe();
  ASSERT_EQ(::write(full.writes.number(), "words", 5), 5);
  full.writes.close();
  EXPECT_FALSE(read_to_end(full.reads, 5, 4).has_value());

  Pipe exact = make_pipe();
  ASSERT_EQ(::write(exact.writes.number(), "words", 5), 5);
  exact.writes.close();
  EXPECT_EQ(read_to_end(exact.reads, 5, 5), "words");
}

}  // namespace
}  // namespace troika::base
