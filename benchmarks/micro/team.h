// SPDX-License-Identifier: Apache-2.0
//
// Threads that work at the same time, each on a processor of its own.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_TEAM_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_TEAM_H_

#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace prefixroute {

// Keeps the calling thread, while it lives, on one of the processors that it may run on: the one of that number, from
// 0, as far as there are so many.
class OnProcessor {
 public:
  explicit OnProcessor(size_t number) {
    sched_getaffinity(0, sizeof(before_), &before_);
    size_t left = number % static_cast<size_t>(CPU_COUNT(&before_));
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &before_) || left-- > 0) ++cpu;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof(own), &own);
  }
  ~OnProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  cpu_set_t before_;
};

// The calling thread, as number 0, and others, which sleep between two works.
class Team {
 public:
  explicit Team(size_t size) : processor_(0), seconds_(size) {
    for (size_t number = 1; number < size; ++number) {
      others_.emplace_back([this, number] { Serve(number); });
    }
  }
  ~Team() {
    Announce(nullptr);
    for (std::thread& other : others_) other.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Every thread calls work(its number), beginning at the same time; returns how many seconds each took.
  const std::vector<double>& Run(const std::function<void(size_t)>& work) {
    ready_ = 0;
    done_ = 0;
    go_ = false;
    Announce(&work);
    while (ready_ != others_.size()) std::this_thread::yield();
    go_ = true;
    Work(0, work);
    while (done_ != others_.size()) std::this_thread::yield();
    return seconds_;
  }

 private:
  void Announce(const std::function<void(size_t)>* work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = work;
      ++announced_;
    }
    condition_.notify_all();
  }

  void Serve(size_t number) {
    const OnProcessor processor(number);
    for (uint64_t served = 0;; ++served) {
      const std::function<void(size_t)>* work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        condition_.wait(lock, [&] { return announced_ > served; });
        work = work_;
      }
      if (work == nullptr) return;
      ++ready_;
      while (!go_) std::this_thread::yield();
      Work(number, *work);
      ++done_;
    }
  }

  void Work(size_t number, const std::function<void(size_t)>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work(number);
    seconds_[number] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  OnProcessor processor_;
  std::vector<double> seconds_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable condition_;
  const std::function<void(size_t)>* work_ = nullptr;
  uint64_t announced_ = 0;
  std::atomic<size_t> ready_{0};
  std::atomic<size_t> done_{0};
  std::atomic<bool> go_{false};
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_TEAM_H_
