#include "rendezvous/connect_cause.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {
namespace {

const std::string timed_out = std::strerror(ETIMEDOUT), no_route = std::strerror(EHOSTUNREACH),
                  refused = std::strerror(ECONNREFUSED);

TEST(ConnectCause, ATimeOutDoesNotHideWhatATryBeforeItWasTold) {
  ConnectCause cause;
  EXPECT_EQ(cause.text(), "");
  cause.hear(timed_out, base::Cause::no_answer);
  EXPECT_EQ(cause.text(), timed_out);
  cause.hear(no_route + icmp_words(base::Cause::firewall), base::Cause::firewall);
  for (int i = 0; i < 5; ++i) cause.hear(timed_out, base::Cause::no_answer);
  EXPECT_EQ(cause.text(), no_route + icmp_words(base::Cause::firewall));
}

TEST(ConnectCause, OfTwoThatTellTheLaterStays) {
  ConnectCause cause;
  cause.hear(no_route + icmp_words(base::Cause::nothing_at_address), base::Cause::nothing_at_address);  // the host starts
  cause.hear(refused, base::Cause::rank_missing);                        // its store does not yet
  cause.hear(timed_out + " at 10.0.0.1", base::Cause::no_answer);
  EXPECT_EQ(cause.text(), refused);
}

TEST(ConnectCause, APortWhereNobodyListensIsNoFirewall) {
  int port = 0;
  {
    const StoreServer gone(0);
    port = gone.port();
  }
  for (const char* address : {"127.0.0.1", "::1"}) {
    Socket socket;
    std::string cause;
    ASSERT_FALSE(socket.connect(address, port, base::monotonic_seconds() + 5, &cause));
    EXPECT_EQ(cause.find(icmp_words(base::Cause::firewall)), std::string::npos) << cause;
    EXPECT_TRUE(socket.nobody_listens() || std::string(address) == "::1") << cause;
  }
}

}  // namespace
}  // namespace troika::rendezvous
