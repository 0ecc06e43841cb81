// SPDX-License-Identifier: Apache-2.0
//
// A process forked from the test.

#ifndef PREFIXROUTE_TESTS_STATE_CHILD_PROCESS_H_
#define PREFIXROUTE_TESTS_STATE_CHILD_PROCESS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "gtest/gtest.h"

namespace prefixroute::test {

// Ends with its body. What the body finds wrong by EXPECT fails the parent's test too, at Join(). The test must have no
// other threads.
class ChildProcess {
 public:
  template <typename Body>
  explicit ChildProcess(Body body) {
    std::fflush(stdout);
    pid_ = fork();
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) return;
    body();
    std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ~ChildProcess() {
    if (pid_ > 0) Kill();
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(other.pid_) { other.pid_ = 0; }
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }

  // Waits until it has ended by itself, and well.
  void Join() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
    pid_ = 0;
  }

  // Kills it wherever it is, and waits until it is gone. It must not have ended before.
  void Kill() {
    kill(pid_, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "wait status " << status;
    pid_ = 0;
  }

  // Stops it between two instructions, and lets it go on.
  void Stop() {
    kill(pid_, SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status)) << "wait status " << status;
  }
  void GoOn() { kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = 0;
};

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_STATE_CHILD_PROCESS_H_
