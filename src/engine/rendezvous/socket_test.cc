
#include "rendezvous/socket.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/clock.h"
#include "base/say.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {
namespace {

const base::Text timed_out = connect_words(ETIMEDOUT, base::Cause::not_told),
                 refused = connect_words(ECONNREFUSED, base::Cause::not_told);

TEST(ConnectCause, ATimeOutDoesNotHideWhatATryBeforeItWasTold) {
  ConnectCause cause;
  EXPECT_TRUE(cause.text().empty());
  cause.hear(timed_out, base::Cause::no_answer);
  EXPECT_EQ(cause.text().english, timed_out.english);
  cause.hear(connect_words(EHOSTUNREACH, base::Cause::firewall), base::Cause::firewall);
  for (int i = 0; i < 5; ++i) cause.hear(timed_out, base::Cause::no_answer);
  EXPECT_EQ(cause.text().english, "No route to host: a firewall blocks it");
}

TEST(ConnectCause, OfTwoThatTellTheLaterStays) {
  ConnectCause cause;
  cause.hear(connect_words(EHOSTUNREACH, base::Cause::nothing_at_address),
             base::Cause::nothing_at_address);     // the host starts
  cause.hear(refused, base::Cause::rank_missing);  // its store does not yet
  cause.hear(base::say("{} at {}", timed_out, "10.0.0.1"), base::Cause::no_answer);
  EXPECT_EQ(cause.text().english, refused.english);
}

TEST(ConnectCause, APortWhereNobodyListensIsNoFirewall) {
  int port = 0;
  {
    const StoreServer gone(0);
    port = gone.port();
  }
  for (const char* address : {"127.0.0.1", "::1"}) {
    Socket socket;
    base::Text cause;
    ASSERT_FALSE(socket.connect(address, port, base::monotonic_seconds() + 5, &cause));
    EXPECT_EQ(cause.english.find("a firewall"), std::string::npos) << cause.english;
    EXPECT_TRUE(socket.nobody_listens() || std::string(address) == "::1") << cause.english;
  }
}

}  // namespace
}  // namespace troika::rendezvous
